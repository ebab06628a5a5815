package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/dashboard"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/leader"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

const dashboardHelp = `Open the status page of the controller's leader in the browser: find the leader by its Lease, and forward
a port of this machine to the page of its pod through the API server, as kubectl port-forward does. When
another replica leads, or the pod is gone, the next request goes to the new leader. End it with Ctrl-C.

The controller must serve the page (--status-address=127.0.0.1:10255). You need permission to get the Lease
and to create pods/portforward in the controller's namespace. Only this machine can open the port, but all
of its users can, and see what the page shows.`

const dashboardExamples = `  # Open the page
  kubectl restarts dashboard

  # Open what is under way in one namespace
  kubectl restarts dashboard -n shop

  # Only print the address, always the same one
  kubectl restarts dashboard --no-browser --port=8080`

type dashboardCommand struct {
	*session
	place     leaderFlags
	port      uint16
	noBrowser bool
}

func newDashboard(s *session) *cobra.Command {
	d := &dashboardCommand{session: s}
	command := &cobra.Command{
		Use:     "dashboard",
		Short:   "Open the status page of the leader in the browser",
		Long:    dashboardHelp,
		Example: dashboardExamples,
		Args:    cobra.NoArgs,
		RunE:    func(command *cobra.Command, _ []string) error { return d.run(command.Context()) },
	}
	flags := command.Flags()
	flags.Uint16Var(&d.port, "port", 0, "Port of this machine, on 127.0.0.1; 0 takes a free one")
	flags.BoolVar(&d.noBrowser, "no-browser", false, "Only print the address")
	d.place.add(command)
	return command
}

func (d *dashboardCommand) run(ctx context.Context) error {
	if !d.ask {
		return errors.New("the dashboard is that of the leader; leave out --leader=false")
	}
	namespace, isExplicit, err := d.namespace()
	if err != nil {
		return err
	}
	pages, err := d.pages(&d.place)
	if err != nil {
		return err
	}
	defer pages.Close()
	if err := d.try(ctx, pages); err != nil || ctx.Err() != nil {
		return err
	}
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(d.port))))
	if err != nil {
		return fmt.Errorf("%w; choose another port with --port, or leave it out", err)
	}
	address := "http://" + listener.Addr().String() + "/"
	if isExplicit {
		address += "namespace/" + url.PathEscape(namespace)
	}
	return d.serve(ctx, listener, pages, address)
}

// try asks the leader once. What waiting does not mend is an error, and the page shows the rest.
func (d *dashboardCommand) try(ctx context.Context, pages *leader.Pages) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, "http://leader/", http.NoBody)
	if err != nil {
		return err
	}
	response, err := pages.RoundTrip(request)
	if err == nil {
		return response.Body.Close()
	}
	if permanent := (*leader.Permanent)(nil); errors.As(err, &permanent) {
		return err
	}
	if ctx.Err() == nil {
		now := time.Now()
		gap := pages.Gap(err, now)
		d.note(facts.DescribeGap(&gap, now))
	}
	return nil
}

// headerLimit is how long a request may take to say what it asks for.
const headerLimit = 10 * time.Second

// serve serves the pages until the context ends.
func (d *dashboardCommand) serve(ctx context.Context, listener net.Listener, pages dashboard.Pages, address string) error {
	server := &http.Server{
		Handler: dashboard.New(pages), ReadHeaderTimeout: headerLimit,
		ErrorLog: log.New(io.Discard, "", 0), BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	fmt.Fprintf(d.Out, "The leader's status page is at %s until you press Ctrl-C.\n", text.Safe(address))
	var unopened <-chan error
	if !d.noBrowser {
		unopened = dashboard.Open(runtime.GOOS, address)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return err
		case err := <-unopened:
			d.note("cannot open the browser: " + err.Error())
		}
	}
}
