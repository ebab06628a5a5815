package optedin

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/controller/store"
)

// maxOptInNotes is for how many sets of namespaces the annotation has notes at most, and longestOptInNotes is how
// many bytes they may have together: a ConfigMap that the API server rejects could not keep halts either.
const (
	maxOptInNotes     = 50
	longestOptInNotes = 64 * 1024
)

// NoteOn notes on the ConfigMap of halts since when the rules have applied, and reports whether that changed
// it. If the same rules are noted from earlier, that time counts.
func (o *OptIns) NoteOn(object *corev1.ConfigMap) bool {
	notes := optin.ReadOptInNotes(object.Annotations[annotation.OptInsAnnotation])
	note, isNoted := notes[o.set]
	switch {
	case o.Rules.IsZero() && !isNoted, isNoted && note.IsAbout(&o.Rules):
		return false
	case o.Rules.IsZero():
		delete(notes, o.set)
	case len(notes) >= maxOptInNotes && !isNoted:
		return false
	default:
		notes[o.set] = o.Rules.Note(o.AppliesSince())
	}
	text, err := json.Marshal(notes)
	if err != nil || len(text) > longestOptInNotes {
		return false
	}
	if object.Annotations == nil {
		object.Annotations = make(map[string]string)
	}
	object.Annotations[annotation.OptInsAnnotation] = string(text)
	return true
}

// AppliesSince returns since when the rules have applied.
func (o *OptIns) AppliesSince() time.Time {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	return o.Since
}

// LearnSince finds out since when the rules have applied, which is since now unless a former leader noted it. It
// has to be known before the first workload is taken in.
func (o *OptIns) LearnSince(ctx context.Context, store *store.Halts) error {
	if o.Rules.IsZero() || store.Namespace == "" {
		return nil
	}
	object, err := store.Get(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	notes := optin.ReadOptInNotes(object.Annotations[annotation.OptInsAnnotation])
	o.Mu.Lock()
	defer o.Mu.Unlock()
	if note, isNoted := notes[o.set]; isNoted && note.IsAbout(&o.Rules) && note.Since.Before(o.Since) {
		o.Since = note.Since
	}
	return nil
}

// Redate lets the catalog know since when its workloads count if the rules have applied since another time than before.
func (o *OptIns) Redate(before time.Time, known *catalog.Catalog) {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	if o.Since.Equal(before) {
		return
	}
	for _, candidates := range o.Candidates {
		for ref, w := range candidates {
			if counting := o.Counting(w); counting != nil {
				known.Redate(ref, counting.OptedIn)
			}
		}
	}
}
