package controller

import (
	"encoding/json"
	"fmt"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
)

// patchBody returns the JSON merge patch that carries out a decision: it records
// the checksums and the budget that is left then, and for a restart sets the
// timestamp on the pod template. The resourceVersion makes the API server refuse it
// if the workload has changed.
func patchBody(view catalog.View, decision catalog.Decision, budget catalog.Budget, now time.Time) ([]byte, error) {
	w := view.Workload
	annotations, err := decision.Checksums.Annotations(catalog.Basis{
		Template: w.Template, Key: view.Key, Budget: budget, Written: now, Copies: mayBeCopiedMeanwhile(w, decision),
	})
	if err != nil {
		return nil, fmt.Errorf("build patch: %w", err)
	}
	patch := workloadPatch{Metadata: patchedMeta{ResourceVersion: w.ResourceVersion, Annotations: annotations}}
	if decision.Outcome == catalog.Restart {
		// Two restarts within a second must differ.
		timestamp := map[string]string{catalog.TimestampAnnotation: now.UTC().Format(time.RFC3339Nano)}
		patch.Spec = &patchedSpec{Template: patchedTemplate{Metadata: patchedMeta{Annotations: timestamp}}}
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("build patch: %w", err)
	}
	return body, nil
}

type workloadPatch struct {
	Metadata patchedMeta  `json:"metadata"`
	Spec     *patchedSpec `json:"spec,omitempty"`
}

type patchedSpec struct {
	Template patchedTemplate `json:"template"`
}

type patchedTemplate struct {
	Metadata patchedMeta `json:"metadata"`
}

type patchedMeta struct {
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Annotations     map[string]string `json:"annotations"`
}
