package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A restart by eviction writes only the record, and leaves the pod template alone. The pods that it has yet to
// replace are those that were created before the record was written, by the clock of the API server, which dates
// both. So which pods are left can be derived from the workload and its pods at any time, by any process.

// Method is how the pods of a workload are replaced to restart it.
type Method string

// The methods.
const (
	// ByTemplate sets a timestamp on the pod template, and the workload's own controller replaces the pods.
	ByTemplate Method = ""
	// ByEviction evicts one pod after the other, or lets the workload's own controller do so; see [OwnRestart].
	ByEviction Method = "evict"
	// NoMethod means that the owner asks for a method that does not exist. Nothing restarts then, since
	// the owner may not want the pod template to be written.
	NoMethod Method = "none"
)

// Method returns how the workload restarts.
func (w *Workload) Method() Method {
	if w.Policy == nil {
		return ByTemplate
	}
	return w.Policy.Method
}

// AwaitsRollout reports whether the workload's owner has yet to roll out its present pod template, so that an
// evicted pod would come back from that template. It is false for workloads that do not restart by eviction. A workload
// that restarts by its own controller waits only while that does nothing: it replaces each pod by one of the same template.
func (w *Workload) AwaitsRollout() bool {
	if w.RestartsItself() {
		return w.Rollout.OwnRestart == ReplacesNothing
	}
	return w.TemplateHold != NoHold && (!w.Rollout.Observed || w.Rollout.Outdated > 0)
}

// keepTemplate notes that the pod template is left alone. Whatever keeps a workload from rolling out another template
// does not keep it from replacing a pod.
func (w *Workload) keepTemplate() {
	if w.Method() == ByEviction {
		w.TemplateHold, w.Hold = w.Hold, NoHold
	}
}

// MethodHold returns why the restarts of a workload are held because of its method, empty if they are not.
// Only a controller with the flag --evict can evict, but any can leave it to the workload's own controller.
func (w *Workload) MethodHold(canEvict bool) string {
	switch {
	case w.Method() == NoMethod:
		return "the annotation " + MethodAnnotation + " cannot be read: " + w.Policy.Unread
	case w.RestartsItself() && w.AwaitsRollout():
		return "it is paused: Argo Rollouts replaces no pods before it is resumed"
	case w.RestartsItself():
		return ""
	case w.Method() == ByEviction && w.Ref.Kind.IsCustom():
		return "workloads of its kind do not restart by eviction"
	case w.Method() == ByEviction && !canEvict:
		return "it restarts by eviction, for which the controller needs the flag --evict"
	case !w.AwaitsRollout():
		return ""
	case w.TemplateHold == Paused:
		return "it is paused, and its pod template has changed: evicted pods would come back from an earlier template"
	}
	return "its pod template has changed and is not rolled out everywhere, and an eviction would roll it out"
}

// evictNow in a basis says that a restart by eviction began with this write. Every later write names the time
// of that one, in the form of evictLayout.
const (
	evictNow    = "now"
	evictLayout = time.RFC3339
)

// evictMember returns the member of the basis for a write that is no restart.
func (w *Workload) evictMember() string {
	if at, evicts := w.EvictedAt(); evicts {
		return at.Format(evictLayout)
	}
	return ""
}

// EvictAfter returns [Basis.Evict] for a write with the given outcome.
func (w *Workload) EvictAfter(outcome Outcome) string {
	switch {
	case w.Method() == ByEviction && outcome == Restart:
		return evictNow
	case w.Method() != ByTemplate:
		return w.evictMember()
	}
	return ""
}

// readEvict returns when a restart by eviction began, if a trusted record says that it did; otherwise 0.
func readEvict(meta *metav1.ObjectMeta, owned *ownership, record *AppliedState) uint32 {
	encoded := meta.Annotations[BasisAnnotation]
	if !record.Trusted || !strings.Contains(encoded, `"evict":`) {
		return 0
	}
	var b basis
	if json.Unmarshal([]byte(encoded), &b) != nil {
		return 0
	}
	if b.Evict == evictNow {
		return unixSeconds(owned.wroteAt(BasisAnnotation))
	}
	at, err := time.Parse(evictLayout, b.Evict)
	if err != nil {
		return 0
	}
	return unixSeconds(at)
}

// EvictedAt returns when a restart by eviction began from before which there may be pods, and false if there is none.
func (w *Workload) EvictedAt() (time.Time, bool) {
	return time.Unix(int64(w.Evict), 0).UTC(), w.Evict > 0
}

// IsEarlierPod reports whether a pod that was created at the given time is from before the restart by eviction.
// Several API servers may date the record and the pod, in whole seconds. If in doubt, the pod is earlier. So the
// evictions must begin only when new pods are no longer in doubt; see [EvictionDelay].
func (w *Workload) IsEarlierPod(created time.Time) bool {
	at, evicts := w.EvictedAt()
	return evicts && created.Sub(at) <= clockTolerance
}

func (w *Workload) isEarlier(pod Pod) bool { return w.IsEarlierPod(pod.Created) }

// EvictionDelay is how long after the record nothing may be evicted: until the clock that dates the records is
// so far ahead that [Workload.IsEarlierPod] reports false for a new pod, even if the clock that dates the pod is
// behind by as much as clocks may differ, and shows whole seconds.
const EvictionDelay = 2*clockTolerance + time.Second

// changedMethod reports whether a restart by eviction was not over, as far as is known, when the workload came to
// restart by its pod template again.
func (w *Workload) changedMethod() bool {
	return w.Evict > 0 && w.Method() == ByTemplate
}

// withoutEvicted returns the pods without those that a restart by eviction replaces anyway.
func (w *Workload) withoutEvicted(pods []Pod) []Pod {
	if w.Evict == 0 || w.Method() != ByEviction {
		return pods
	}
	return slices.DeleteFunc(slices.Clone(pods), w.isEarlier)
}

const reasonInterrupted = "a restart by eviction was not over when the method changed"

// interruptedCauses returns what that restart was for. No watch of this process need have shown it.
func (w *Workload) interruptedCauses() []Cause {
	causes := w.Applied.LastCauses()
	for i := range causes {
		causes[i].Moments, causes[i].Unnamed = []Sequence{0}, len(causes[i].Keys) == 0
	}
	return causes
}

// ObserveReplaced takes in that no pod is left from before the restart by eviction of the given workload, as a
// read of its pods has shown.
func (c *Catalog) ObserveReplaced(w *Workload) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.workload(w.Ref)
	if known == nil || known.UID != w.UID || known.Evict != w.Evict {
		return
	}
	replaced := *known
	replaced.Evict = 0
	c.keepWorkload(&replaced)
}

// keepEvict keeps since when pods are evicted if another client removed the record. Otherwise an operator that does so at
// once would keep the restart from being carried out, and each new record would begin it anew. What it was for is not
// kept, so any config may hold it.
func (w *Workload) keepEvict(previous *Workload) {
	if w.RecordUndone && w.Method() != ByTemplate && previous.Method() != ByTemplate {
		w.Evict = previous.Evict
	}
}

// keepReplaced keeps that no pod was left for the record that the previous state had, too.
func (w *Workload) keepReplaced(previous *Workload) {
	if previous.Applied.Trusted && previous.Evict == 0 && previous.Applied.isSame(&w.Applied) {
		w.Evict = 0
	}
}

// method reads how the workload restarts, and returns what it cannot read, quoted.
func (r *policyReader) method() (method Method, unread string) {
	switch text, found := r.annotations[MethodAnnotation]; {
	case !found:
		return ByTemplate, ""
	case text == string(ByEviction):
		return ByEviction, ""
	default:
		unread = fmt.Sprintf("%.40q", text)
		r.reject(MethodAnnotation, "%s is not %q, so nothing restarts", unread, ByEviction)
		return NoMethod, unread
	}
}
