package annotation

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// FieldManager is the name under which the controller writes. A record whose value this manager
// does not own was written by another manager and is not trusted. See
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management.
const FieldManager = "kubernetes-deployment-restart-controller"

// RestartAtManager is the field manager of .spec.restartAt. With [FieldManager] itself, the API server would date the
// record anew, and with it the restart.
const RestartAtManager = FieldManager + "-restart-at"

// ownedFields is the part of the fieldsV1 of a workload's managedFields that matters
// here: the members of an object, each under "f:" and its name. See [eachOwnedKey] for configs.
type ownedFields struct {
	Metadata struct {
		Annotations map[string]member `json:"f:annotations"`
		Labels      map[string]member `json:"f:labels"`
	} `json:"f:metadata"`
}

// member is an owned member. Its own content does not matter.
type member struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*member) UnmarshalJSON([]byte) error { return nil }

// Ownership is who owns which fields of an object. It decodes each entry of the managedFields once, however many fields it is
// asked about, and only when it is asked about one that the entry mentions.
type Ownership struct {
	entries []metav1.ManagedFieldsEntry
	decoded []*objectFields // by entry, nil if not decoded yet
}

// objectFields are the fields of an object and of its pod template that an entry owns.
type objectFields struct {
	ownedFields
	Spec struct {
		Template ownedFields `json:"f:template"`
	} `json:"f:spec"`
}

// OwnershipOf returns who owns what of an object.
func OwnershipOf(meta *metav1.ObjectMeta) *Ownership {
	return &Ownership{entries: meta.ManagedFields, decoded: make([]*objectFields, len(meta.ManagedFields))}
}

// fields returns the fields that an entry owns. One that cannot be parsed owns nothing that matters: no API server wrote it.
func (o *Ownership) fields(entry int) *objectFields {
	if o.decoded[entry] == nil {
		var fields objectFields
		if json.Unmarshal(o.entries[entry].FieldsV1.GetRawBytes(), &fields) != nil {
			fields = objectFields{}
		}
		o.decoded[entry] = &fields
	}
	return o.decoded[entry]
}

// OfAnnotation returns the entries that own the value of an annotation.
func (o *Ownership) OfAnnotation(name string) []*metav1.ManagedFieldsEntry {
	return o.of(name, func(fields *objectFields) map[string]member { return fields.Metadata.Annotations })
}

// OfLabel returns the entries that own the value of a label.
func (o *Ownership) OfLabel(name string) []*metav1.ManagedFieldsEntry {
	return o.of(name, func(fields *objectFields) map[string]member { return fields.Metadata.Labels })
}

func (o *Ownership) of(name string, among func(*objectFields) map[string]member) []*metav1.ManagedFieldsEntry {
	var all []*metav1.ManagedFieldsEntry
	for i := range o.entries {
		if o.owns(i, name, among) {
			all = append(all, &o.entries[i])
		}
	}
	return all
}

func (o *Ownership) owns(entry int, name string, among func(*objectFields) map[string]member) bool {
	if !MentionsField(&o.entries[entry], name) {
		return false
	}
	_, owns := among(o.fields(entry))["f:"+name]
	return owns
}

// Earliest returns the earliest time of the entries, zero if none has a time.
func Earliest(entries []*metav1.ManagedFieldsEntry) (by time.Time) {
	for _, entry := range entries {
		if entry.Time != nil && !IsForged(entry.Time.Time) && (by.IsZero() || entry.Time.Time.Before(by)) {
			by = entry.Time.Time
		}
	}
	return by
}

// MentionsField reports whether an entry may own a field of the given name. Most entries do not
// and need no parsing, which is the largest part of the cost of reading a workload.
func MentionsField(entry *metav1.ManagedFieldsEntry, name string) bool {
	return bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:`+name+`"`))
}

// RecordWriter returns the field manager that last wrote an annotation of the record. It returns
// the empty string if no annotation is left, since a removal leaves no trace, or if this
// controller wrote last.
func (o *Ownership) RecordWriter() string {
	last := &metav1.ManagedFieldsEntry{}
	for _, annotation := range []string{ChecksumsAnnotation, BasisAnnotation} {
		for _, owner := range o.OfAnnotation(annotation) {
			isLater := owner.Time != nil && (last.Time == nil || last.Time.Before(owner.Time))
			isAsLate := owner.Time.Equal(last.Time) && last.Manager == FieldManager // within the same second, we wrote first
			if isLater || isAsLate {
				last = owner
			}
		}
	}
	return unlessOurs(last.Manager)
}

// unlessOurs returns the name of a field manager, or the empty string for this controller's name.
func unlessOurs(manager string) string {
	if manager == FieldManager {
		return ""
	}
	return unique.Make(manager).Value()
}

// IsOurs reports whether the controller itself wrote the present value of
// an annotation.
func (o *Ownership) IsOurs(annotation string) bool {
	return slices.ContainsFunc(o.OfAnnotation(annotation), isOurWrite)
}

// WroteAt returns when the controller itself last wrote an annotation, or anything else of the object. It is
// zero if that is not known.
func (o *Ownership) WroteAt(annotation string) time.Time {
	isOther := func(owner *metav1.ManagedFieldsEntry) bool { return !isOurWrite(owner) }
	return Earliest(slices.DeleteFunc(o.OfAnnotation(annotation), isOther))
}

func isOurWrite(owner *metav1.ManagedFieldsEntry) bool {
	return owner.Manager == FieldManager && owner.Operation == metav1.ManagedFieldsOperationUpdate
}

// OptedInBy returns the earliest time by which a workload is known to have opted in: the time of
// the last write of the annotation's owner, which may have changed something else, or of our own
// record if that was earlier. It is zero if no such time is known.
func (o *Ownership) OptedInBy() time.Time {
	witnesses := o.OfAnnotation(EnabledAnnotation)
	for _, owner := range o.OfAnnotation(BasisAnnotation) {
		if owner.Manager == FieldManager {
			witnesses = append(witnesses, owner)
		}
	}
	return Earliest(witnesses)
}

// SinceAny returns the earliest known time by which the object had any of the annotations.
func (o *Ownership) SinceAny(names []string) (since time.Time) {
	for _, name := range names {
		if by := Earliest(o.OfAnnotation(name)); since.IsZero() || !by.IsZero() && by.Before(since) {
			since = by
		}
	}
	return since
}

// IsForged reports whether no clock shows a time. Whoever may write an object may also write the times in its managedFields.
func IsForged(at time.Time) bool {
	year := at.UTC().Year()
	return year < 1970 || year > 9998
}

// TimestampWriter is who wrote the restart timestamp of the pod template, or may have removed it at a time.
type TimestampWriter struct {
	Name string
	At   time.Time // zero if it wrote the timestamp
}

// Since returns the name unless the write was before a restart, which it cannot have reverted then.
func (w TimestampWriter) Since(restart time.Time) string {
	if !w.At.IsZero() && names.IsAfter(restart, w.At, false) {
		return ""
	}
	return w.Name
}

// TimestampWriter returns the field manager that wrote the restart timestamp of the pod template.
// If there is no timestamp, it returns the manager other than this controller that last wrote to
// the workload, because a write that only removes fields leaves no trace of its own, and when that
// was. It returns the empty string if the manager is not known, or if the controller wrote the
// timestamp itself.
func (o *Ownership) TimestampWriter() TimestampWriter {
	last := metav1.ManagedFieldsEntry{Time: &metav1.Time{}}
	for i := range o.entries {
		entry := &o.entries[i]
		if o.ownsTimestamp(i) {
			return TimestampWriter{Name: unlessOurs(entry.Manager)}
		}
		isOther := entry.Manager != FieldManager && entry.Manager != RestartAtManager && entry.Subresource == ""
		if isOther && entry.Time != nil && last.Time.Before(entry.Time) {
			last = *entry
		}
	}
	return TimestampWriter{unique.Make(last.Manager).Value(), last.Time.Time}
}

// ownsTimestamp reports whether an entry owns the restart timestamp of the pod template.
func (o *Ownership) ownsTimestamp(entry int) bool {
	return o.owns(entry, TimestampAnnotation, func(fields *objectFields) map[string]member { return fields.Spec.Template.Metadata.Annotations })
}
