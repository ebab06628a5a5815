package launcher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// stopTimeout bounds how long `down` waits: each of the components may take its grace period.
const stopTimeout = 60 * time.Second

// remote is a cluster that another process runs.
type remote struct {
	layout Layout
	client *http.Client
}

// newRemote reads the flags of a command that talks to a running cluster. The positional arguments are returned.
func newRemote(command string, arguments []string, positional int) (remote, []string, error) {
	var dir string
	flags := newFlagSet(command)
	bindDir(flags, &dir)
	if err := parseFlags(flags, arguments, positional); err != nil {
		return remote{}, nil, err
	}
	layout, err := newLayout(dir)
	if err != nil {
		return remote{}, nil, err
	}
	dial := func(context.Context, string, string) (net.Conn, error) { return dialUnix(layout.socket()) }
	return remote{layout, &http.Client{Transport: &http.Transport{DialContext: dial}}}, flags.Args(), nil
}

func down(arguments []string, stdout io.Writer) error {
	r, _, err := newRemote("down", arguments, 0)
	if err != nil {
		return err
	}
	if err := r.call(http.MethodPost, "/stop", nil); err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(context.Background(), pollInterval, stopTimeout, true,
		func(context.Context) (bool, error) { return r.layout.free() })
	if err != nil {
		return fmt.Errorf("wait for the end of the cluster in %s: %w", r.layout.Dir, err)
	}
	fmt.Fprintf(stdout, "the cluster in %s is stopped\n", r.layout.Dir)
	return nil
}

// status prints what each component does. It is an error if one does not run.
func status(arguments []string, stdout io.Writer) error {
	r, _, err := newRemote("status", arguments, 0)
	if err != nil {
		return err
	}
	var statuses []Status
	if err := r.call(http.MethodGet, "/status", &statuses); err != nil {
		return err
	}
	if err := printStatuses(stdout, statuses); err != nil {
		return err
	}
	var missing []string
	for _, s := range statuses {
		if s.State != StateRunning {
			missing = append(missing, s.Component)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("not running: %s", strings.Join(missing, ", "))
	}
	return nil
}

func printStatuses(out io.Writer, statuses []Status) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "COMPONENT\tSTATE\tPID\tADDRESS\tSINCE")
	for _, s := range statuses {
		pid := "-"
		if s.PID != 0 {
			pid = fmt.Sprint(s.PID)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", s.Component, s.State, pid, s.Address, s.Since.Format(time.RFC3339))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print status: %w", err)
	}
	return nil
}

func kill(arguments []string, stdout io.Writer) error {
	s, err := command("kill", arguments)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s is killed\n", s.Component)
	return nil
}

func start(arguments []string, stdout io.Writer) error {
	s, err := command("start", arguments)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s is %s (pid %d)\n", s.Component, s.State, s.PID)
	return nil
}

// command has the running cluster do something to one component and returns what became of it.
func command(name string, arguments []string) (Status, error) {
	r, positional, err := newRemote(name, arguments, 1)
	if err != nil {
		return Status{}, err
	}
	component := positional[0]
	if err := checkComponent(component); err != nil {
		return Status{}, err
	}
	var s Status
	return s, r.call(http.MethodPost, "/components/"+component+"/"+name, &s)
}

// call sends a request to the cluster's `up` and decodes the answer into result, unless that is nil.
func (r remote) call(method, path string, result any) error {
	request, err := http.NewRequest(method, "http://localcluster"+path, nil)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	response, err := r.client.Do(request)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("no cluster runs in %s", r.layout.Dir)
	}
	if err != nil {
		return fmt.Errorf("ask the cluster in %s: %w", r.layout.Dir, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		message, err := io.ReadAll(response.Body)
		if err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		return errors.New(strings.TrimSpace(string(message)))
	}
	if result == nil {
		return nil
	}
	if err := json.NewDecoder(response.Body).Decode(result); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}
