package deployment

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/digest"
	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/podsight"
)

// pod is what the engine needs to know about a pod: whether the Recreate strategy has to wait
// for it.
type pod struct {
	rollout.Meta
	// controller is the ReplicaSet that controls it, empty if no ReplicaSet does.
	controller types.UID
	// runs means that the pod exists and has not finished. A terminating pod still runs.
	runs bool
}

func newPod(object *corev1.Pod) *pod {
	p := &pod{
		Meta: rollout.MetaOf(&object.ObjectMeta),
		runs: !podsight.HasFinished(object),
	}
	if controller := metav1.GetControllerOfNoCopy(object); controller != nil && controller.Kind == replicaSetKind.Kind {
		p.controller = controller.UID
	}
	return p
}

// podTable holds the running pods of ReplicaSets, where they are known. It may be used
// concurrently.
type podTable struct {
	// want is called when the pods of a namespace are needed but not known. ended is called
	// when a pod has ended for which a Deployment may wait.
	want  func(namespace string)
	ended func(waiter types.NamespacedName)

	mu sync.Mutex
	// scopes holds what each watch has shown, by its namespace, which is empty for the watch
	// of all namespaces. A watch has a scope once it has listed all pods.
	scopes map[string]*podScope
}

// podScope is what one watch has shown. It may be used while the table is locked.
type podScope struct {
	pods        map[digest.Digest]*podGroup // the running pods
	controllers map[digest.Digest]*podGroup
}

// podGroup represents the running pods of one ReplicaSet that has at least one.
type podGroup struct {
	controller digest.Digest
	count      int
	// waiter is the Deployment that last asked for them, zero if no Deployment has.
	waiter types.NamespacedName
}

func newPodScope() *podScope {
	return &podScope{pods: map[digest.Digest]*podGroup{}, controllers: map[digest.Digest]*podGroup{}}
}

func newPodTable(want func(namespace string), ended func(types.NamespacedName)) *podTable {
	return &podTable{want: want, ended: ended, scopes: map[string]*podScope{}}
}

// count returns how many pods of each ReplicaSet of a Deployment run, or nil if that is not
// known. From now on, ended is called whenever one of these pods ends.
func (t *podTable) count(d *rollout.Deployment, sets []*rollout.ReplicaSet) map[types.UID]int {
	t.mu.Lock()
	scope := t.scopes[""]
	if scope == nil {
		scope = t.scopes[d.Namespace]
	}
	if scope == nil {
		t.mu.Unlock()
		t.want(d.Namespace)
		return nil
	}
	defer t.mu.Unlock()
	counts := make(map[types.UID]int, len(sets))
	for _, rs := range sets {
		if group := scope.controllers[controlledBy(rs.Namespace, rs.UID)]; group != nil {
			counts[rs.UID] = group.count
			group.waiter = d.Key()
		}
	}
	return counts
}

// forget drops what a watch has shown.
func (t *podTable) forget(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.scopes, namespace)
}

func (s *podScope) add(p *pod) {
	if !p.runs || p.controller == "" {
		return
	}
	controller := controlledBy(p.Namespace, p.controller)
	group := s.controllers[controller]
	if group == nil {
		group = &podGroup{controller: controller}
		s.controllers[controller] = group
	}
	group.count++
	s.pods[digest.Of(string(p.UID))] = group
}

// podFeed passes what a watch of a namespace, or of all namespaces if that is empty, shows
// into a table. It implements watch.Observer.
type podFeed struct {
	table     *podTable
	namespace string
}

// Observe implements watch.Observer.
func (f podFeed) Observe(p *pod) { f.show(p) }

// Forget implements watch.Observer.
func (f podFeed) Forget(p *pod) {
	gone := *p
	gone.runs = false
	f.show(&gone)
}

func (f podFeed) show(p *pod) {
	f.table.mu.Lock()
	waiter := f.table.scopes[f.namespace].change(p)
	f.table.mu.Unlock()
	if waiter != (types.NamespacedName{}) {
		f.table.ended(waiter)
	}
}

// change takes in the present state of a pod. It returns the Deployment that may have waited
// for its end, if any.
func (s *podScope) change(p *pod) (waiter types.NamespacedName) {
	uid := digest.Of(string(p.UID))
	group := s.pods[uid]
	if group != nil && p.runs && group.controller == controlledBy(p.Namespace, p.controller) {
		return waiter
	}
	if group != nil { // it has ended, or belongs to another ReplicaSet now
		waiter = group.waiter
		s.remove(uid, group)
	}
	s.add(p)
	return waiter
}

func (s *podScope) remove(uid digest.Digest, from *podGroup) {
	delete(s.pods, uid)
	if from.count--; from.count == 0 {
		delete(s.controllers, from.controller)
	}
}

// Replace implements watch.Observer.
func (f podFeed) Replace(all []*pod, _ string) {
	scope := newPodScope()
	for _, p := range all {
		scope.add(p)
	}
	f.table.mu.Lock()
	before := f.table.scopes[f.namespace]
	f.table.scopes[f.namespace] = scope
	var waiters []types.NamespacedName
	if before != nil {
		waiters = before.waitersFor(scope)
	}
	f.table.mu.Unlock()
	for _, waiter := range waiters {
		f.table.ended(waiter)
	}
}

// waitersFor returns the Deployments that may have waited for pods that a later list does not
// have, and passes their waiting on to the later scope.
func (s *podScope) waitersFor(later *podScope) (waiters []types.NamespacedName) {
	for controller, group := range s.controllers {
		if group.waiter == (types.NamespacedName{}) {
			continue
		}
		waiters = append(waiters, group.waiter)
		if present := later.controllers[controller]; present != nil {
			present.waiter = group.waiter
		}
	}
	return waiters
}
