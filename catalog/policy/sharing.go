package policy

import (
	"slices"
	"strings"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/glob"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// A workload may name configs of other namespaces in [annotation.AlsoAnnotation]. A config counts for workloads of
// another namespace only if its own [annotation.ReadersAnnotation] names that namespace; otherwise it is as good as
// absent, and nobody learns that it exists.
//
// In the namespace of its readers, such a config has a name with a slash, NAMESPACE/NAME. To everything
// that knows configs by their names, it is a config of the readers' own namespace: what becomes of their
// restarts stays there, and concerns neither the config's owner nor readers elsewhere.

const (
	// maxReaders is how many bytes the annotation may have, and maxReaderEntries how many entries. Each is
	// compared with each namespace in which a workload names the config.
	maxReaders       = 1024
	maxReaderEntries = 50
)

// readers reads which namespaces a config is shared with. What cannot be used shares it with nobody.
func readers(r *annotation.PolicyReader) string {
	text, found := r.Annotations[annotation.ReadersAnnotation]
	switch {
	case !found:
		return ""
	case len(text) > maxReaders || strings.Count(text, ",") >= maxReaderEntries:
		r.Reject(annotation.ReadersAnnotation, "the limits are %d bytes and %d entries; the config is not shared", maxReaders, maxReaderEntries)
		return ""
	}
	var usable []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if err := glob.Check(name); err != nil {
			r.Reject(annotation.ReadersAnnotation, "cannot use %.60q: %v, so it shares the config with nobody", name, err)
			continue
		}
		usable = append(usable, name)
	}
	slices.Sort(usable)
	return strings.Join(slices.Compact(usable), ",")
}

// Sharing is what the watch showed of the [annotation.ReadersAnnotation] of a config: the last values, the present one
// last, and since when it had each. The moment is 0 if it may have had the value all the time.
type Sharing []SharingStep

// SharingStep is with whom a config was shared from a moment on.
type SharingStep struct {
	Readers string
	Began   names.Sequence
	// IsListed means that a list showed it, so that nobody knows whether the present content came first.
	IsListed bool
}

// After returns the moment after which edits of the config count. What came with the annotation counts.
func (s SharingStep) After() names.Sequence {
	if s.Began == 0 || s.IsListed {
		return s.Began
	}
	return s.Began - 1
}

// MaxSharingSteps is how many values are remembered. If there were more, the earlier ones count as the first
// one that is remembered.
const MaxSharingSteps = 4

// IsReader reports whether the workloads of a namespace may name the config.
func IsReader(readers, namespace string) bool {
	for name := range strings.SplitSeq(readers, ",") {
		if name != "" && glob.Matches(name, namespace) {
			return true
		}
	}
	return false
}

// SharingThen returns the remembered values with another one.
func (p *ConfigPolicy) SharingThen(next SharingStep) *Sharing {
	steps := Sharing{{Readers: p.Readers}}
	if p.Shared != nil {
		steps = slices.Clone(*p.Shared)
	}
	if more := len(steps) + 1 - MaxSharingSteps; more > 0 {
		first := steps[0]
		steps = slices.Clone(steps[more:])
		steps[0].Began, steps[0].IsListed = first.Began, first.IsListed
	}
	steps = append(steps, next)
	return &steps
}

// WhenGone returns what stays known of the policy of a config that is gone.
func (p *ConfigPolicy) WhenGone() *ConfigPolicy {
	if p == nil {
		return nil
	}
	return names.UnlessZero(ConfigPolicy{Readers: p.Readers, Shared: p.Shared})
}
