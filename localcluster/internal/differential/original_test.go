package differential

import (
	"context"
	"fmt"
	"reflect"
	"time"
	"unsafe"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	appsclient "k8s.io/client-go/kubernetes/typed/apps/v1"
	fakeapps "k8s.io/client-go/kubernetes/typed/apps/v1/fake"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/deployment"
)

// original is Kubernetes' own controller: its own sync, event handlers and constructor. Its queue, recorder and
// informers are played, so that it runs in the goroutine of the test. Unexported fields of it are read and set by
// reflection.
type original struct {
	queue *queue
	sync  func(ctx context.Context, key string) error
	// informers by resource.
	informers map[string]*informer
}

func newOriginal(s *server, events record.EventRecorder) *original {
	o := &original{queue: newQueue(), informers: map[string]*informer{}}
	for _, resource := range []string{deployments, replicaSets, pods} {
		o.informers[resource] = &informer{indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
	}
	dc := must(deployment.NewDeploymentController(silent(context.Background()),
		deploymentInformer{o.informers[deployments]}, replicaSetInformer{o.informers[replicaSets]}, podInformer{o.informers[pods]}, client{apps: &fakeapps.FakeAppsV1{Fake: &s.Fake}}))
	o.sync = *field[func(context.Context, string) error](dc, "syncHandler")

	played := field[workqueue.TypedRateLimitingInterface[string]](dc, "queue")
	(*played).ShutDown()
	*played = o.queue
	(*field[record.EventBroadcaster](dc, "eventBroadcaster")).Shutdown()
	*field[record.EventRecorder](dc, "eventRecorder") = events
	return o
}

// field points to an unexported field of the original.
func field[T any](dc *deployment.DeploymentController, name string) *T {
	value := reflect.ValueOf(dc).Elem().FieldByName(name)
	if !value.IsValid() || value.Type() != reflect.TypeFor[T]() {
		panic(fmt.Sprintf("the original has no field %s of type %s", name, reflect.TypeFor[T]()))
	}
	return (*T)(unsafe.Pointer(value.UnsafeAddr()))
}

// silent leaves out the original's log.
func silent(ctx context.Context) context.Context { return klog.NewContext(ctx, logr.Discard()) }

// observe shows a change to the original.
func (o *original) observe(before, after object) {
	if after == nil {
		o.informers[resourceOf(before)].forget(before)
		return
	}
	o.informers[resourceOf(after)].show(before, after)
}

// step lets the original work on the Deployment if that is queued. It reports whether it was.
func (o *original) step(ctx context.Context) bool {
	key, found := o.queue.next()
	if !found {
		return false
	}
	if err := o.sync(silent(ctx), key); err != nil {
		o.queue.AddRateLimited(key)
	} else {
		o.queue.Forget(key)
	}
	return true
}

func (o *original) due() time.Time { return o.queue.nextDue() }

func (o *original) retry() { o.queue.retry() }

// client gives the original the API that it uses.
type client struct {
	kubernetes.Interface
	apps appsclient.AppsV1Interface
}

func (c client) AppsV1() appsclient.AppsV1Interface { return c.apps }

// informer hands changes to the original at once.
type informer struct {
	cache.SharedIndexInformer
	indexer cache.Indexer
	handler cache.ResourceEventHandler
}

type (
	deploymentInformer struct{ *informer }
	replicaSetInformer struct{ *informer }
	podInformer        struct{ *informer }
)

func (i deploymentInformer) Informer() cache.SharedIndexInformer { return i.informer }
func (i deploymentInformer) Lister() appslisters.DeploymentLister {
	return appslisters.NewDeploymentLister(i.indexer)
}
func (i replicaSetInformer) Informer() cache.SharedIndexInformer { return i.informer }
func (i replicaSetInformer) Lister() appslisters.ReplicaSetLister {
	return appslisters.NewReplicaSetLister(i.indexer)
}
func (i podInformer) Informer() cache.SharedIndexInformer { return i.informer }
func (i podInformer) Lister() corelisters.PodLister       { return corelisters.NewPodLister(i.indexer) }

// AddEventHandler implements cache.SharedInformer.
func (i *informer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handler = handler
	return nil, nil
}

// HasSynced implements cache.SharedInformer.
func (*informer) HasSynced() bool { return true }

// GetIndexer implements cache.SharedIndexInformer.
func (i *informer) GetIndexer() cache.Indexer { return i.indexer }

// AddIndexers implements cache.SharedIndexInformer.
func (i *informer) AddIndexers(indexers cache.Indexers) error { return i.indexer.AddIndexers(indexers) }

func (i *informer) show(before, after object) {
	if err := i.indexer.Update(after); err != nil {
		panic(err)
	}
	if before == nil {
		i.handler.OnAdd(after, false)
	} else {
		i.handler.OnUpdate(before, after)
	}
}

func (i *informer) forget(gone object) {
	if err := i.indexer.Delete(gone); err != nil {
		panic(err)
	}
	i.handler.OnDelete(gone)
}

// recorder keeps events in words.
type recorder struct {
	compared []string // what is compared
	all      []string // compared, with what was mended
}

func (r *recorder) add(event string) {
	r.compared, r.all = append(r.compared, event), append(r.all, event)
}

// forget begins an instant.
func (r *recorder) forget() { r.compared, r.all = nil, nil }

// Event implements record.EventRecorder.
func (r *recorder) Event(_ runtime.Object, kind, reason, message string) {
	r.add(kind + " " + reason + ": " + message)
}

// Eventf implements record.EventRecorder.
func (r *recorder) Eventf(_ runtime.Object, kind, reason, format string, arguments ...any) {
	r.add(kind + " " + reason + ": " + fmt.Sprintf(format, arguments...))
}

// AnnotatedEventf implements record.EventRecorder.
func (r *recorder) AnnotatedEventf(o runtime.Object, _ map[string]string, kind, reason, format string, arguments ...any) {
	r.Eventf(o, kind, reason, format, arguments...)
}
