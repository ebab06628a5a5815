package record

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// EvictNow in a basis says that a restart by eviction began with this write. Every later write names the time
// of that one, in the form of evictLayout.
const (
	EvictNow    = "now"
	evictLayout = time.RFC3339
)

// evictedAt returns when a restart by eviction began, if a trusted basis says that it did; otherwise 0.
func (b *stored) evictedAt(owned *annotation.Ownership) uint32 {
	switch b.Evict {
	case "": // as in nearly all
		return 0
	case EvictNow:
		return names.UnixSeconds(owned.WroteAt(annotation.BasisAnnotation))
	}
	at, err := time.Parse(evictLayout, b.Evict)
	if err != nil {
		return 0
	}
	return names.UnixSeconds(at)
}

// EvictMember returns the member of the basis for a write that is no restart.
func (r *LastRestart) EvictMember() string {
	if at, evicts := r.EvictedAt(); evicts {
		return at.Format(evictLayout)
	}
	return ""
}

// EvictedAt returns when a restart by eviction began from before which there may be pods, and false if there is none.
func (r *LastRestart) EvictedAt() (time.Time, bool) {
	return time.Unix(int64(r.Evict), 0).UTC(), r.Evict > 0
}

// IsEarlierPod reports whether a pod that was created at the given time is from before the restart by eviction.
// Several API servers may date the record and the pod, in whole seconds. If in doubt, the pod is earlier. So the
// evictions must begin only when new pods are no longer in doubt; see [workload.EvictionDelay].
func (r *LastRestart) IsEarlierPod(created time.Time) bool {
	at, evicts := r.EvictedAt()
	return evicts && names.IsAfter(at, created, true)
}
