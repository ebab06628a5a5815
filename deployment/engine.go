package deployment

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/deployment/handover"
	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/watch"
)

// backoff spaces out the syncs of a Deployment after failed writes.
var backoff = fairqueue.Backoff{First: 5 * time.Millisecond, Longest: time.Minute}

// ownSource is the source of Events about the engine itself.
const ownSource = "kubernetes-deployment-restart-controller"

// eventSource is the Event source of Kubernetes' own controller, so that kubectl describe
// shows the same.
const eventSource = "deployment-controller"

// Options configure what an engine works on and how.
type Options struct {
	// API is how to reach the API server. The engine sets its own rate limits.
	API *rest.Config
	// QPS and Burst limit the requests, apart from watches. Events, of which there are about
	// as many as writes, have a separate limit of the same size.
	QPS   float32
	Burst int
	// Namespaces are the namespaces whose Deployments are driven; empty means all.
	Namespaces []string
	// Workers is how many Deployments the engine works on at once.
	Workers int
	// OwnNamespace is the namespace of the engine's probe.
	OwnNamespace string
	// Standby makes the engine stand by at first, as if it had just detected another
	// controller that drives Deployments.
	Standby bool
	Log     *slog.Logger
}

// Engine drives the Deployments of a cluster or of some namespaces. It implements
// prometheus.Collector.
type Engine struct {
	log         *slog.Logger
	permissions []apiclient.Permission
	caches      *caches
	heavy       fairqueue.TurnLock // of the steps for heavy Deployments
	watches     []follower         // which must be synced before it begins to drive, in the order in which they are listed
	pods        *podWatches
	histories   writeHistories
	executor    *executor
	queue       *queue
	metrics     *metrics
	quarantine  *quarantine.Set
	events      record.EventBroadcaster
	// ownEvents records Events about the engine itself, and about objects that it leaves
	// alone.
	ownEvents record.EventRecorder

	leads atomic.Bool
	// driving is whether the engine drives Deployments. It does so in all namespaces except
	// the resting ones.
	driving atomic.Bool
	resting namespaces
	// monitor decides when and where the engine drives.
	monitor *handover.Monitor
}

// follower is a watch of any resource.
type follower interface {
	Run(context.Context)
	Synced() <-chan struct{}
	Settled(context.Context)
	Status() watch.Status
}

// New returns an engine that does nothing until [Engine.Watch] and [Engine.Lead] are called.
func New(options Options) (*Engine, error) {
	rate := apiclient.Rate{QPS: options.QPS, Burst: options.Burst}
	clients, err := apiclient.Connect(options.API, rate, rate)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		log:         options.Log,
		permissions: permissionsOf(&options),
		histories:   writeHistories{byDeployment: map[types.NamespacedName]writeHistory{}},
		metrics:     newMetrics(),
		events:      apiclient.NewBroadcaster(),
	}
	e.queue = newQueue(options.Workers, e.metrics)
	e.quarantine = quarantine.New(quarantine.Options{Log: options.Log, Panicked: e.panicked})
	e.ownEvents = apiclient.NewRecorder(e.events, ownSource)
	e.caches = &caches{
		deployments: newCache(packDeployment, groupsOfDeployment, e.onDeployment),
		replicaSets: newCache(packReplicaSet, groupsOfReplicaSet, e.onReplicaSet),
		pods:        newPodTable(func(namespace string) { e.pods.want(namespace) }, e.wake),
		isBackup:    options.Standby,
	}
	e.executor = &executor{
		apps:     clients.Apps,
		core:     clients.Core.RESTClient(),
		caches:   e.caches,
		mayWrite: e.drives,
		events:   clients.Recorder(e.events, eventSource),
		metrics:  e.metrics,
		log:      options.Log,
	}
	e.monitor = e.newMonitor(&options, clients)
	e.watch(options.Namespaces, clients)
	e.pods = e.newPodWatches(options.Namespaces, clients)
	return e, nil
}

// queue hands out Deployments. All Deployments of a namespace share one flow.
type queue = fairqueue.Queue[types.NamespacedName, struct{}]

func newQueue(workers int, m *metrics) *queue {
	return fairqueue.New[types.NamespacedName, struct{}](fairqueue.Options[types.NamespacedName]{
		Namespace: func(key types.NamespacedName) string { return key.Namespace },
		Workers:   workers,
		Backoff:   backoff,
		Waited:    func(wait time.Duration) { m.queueLatency.Observe(wait.Seconds()) },
	})
}

// add queues a Deployment.
func (e *Engine) add(key types.NamespacedName) { e.queue.Add(key, struct{}{}) }

// watch creates the watches. ReplicaSets are listed before Deployments, because a plan would
// not count the pods of a ReplicaSet that is not known.
func (e *Engine) watch(namespaces []string, clients *apiclient.Clients) {
	for _, namespace := range apiclient.NamespacesOrAll(namespaces) {
		deploymentFeed, replicaSetFeed := e.caches.deployments.feed(namespace), e.caches.replicaSets.feed(namespace)
		deployments := watch.New(watch.Options[packedDeployment]{
			Resource: "deployments", Kind: rollout.DeploymentKind, Namespace: namespace, Client: clients.WatchApps, Reduce: reduceDeployment, Name: named[*rollout.Deployment, packedDeployment](rollout.DeploymentKind, uncontrolled),
			Observer: deploymentObserver{deploymentFeed, e.monitor, e.monitor.NewStatusObserver()}, Listing: deploymentFeed.listing, Quarantine: e.quarantine, Log: e.log,
		})
		replicaSets := watch.New(watch.Options[packedReplicaSet]{
			Resource: "replicasets", Kind: replicaSetKind, Namespace: namespace, Client: clients.WatchApps, Reduce: reduceReplicaSet, Name: named[*rollout.ReplicaSet, packedReplicaSet](replicaSetKind, controllerOfReplicaSet),
			Observer: replicaSetFeed, Listing: replicaSetFeed.listing, Quarantine: e.quarantine, Log: e.log,
		})
		e.watches = append(e.watches, replicaSets, deployments)
	}
}

func (e *Engine) newPodWatches(namespaces []string, clients *apiclient.Clients) *podWatches {
	return &podWatches{
		table: e.caches.pods,
		make: func(namespace string) follower {
			return watch.New(watch.Options[*pod]{
				Resource: "pods", Kind: podKind, Namespace: namespace, Client: clients.WatchCore, Reduce: reducePod, Name: nameOfPod,
				Observer: podFeed{e.caches.pods, namespace}, Quarantine: e.quarantine, Log: e.log,
			})
		},
		mayWatchAll: len(namespaces) == 0,
		isNeeded:    e.isRecreated,
		known:       e.wakeRecreated,
		woken:       make(chan struct{}, 1),
		wanted:      map[string]struct{}{},
		watches:     map[string]*begunWatch{},
	}
}

// Watch keeps the caches up to date until the context ends. It lists one resource after
// another, which needs less memory than listing all at once.
func (e *Engine) Watch(ctx context.Context) {
	limitGarbage(percentWhenLarge) // the size of the lists is not known yet
	var group sync.WaitGroup
	group.Go(func() { e.pods.run(ctx) })
	for _, w := range e.watches {
		group.Go(func() { w.Run(ctx) })
		w.Settled(ctx)
	}
	releaseGarbage()
	group.Wait()
	e.events.Shutdown()
}

// Lead drives Deployments until the context ends, while no other controller does. It begins
// when the caches are complete and it has made sure that no other controller drives them. It
// may be called once. It returns nil.
func (e *Engine) Lead(ctx context.Context) error {
	e.leads.Store(true)
	for _, w := range e.watches {
		select {
		case <-w.Synced():
		case <-ctx.Done():
			return nil
		}
	}
	var group sync.WaitGroup
	group.Go(func() { e.queue.Run(ctx, e.work) })
	e.monitor.Run(ctx)
	group.Wait()
	e.monitor.Cleanup(ctx)
	return nil
}

// Ready reports whether all Deployments and ReplicaSets have been seen at least once, with a
// line for each watch and one for what the engine is doing. Standing by counts as ready, as
// driving does.
func (e *Engine) Ready() (bool, string) {
	ready := true
	var detail strings.Builder
	for _, w := range e.watches {
		status := w.Status()
		ready = ready && status.Synced
		fmt.Fprintf(&detail, "%s (deployment engine)\n", status)
	}
	if leftAlone := e.quarantine.Detail(); leftAlone != "" {
		fmt.Fprintf(&detail, "%s (deployment engine)\n", leftAlone)
	}
	for _, status := range e.pods.statuses() {
		fmt.Fprintf(&detail, "%s (deployment engine, for the strategy Recreate)\n", status)
	}
	fmt.Fprintln(&detail, e.monitor.Detail(e.leads.Load()))
	return ready, detail.String()
}
