package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// The limits only bound failures: on a busy machine, each step may take a hundred times as long as on an idle one.
const (
	controllerStartLimit = 3 * time.Minute // a fraction of a second on an idle machine
	controllerStopGrace  = time.Minute     // as short
	controllerGetLimit   = time.Minute     // milliseconds
	servingMessage       = "serving metrics and health"
	statusMessage        = "serving the status page"
)

// Controller is one running controller process. Its methods may be used
// concurrently.
type Controller struct {
	process *process
	address string
	http    *http.Client
}

// StartController starts the controller with the permissions of the installation and
// returns when it is ready. The process outlives ctx, which bounds only the
// start; end it with Stop or Kill.
func (i *Installation) StartController(ctx context.Context, flags ...string) (*Controller, error) {
	c, err := i.LaunchController(ctx, nil, flags...)
	if err != nil {
		return nil, err
	}
	if err := c.AwaitReady(ctx, controllerStartLimit); err != nil {
		return nil, errors.Join(err, c.Kill())
	}
	return c, nil
}

// LaunchController is StartController without the wait for readiness: it returns
// as soon as the process serves its metrics. Its log goes to echo, too, line by
// line, unless that is nil.
func (i *Installation) LaunchController(ctx context.Context, echo io.Writer, flags ...string) (*Controller, error) {
	binary, err := ControllerBinary()
	if err != nil {
		return nil, err
	}
	arguments := append([]string{
		"--kubeconfig", i.Kubeconfig, "--controller-namespace", i.Namespace, "--listen-address", "127.0.0.1:0",
	}, flags...)
	process, err := startProcess(binary, arguments, processOptions{
		environment: i.Environment, echo: echo, onParentDeath: syscall.SIGKILL,
	})
	if err != nil {
		return nil, err
	}
	c := &Controller{process: process, http: &http.Client{Timeout: controllerGetLimit}}
	if err := awaitLine(ctx, controllerStartLimit, process, c.readAddress); err != nil {
		return nil, errors.Join(fmt.Errorf("start the controller: %w", err), c.Kill())
	}
	return c, nil
}

// readAddress finds the address in the line, of either log format, that contains it.
func (c *Controller) readAddress(line string) bool {
	c.address = addressIn(line, servingMessage)
	return c.address != ""
}

// addressIn returns the address in a line of the log with this message, empty if it is another line.
func addressIn(line, message string) (address string) {
	if !strings.Contains(line, message) {
		return ""
	}
	var record struct{ Address string }
	if json.Unmarshal([]byte(line), &record) == nil {
		address = record.Address
	} else if _, rest, found := strings.Cut(line, " address="); found {
		address, _, _ = strings.Cut(rest, " ")
		address = strings.Trim(address, `"`)
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return ""
	}
	return address
}

// Address is the host and port of the controller's HTTP server.
func (c *Controller) Address() string { return c.address }

// StatusAddress is the host and port of the status page, empty if it is not served.
func (c *Controller) StatusAddress() string {
	for _, line := range c.Log().Containing(statusMessage) {
		if address := addressIn(line, statusMessage); address != "" {
			return address
		}
	}
	return ""
}

// PID is the number of the process.
func (c *Controller) PID() int { return c.process.child.Pid }

// Log is what the controller has written to its standard output and error.
func (c *Controller) Log() *Output { return c.process.output }

// AwaitReady returns when /readyz answers 200. The error says what it answered
// last, or the end of the log if the process has ended.
func (c *Controller) AwaitReady(ctx context.Context, limit time.Duration) error {
	err := Eventually(ctx, limit, func(ctx context.Context) error {
		if err := c.process.running(); err != nil {
			return Final(err)
		}
		status, body, err := c.Get(ctx, "/readyz")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("/readyz answers %d: %s", status, body)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("the controller is not ready: %w", err)
	}
	return nil
}

// AwaitDriving returns when the deployment engine drives Deployments, which takes it
// some seconds to make sure that it may.
func (c *Controller) AwaitDriving(ctx context.Context, limit time.Duration) error {
	err := Eventually(ctx, limit, func(ctx context.Context) error {
		if err := c.process.running(); err != nil {
			return Final(err)
		}
		drives, err := c.Metric(ctx, "deployment_engine_driving", nil)
		if err == nil && drives != 1 {
			err = errors.New("it stands by")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("the deployment engine does not drive: %w", err)
	}
	return nil
}

// Get requests a path of the controller's HTTP server.
func (c *Controller) Get(ctx context.Context, path string) (status int, body string, err error) {
	return c.get(ctx, c.address, path)
}

// GetStatus requests a path of the status page.
func (c *Controller) GetStatus(ctx context.Context, path string) (status int, body string, err error) {
	return c.get(ctx, c.StatusAddress(), path)
}

func (c *Controller) get(ctx context.Context, address, path string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return 0, "", fmt.Errorf("get %s: %w", path, err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, "", fmt.Errorf("get %s of the controller: %w", path, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, "", fmt.Errorf("read %s of the controller: %w", path, err)
	}
	return response.StatusCode, string(content), nil
}

// Running returns nil, or an error with the end of the log once the process has
// ended.
func (c *Controller) Running() error { return c.process.running() }

// Exited is closed when the process has ended.
func (c *Controller) Exited() <-chan struct{} { return c.process.exited }

// ExitCode is that of the process, -1 if a signal ended it; it may be asked for
// once Exited is closed.
func (c *Controller) ExitCode() int { return c.process.exitCode() }

// Stop ends the process with SIGTERM and waits for it. It is an error if the
// process has to be killed or does not exit with 0.
func (c *Controller) Stop() error {
	if err := c.process.stop(controllerStopGrace); err != nil {
		return err
	}
	if code := c.process.exitCode(); code != 0 {
		return fmt.Errorf("the controller exited with %d; the end of its log:\n%s", code, c.Log().Tail(tailLines))
	}
	return nil
}

// Suspend keeps the process from running until resume is called. It then finds all at once what has happened meanwhile.
func (c *Controller) Suspend() (resume func() error, err error) {
	return c.process.suspend()
}

// Kill ends the process with SIGKILL, as if the machine had failed, and waits for
// it.
func (c *Controller) Kill() error { return c.process.kill() }

// RunController runs the controller's binary to its end with just these
// arguments, as for --help or a wrong flag.
func RunController(ctx context.Context, arguments ...string) (exitCode int, stdout, stderr string, err error) {
	binary, err := ControllerBinary()
	if err != nil {
		return 0, "", "", err
	}
	return runToEnd(ctx, binary, arguments)
}
