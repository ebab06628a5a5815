package delivery

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/podsight"
)

// Evicted is a pod to evict.
type Evicted struct {
	Name    string
	UID     types.UID
	IsReady bool

	created time.Time
}

// Left is what is left to do for a restart by eviction. It takes in one pod of the workload after the other, and keeps
// only the one to evict next.
type Left struct {
	// Earlier is how many pods from before the restart are left, without those that terminate.
	Earlier int32

	workload    *workload.Workload
	live        int32
	terminating bool
	unready     bool // a pod that is younger than the restart
	next        Evicted
}

// LeftOf returns what is left to do for the restart of a workload without any pods.
func LeftOf(w *workload.Workload) *Left { return &Left{workload: w} }

// Add takes in a pod that the workload, or one of its revisions, controls. It does not keep the pod.
func (l *Left) Add(pod *corev1.Pod) {
	isReady := podsight.IsReady(pod)
	switch {
	case podsight.HasFinished(pod):
		return
	case pod.DeletionTimestamp != nil:
		l.terminating = true
		return
	}
	l.live++
	if !l.workload.Record.IsEarlierPod(pod.CreationTimestamp.Time) {
		l.unready = l.unready || !isReady
		return
	}
	l.Earlier++
	candidate := Evicted{Name: pod.Name, UID: pod.UID, IsReady: isReady, created: pod.CreationTimestamp.Time}
	if l.Earlier == 1 || compareEvicted(&candidate, &l.next) < 0 {
		candidate.Name, candidate.UID = strings.Clone(candidate.Name), types.UID(strings.Clone(string(candidate.UID)))
		l.next = candidate
	}
}

// compareEvicted returns in which order pods go: those that are not ready first, because nobody misses them, and
// then the oldest.
func compareEvicted(a, b *Evicted) int {
	switch {
	case !a.IsReady && b.IsReady:
		return -1
	case a.IsReady && !b.IsReady:
		return 1
	}
	return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.Name, b.Name))
}

// Step is the next step of a restart by eviction. It is over if no member is set.
type Step struct {
	// Evict is the pod to evict, nil if none may be evicted now.
	Evict *Evicted
	// RestartAt is what to ask the workload's own controller for, zero if there is nothing to ask for.
	RestartAt time.Time
	// Wait is what the next eviction waits for, for a person.
	Wait string
	// ByOwner means that nothing of the pods keeps the workload's own controller from replacing the next one.
	ByOwner bool
}

// Next returns the next step. It never lets the workload miss more than one pod because of the restart: the pod that
// replaces another must be ready, and so must all others, unless the next one to go is not.
func (l *Left) Next() Step {
	status := &l.workload.Rollout
	switch {
	case l.Earlier == 0:
		return Step{}
	case l.workload.Idle:
		return Step{Wait: "it wants no pods"}
	case l.workload.RestartsItself():
		return l.nextByOwner()
	case l.workload.IsFallenBack() && status.Observed && status.Outdated > 0:
		return Step{Wait: "it is on the way back to an earlier release"}
	case !status.Observed || status.Outdated > 0:
		return Step{Wait: "its pod template is being rolled out"}
	}
	switch wait := l.lastPod(); {
	case wait != "":
		return Step{Wait: wait}
	case l.next.IsReady && !status.IsWhole():
		return Step{Wait: "not all pods are available"}
	}
	return Step{Evict: &l.next}
}

// lastPod returns why the pod that was replaced last keeps the next one waiting, empty if it does not.
func (l *Left) lastPod() string {
	switch {
	case l.terminating:
		return "a pod is terminating"
	case l.live < l.workload.Rollout.Wanted:
		return "a pod has not been replaced"
	case l.unready:
		return "a new pod is not ready"
	}
	return ""
}

// nextByOwner returns the next step if the workload's own controller replaces the pods. How many it replaces at a time is
// up to it. While it rolls out a template, it would end the restart, or miss more pods than it should.
func (l *Left) nextByOwner() Step {
	status := &l.workload.Rollout
	due, isAsked := l.workload.DueRestartAt()
	switch {
	case !isAsked && !status.Observed:
		return Step{Wait: "Argo Rollouts has yet to see its present spec"}
	case !isAsked && status.Outdated > 0 && !status.Waits && !status.GaveUp:
		return Step{Wait: "its pod template is being rolled out"}
	case !isAsked:
		return Step{RestartAt: due}
	}
	switch wait := l.lastPod(); {
	case wait != "":
		return Step{Wait: wait}
	case status.Available < status.Wanted:
		return Step{Wait: "not all pods are available"}
	}
	return Step{Wait: "Argo Rollouts has yet to replace pods", ByOwner: true}
}

// Evicting returns the status of a workload that has this many pods from before its restart by eviction, which count
// as pods of an earlier template.
func Evicting(w *workload.Workload, earlier int32) workload.Rollout {
	status := byEviction(w)
	status.Updated, status.Outdated, status.Completed = status.Updated-earlier, max(status.Outdated, 0)+earlier, false
	return status
}

// byEviction returns the status of a workload whose pods are evicted, or replaced by its own controller, which replaces those of all
// templates, also between two steps of a canary.
func byEviction(w *workload.Workload) workload.Rollout {
	status := w.Rollout
	if w.RestartsItself() {
		return status.OfAnyTemplate()
	}
	status.Course = workload.RollsOut // a Deployment that has fallen back, of which it is the status of the earlier pods
	return status
}
