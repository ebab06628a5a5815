package catalog

import (
	"slices"
	"strings"
)

// A config whose own annotation says so is ignored: its changes restart nobody. A record does not have
// its checksum, but says that it was ignored, so that a config that counts again is not taken for one
// that has appeared.

// isIgnored reports whether a config, which may be nil, is ignored.
func (c *Config) isIgnored() bool { return c != nil && c.Policy != nil && c.Policy.Ignored }

// countsAfter returns the moment after which edits of a config, which may be nil, count; see [ConfigPolicy].
func (c *Config) countsAfter() Sequence {
	if c == nil || c.Policy == nil {
		return 0
	}
	return c.Policy.CountsAfter
}

// followIgnored notes on a config that has arrived whether its previous state, which may be nil, was
// ignored or lacked the mark, and reports whether that has changed. What came with the end of the annotation counts,
// unless a list shows it: nobody knows then what came first.
func (a *arrival) followIgnored(previous *Config, moment Sequence) (isNews bool) {
	if previous == nil || previous.Deleted {
		return a.config.isIgnored()
	}
	begins, marked := moment-1, previous.markedAfter()
	if a.listed {
		begins = moment
	}
	after := previous.countsAfter()
	if previous.isIgnored() && !a.config.isIgnored() {
		after = begins
	}
	if !previous.isMarked() && a.config.isMarked() {
		marked = begins
	}
	if after > 0 || marked > 0 {
		policy := ConfigPolicy{}
		if a.config.Policy != nil {
			policy = *a.config.Policy
		}
		policy.CountsAfter, policy.MarkedAfter = after, marked
		a.config.Policy = &policy
	}
	return previous.isIgnored() != a.config.isIgnored() || previous.isMarked() != a.config.isMarked()
}

const (
	// maxIgnored is how many bytes the names of ignored configs may have in the basis.
	maxIgnored = 512
	// otherIgnored stands for those that do not fit: any config that the record lacks.
	otherIgnored = "*"
)

// ignored returns what the record says about the configs that are ignored: their names, sorted and
// separated by commas. A config that is gone stays ignored if the record says so. So does one for which lacking returns true:
// the record is to cover what the present one covers, and lacks it.
func (v *View) ignored(lacking func(ConfigRef) bool) string {
	var names []string
	for ofOne := range runs(v.Workload.References, ofOneConfig) {
		ref := ofOne[0].Config
		config := v.present(ref)
		if ref.Kind.IsPerPod() {
			continue // nobody can ignore it by an annotation of its own
		}
		stays := config == nil || lacking(ref)
		if v.Workload.Ignores(config) || stays && v.Workload.Applied.saysIgnored(ref) {
			names = append(names, ref.NameWithin())
		}
	}
	all := strings.Join(names, ",")
	if len(all) <= maxIgnored {
		return all
	}
	fitting := all[:strings.LastIndex(all[:maxIgnored-len(otherIgnored)], ",")+1]
	return fitting + otherIgnored
}

// saysIgnored reports whether a trusted record lacks a config because it was ignored.
func (r *AppliedState) saysIgnored(ref ConfigRef) bool {
	if r.Without == nil || r.Without.Ignored == "" {
		return false
	}
	names, _ := strings.CutSuffix(r.Without.Ignored, ","+otherIgnored)
	hasOthers := strings.HasSuffix(r.Without.Ignored, otherIgnored)
	_, isRecorded := r.Checksums[ref]
	return !isRecorded && (hasOthers || slices.Contains(strings.Split(names, ","), ref.NameWithin()))
}

// cameIgnored reports whether an edit is no reason to restart, because the config was ignored at that
// time, or may have been. What the record covers was not, or not for long enough to be recorded.
func (h *history) cameIgnored(edit Edit) bool {
	if !h.wasIgnored || edit.Seen > h.ignoredUntil {
		return false
	}
	_, isRecorded := h.workload.Applied.Checksums[h.config.Ref]
	return !isRecorded || !h.workload.Applied.Trusted || h.narrowing != nil && !h.narrowing.isCovered(edit)
}
