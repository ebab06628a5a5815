package catalog

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// ClassMounts is what a [View] shows of the mounts of a class.
type ClassMounts struct {
	// rotated are the mounts whose files have changed, in no order.
	rotated []*mount
	// since is the time to record; see [sinceOf]. It is zero if the mounts have not been listed.
	since Checksum
	// readSince is the moment since which the workload reads the class.
	readSince Sequence
}

// addMounts adds what is known of a reference to a class.
func (v *View) addMounts(c *Catalog, reference *Reference) {
	ref := reference.Config
	if !ref.Kind.IsPerPod() || reference.NeedsMark {
		return
	}
	seen := ClassMounts{readSince: c.mounts.readSince[v.Workload.Ref][ref]}
	if class := c.mounts.byClass[ref]; class != nil && len(class.rotated) > 0 {
		seen.rotated = slices.Collect(maps.Values(class.rotated))
	}
	listed := c.mounts.listed[ref.Namespace]
	if listed.IsZero() {
		listed = c.mounts.listed[""]
	}
	if !listed.IsZero() {
		seen.since = sinceOf(listed, seen.rotated)
	}
	if v.Mounts == nil {
		v.Mounts = make(map[ConfigRef]ClassMounts)
	}
	v.Mounts[ref] = seen
}

// sinceOf returns what to record of a class in place of a checksum: since when rotations matter to the workload, in seconds
// of Unix time. That is when its mounts were first listed, or later if files have changed since. What a record has stays
// in all that follow it. So rotations that no watch showed, from before a workload was first recorded, restart nothing.
func sinceOf(listed time.Time, rotated []*mount) Checksum {
	since := unixSeconds(listed)
	for _, m := range rotated {
		since = max(since, unixSeconds(m.rotated.Add(time.Second-1)))
	}
	return Checksum(since)
}

// addSince adds to the checksums to record since when rotations matter.
func (v *View) addSince(checksums Checksums) {
	for ref, seen := range v.Mounts {
		if recorded, found := v.Workload.Applied.Checksums[ref]; found {
			checksums[ref] = recorded
		} else if seen.since > 0 {
			checksums[ref] = seen.since
		}
	}
}

// keepSince keeps since when rotations matter if another client removed the record.
func (w *Workload) keepSince(previous *Workload) {
	var kept Checksums
	for ref, since := range previous.Applied.Checksums {
		if _, found := w.Applied.Checksums[ref]; found || !ref.Kind.IsPerPod() || len(referencesTo(w.References, ref)) == 0 {
			continue
		}
		if kept == nil {
			kept = maps.Clone(w.Applied.Checksums)
		}
		if kept == nil {
			kept = make(Checksums)
		}
		kept[ref] = since
	}
	if kept != nil {
		w.Applied.Checksums = kept
	}
}

// lacksRotation reports whether the workload has yet to follow a rotation: one that a watch showed since the workload reads
// the class, or from after the time in its record. If the record is not trusted, it may be from before the workload opted in.
func (v *View) lacksRotation(m *mount) bool {
	if m.shown > v.Mounts[m.Class].readSince {
		return true
	}
	w := v.Workload
	since, isRecorded := w.Applied.Checksums[m.Class]
	return isRecorded && m.rotated.After(time.Unix(int64(min(since, farFuture)), 0)) && //nolint:gosec // no more than farFuture
		(w.Applied.Trusted || !m.rotated.Before(w.OptedIn))
}

// farFuture limits what anyone may have recorded as a time.
const farFuture = 1 << 32

// eachRotated calls a function with each mount of the classes that the workload reads whose rotation it has yet to follow, until
// the function returns false. The classes come sorted.
func (v *View) eachRotated(found func(*mount) bool) {
	for _, ref := range slices.SortedFunc(maps.Keys(v.Mounts), compareConfigRefs) {
		for _, m := range v.Mounts[ref].rotated {
			if v.lacksRotation(m) && !found(m) {
				return
			}
		}
	}
}

// hasRotated reports whether files of mounted volumes have changed, in whichever pods.
func (v *View) hasRotated() (has bool) {
	v.eachRotated(func(*mount) bool { has = true; return false })
	return has
}

// addRotated adds the classes of which pods of the workload have other files than when they started. It reports whether
// there are such pods.
func (d *Decision) addRotated(view *View, pods []Pod) (hasAny bool) {
	var starts map[types.UID][]time.Time
	view.eachRotated(func(m *mount) bool {
		if starts == nil {
			starts = startsOf(pods)
		}
		last := len(d.Causes) - 1
		if of := starts[m.Pod]; len(of) > 0 && m.isMissedBy(of) && (last < 0 || d.Causes[last].Config != m.Class) {
			hasAny, d.Causes = true, append(d.Causes, view.causeOf(m.Class))
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
func (v *View) causeOf(class ConfigRef) Cause {
	cause := Cause{Config: class, Unnamed: true}
	if config := v.present(class); config != nil {
		for _, edit := range config.Edits {
			cause.addMoment(edit.Seen)
		}
	}
	return cause
}

// HasMounts reports whether the workload reads configs of which each pod has its own content.
func (w *Workload) HasMounts() bool {
	last := len(w.References) - 1 // they are sorted by kind
	return last >= 0 && w.References[last].Config.Kind.IsPerPod()
}

// Delivers identifies what the decision would bring to the pods: the checksums to record and, of causes that no record has,
// the moments.
func (d *Decision) Delivers() Checksums {
	delivers := maps.Clone(d.Checksums)
	for i := range d.Causes {
		if cause := &d.Causes[i]; cause.Config.Kind.IsPerPod() {
			delivers[cause.Config] = Checksum(slices.Max(cause.Moments))
		}
	}
	return delivers
}
