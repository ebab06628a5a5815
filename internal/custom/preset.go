package custom

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// preset is what is known about a kind, whatever its version.
type preset struct {
	resource, group string
	kind, version   string // of its objects, as the API spells it, and the version that they usually have
	// refuse returns why an object cannot be restarted, nil if it can. It may be nil itself.
	refuse func(*opened) error
	// read completes the parts, which are those of a kind without a preset.
	read func(*opened, *workload.Parts)
	// revisionLabel is the label by which pods show the revision of the template that they were made from.
	revisionLabel string
	// revision returns the revision of the present template, empty if the status does not show it.
	revision func(*Object) string
	// ownsPods means that the workload itself controls its pods.
	ownsPods bool
	// podOwner is the resource of the API group apps whose objects control the pods and are controlled by the workload, empty
	// if that is not known.
	podOwner string
}

var presets = []*preset{argoRollout, cloneSet, advancedStatefulSet, deploymentConfig}

func (k Kind) preset() *preset {
	i := slices.IndexFunc(presets, func(p *preset) bool { return p.resource == k.Resource && p.group == k.Group })
	if i < 0 {
		return nil
	}
	return presets[i]
}

// KindNamed returns the kind of that name in the version that it usually has, and false if there is no preset for it.
func KindNamed(name names.WorkloadKind) (Kind, bool) {
	for _, p := range presets {
		if kind := (Kind{p.resource, p.version, p.group, []string{"spec", "template"}}); kind.Name() == name {
			return kind, true
		}
	}
	return Kind{}, false
}

// ObjectKind returns the kind of the objects as the API spells it, empty if it is not known before one of them is.
func (k Kind) ObjectKind() string {
	if preset := k.preset(); preset != nil {
		return preset.kind
	}
	return ""
}

// OwnsPods reports whether workloads of the kind are known to control their pods themselves.
func (k Kind) OwnsPods() bool {
	preset := k.preset()
	return preset != nil && preset.ownsPods
}

// PodOwner returns the resource of the API group apps whose objects are known to control the pods of a workload of the
// kind, and to be controlled by it; empty if none is known.
func (k Kind) PodOwner() string {
	if preset := k.preset(); preset != nil {
		return preset.podOwner
	}
	return ""
}

// RevisionLabel returns the label by which pods show the revision of the template that they were made from, empty if none is
// known.
func (k Kind) RevisionLabel() string {
	if preset := k.preset(); preset != nil {
		return preset.revisionLabel
	}
	return ""
}

// Revision returns the value that the label has on pods of the present template, empty if it is not known.
func (k Kind) Revision(o *Object) string {
	if preset := k.preset(); preset != nil && preset.revision != nil {
		return preset.revision(o)
	}
	return ""
}

// IsRevision reports whether the label of a pod names a revision. OpenKruise may shorten the label to the hash at the end of the name.
func IsRevision(label, revision string) bool {
	return label != "" && (label == revision || strings.HasSuffix(revision, "-"+label))
}

// counts are the fields of a status that most kinds have.
type counts struct {
	Replicas           int32           `json:"replicas"`
	UpdatedReplicas    int32           `json:"updatedReplicas"`
	AvailableReplicas  int32           `json:"availableReplicas"`
	ObservedGeneration json.RawMessage `json:"observedGeneration"`
}

// rollout completes a rollout by the counts.
func (c *counts) rollout(o *opened, r *workload.Rollout) {
	r.ByPods = false
	r.Updated, r.Outdated, r.Available = c.UpdatedReplicas, c.Replicas-c.UpdatedReplicas, c.AvailableReplicas
	r.Observed = c.observes(o.Generation)
}

// observes reports whether the status is about a generation, which it may write as a text.
func (c *counts) observes(generation int64) bool {
	text := cmp.Or(read[string](c.ObservedGeneration), string(c.ObservedGeneration))
	observed, err := strconv.ParseInt(text, 10, 64)
	return err == nil && observed >= generation
}

// condition is a condition of a status.
type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Reason string `json:"reason"`
}

func hasCondition(all []condition, kind, status string) bool {
	return slices.ContainsFunc(all, func(c condition) bool { return c.Type == kind && c.Status == status })
}
