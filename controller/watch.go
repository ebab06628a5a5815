package controller

import (
	"context"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"kubernetes-deployment-restart-controller/catalog"
)

// pageSize is how many objects are read at once from a server that has no
// streaming lists.
const pageSize = 250

// reconnectBackoff spaces the attempts to reach an API server that is away: soon
// enough that a short outage does not delay restarts for long.
var reconnectBackoff = wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 6, Cap: 5 * time.Second}

// resource is a kind of object to watch: of configs or of workloads.
type resource struct {
	name          string // plural, as in the API's paths
	config        catalog.ConfigKind
	workload      catalog.WorkloadKind
	fieldSelector string
}

// observer takes in what a watch shows. Its methods are called one at a time by
// each watch, and must not block.
type observer interface {
	observe(*observation)
	forget(*observation)
	// list takes in all objects of a watch's resource and namespace. The first
	// list shows what was there before the watch began.
	list(w *watch, all []*observation, first bool)
}

// watch follows the objects of one resource in one namespace, or in all of them,
// and tells an observer what is left of each after its reduction. Objects come
// as a stream where the server can stream lists, else page by page, so that never
// more than a few whole ones are in memory.
type watch struct {
	resource
	namespace string // empty: all
	client    rest.Interface
	observer  observer
	log       *slog.Logger
	versions  versionCounter

	mu          sync.Mutex
	synced      bool
	first       chan struct{} // closed after the first list
	tried       chan struct{} // closed after the first list or failure
	brokenSince time.Time     // zero while the watch works
	problem     error
}

// versionCounter counts the distinct resource versions of one watch.
type versionCounter struct {
	newest string
	inc    func()
}

func (c *versionCounter) count(version string) {
	if order, err := resourceversion.CompareResourceVersion(version, c.newest); err == nil && order <= 0 {
		return
	}
	c.inc()
}

func (c *versionCounter) advance(version string) {
	if order, err := resourceversion.CompareResourceVersion(version, c.newest); err != nil || order > 0 {
		c.newest = version
	}
}

// run follows the resource until the context ends. The watch tells itself when it
// breaks and works again; what the reflector would log about it goes nowhere.
func (w *watch) run(ctx context.Context) {
	silent := klog.Logger{} // the zero logger discards
	lister := &cache.ListWatch{ListWithContextFunc: w.list, WatchFuncWithContext: w.open}
	backoff := reconnectBackoff
	reflector := cache.NewReflectorWithOptions(lister, nil, (*reducingStore)(w), cache.ReflectorOptions{
		Name:            w.name,
		TypeDescription: w.name,
		Backoff:         &backoff,
		Logger:          &silent,
	})
	reflector.RunWithContext(klog.NewContext(ctx, silent))
}

// list reads all objects page by page and keeps only their reductions. The
// reflector's own paging would pile up the pages.
func (w *watch) list(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	all := &observations{}
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := w.request(&options).Do(ctx).Get()
		if err == nil {
			err = all.add(page)
		}
		if err != nil {
			w.broken(ctx, err)
			return nil, err
		}
		if options.Continue = all.Continue; options.Continue == "" {
			w.working()
			return all, nil
		}
	}
}

// add adds the reductions of a page.
func (o *observations) add(page runtime.Object) error {
	list, err := meta.ListAccessor(page)
	if err != nil {
		return err
	}
	o.ResourceVersion, o.Continue = list.GetResourceVersion(), list.GetContinue()
	return meta.EachListItem(page, func(object runtime.Object) error {
		o.Items = append(o.Items, reduce(object))
		return nil
	})
}

// open opens a stream of events.
func (w *watch) open(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
	options.Watch = true
	stream, err := w.request(&options).Watch(ctx)
	if err != nil {
		// A server without streaming lists rejects the request for one. The reflector
		// then lists by pages, and only if that fails something is broken.
		if options.SendInitialEvents == nil || !apierrors.IsInvalid(err) {
			w.broken(ctx, err)
		}
		return nil, err
	}
	w.working()
	return stream, nil
}

func (w *watch) request(options *metav1.ListOptions) *rest.Request {
	options.FieldSelector = w.fieldSelector
	return w.client.Get().
		NamespaceIfScoped(w.namespace, w.namespace != "").
		Resource(w.name).
		VersionedParams(options, scheme.ParameterCodec)
}

// reducingStore is what the reflector stores into. It reduces each object and
// passes it on. Its methods never return an error, because the reflector would
// log it with the object, which may be a Secret.
type reducingStore watch

// Transformer makes the reflector reduce what a streaming list brings as it
// arrives, instead of collecting whole objects.
func (s *reducingStore) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return reduce(object), nil }
}

// Add takes in a new object.
func (s *reducingStore) Add(object any) error { return s.Update(object) }

// Update takes in an object that changed.
func (s *reducingStore) Update(object any) error {
	if o := reduce(object); s.count(o) {
		s.versions.advance(o.resourceVersion)
		s.observer.observe(o)
	}
	return nil
}

// Delete takes in that an object is gone.
func (s *reducingStore) Delete(object any) error {
	if o := reduce(object); s.count(o) {
		s.versions.advance(o.resourceVersion)
		s.observer.forget(o)
	}
	return nil
}

// Replace takes in all objects, which have been reduced.
func (s *reducingStore) Replace(list []any, resourceVersion string) error {
	all := make([]*observation, 0, len(list))
	for _, item := range list {
		if o, isReduced := item.(*observation); isReduced && s.count(o) {
			all = append(all, o)
		}
	}
	s.versions.advance(resourceVersion)
	s.observer.list((*watch)(s), all, !s.isSynced())
	(*watch)(s).listed()
	return nil
}

// Resync does nothing: what the catalog holds does not need to be told again.
func (s *reducingStore) Resync() error { return nil }

func (s *reducingStore) isSynced() bool { return (*watch)(s).status().synced }

// count counts the version of an observation, and returns false for an object
// that could not be read. The API server validates what can be wrong with one,
// and without it the others still work.
func (s *reducingStore) count(o *observation) bool {
	if o.err != nil {
		s.log.Error("ignoring an object that cannot be read", "resource", s.name, "error", o.err)
		return false
	}
	s.versions.count(o.resourceVersion)
	return true
}
