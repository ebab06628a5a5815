package parity

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"kubernetes-deployment-restart-controller/test/harness"
)

// mirror follows all that scenes look at in one cluster, so that many scenes can
// look often without asking the API server.
type mirror struct {
	deployments, replicaSets, pods, events cache.Indexer

	mu      sync.Mutex
	changed map[string]time.Time   // the last change seen, by namespace
	gone    map[types.UID]struct{} // what was seen and has been deleted

	cancel  context.CancelFunc
	running sync.WaitGroup
}

// view is what there is in one namespace. Its objects must not be changed.
type view struct {
	deployments []*appsv1.Deployment
	replicaSets []*appsv1.ReplicaSet
	pods        []*corev1.Pod
	events      []*corev1.Event // of Deployments only
}

// startMirror returns when all has been listed. The mirror outlives ctx.
func startMirror(ctx context.Context, client kubernetes.Interface) (*mirror, error) {
	m := &mirror{changed: map[string]time.Time{}, gone: map[types.UID]struct{}{}}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m.cancel = cancel
	ofDeployments := fields.OneTermEqualSelector("involvedObject.kind", "Deployment")
	synced := []cache.InformerSynced{
		m.follow(running, &m.deployments, client.AppsV1().RESTClient(), "deployments", fields.Everything(), &appsv1.Deployment{}),
		m.follow(running, &m.replicaSets, client.AppsV1().RESTClient(), "replicasets", fields.Everything(), &appsv1.ReplicaSet{}),
		m.follow(running, &m.pods, client.CoreV1().RESTClient(), "pods", fields.Everything(), &corev1.Pod{}),
		m.follow(running, &m.events, client.CoreV1().RESTClient(), "events", ofDeployments, &corev1.Event{}),
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil, errors.Join(fmt.Errorf("list what is in the cluster: %w", context.Cause(ctx)), m.stop())
	}
	return m, nil
}

func (m *mirror) follow(ctx context.Context, into *cache.Indexer, client rest.Interface, resource string, which fields.Selector, kind runtime.Object) cache.InformerSynced {
	informer := cache.NewSharedIndexInformer(
		cache.NewListWatchFromClient(client, resource, metav1.NamespaceAll, which), kind, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    m.note,
		UpdateFunc: func(_, object any) { m.note(object) },
		DeleteFunc: m.noteEnd,
	})
	if err != nil {
		panic(err) // only a stopped informer takes no handler
	}
	*into = informer.GetIndexer()
	m.running.Go(func() { informer.RunWithContext(ctx) })
	return registration.HasSynced
}

func (m *mirror) note(object any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed[object.(metav1.Object).GetNamespace()] = time.Now()
}

func (m *mirror) noteEnd(object any) {
	if last, isUnknown := object.(cache.DeletedFinalStateUnknown); isUnknown {
		object = last.Obj
	}
	m.note(object)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone[object.(metav1.Object).GetUID()] = struct{}{}
}

func (m *mirror) hasGone(object metav1.Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, gone := m.gone[object.GetUID()]
	return gone
}

func (m *mirror) stop() error {
	m.cancel()
	m.running.Wait()
	return nil
}

// quietFor returns how long ago the last change in the namespace was seen.
func (m *mirror) quietFor(namespace string) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(m.changed[namespace])
}

func (m *mirror) view(namespace string) *view {
	return &view{
		deployments: listed[*appsv1.Deployment](m.deployments, namespace),
		replicaSets: listed[*appsv1.ReplicaSet](m.replicaSets, namespace),
		pods:        listed[*corev1.Pod](m.pods, namespace),
		events:      listed[*corev1.Event](m.events, namespace),
	}
}

func listed[T any](from cache.Indexer, namespace string) []T {
	objects, err := from.ByIndex(cache.NamespaceIndex, namespace)
	if err != nil {
		panic(err) // the index is there from the start
	}
	all := make([]T, len(objects))
	for i, object := range objects {
		all[i] = object.(T)
	}
	return all
}

// catchUp returns when the mirror shows all that was in the namespace when it was
// called.
func (s *side) catchUp(ctx context.Context, namespace string) error {
	deployments, err := s.client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list Deployments: %w", err)
	}
	replicaSets, err := s.client.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list ReplicaSets: %w", err)
	}
	pods, err := s.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	return harness.Eventually(ctx, waitLimit, func(context.Context) error {
		v := s.mirror.view(namespace)
		return errors.Join(
			reflects(s.mirror, v.deployments, pointers(deployments.Items), deployments.ResourceVersion),
			reflects(s.mirror, v.replicaSets, pointers(replicaSets.Items), replicaSets.ResourceVersion),
			reflects(s.mirror, v.pods, pointers(pods.Items), pods.ResourceVersion))
	})
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}

// reflects reports whether what was seen is at least as new as what was listed.
func reflects[T metav1.Object](m *mirror, seen, list []T, version string) error {
	pending := map[types.UID]T{}
	for _, object := range list {
		pending[object.GetUID()] = object
	}
	for _, object := range seen {
		wanted := version // if it is not in the list, it was made after it, or deleted before it
		if listed, isListed := pending[object.GetUID()]; isListed {
			wanted = listed.GetResourceVersion()
		}
		order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), wanted)
		if err != nil {
			return harness.Final(err)
		}
		if order < 0 {
			return fmt.Errorf("%s is not up to date", object.GetName())
		}
		delete(pending, object.GetUID())
	}
	for _, object := range pending {
		if !m.hasGone(object) {
			return fmt.Errorf("%s has not been seen", object.GetName())
		}
	}
	return nil
}
