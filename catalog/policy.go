package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	// [ReadersAnnotation]. Shared is how they have changed, nil if they have not; a [Catalog] sets it.
	Readers string
	Shared  *sharing
	// CountsAfter is the moment after which its edits count again, if the watch showed that it was
	// ignored before; otherwise 0. A [Catalog] sets it.
	CountsAfter Sequence
	// Marked means that the config counts for workloads that only let those count; see [Filter.Marked].
	// MarkedAfter is like CountsAfter for such workloads.
	Marked      bool
	MarkedAfter Sequence
	// Urgent is the id of the content that must not wait; see [Catalog.ContentID].
	Urgent string
	// Resume is the id of the halt to end, and ResumeSet when it was set, zero if the managed fields do not say.
	Resume    string
	ResumeSet time.Time
	// Problem is as in [WorkloadPolicy].
	Problem string
}

// WindowProblem describes why a window cannot be read, and what that means.
func WindowProblem(err error) string {
	return "annotation " + WindowAnnotation + ": " + err.Error() + ". Restarts wait until it is corrected or removed"
}

// PolicyOf returns what the annotations of a config ask for. It is the zero value for a config that
// is gone.
func (c *Catalog) PolicyOf(ref ConfigRef) ConfigPolicy {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if config := c.present(ref); config != nil && config.Policy != nil {
		return *config.Policy
	}
	return ConfigPolicy{}
}

const (
	maxWave = 1000
	// These limits are in bytes, because what anyone writes on very many objects stays in memory.
	maxWindow = 256
	maxHold   = 200
	maxID     = 64
)

// noHolds are values of [HoldAnnotation] by which people may mean that nothing is held. Any value holds: a reason that was
// misread would let restarts begin.
var noHolds = append([]string{"", "0", "none", "null"}, optOuts...)

// ReasonOf returns why restarts are held, in the length that Events, logs and memory may have, by what somebody wrote. It is
// never empty.
func ReasonOf(written string) string {
	if written = strings.TrimSpace(written); written == "" {
		return "no reason given"
	}
	return brief.Within(maxHold, written)
}

// readWorkloadPolicy returns the policy of a workload, nil if its annotations ask for nothing, and its
// filter. The policy names the problems of both.
func readWorkloadPolicy(meta *metav1.ObjectMeta, from Understood) (*WorkloadPolicy, Filter) {
	r := policyReader{annotations: meta.Annotations}
	if from.Problem != "" {
		r.problems = append(r.problems, from.Problem)
	}
	policy, filter := WorkloadPolicy{Wave: r.wave(), Window: r.window(), Hold: r.hold()}, r.filter()
	policy.Method, policy.Unread = r.method()
	policy.HoldSet = holdTimeOf(meta, policy.Hold)
	policy.Problem, policy.Left, policy.IsLeftHarmful = r.problem(), from.Left, from.IsLeftHarmful
	filter.Marked = from.Marked
	return unlessZero(policy), filter
}

// problemOfOnly describes that [OnlyAnnotation] alone is why nothing counts of what a pod template reads, and what is probably
// meant; empty if it is not. The references are those that count.
func (f Filter) problemOfOnly(namespace string, spec *corev1.PodSpec, references []Reference) string {
	if f.Only == "" || len(references) > 0 {
		return ""
	}
	all, _ := referencesOf(namespace, spec, Filter{})
	rules := Filter{Only: f.Only}.rules(namespace)
	meant := rules.only[0].meant(all)
	if len(all) == 0 || len(rules.limit(all)) > 0 {
		return ""
	}
	return fmt.Sprintf("%.60q names nothing that the pod template reads, so no edit restarts this workload%s", f.Only, meant)
}

// meant says which of the configs that a pod template reads is probably meant by an entry that names none of them, or none of
// their keys; empty if none is near. Anyone may write very long templates, so it looks at the first configs only.
func (e entry) meant(all []Reference) (meant string) {
	least, left := 6, maxCompared // half letters that differ, as in nearest
	for ofOne := range runs(all, ofOneConfig) {
		if left--; left < 0 {
			break
		}
		ref := ofOne[0].Config
		if longer := len(ref.Name) - len(e.name); 2*max(longer, -longer) >= least || len(e.name) > longestCompared {
			continue
		}
		letters := distance(e.name, ref.Name)
		differ := 2 * letters
		if ref.Kind != e.kind {
			differ++
		}
		if differ >= least || 3*letters > len(e.name) { // short names are near to everything
			continue
		}
		if least, meant = differ, "; "+ref.NameWithin()+" is probably meant"; differ == 0 {
			meant = "; it reads other keys of " + ref.NameWithin()
		}
	}
	return meant
}

// rejecting returns the policy, which may be nil, with a further problem of an annotation, unless that is empty.
func (p *WorkloadPolicy) rejecting(name, problem string) *WorkloadPolicy {
	if problem == "" {
		return p
	}
	var policy WorkloadPolicy
	if p != nil {
		policy = *p
	}
	var r policyReader
	if policy.Problem != "" {
		r.problems = append(r.problems, policy.Problem)
	}
	r.reject(name, "%s", problem)
	policy.Problem = r.problem()
	return &policy
}

// readConfigPolicy returns the policy of a config, nil if its annotations ask for nothing.
func readConfigPolicy(meta *metav1.ObjectMeta) *ConfigPolicy {
	r := policyReader{annotations: meta.Annotations}
	policy := ConfigPolicy{
		Ignored: r.ignored(),
		Readers: r.readers(),
		FanOut:  r.fanOut(),
		Window:  r.window(),
		Hold:    r.hold(),
		Urgent:  r.urgent(),
		Resume:  r.text(ResumeAnnotation, maxID),
	}
	policy.HoldSet = holdTimeOf(meta, policy.Hold)
	if policy.Resume != "" {
		policy.ResumeSet = earliest(ownershipOf(meta).ofAnnotation(ResumeAnnotation))
	}
	policy.Problem = r.problem()
	return unlessZero(policy)
}

// unlessZero returns nil for the zero value, which is that of nearly all objects.
func unlessZero[P comparable](policy P) *P {
	var zero P
	if policy == zero {
		return nil
	}
	return &policy
}

// policyReader reads annotations, and collects what is wrong with them.
type policyReader struct {
	annotations map[string]string
	problems    []string
}

func (r *policyReader) reject(name, format string, arguments ...any) {
	r.problems = append(r.problems, "annotation "+name+": "+fmt.Sprintf(format, arguments...))
}

func (r *policyReader) problem() string { return strings.Join(r.problems, "; ") }

func (r *policyReader) wave() int16 {
	text, found := r.annotations[WaveAnnotation]
	if !found {
		return 0
	}
	wave, err := strconv.ParseInt(text, 10, 16)
	if err != nil || wave < -maxWave || wave > maxWave {
		r.reject(WaveAnnotation, "%.40q is not an integer from %d to %d, so wave 0 is used", text, -maxWave, maxWave)
		return 0
	}
	return int16(wave)
}

func (r *policyReader) fanOut() FanOut {
	text, found := r.annotations[FanOutAnnotation]
	way := FanOut(text)
	if found && way != Gradual && way != AllAtOnce {
		r.reject(FanOutAnnotation, "%.40q is neither %q nor %q, so --fan-out of the controller is used", text, Gradual, AllAtOnce)
		return ""
	}
	return way
}

func (r *policyReader) ignored() bool {
	text, found := r.annotations[IgnoreAnnotation]
	if found && text != "true" {
		r.reject(IgnoreAnnotation, "%.40q is not %q, so changes of the config count", text, "true")
	}
	return text == "true"
}

func (r *policyReader) text(name string, limit int) string {
	text := r.annotations[name]
	if len(text) > limit {
		r.reject(name, "%d bytes are too many, the limit is %d, so it counts as absent", len(text), limit)
		return ""
	}
	return text
}

// urgent returns the id of a content. One of another content is no mistake: each edit leaves it behind.
func (r *policyReader) urgent() string {
	id := r.text(UrgentAnnotation, maxID)
	if _, err := parseChecksum(id); err != nil && id != "" {
		r.reject(UrgentAnnotation, "%.40q is the id of no content, which has 16 hexadecimal digits, so nothing is urgent; kubectl restarts urgent sets that of the present content", id)
		return ""
	}
	return id
}

// window returns a text that cannot be read as a window if it is too long.
func (r *policyReader) window() string {
	return brief.Within(maxWindow, r.annotations[WindowAnnotation])
}

func (r *policyReader) hold() string {
	why, found := r.annotations[HoldAnnotation]
	if !found {
		return ""
	}
	if why = strings.TrimSpace(why); slices.Contains(noHolds, strings.ToLower(why)) {
		r.reject(HoldAnnotation, "%q holds all the same; to release the hold, remove the annotation", why)
	}
	return ReasonOf(why)
}
