package controller

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/optin"
)

// maxOptInNotes is for how many sets of namespaces the annotation has notes at most, and longestOptInNotes is how
// many bytes they may have together: a ConfigMap that the API server rejects could not keep halts either.
const (
	maxOptInNotes     = 50
	longestOptInNotes = 64 * 1024
)

// noteOn notes on the ConfigMap of halts since when the rules have applied, and reports whether that changed
// it. If the same rules are noted from earlier, that time counts.
func (o *optIns) noteOn(object *corev1.ConfigMap) bool {
	notes := optin.ReadOptInNotes(object.Annotations[annotation.OptInsAnnotation])
	note, isNoted := notes[o.set]
	switch {
	case o.rules.IsZero() && !isNoted, isNoted && note.IsAbout(&o.rules):
		return false
	case o.rules.IsZero():
		delete(notes, o.set)
	case len(notes) >= maxOptInNotes && !isNoted:
		return false
	default:
		notes[o.set] = o.rules.Note(o.appliesSince())
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

func (o *optIns) appliesSince() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.since
}

// learnSince finds out since when the rules have applied, which is since now unless a former leader noted it. It
// has to be known before the first workload is taken in.
func (o *optIns) learnSince(ctx context.Context, store *haltStore) error {
	if o.rules.IsZero() || store.namespace == "" {
		return nil
	}
	object, err := store.get(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	notes := optin.ReadOptInNotes(object.Annotations[annotation.OptInsAnnotation])
	o.mu.Lock()
	defer o.mu.Unlock()
	if note, isNoted := notes[o.set]; isNoted && note.IsAbout(&o.rules) && note.Since.Before(o.since) {
		o.since = note.Since
	}
	return nil
}

// redate lets the catalog know since when its workloads count if the rules have applied since another time than before.
func (o *optIns) redate(before time.Time, known *catalog.Catalog) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.Equal(before) {
		return
	}
	for _, candidates := range o.candidates {
		for ref, w := range candidates {
			if counting := o.counting(w); counting != nil {
				known.Redate(ref, counting.OptedIn)
			}
		}
	}
}
