package differential

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The Deployment that all is about.
const (
	namespace = "ns"
	name      = "web"
)

// controller is what the two sides have in common.
type controller interface {
	// observe shows it a change.
	observe(before, after object)
	// step lets it work if it wants to. It reports whether it did.
	step(ctx context.Context) bool
	// due is when it wants to work next, zero if nothing else happens before.
	due() time.Time
	// retry lets it try again what has failed.
	retry()
}

// world is one side of a history: an API server, a controller of Deployments, the others that are needed for pods
// to come and go, and users.
type world struct {
	title      string
	server     *server
	controller controller
	events     *recorder
	random     *rand.Rand // for the order in which things happen, not for what happens
	// now is the present instant. Pods know no other times.
	now     time.Time
	pods    map[string]*podState
	byOwner map[types.UID][]string // pods in the order in which they were made
	made    map[types.UID]int      // how many pods a ReplicaSet has made
	// isShuffled makes the controllers work in any order and see each other's work half done.
	isShuffled bool
	isMuddled  bool // just now
	// isOutOfPods makes new pods exceed a quota, isOutOfSets new ReplicaSets.
	isOutOfPods, isOutOfSets bool
	logf                     func(format string, arguments ...any)
	problem                  string
}

func newWorld(title string, seed uint64, number uint64) *world {
	w := &world{
		title: title, server: newServer(), events: &recorder{}, random: rand.New(rand.NewPCG(seed, number)),
		now: time.Now(), pods: map[string]*podState{}, byOwner: map[types.UID][]string{}, made: map[types.UID]int{},
	}
	w.server.changed = func(before, after object) {
		if w.controller != nil {
			w.controller.observe(before, after)
		}
	}
	w.server.refuse = w.refuse
	return w
}

func (w *world) chance(p float64) bool { return w.random.Float64() < p }

// refuse says no to new ReplicaSets when their quota is exceeded.
func (w *world) refuse(verb, resource string) error {
	if w.isOutOfSets && verb == "create" && resource == replicaSets {
		return apierrors.NewForbidden(appsv1.Resource(replicaSets), name, fmt.Errorf("exceeded quota"))
	}
	return nil
}

func (w *world) deployment() *appsv1.Deployment { return get[*appsv1.Deployment](w.server, name) }

func (w *world) replicaSets() []*appsv1.ReplicaSet { return list[*appsv1.ReplicaSet](w.server) }

// owned are the ReplicaSets of the Deployment.
func (w *world) owned() []*appsv1.ReplicaSet {
	d := w.deployment()
	return slices.DeleteFunc(w.replicaSets(), func(rs *appsv1.ReplicaSet) bool { return d == nil || !metav1.IsControlledBy(rs, d) })
}

// current is the ReplicaSet of the present template, nil if there is none.
func (w *world) current() *appsv1.ReplicaSet {
	var oldest *appsv1.ReplicaSet
	for _, rs := range w.owned() {
		// Those of one second are in the order of their names.
		if isSameTemplate(&rs.Spec.Template, &w.deployment().Spec.Template) && (oldest == nil || rs.CreationTimestamp.Before(&oldest.CreationTimestamp)) {
			oldest = rs
		}
	}
	return oldest
}

func imageOf(template *corev1.PodTemplateSpec) string { return template.Spec.Containers[0].Image }

// elapse lets the pods do what time has brought, before anybody looks.
func (w *world) elapse() {
	for happened := true; happened; {
		happened = w.runPods()
		for _, rs := range w.replicaSets() {
			w.controlReplicaSet(rs)
		}
	}
}

func (w *world) runPods() (happened bool) {
	for _, pod := range list[*corev1.Pod](w.server) {
		happened = w.runPod(pod) || happened
	}
	return happened
}

// rest lets everybody work until there is nothing left to do at this moment.
func (w *world) rest(ctx context.Context) {
	if w.isShuffled {
		w.isMuddled = true
		for range w.random.IntN(40) {
			w.happen(ctx)
		}
		w.isMuddled = false
	}
	for rounds := 0; w.round(ctx); rounds++ {
		if rounds > 500 {
			w.problem = "it does not settle"
			return
		}
	}
}

// happen lets one of them work.
func (w *world) happen(ctx context.Context) {
	sets, all := w.replicaSets(), list[*corev1.Pod](w.server)
	switch n := w.random.IntN(10); {
	case n < 4:
		w.controller.step(ctx)
	case n < 7 && len(sets) > 0:
		w.controlReplicaSet(sets[w.random.IntN(len(sets))])
	case len(all) > 0:
		w.runPod(all[w.random.IntN(len(all))])
	}
}

// round lets everybody work once. It reports whether anybody did.
func (w *world) round(ctx context.Context) (happened bool) {
	happened = w.controller.step(ctx)
	for _, rs := range w.replicaSets() {
		happened = w.controlReplicaSet(rs) || happened
	}
	return w.runPods() || happened
}
