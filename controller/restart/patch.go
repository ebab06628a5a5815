package restart

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/wording"
)

// newPatch returns the JSON merge patch that carries out a decision: it records the checksums
// with their basis and, for a restart that is not one by eviction, sets the timestamp and the cause on the pod template. The
// ResourceVersion makes the API server refuse the patch if the workload has changed.
func newPatch(w *workload.Workload, decision decide.Decision, on record.Basis) (*WorkloadPatch, error) {
	annotations, err := decision.Checksums.Annotations(on)
	if err != nil {
		return nil, fmt.Errorf("build patch: %w", err)
	}
	patch := &WorkloadPatch{Metadata: PatchedMeta{ResourceVersion: w.ResourceVersion, Annotations: annotations}}
	if decision.Outcome == decide.Restart && w.Method() == policy.ByTemplate {
		restart := map[string]string{annotation.TimestampAnnotation: on.Timestamp, annotation.CauseAnnotation: wording.CauseNote(decision)}
		patch.Spec = &PatchedSpec{Template: PatchedTemplate{Metadata: PatchedMeta{Annotations: restart}}}
	}
	return patch, nil
}

// timestampAfter returns the restart timestamp that the pod template has after a write at the
// given time. Two restarts within a second must differ.
func timestampAfter(w *workload.Workload, outcome decide.Outcome, at time.Time) string {
	if outcome == decide.Restart && w.Method() == policy.ByTemplate {
		return at.UTC().Format(time.RFC3339Nano)
	}
	return w.Timestamp
}

// WorkloadPatch is a JSON merge patch of a workload.
type WorkloadPatch struct {
	Metadata PatchedMeta  `json:"metadata"`
	Spec     *PatchedSpec `json:"spec,omitempty"`
}

// PatchedSpec is the part of the spec that a patch sets.
type PatchedSpec struct {
	Template PatchedTemplate `json:"template"`
}

// PatchedTemplate is the part of the pod template that a patch sets.
type PatchedTemplate struct {
	Metadata PatchedMeta `json:"metadata"`
}

// PatchedMeta is the part of the metadata that a patch sets.
type PatchedMeta struct {
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Annotations     map[string]string `json:"annotations"`
}

// missingIn names the first annotation of the patch that the workload lacks after the patch,
// or returns the empty string if it lacks no annotation. It checks the record before the
// restart. The pods restart without their cause, too.
func (p *WorkloadPatch) missingIn(after *workload.Parts) string {
	if missing := p.Metadata.missingIn(after.Meta.Annotations); missing != "" {
		return "annotation " + missing
	}
	if p.Spec == nil {
		return ""
	}
	if missing := p.Spec.Template.Metadata.missingIn(after.Template.Annotations); missing != "" {
		return "annotation " + missing + " of the pod template"
	}
	return ""
}

func (m *PatchedMeta) missingIn(present map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(m.Annotations)) {
		value, found := present[name]
		if isLacking := !found || value != m.Annotations[name]; isLacking && name != annotation.CauseAnnotation {
			return name
		}
	}
	return ""
}
