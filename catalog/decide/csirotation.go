package decide

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
)

// addSince adds to the checksums to record since when rotations matter.
func addSince(v *catalog.View, checksums record.Checksums) {
	for ref, seen := range v.Mounts {
		if recorded, found := v.Workload.Record.Checksums[ref]; found {
			checksums[ref] = recorded
		} else if seen.Since > 0 {
			checksums[ref] = seen.Since
		}
	}
}

// farFuture limits what anyone may have recorded as a time.
const farFuture = 1 << 32

// lacksRotation reports whether the workload has yet to follow a rotation: one that a watch showed since the workload reads
// the class, or from after the time in its record. If the record is not trusted, it may be from before the workload opted in.
func lacksRotation(v *catalog.View, m *content.CSIMountState) bool {
	if m.Shown > v.Mounts[m.Class].ReadSince {
		return true
	}
	w := v.Workload
	since, isRecorded := w.Record.Checksums[m.Class]
	return isRecorded && m.Rotated.After(time.Unix(int64(min(since, farFuture)), 0)) && //nolint:gosec // no more than farFuture
		(w.Record.Trusted || !m.Rotated.Before(w.OptedIn))
}

// eachRotated calls a function with each mount of the classes that the workload reads whose rotation it has yet to follow, until
// the function returns false. The classes come sorted.
func eachRotated(v *catalog.View, found func(*content.CSIMountState) bool) {
	for _, ref := range slices.SortedFunc(maps.Keys(v.Mounts), names.CompareConfigRefs) {
		for _, m := range v.Mounts[ref].Rotated {
			if lacksRotation(v, m) && !found(m) {
				return
			}
		}
	}
}

// hasRotated reports whether files of mounted volumes have changed, in whichever pods.
func hasRotated(v *catalog.View) (has bool) {
	eachRotated(v, func(*content.CSIMountState) bool { has = true; return false })
	return has
}

// addRotated adds the classes of which pods of the workload have other files than when they started. It reports whether
// there are such pods.
func (d *Decision) addRotated(view *catalog.View, pods []Pod) (hasAny bool) {
	var starts map[types.UID][]time.Time
	eachRotated(view, func(m *content.CSIMountState) bool {
		if starts == nil {
			starts = startsOf(pods)
		}
		last := len(d.Causes) - 1
		if slices.ContainsFunc(starts[m.Pod], m.Missed().Has) && (last < 0 || d.Causes[last].Config != m.Class) {
			hasAny, d.Causes = true, append(d.Causes, causeOf(view, m.Class))
		}
		return true
	})
	return hasAny
}

// startsOf returns when the containers of each pod started that has started any.
func startsOf(pods []Pod) map[types.UID][]time.Time {
	starts := make(map[types.UID][]time.Time, len(pods))
	for i := range pods {
		for _, start := range pods[i].Started {
			if pods[i].UID != "" {
				starts[pods[i].UID] = append(starts[pods[i].UID], start.At)
			}
		}
	}
	return starts
}

// causeOf returns a class as a cause. Its moments are those of its content, which may have reached other pods before.
func causeOf(v *catalog.View, class names.ConfigRef) Cause {
	cause := Cause{Config: class, Unnamed: true}
	if config := v.Present(class); config != nil {
		for _, edit := range config.Edits {
			cause.addMoment(edit.Seen)
		}
	}
	return cause
}
