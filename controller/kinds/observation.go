package kinds

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/custom"
	"kubernetes-deployment-restart-controller/internal/status"
)

// Observation is the reduced form of an object that a watch showed. One of config, mount, workload and
// namespace is set.
type Observation struct {
	ResourceVersion string
	Config          *content.Config
	Mount           *content.CSIMount
	Workload        *WorkloadObservation
	Namespace       *optin.Namespace
	Mistake         *Mistake // the names that are wrong, and the UID if values may be; nil for nearly all objects
}

// WorkloadObservation is the reduced form of a workload.
type WorkloadObservation struct {
	Ref names.WorkloadRef
	// OptIn is the value of the opt-in annotation, and LastWriter is the field manager that
	// last wrote to the workload, empty if it is not known.
	OptIn, LastWriter string
	Choice            annotation.Choice
	// By names the other tools whose annotations make the choice, empty if it is the workload's own. They have made it
	// since then, as far as is known.
	By    string
	Since time.Time
	// OptedOutUntil is when the watch showed that the workload no longer opts out, zero if it did not.
	OptedOutUntil time.Time
	// Workload is nil for a workload that does not count, whatever its Namespace says, or that has a problem.
	Workload *workload.Workload
	// Size is how much it takes; see [workload.Workload.Size].
	Size int
	// Problem is why the workload cannot be restarted, nil if it can, or if it does not count.
	Problem *Problem
}

// Problem is why a workload cannot be restarted.
type Problem struct {
	UID  types.UID
	Text string
	// Began is set when the problem is noted.
	Began status.Beginning
}

// Reduce reduces a config to an observation. It is called on each object as it arrives,
// before anything else sees it, so that no config's data lives longer than the response that
// it came in.
func (k *ConfigKind) Reduce(object any, rules *optin.Rules) (*Observation, error) {
	config, isOne := k.Read(object)
	if !isOne {
		return nil, fmt.Errorf("reduce object: unexpected type %T, want %s", object, k.Name)
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, fmt.Errorf("reduce %s: %w", config.Ref, err)
	}
	dialect.UnderstandConfig(rules, &config, accessor.GetAnnotations())
	wrong := NewMistake(accessor.GetUID(), dialect.ConfigMistakes(rules, accessor))
	if wrong == nil && config.Policy != nil {
		wrong = &Mistake{UID: accessor.GetUID()}
	}
	return &Observation{ResourceVersion: accessor.GetResourceVersion(), Config: &config, Mistake: wrong}, nil
}

// Reduce reduces a workload to an observation.
func (k *WorkloadKind) Reduce(object any, rules *optin.Rules) (*Observation, error) {
	if o, isOne := object.(*custom.Object); isOne && k.Custom != nil {
		if seen, err := k.ReduceParts(k.Custom.outline(o), rules); err != nil || seen.Workload.Problem == nil {
			return seen, err // it does not count, whatever else it has, which may take much memory
		}
	}
	parts, isOne := k.Parts(object)
	if !isOne {
		return nil, fmt.Errorf("reduce object: unexpected type %T, want %s", object, k.Workload)
	}
	return k.ReduceParts(parts, rules)
}

// ReduceParts reduces the parts of a workload to an observation.
func (k *WorkloadKind) ReduceParts(parts workload.Parts, rules *optin.Rules) (*Observation, error) {
	mistake := NewMistake(parts.Meta.UID, dialect.WorkloadMistakes(rules, &parts))
	if len(rules.Dialects) > 0 {
		parts = dialect.Understand(rules, k.Workload, parts)
	}
	meta := parts.Meta
	w := &WorkloadObservation{
		Ref:        names.WorkloadRef{Kind: k.Workload, Namespace: meta.Namespace, Name: meta.Name},
		OptIn:      excerpt(meta.Annotations[annotation.EnabledAnnotation]),
		LastWriter: lastWriter(meta),
		Choice:     annotation.ChoiceOf(meta),
		By:         parts.Understood.By,
		Since:      parts.Understood.Since,
	}
	mayCount := rules.MayCount(w.Choice, meta.Namespace)
	if mayCount && parts.Problem != "" {
		w.Problem = &Problem{UID: meta.UID, Text: parts.Problem}
	} else if mayCount {
		reduced, err := workload.NewWorkload(k.Workload, &parts)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", w.Ref, err)
		}
		w.Workload, w.Size = &reduced, reduced.Size()
	}
	return &Observation{ResourceVersion: meta.ResourceVersion, Workload: w, Mistake: mistake}, nil
}

// IsForeign reports whether another tool's annotations make the choice.
func (w *WorkloadObservation) IsForeign() bool { return w.By != "" }

// LongestExcerpt is how many bytes are kept of a text that anyone may have written.
const LongestExcerpt = 64

// excerpt returns the beginning of a text.
func excerpt(text string) string {
	if len(text) <= LongestExcerpt {
		return text
	}
	return strings.ToValidUTF8(text[:LongestExcerpt], "") + "…"
}

// lastWriter returns the field manager that last wrote to an object itself, not to a
// subresource such as its status. It returns the empty string if that seems to be this
// controller: another manager's later write may have removed fields only, which leaves no
// trace.
func lastWriter(meta *metav1.ObjectMeta) string {
	var last metav1.ManagedFieldsEntry
	for _, entry := range meta.ManagedFields {
		if entry.Subresource == "" && entry.Time != nil && (last.Time == nil || last.Time.Before(entry.Time)) {
			last = entry
		}
	}
	if last.Manager == annotation.FieldManager || last.Manager == annotation.RestartAtManager {
		return ""
	}
	return last.Manager
}

// ReduceMount reduces a mount to an observation. It is called on each object as it arrives, and keeps no version of a secret.
func ReduceMount(object any) (*Observation, error) {
	read, isOne := object.(*custom.Object)
	if !isOne {
		return nil, fmt.Errorf("reduce object: unexpected type %T, want %s", object, custom.MountKind.Kind)
	}
	var mount content.CSIMount
	var err error
	decodeObject(read, func() { mount, err = custom.Mount(read) })
	return &Observation{ResourceVersion: read.ResourceVersion, Mount: &mount}, err
}

// Succeed takes over what is known of the previous state of a workload, nil if the watch may have missed some. An
// opt-out that is removed leaves no time in the workload.
func (w *WorkloadObservation) Succeed(previous *WorkloadObservation, shown time.Time) {
	switch {
	case previous == nil:
	case previous.Choice == w.Choice:
		w.OptedOutUntil = previous.OptedOutUntil
	case previous.Choice == annotation.OptsOut && (w.Choice == annotation.Unsaid || w.IsForeign()):
		w.OptedOutUntil = shown
	}
}

// Reduce reduces a Namespace to an observation.
func (k NamespaceKind) Reduce(object any) (*Observation, error) {
	namespace, isOne := object.(*corev1.Namespace)
	if !isOne {
		return nil, fmt.Errorf("reduce object: unexpected type %T, want Namespace", object)
	}
	reduced := k.Rules.ReadNamespace(&namespace.ObjectMeta)
	mistake := NewMistake(namespace.UID, dialect.NamespaceMistakes(k.Rules, namespace))
	return &Observation{ResourceVersion: namespace.ResourceVersion, Namespace: &reduced, Mistake: mistake}, nil
}
