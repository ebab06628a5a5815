package annotation

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
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
