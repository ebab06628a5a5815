package record

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
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
func (r *Record) readRevert(owned *annotation.Ownership, b *stored, template *corev1.PodTemplateSpec) {
	if !r.Trusted {
		return
	}
	present, recorded := annotation.TimestampOf(template), annotation.Shortened(b.Timestamp)
	if present != recorded {
		r.Reverted = NewRevert(recorded, b.Written, present, owned.TimestampWriter().Since(b.Written))
		return
	}
	restart, err := time.Parse(time.RFC3339Nano, recorded)
	after := restart.Sub(b.Written)
	r.WithRestart = err == nil && after >= 0 && after < content.SettledAfter
}

// NewRevert returns the revert of a restart whose timestamp has been replaced by another in the
// pod template.
func NewRevert(restart string, recorded time.Time, present, by string) *Revert {
	return &Revert{Recorded: recorded, Restart: restart, By: by, Later: restart == "" || IsLaterRestart(present, restart)}
}

// IsLaterRestart reports whether a timestamp is that of a restart after another. What is no timestamp is earlier than all.
func IsLaterRestart(timestamp, former string) bool {
	at, err := time.Parse(time.RFC3339Nano, timestamp)
	before, _ := time.Parse(time.RFC3339Nano, former)
	return err == nil && at.After(before)
}
