package controller

import (
	"fmt"
	"strings"
	"time"

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

// observation is the reduced form of an object that a watch showed. One of config, mount, workload and
// namespace is set.
type observation struct {
	resourceVersion string
	config          *content.Config
	mount           *content.Mount
	workload        *workloadObservation
	namespace       *optin.Namespace
	mistake         *mistake // the names that are wrong, and the UID if values may be; nil for nearly all objects
}

// workloadObservation is the reduced form of a workload.
type workloadObservation struct {
	ref names.WorkloadRef
	// optIn is the value of the opt-in annotation, and lastWriter is the field manager that
	// last wrote to the workload, empty if it is not known.
	optIn, lastWriter string
	choice            annotation.Choice
	// by names the other tools whose annotations make the choice, empty if it is the workload's own. They have made it
	// since then, as far as is known.
	by    string
	since time.Time
	// optedOutUntil is when the watch showed that the workload no longer opts out, zero if it did not.
	optedOutUntil time.Time
	// workload is nil for a workload that does not count, whatever its Namespace says, or that has a problem.
	workload *workload.Workload
	// size is how much it takes; see [workload.Workload.Size].
	size int
	// problem is why the workload cannot be restarted, nil if it can, or if it does not count.
	problem *problem
}

// problem is why a workload cannot be restarted.
type problem struct {
	uid  types.UID
	text string
	// began is set when the problem is noted.
	began status.Beginning
}

// reduce reduces a config to an observation. It is called on each object as it arrives,
// before anything else sees it, so that no config's data lives longer than the response that
// it came in.
func (k *configKind) reduce(object any, rules *optin.Rules) (*observation, error) {
	config, isOne := k.read(object)
	if !isOne {
		return nil, fmt.Errorf("reduce object: unexpected type %T, want %s", object, k.name)
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, fmt.Errorf("reduce %s: %w", config.Ref, err)
	}
	dialect.UnderstandConfig(rules, &config, accessor.GetAnnotations())
	wrong := newMistake(accessor.GetUID(), dialect.ConfigMistakes(rules, accessor))
	if wrong == nil && config.Policy != nil {
		wrong = &mistake{uid: accessor.GetUID()}
	}
	return &observation{resourceVersion: accessor.GetResourceVersion(), config: &config, mistake: wrong}, nil
}

// reduce reduces a workload to an observation.
func (k *workloadKind) reduce(object any, rules *optin.Rules) (*observation, error) {
	if o, isOne := object.(*custom.Object); isOne && k.custom != nil {
		if seen, err := k.reduceParts(k.custom.outline(o), rules); err != nil || seen.workload.problem == nil {
			return seen, err // it does not count, whatever else it has, which may take much memory
		}
	}
	parts, isOne := k.parts(object)
	if !isOne {
		return nil, fmt.Errorf("reduce object: unexpected type %T, want %s", object, k.workload)
	}
	return k.reduceParts(parts, rules)
}

func (k *workloadKind) reduceParts(parts workload.Parts, rules *optin.Rules) (*observation, error) {
	mistake := newMistake(parts.Meta.UID, dialect.WorkloadMistakes(rules, &parts))
	if len(rules.Dialects) > 0 {
		parts = dialect.Understand(rules, k.workload, parts)
	}
	meta := parts.Meta
	w := &workloadObservation{
		ref:        names.WorkloadRef{Kind: k.workload, Namespace: meta.Namespace, Name: meta.Name},
		optIn:      excerpt(meta.Annotations[annotation.EnabledAnnotation]),
		lastWriter: lastWriter(meta),
		choice:     annotation.ChoiceOf(meta),
		by:         parts.Understood.By,
		since:      parts.Understood.Since,
	}
	mayCount := rules.MayCount(w.choice, meta.Namespace)
	if mayCount && parts.Problem != "" {
		w.problem = &problem{uid: meta.UID, text: parts.Problem}
	} else if mayCount {
		reduced, err := workload.NewWorkload(k.workload, &parts)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", w.ref, err)
		}
		w.workload, w.size = &reduced, reduced.Size()
	}
	return &observation{resourceVersion: meta.ResourceVersion, workload: w, mistake: mistake}, nil
}

// isForeign reports whether another tool's annotations make the choice.
func (w *workloadObservation) isForeign() bool { return w.by != "" }

// longestExcerpt is how many bytes are kept of a text that anyone may have written.
const longestExcerpt = 64

// excerpt returns the beginning of a text.
func excerpt(text string) string {
	if len(text) <= longestExcerpt {
		return text
	}
	return strings.ToValidUTF8(text[:longestExcerpt], "") + "…"
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
