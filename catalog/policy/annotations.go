package policy

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/internal/brief"
)

// FanOut is how a change of a config reaches the workloads that read it. The zero value leaves
// that to the controller's default.
type FanOut string

// The ways.
const (
	// Gradual restarts one workload first, and more as restarts are delivered.
	Gradual FanOut = "gradual"
	// AllAtOnce restarts all workloads as soon as the restarts are due.
	AllAtOnce FanOut = "all-at-once"
)

// WorkloadPolicy is what the annotations of a workload ask of its restarts. A value that cannot be
// used counts as absent.
type WorkloadPolicy struct {
	// Wave orders the restarts within a namespace, lower waves first.
	Wave int16
	// Window is when restarts may begin, as it was written; empty means at any time.
	Window string
	// Hold is why no restart may begin; empty means that the workload is not held.
	Hold string
	// HoldSet is when that was set.
	HoldSet HoldTime
	// Method is how it restarts, and Unread what stands there instead if it is [NoMethod], quoted.
	Method Method
	Unread string
	// Problem describes which values cannot be used, and why; empty if there are none.
	Problem string
	// Left describes what another tool has left behind on the workload, and what to do about it; empty if there is
	// nothing. IsLeftHarmful means that pods do not start or stay because of it.
	Left          string
	IsLeftHarmful bool
}

// ConfigPolicy is what the annotations of a config ask of the restarts for it. A value that cannot
// be used counts as absent.
type ConfigPolicy struct {
	FanOut FanOut
	// Window and Hold are as in [WorkloadPolicy], for the restarts that would bring the config's
	// new content.
	Window, Hold string
	HoldSet      HoldTime
	// Ignored means that changes of the config restart nobody.
	Ignored bool
	// Readers are patterns of the namespaces with which the config is shared, separated by commas; see
	// [annotation.ReadersAnnotation]. Shared is how they have changed, nil if they have not; a [catalog.Catalog] sets it.
	Readers string
	Shared  *Sharing
	// CountsAfter is the moment after which its edits count again, if the watch showed that it was
	// ignored before; otherwise 0. A [catalog.Catalog] sets it.
	CountsAfter names.Sequence
	// Marked means that the config counts for workloads that only let those count; see [template.Filter.Marked].
	// MarkedAfter is like CountsAfter for such workloads.
	Marked      bool
	MarkedAfter names.Sequence
	// Urgent is the id of the content that must not wait; see [catalog.Catalog.ContentID].
	Urgent string
	// Resume is the id of the halt to end, and ResumeSet when it was set, zero if the managed fields do not say.
	Resume    string
	ResumeSet time.Time
	// Problem is as in [WorkloadPolicy].
	Problem string
}

// WindowProblem describes why a window cannot be read, and what that means.
func WindowProblem(err error) string {
	return "annotation " + annotation.WindowAnnotation + ": " + err.Error() + ". Restarts wait until it is corrected or removed"
}

const (
	maxWave = 1000
	// These limits are in bytes, because what anyone writes on very many objects stays in memory.
	maxWindow = 256
	maxHold   = 200
	maxID     = 64
)

// noHolds are values of [annotation.HoldAnnotation] by which people may mean that nothing is held. Any value holds: a reason that was
// misread would let restarts begin.
var noHolds = append([]string{"", "0", "none", "null"}, annotation.OptOuts...)

// ReasonOf returns why restarts are held, in the length that Events, logs and memory may have, by what somebody wrote. It is
// never empty.
func ReasonOf(written string) string {
	if written = strings.TrimSpace(written); written == "" {
		return "no reason given"
	}
	return brief.Within(maxHold, written)
}

// ReadWorkloadPolicy returns the policy of a workload, nil if its annotations ask for nothing, and its
// filter. The policy names the problems of both.
func ReadWorkloadPolicy(meta *metav1.ObjectMeta, from Understood) (*WorkloadPolicy, template.Filter) {
	r := annotation.PolicyReader{Annotations: meta.Annotations}
	if from.Problem != "" {
		r.Problems = append(r.Problems, from.Problem)
	}
	policy, filter := WorkloadPolicy{Wave: wave(&r), Window: window(&r), Hold: readHold(&r)}, template.ReadFilter(&r)
	policy.Method, policy.Unread = method(&r)
	policy.HoldSet = holdTimeOf(meta, policy.Hold)
	policy.Problem, policy.Left, policy.IsLeftHarmful = r.Problem(), from.Left, from.IsLeftHarmful
	filter.Marked = from.Marked
	return names.UnlessZero(policy), filter
}

// Rejecting returns the policy, which may be nil, with a further problem of an annotation, unless that is empty.
func (p *WorkloadPolicy) Rejecting(name, problem string) *WorkloadPolicy {
	if problem == "" {
		return p
	}
	var policy WorkloadPolicy
	if p != nil {
		policy = *p
	}
	var r annotation.PolicyReader
	if policy.Problem != "" {
		r.Problems = append(r.Problems, policy.Problem)
	}
	r.Reject(name, "%s", problem)
	policy.Problem = r.Problem()
	return &policy
}

// ReadConfigPolicy returns the policy of a config, nil if its annotations ask for nothing.
func ReadConfigPolicy(meta *metav1.ObjectMeta) *ConfigPolicy {
	r := annotation.PolicyReader{Annotations: meta.Annotations}
	policy := ConfigPolicy{
		Ignored: ignored(&r),
		Readers: readers(&r),
		FanOut:  fanOut(&r),
		Window:  window(&r),
		Hold:    readHold(&r),
		Urgent:  urgent(&r),
		Resume:  r.Text(annotation.ResumeAnnotation, maxID),
	}
	policy.HoldSet = holdTimeOf(meta, policy.Hold)
	if policy.Resume != "" {
		policy.ResumeSet = annotation.Earliest(annotation.OwnershipOf(meta).OfAnnotation(annotation.ResumeAnnotation))
	}
	policy.Problem = r.Problem()
	return names.UnlessZero(policy)
}

func wave(r *annotation.PolicyReader) int16 {
	text, found := r.Annotations[annotation.WaveAnnotation]
	if !found {
		return 0
	}
	wave, err := strconv.ParseInt(text, 10, 16)
	if err != nil || wave < -maxWave || wave > maxWave {
		r.Reject(annotation.WaveAnnotation, "%.40q is not an integer from %d to %d, so wave 0 is used", text, -maxWave, maxWave)
		return 0
	}
	return int16(wave)
}

func fanOut(r *annotation.PolicyReader) FanOut {
	text, found := r.Annotations[annotation.FanOutAnnotation]
	way := FanOut(text)
	if found && way != Gradual && way != AllAtOnce {
		r.Reject(annotation.FanOutAnnotation, "%.40q is neither %q nor %q, so --fan-out of the controller is used", text, Gradual, AllAtOnce)
		return ""
	}
	return way
}

func ignored(r *annotation.PolicyReader) bool {
	text, found := r.Annotations[annotation.IgnoreAnnotation]
	if found && text != "true" {
		r.Reject(annotation.IgnoreAnnotation, "%.40q is not %q, so changes of the config count", text, "true")
	}
	return text == "true"
}

// urgent returns the id of a content. One of another content is no mistake: each edit leaves it behind.
func urgent(r *annotation.PolicyReader) string {
	id := r.Text(annotation.UrgentAnnotation, maxID)
	if _, err := names.ParseChecksum(id); err != nil && id != "" {
		r.Reject(annotation.UrgentAnnotation, "%.40q is the id of no content, which has 16 hexadecimal digits, so nothing is urgent; kubectl restarts urgent sets that of the present content", id)
		return ""
	}
	return id
}

// window returns a text that cannot be read as a window if it is too long.
func window(r *annotation.PolicyReader) string {
	return brief.Within(maxWindow, r.Annotations[annotation.WindowAnnotation])
}

func readHold(r *annotation.PolicyReader) string {
	why, found := r.Annotations[annotation.HoldAnnotation]
	if !found {
		return ""
	}
	if why = strings.TrimSpace(why); slices.Contains(noHolds, strings.ToLower(why)) {
		r.Reject(annotation.HoldAnnotation, "%q holds all the same; to release the hold, remove the annotation", why)
	}
	return ReasonOf(why)
}

// Understood is what the annotations of other tools said about a workload that is not in its annotations now.
type Understood struct {
	// By names the tools whose annotations enable or disable it, such as "reloader and wave"; empty if there are none.
	By string
	// Since is the earliest known time by which they had enabled it, zero if it is not known.
	Since time.Time
	// Problem describes which of them cannot be used; empty if there are none.
	Problem string
	// Marked is that of the [template.Filter].
	Marked names.Kinds
	// Left and IsLeftHarmful are those of the [WorkloadPolicy].
	Left          string
	IsLeftHarmful bool
}
