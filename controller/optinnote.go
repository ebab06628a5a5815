package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// optInsAnnotation of the ConfigMap of halts notes since when the rules about which workloads count have applied,
// by the set of namespaces that a controller watches. Without it, a controller that starts again could not
// know that pods from before the rules have read content whose edits do not count.
const optInsAnnotation = "com.xing.deployment-restart.opt-ins"

// maxOptInNotes is for how many sets of namespaces the annotation has notes at most.
const maxOptInNotes = 50

// optInNote says since when rules have applied.
type optInNote struct {
	Rules string    `json:"rules"`
	Since time.Time `json:"since"`
}

// readOptInNotes returns the notes of a ConfigMap of halts by the namespaces that they are about, none if they
// cannot be read.
func readOptInNotes(object *corev1.ConfigMap) map[string]optInNote {
	notes := make(map[string]optInNote)
	if json.Unmarshal([]byte(object.Annotations[optInsAnnotation]), &notes) != nil {
		return make(map[string]optInNote)
	}
	return notes
}

// noteOn notes on the ConfigMap of halts since when the rules have applied, and reports whether that changed
// it. If the same rules are noted from earlier, that time counts.
func (o *optIns) noteOn(object *corev1.ConfigMap) bool {
	notes := readOptInNotes(object)
	note, isNoted := notes[o.set]
	rules := o.rules.String()
	switch {
	case rules == "" && !isNoted, isNoted && note.Rules == rules:
		return false
	case rules == "":
		delete(notes, o.set)
	case len(notes) >= maxOptInNotes && !isNoted:
		return false
	default:
		notes[o.set] = optInNote{rules, o.appliesSince().UTC().Truncate(time.Second)}
	}
	text, err := json.Marshal(notes)
	if err != nil {
		return false // texts and times can be encoded
	}
	if object.Annotations == nil {
		object.Annotations = make(map[string]string)
	}
	object.Annotations[optInsAnnotation] = string(text)
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
	if o.rules.String() == "" || store.namespace == "" {
		return nil
	}
	object, err := store.get(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	if note, isNoted := readOptInNotes(object)[o.set]; isNoted && note.Rules == o.rules.String() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.since = note.Since
	}
	return nil
}

// everyNamespace names the set of all namespaces in notes.
const everyNamespace = "*"

// setOf names a set of namespaces, which are sorted; no namespaces stand for all. The name is short, however many
// they are.
func setOf(namespaces []string) string {
	if len(namespaces) == 0 {
		return everyNamespace
	}
	sum := sha256.Sum256([]byte(strings.Join(namespaces, ",")))
	return hex.EncodeToString(sum[:8])
}
