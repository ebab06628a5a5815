package workload

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// Workload is what the catalog keeps of a workload that opted in. Workloads are shared: once the catalog has one, it is
// never modified, but replaced by a copy.
type Workload struct {
	Object
	Record record.Record
	Timeline
	// Filtering is what is known of the filters, nil for most workloads.
	Filtering *Filtering
}

// NewWorkload reduces a workload to what the catalog keeps of it. It does not modify the parts.
func NewWorkload(kind names.WorkloadKind, parts *Parts) (Workload, error) {
	if parts.Problem != "" {
		return Workload{}, errors.New(parts.Problem)
	}
	meta, pod, owned := parts.Meta, parts.Template, parts.Ownership()
	pods, err := metav1.LabelSelectorAsSelector(parts.Selector)
	if err != nil {
		return Workload{}, fmt.Errorf("read selector: %w", err)
	}
	full, bare := record.Fingerprints(pod)
	identity, reads := bare, &pod.Spec
	if parts.FallenBack != "" {
		identity, reads = bare.Within(parts.FallenBack), parts.Reads
	}
	rules, filter := policy.ReadWorkloadPolicy(meta, parts.Understood)
	references, fit := template.ReferencesOf(meta.Namespace, reads, filter)
	w := Workload{Object: Object{
		Ref:             names.WorkloadRef{Kind: kind, Namespace: meta.Namespace, Name: meta.Name},
		UID:             meta.UID,
		ResourceVersion: meta.ResourceVersion,
		Selector:        pods.String(),
		Template:        identity,
		Bare:            record.BareFingerprintOf(pod, bare),
		PodTemplate:     full,
		References:      references,
		Deleting:        meta.DeletionTimestamp != nil,
		GracePeriod:     readGracePeriod(meta),
		Policy:          rules,
		OptedIn:         owned.OptedInBy(),
		Timestamp:       annotation.TimestampOf(pod),
		Idle:            parts.Idle,
		Hold:            parts.Hold,
		Rollout:         parts.Rollout,
		RestartAt:       clampedSeconds(parts.RestartAt),
	}}
	if !fit {
		w.Excess = TooManyReferences
	}
	if fit && parts.FallenBack == "" { // else they are about another template
		w.Policy = rules.Rejecting(annotation.OnlyAnnotation, filter.ProblemOfOnly(meta.Namespace, &pod.Spec, references))
	}
	w.keepTemplate()
	if w.Method() == policy.ByEviction {
		if parts.AllPods != nil {
			w.Rollout = *parts.AllPods
		}
		w.Rollout.Deadline = max(w.Rollout.Deadline, parts.Replacement)
	}
	if fit {
		recorded, optedIn := record.ReadRecord(meta, owned, pod, identity)
		w.Record = recorded.KeptFor(references)
		if !optedIn.IsZero() && optedIn.Before(w.OptedIn) { // the managedFields show the last writes only
			w.OptedIn = optedIn
		}
		w.Filtering = NewFiltering(filter, &w.Record, func(by template.Filter) []template.Reference {
			recorded, _ := template.ReferencesOf(meta.Namespace, reads, by)
			return recorded
		})
	}
	w.Record.Room = int32(record.RoomForChecksums(meta, filter, w.Record.Filter())) //nolint:gosec // no more than annotations may have
	if fit && !w.Record.Trusted {
		w.Writers = &Writers{Template: owned.TimestampWriter(), Record: owned.RecordWriter()}
	}
	return w, nil
}

// IsLaterVersion reports whether a resource version is later than another. The API server makes those of one kind comparable:
// https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions. If they cannot be compared, any different
// version counts as later.
func IsLaterVersion(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order > 0 || err != nil && version != than
}

// ReadWith returns the workload as it can be read with the given key: without recorded checksums
// that were made with another key. It does not modify the workload.
func (w *Workload) ReadWith(key content.ChecksumKey) *Workload {
	if w.Record.IsReadableWith(key) {
		return w
	}
	readable := *w
	readable.Record.Checksums = w.Record.Checksums.Public()
	return &readable
}

// WithoutRecordOf returns the workload as if the record lacked these configs. It does not modify the workload.
func (w *Workload) WithoutRecordOf(configs []names.ConfigRef) *Workload {
	isRecorded := func(ref names.ConfigRef) bool { _, found := w.Record.Checksums[ref]; return found }
	if !slices.ContainsFunc(configs, isRecorded) {
		return w
	}
	without := *w
	without.Record.Checksums = maps.Clone(w.Record.Checksums) // which may be many, so once for all
	for _, ref := range configs {
		delete(without.Record.Checksums, ref)
	}
	return &without
}

// VisibleChanges returns the names of the keys in which two contents of a config differ for the
// workload: of the keys that its containers see, those that were changed, added or removed. Either
// content may be nil, for a config that does not exist. Changes of an ignored config are not visible.
func (w *Workload) VisibleChanges(ref names.ConfigRef, before, after *content.Config) []string {
	if w.Ignores(after) {
		return nil
	}
	selected := content.Selections(template.ReferencesTo(w.References, ref))
	return content.ChangedKeys(before.SeenBy(selected), after.SeenBy(selected))
}

// SeesAllButHidden reports whether the workload sees all keys that a config may have, but for those that the pod template
// hides, because something else has their names there. Its annotations then leave out none.
func (w *Workload) SeesAllButHidden(ref names.ConfigRef) bool {
	byRules := func(r template.Reference) bool { return r.Keys.ByRules }
	return w.Filter() == (template.Filter{}) && slices.ContainsFunc(template.ReferencesTo(w.References, ref), byRules)
}

// Recorded reports whether the record has a checksum of the config, which must not be a Secret, and
// whether it is that of what the workload sees of the config.
func (w *Workload) Recorded(config *content.Config) (isRecorded, isSame bool) {
	recorded, isRecorded := w.Record.Checksums[config.Ref]
	selected := content.Selections(w.RecordedReferences(config.Ref))
	return isRecorded, isRecorded && recorded == config.Checksum(selected, content.ChecksumKey{})
}

// EnabledBy returns a workload that has counted since the given time, whatever its own annotation says about that. It
// does not modify the workload.
func (w *Workload) EnabledBy(since time.Time) *Workload {
	following := *w
	if w.OptedIn.IsZero() || since.Before(w.OptedIn) { // otherwise there is an earlier record
		following.OptedIn = since
	}
	return &following
}

// clampedSeconds returns a time in seconds of Unix time, and the nearest possible value for other times.
func clampedSeconds(at time.Time) uint32 {
	return uint32(min(max(at.Unix(), 0), math.MaxUint32)) //nolint:gosec // it fits
}
