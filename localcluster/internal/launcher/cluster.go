package launcher

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
)

// cluster is the set of members that one `up` runs. Its methods may be called by several goroutines at once.
type cluster struct {
	options Options
	members []*member // in the order in which they start
	client  kubernetes.Interface
	report  report

	mu    sync.Mutex
	fatal context.CancelCauseFunc // while the cluster starts: what the death of a member calls
}

// report is where a cluster reports what happens.
type report struct {
	progress func(message string)
	trouble  func(message string)
}

// newCluster writes the configuration of a cluster and describes its members. Nothing runs yet.
func newCluster(layout Layout, lock *os.File, options Options, report report) (*cluster, error) {
	ports, err := pickPorts()
	if err != nil {
		return nil, err
	}
	if err := writeConfiguration(layout, ports, options); err != nil {
		return nil, err
	}
	probes, err := newProber(layout.caCert())
	if err != nil {
		return nil, err
	}
	client, err := newClient(layout.kubeconfig())
	if err != nil {
		return nil, err
	}
	c := &cluster{options: options, client: client, report: report}
	for _, name := range options.Components {
		url, health := endpoints(name, ports)
		m := &member{
			component:   name,
			address:     url,
			executable:  options.executable(name),
			arguments:   arguments(name, layout, ports, options),
			environment: environment(name, layout),
			log:         layout.log(name),
			lock:        lock,
			ready:       probes.get(url + health),
			onExit:      c.memberExited,
			state:       StateWaiting,
			since:       time.Now(),
		}
		if name == KWOK {
			m.prepare = func(ctx context.Context) error { return releaseNodes(ctx, client) }
		}
		c.members = append(c.members, m)
	}
	return c, nil
}

// executable returns the file that a component is run from, empty if it is this binary.
func (o *Options) executable(component string) string {
	switch component {
	case APIServer, ControllerManager, Scheduler:
		return o.ControlPlane
	}
	return ""
}

// endpoints returns where a component listens and the path at which it reports whether it serves.
func endpoints(component string, ports Ports) (url, health string) {
	switch component {
	case Etcd:
		return "http://" + address(ports.EtcdClient), "/readyz"
	case APIServer:
		return "https://" + address(ports.APIServer), "/readyz"
	case ControllerManager:
		return "https://" + address(ports.ControllerManager), "/healthz"
	case Scheduler:
		return "https://" + address(ports.Scheduler), "/readyz"
	case KWOK:
		return "http://" + address(ports.KWOK), "/healthz"
	}
	panic("no member of a cluster: " + component)
}

// environment keeps KWOK from reading the user's own configuration in the home directory, and lets the API server, which
// takes most of a cluster's time, collect its garbage less often than by default: a tenth of that time for 100 MiB.
func environment(component string, layout Layout) []string {
	switch component {
	case KWOK:
		return []string{"KWOK_WORKDIR=" + layout.kwokHome()}
	case APIServer:
		return []string{"GOGC=400"}
	}
	return nil
}

// start starts all members and returns when the cluster is fit for use. On an error, some members may run.
func (c *cluster) start(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.setFatal(cancel)
	defer c.setFatal(nil)

	// The API server tolerates an etcd that is a little late.
	if err := c.startMembers(ctx, Etcd, APIServer); err != nil {
		return err
	}
	// The others would wait a second or more between their attempts to reach an API server that is not ready.
	return inParallel(ctx,
		func(ctx context.Context) error { return c.startMembers(ctx, ControllerManager, Scheduler, KWOK) },
		c.furnish,
	)
}

// furnish waits for, or creates, what a user finds in a fresh cluster.
func (c *cluster) furnish(ctx context.Context) error {
	if err := waitForNamespace(ctx, c.client); err != nil {
		return err
	}
	begin := time.Now()
	managed := c.has(ControllerManager)
	if c.options.Nodes > 0 {
		if err := createNodes(ctx, c.client, c.options.Nodes); err != nil {
			return err
		}
		if err := waitForNodes(ctx, c.client, c.options.Nodes, managed); err != nil {
			return err
		}
		c.report.progress(fmt.Sprintf("%-24s ready after %s  %d simulated by KWOK", "nodes", seconds(time.Since(begin)), c.options.Nodes))
	}
	if managed {
		return waitForServiceAccount(ctx, c.client)
	}
	return nil
}

// startMembers starts those of the named components that belong to the cluster, all at once.
func (c *cluster) startMembers(ctx context.Context, components ...string) error {
	var tasks []func(context.Context) error
	for _, m := range c.members {
		if slices.Contains(components, m.component) {
			tasks = append(tasks, func(ctx context.Context) error { return c.startMember(ctx, m) })
		}
	}
	return inParallel(ctx, tasks...)
}

func (c *cluster) startMember(ctx context.Context, m *member) error {
	begin := time.Now()
	if err := m.start(ctx); err != nil {
		return err
	}
	c.report.progress(fmt.Sprintf("%-24s ready after %s  pid %-7d %-24s %s",
		m.component, seconds(time.Since(begin)), m.status().PID, m.address, m.log))
	return nil
}

// stop ends all members, the last started first, and returns when they are gone.
func (c *cluster) stop() {
	for _, m := range slices.Backward(c.members) {
		m.stop()
	}
}

// member returns the member of that name, or an error that names the existing ones.
func (c *cluster) member(component string) (*member, error) {
	var names []string
	for _, m := range c.members {
		if m.component == component {
			return m, nil
		}
		names = append(names, m.component)
	}
	return nil, fmt.Errorf("%s does not belong to this cluster (only %s)", component, strings.Join(names, ", "))
}

func (c *cluster) has(component string) bool {
	return slices.Contains(c.options.Components, component)
}

func (c *cluster) statuses() []Status {
	var statuses []Status
	for _, m := range c.members {
		statuses = append(statuses, m.status())
	}
	return statuses
}

// memberExited hears of the death of a member that had been ready. A cluster that is starting gives up; one that runs
// continues without it.
func (c *cluster) memberExited(message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fatal != nil {
		c.fatal(fmt.Errorf("%s", message))
		return
	}
	c.report.trouble(message)
}

func (c *cluster) setFatal(cancel context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fatal = cancel
}

// inParallel runs the tasks and waits for all of them. The first error cancels the context of the others and is the
// one that is returned.
func inParallel(ctx context.Context, tasks ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, task := range tasks {
		running.Go(func() {
			if err := task(ctx); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}
