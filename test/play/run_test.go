package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"kubernetes-deployment-restart-controller/test/harness"
)

// The test does what the text asks a person to do: it opens the page and types the commands of the edit.
func TestRunSaysHowToLookAndWhatToTypeAndLeavesNothingBehind(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	r := startRun(t)
	s := &story{stage: &stage{limit: stepLimit}, client: r.client(t)}
	for _, step := range []func(context.Context) (string, error){s.rolledOut, s.recorded} {
		if _, err := step(t.Context()); err != nil {
			t.Fatalf("%v\n%s", err, r)
		}
	}

	page := r.find(t, regexp.MustCompile(`in a browser: (http://127\.0\.0\.1:\S+)`))
	if status, content, err := get(t, page); err != nil || status != http.StatusOK || !strings.Contains(content, configMapName) {
		t.Errorf("the page %s: %d, %v: %s", page, status, err, content)
	}
	var err error
	if s.before, err = s.deployment(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.types(t.Context(), t, r.edit(t, editedValue))
	if _, err := s.restart(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, r)
	}
	for begin, want := range map[string]string{"k restarts wait ": "Delivered: 6 pods read it", "k restarts explain ": "deployment/web in default is ", "k restarts impact ": "2 workloads, 6 pods would restart."} {
		if said := r.types(t.Context(), t, r.line(t, begin)); !strings.Contains(said, want) {
			t.Errorf("%s says %s, not %s", begin, said, want)
		}
	}

	r.types(t.Context(), t, r.edit(t, "broken"))
	halted := regexp.MustCompile(`has broken deployment/(?:web|api), halted since .*; revert it, or resume with: kubectl restarts resume (?:-n default )?configmap/web-config (\S+)`)
	status := ""
	err = harness.Eventually(t.Context(), stepLimit, func(ctx context.Context) error {
		if status = r.types(ctx, t, r.line(t, "k restarts status ")); !halted.MatchString(status) {
			return fmt.Errorf("the status is %s", status)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, r)
	}
	resume := strings.TrimSuffix(r.line(t, "k restarts resume "), "ID") + halted.FindStringSubmatch(status)[1]
	if said := r.types(t.Context(), t, resume); !strings.Contains(said, "resumed") {
		t.Errorf("%s says %s", resume, said)
	}
	if said := r.types(t.Context(), t, r.edit(t, "good evening"), r.line(t, "k restarts wait ")); !strings.Contains(said, "Delivered: 6 pods read it") {
		t.Errorf("after it is reverted: %s", said)
	}

	if running := processesIn(t, r.directory); runtime.GOOS == "linux" && len(running) < 6 {
		t.Errorf("the processes of the cluster and the controller are not found, only %q", running)
	}
	r.cancel()
	<-r.done
	if r.ended != nil || !strings.Contains(r.String(), "stopping the controller and the cluster") {
		t.Errorf("it ended with %v:\n%s", r.ended, r)
	}
	if left := processesIn(t, r.directory); len(left) > 0 {
		t.Errorf("it left the processes %q", left)
	}
	if _, err := os.Stat(r.directory); !os.IsNotExist(err) {
		t.Errorf("it left its directory: %v", err)
	}
	if status, _, err := get(t, page); err == nil {
		t.Errorf("the page still answers, with %d", status)
	}
}

// running is a run, and what it has printed.
type running struct {
	root, directory string // of the repository, and of the cluster
	cancel          context.CancelFunc
	done            chan struct{}
	ended           error // once done is closed

	mu   sync.Mutex
	text strings.Builder
}

func (r *running) Write(data []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(data)
}

func (r *running) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// startRun returns when the run has said what to type.
func startRun(t *testing.T) *running {
	t.Helper()
	root, err := harness.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	r := &running{root: root, directory: filepath.Join(t.TempDir(), "cluster"), done: make(chan struct{})}
	relative, err := filepath.Rel(root, r.directory)
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(t.Context())
	go func() {
		defer close(r.done)
		r.ended = run(ctx, r, relative)
	}()
	t.Cleanup(func() {
		r.cancel()
		<-r.done
	})
	err = harness.Eventually(t.Context(), 5*time.Minute, func(context.Context) error {
		select {
		case <-r.done:
			return harness.Final(fmt.Errorf("it ended: %w", r.ended))
		default:
		}
		if !strings.Contains(r.String(), "The controller's log:") {
			return fmt.Errorf("it has not said all: %s", r)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *running) find(t *testing.T, pattern *regexp.Regexp) string {
	t.Helper()
	found := pattern.FindStringSubmatch(r.String())
	if found == nil {
		t.Fatalf("it does not say %s:\n%s", pattern, r)
	}
	return found[1]
}

// types runs commands as a person types them after the lines that prepare the terminal, and returns what they print.
func (r *running) types(ctx context.Context, t *testing.T, commands ...string) string {
	t.Helper()
	script := []string{"shopt -s expand_aliases"} // as in a terminal
	for _, begin := range []string{"export KUBECONFIG", "alias ", "export URL"} {
		script = append(script, r.line(t, begin))
	}
	script = append(script, commands...)
	command := exec.CommandContext(ctx, "bash", "-ec", strings.Join(script, "\n"))
	command.Dir = r.find(t, regexp.MustCompile(`in another terminal \(in (.*)\):`))
	said, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v: %s", script, err, said)
	}
	return string(said)
}

// line returns the line that says what to type and begins like that.
func (r *running) line(t *testing.T, begin string) string {
	t.Helper()
	return r.find(t, regexp.MustCompile(`(?m)^    (`+regexp.QuoteMeta(begin)+`.*)$`))
}

// edit returns the line that sets the greeting.
func (r *running) edit(t *testing.T, greeting string) string {
	t.Helper()
	return r.find(t, regexp.MustCompile(`(?m)^    (k patch configmap .*"`+greeting+`".*)$`))
}

// client is that of a person who uses the kubeconfig.
func (r *running) client(t *testing.T) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(r.directory, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1 // no limit, as the conditions ask again and again
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func get(t *testing.T, url string) (status int, content string, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// processesIn returns the command lines of the processes that have something in the directory, as far as /proc shows
// them, which only Linux has.
func processesIn(t *testing.T, directory string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(line), directory) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
