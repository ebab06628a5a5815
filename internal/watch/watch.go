package watch

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// reconnectBackoff spaces the attempts to reach an unavailable API server. The attempts are
// frequent enough that a short outage causes no long delay.
var reconnectBackoff = wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 6, Cap: 5 * time.Second}

// Observer takes in what a watch shows. Each watch calls its methods one at a time, in the
// order of events, and they must not block. The methods do not know which watch calls them;
// an observer that needs to know must serve only one watch.
type Observer[T any] interface {
	// Observe takes in an object that was added or modified.
	Observe(object T)
	// Forget takes in a deleted object in its last state.
	Forget(object T)
	// Replace takes in all objects, in no order, as they were at a resource version; an
	// object that is not among them is gone. The first call shows what was there before the
	// watch began; each later call shows what is there after the watch was broken. The
	// observer may keep the slice.
	Replace(all []T, resourceVersion string)
}

// Options configure what a watch follows and where it reports.
type Options[T any] struct {
	// Resource is the plural name in the API's paths, and Kind the kind of its objects.
	Resource string
	Kind     schema.GroupVersionKind
	// Title names the resource in messages and in the status; empty means that Resource does.
	Title string
	// NewPage returns an empty list; nil means that of the kind that the program's scheme has.
	NewPage func() apiclient.Page
	// MayBeMissing means that the resource may not exist yet. Then the watch waits for it. If the resource goes away
	// later, the watch is broken.
	MayBeMissing bool
	// Namespace is the namespace to watch; empty means all.
	Namespace string
	// Only, if not empty, is the name of the only object to watch, of a resource whose objects are in no
	// namespace. FieldSelector is empty then.
	Only string
	// FieldSelector, if not empty, leaves out the objects that it does not match. An object
	// that no longer matches counts as deleted.
	FieldSelector string
	// Client is a client of the resource's API group and version. The watch does not space
	// its requests except after failures.
	Client rest.Interface
	// Reduce returns what to keep of an object, which is a pointer to its API type. It must
	// not keep the object itself, which can be part of a whole page. If it returns an
	// error, the watch skips the object and logs the error, which must not quote the
	// object's content. A skipped object is missing from the list that the observer
	// receives, and so is its deletion.
	Reduce func(object any) (T, error)
	// Name names the result of Reduce.
	Name func(T) quarantine.Object
	// Observer receives the objects.
	Observer Observer[T]
	// Listing is called before each list is asked for, unless it is nil.
	Listing func()
	// Quarantine has the objects whose reduction or observation panics, until they change.
	// They are skipped too; if the observer panicked, it may have taken in the object partly.
	Quarantine *quarantine.Set
	// Log receives messages when the watch breaks and works again, and about skipped
	// objects.
	Log *slog.Logger
}

// Watch follows the objects of one resource in one namespace, or in all of them.
// Its methods may be called by several goroutines at once.
type Watch[T any] struct {
	options Options[T]
	synced  chan struct{} // closed after the first list
	tried   chan struct{} // closed after the first list or failure

	mu     sync.Mutex
	status Status
	// awaitsList means that a stream was opened for a list that is not complete yet.
	awaitsList bool
	// placeLost means that the events since the last one that was shown may not follow on it; see
	// [Watch.hasLostItsPlace].
	placeLost bool
}

// New returns a watch that does nothing until [Watch.Run] is called.
func New[T any](options Options[T]) *Watch[T] {
	if options.Only != "" {
		options.FieldSelector = "metadata.name=" + options.Only
	}
	options.Title = cmp.Or(options.Title, options.Resource)
	return &Watch[T]{
		options: options,
		synced:  make(chan struct{}),
		tried:   make(chan struct{}),
		status:  Status{Resource: options.Title, Namespace: cmp.Or(options.Namespace, options.Only)},
	}
}

// Run follows the resource until the context ends. It may be called once. The watch itself
// logs when it breaks and works again; the reflector's own log messages are discarded.
func (w *Watch[T]) Run(ctx context.Context) {
	silent := klog.Logger{} // the zero logger discards
	lister := &cache.ListWatch{ListWithContextFunc: w.list, WatchFuncWithContext: w.open}
	backoff := reconnectBackoff
	reflector := cache.NewReflectorWithOptions(lister, nil, reducingStore[T]{w}, cache.ReflectorOptions{
		Name:            w.options.Resource,
		TypeDescription: w.options.Resource,
		Backoff:         &backoff,
		Logger:          &silent,
	})
	reflector.RunWithContext(klog.NewContext(ctx, silent))
}

// list reads all objects page by page and keeps only their reductions. The reflector's own
// paging would collect all pages, whose size in bytes is unlimited.
func (w *Watch[T]) list(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	w.hasGap()
	var all *reductions[T]
	var failure error // of taking in a page
	list := apiclient.List{
		Client: w.options.Client, Resource: w.options.Resource,
		Namespace: w.options.Namespace, FieldSelector: w.options.FieldSelector,
	}
	err := apiclient.EachPage(ctx, list, w.newPage,
		func() { w.listing(); all = &reductions[T]{} },
		func(page apiclient.Page) { failure = errors.Join(failure, all.add(page, w.reduce)) })
	if err := errors.Join(err, failure); err != nil {
		w.broken(ctx, err)
		return nil, err
	}
	return all, nil // the watch only works again when the server also lets it follow the list
}

// newPage returns an empty list of the watch's kind.
func (w *Watch[T]) newPage() apiclient.Page {
	if w.options.NewPage != nil {
		return w.options.NewPage()
	}
	kind := w.options.Kind
	kind.Kind += "List"
	list, err := apiclient.Scheme.New(kind)
	if err != nil {
		panic(err) // a kind that the program does not know
	}
	return list.(apiclient.Page)
}

// errPlaceLost is what an API server answers if it has no events from that place any more.
var errPlaceLost = apierrors.NewResourceExpired("the watch may have missed something")

var errCut = errors.New("the last list ended before it was complete")

// open opens a stream of events. If it fails to open a stream that begins with a list, the
// reflector lists by pages. That way, it can read a list that takes longer than, for
// example, a load balancer allows for a stream.
func (w *Watch[T]) open(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
	options.Watch = true
	isList := options.SendInitialEvents != nil
	switch {
	case isList && w.wasCut():
		return nil, errCut
	case isList:
		options.ResourceVersion = "" // the present one, even if the server has had later ones
		w.listing()
	case w.hasLostItsPlace():
		return nil, errPlaceLost // the reflector lists
	}
	stream, err := openAttentively(ctx, w.request(&options).Watch, w.fellSilent)
	if err != nil {
		// A server without streaming lists rejects the request for one. Something is broken
		// only if listing by pages fails too.
		if !isList || !apierrors.IsInvalid(err) {
			w.broken(ctx, err)
		}
		return nil, err
	}
	if isList {
		w.awaitList()
	}
	w.working()
	return stream, nil
}

func (w *Watch[T]) listing() {
	if w.options.Listing != nil {
		w.options.Listing()
	}
}

func (w *Watch[T]) request(options *metav1.ListOptions) *rest.Request {
	options.FieldSelector = w.options.FieldSelector
	return w.options.Client.Get().
		NamespaceIfScoped(w.options.Namespace, w.options.Namespace != "").
		Resource(w.options.Resource).
		SpecificallyVersionedParams(options, metav1.ParameterCodec, metav1.SchemeGroupVersion)
}
