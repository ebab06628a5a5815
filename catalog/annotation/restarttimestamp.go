package annotation

import (
	"strings"
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// LongestTimestamp is how many bytes of a timestamp are read. Our timestamps are shorter, and
// timestamps from others must not fill the memory, the log and the record.
const LongestTimestamp = 64

// TimestampOf returns the restart timestamp of a pod template, empty if it has none.
func TimestampOf(template *corev1.PodTemplateSpec) string {
	return RestartTimestamp(template.Annotations)
}

// RestartTimestamp returns the timestamp of the restart that a pod template, or a pod, is from, empty if there was none.
// It is comparable with [workload.Workload.Timestamp].
func RestartTimestamp(annotations map[string]string) string {
	return Shortened(annotations[TimestampAnnotation])
}

// Shortened returns the beginning of a timestamp, which is all that counts.
func Shortened(timestamp string) string {
	if len(timestamp) <= LongestTimestamp {
		return timestamp
	}
	return strings.ToValidUTF8(timestamp[:LongestTimestamp], "")
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
	if !w.At.IsZero() && w.At.Before(restart.Add(-names.ClockTolerance)) {
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
