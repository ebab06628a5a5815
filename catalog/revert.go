package catalog

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Revert describes a restart that another client reverted: the record belongs to a restart timestamp
// that the pod template no longer has. Pods from before the restart may then stay.
type Revert struct {
	// Recorded is when the record of the restart was written. A pod that read its configs later
	// has seen the recorded content.
	Recorded time.Time
	// Restart is the timestamp of the restart, empty if the record was made before any.
	Restart string
	// By is the field manager that took it back, if the API shows it; otherwise empty.
	By string
	// Later means that the pod template has the timestamp of a later restart, so the restart was
	// not reverted but replaced.
	Later bool
}

// readRevert notes a revert if the record belongs to another timestamp than that of the pod
// template. Otherwise it notes whether the timestamp comes from a restart made with the record; that
// of somebody else can be any later time.
func (r *AppliedState) readRevert(owned *ownership, b *basis, template *corev1.PodTemplateSpec) {
	if !r.Trusted {
		return
	}
	present, recorded := restartTimestamp(template), shortened(b.Timestamp)
	if present != recorded {
		r.Reverted = newRevert(recorded, b.Written, present, owned.timestampWriter().since(b.Written))
		return
	}
	restart, err := time.Parse(time.RFC3339Nano, recorded)
	after := restart.Sub(b.Written)
	r.WithRestart = err == nil && after >= 0 && after < settledAfter
}

// longestTimestamp is how many bytes of a timestamp are read. Our timestamps are shorter, and
// timestamps from others must not fill the memory, the log and the record.
const longestTimestamp = 64

// restartTimestamp returns the restart timestamp of a pod template, empty if it has none.
func restartTimestamp(template *corev1.PodTemplateSpec) string {
	return RestartTimestamp(template.Annotations)
}

// RestartTimestamp returns the timestamp of the restart that a pod template, or a pod, is from, empty if there was none.
// It is comparable with [Workload.Timestamp].
func RestartTimestamp(annotations map[string]string) string {
	return shortened(annotations[TimestampAnnotation])
}

func shortened(timestamp string) string {
	if len(timestamp) <= longestTimestamp {
		return timestamp
	}
	return strings.ToValidUTF8(timestamp[:longestTimestamp], "")
}

// newRevert returns the revert of a restart whose timestamp has been replaced by another in the
// pod template.
func newRevert(restart string, recorded time.Time, present, by string) *Revert {
	return &Revert{Recorded: recorded, Restart: restart, By: by, Later: restart == "" || IsLaterRestart(present, restart)}
}

// IsLaterRestart reports whether a timestamp is that of a restart after another. What is no timestamp is earlier than all.
func IsLaterRestart(timestamp, former string) bool {
	at, err := time.Parse(time.RFC3339Nano, timestamp)
	before, _ := time.Parse(time.RFC3339Nano, former)
	return err == nil && at.After(before)
}

// hasPodsBeforeRevert reports whether a pod read a config before the record of the restart
// that was reverted.
func (w *Workload) hasPodsBeforeRevert(sights []sight, first reads) bool {
	return slices.ContainsFunc(sights, func(s sight) bool {
		read, hasRead := first.of(s.references)
		return s.config != nil && hasRead && w.isBeforeRevert(read)
	})
}

// isBeforeRevert reports whether a pod that read a config at the given time did so before the
// record. If the read seems to be within a second after the record, the order in which the watch
// showed the record and the pod template decides: the read counts as earlier unless the record
// came first.
func (w *Workload) isBeforeRevert(read time.Time) bool {
	recordCameFirst := !w.Applied.Trusted || w.PodTemplateSeen > w.RecordSeen
	after := read.Sub(w.Applied.Reverted.Recorded)
	return after < 0 || after < clockTolerance && !recordCameFirst
}

// revertSince returns the revert of a workload whose record is not trusted, if the catalog knew
// a trusted record before: taking back the restart replaced the annotations too, as kubectl
// rollout undo does. It returns nil if there is no revert.
func revertSince(previous, present *Workload) *Revert {
	known := previous.Applied.Reverted
	if known == nil && previous.Applied.Trusted && previous.Timestamp != "" {
		known = &Revert{Restart: previous.Timestamp, Recorded: previous.Applied.Written}
	}
	switch {
	case known == nil || known.Restart == present.Timestamp || previous.Template != present.Template:
		return nil
	case previous.Timestamp == present.Timestamp:
		return known
	}
	return newRevert(known.Restart, known.Recorded, present.Timestamp, present.writers().Template.since(known.Recorded))
}

// showsRevert reports whether a workload shows a revert that its previous state did not. It
// ignores By, which may change with any write.
func showsRevert(previous, present *Workload) bool {
	before, now := previous.Applied.Reverted, present.Applied.Reverted
	switch {
	case now == nil:
		return false
	case before == nil || previous.Timestamp != present.Timestamp:
		return true
	}
	return before.Restart != now.Restart || !before.Recorded.Equal(now.Recorded)
}

// lacksRecorded reports whether a config in a trusted record is gone. Then nothing shows which
// content of it the pods have that a reverted restart has left or brought back.
func (w *Workload) lacksRecorded(sights []sight) bool {
	return w.Applied.Trusted && slices.ContainsFunc(sights, func(s sight) bool { return w.hasLost(&s) })
}

// hasLost reports whether the record has a config that is gone.
func (w *Workload) hasLost(s *sight) bool {
	_, recorded := w.Applied.Checksums[s.ref]
	return recorded && s.config == nil
}
