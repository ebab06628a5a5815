package catalog

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Missing is a config that the containers need to start, and that does not exist or lacks a key.
type Missing struct {
	Config ConfigRef
	// Key is a key that the config lacks, empty if there is no such config.
	Key string
}

// Missing returns the first config that pods need to start and do not find, and how many there are. Only those configs
// count that isKnown reports on: all of their kind have been listed, for example.
func (v *View) Missing(isKnown func(ConfigRef) bool) (first Missing, count int) {
	if v.Workload.Idle {
		return Missing{}, 0
	}
	var last ConfigRef // the references to a config are next to each other
	for i := range v.Workload.References {
		r := &v.Workload.References[i]
		if key, isMissing := v.misses(r); isMissing && r.Config != last && isKnown(r.Config) {
			last = r.Config
			if count++; count == 1 {
				first = Missing{r.Config, key}
			}
		}
	}
	return first, count
}

// MayBeUnwatched reports whether a config that seems to be missing may be a Secret of the type that the controller does
// not watch; see [Workload.MayBeUnwatched]. One that was seen was of another type.
func (v *View) MayBeUnwatched(ref ConfigRef) bool {
	return v.Configs[ref] == nil && v.Workload.MayBeUnwatched(ref)
}

// MayBeUnwatched reports whether a config that is not among those that are watched may be a Secret of the type that the
// controller does not watch, which its name does not show. One that the record has was of another type.
func (w *Workload) MayBeUnwatched(ref ConfigRef) bool {
	_, isRecorded := w.Applied.Checksums[ref]
	return ref.Kind == Secret && !isRecorded && len(validation.IsDNS1123Subdomain(ref.Name)) == 0
}

// misses reports whether the config of a reference is missing, or which of its keys is.
func (v *View) misses(r *Reference) (key string, isMissing bool) {
	if !r.IsRequired() {
		return "", false
	}
	config := v.present(r.Config)
	names, isList := r.Keys.Listed()
	if config == nil || !r.Items && r.Channel != Environment || !isList {
		return "", config == nil
	}
	for _, name := range names {
		if key, found := findKey(config.Keys, name); !found || !r.Keys.selects(key) {
			return name, true
		}
	}
	return "", false
}

// IsRequired reports whether a pod needs the config to start. Helm gives the Secrets that are not watched names of its own.
func (r *Reference) IsRequired() bool {
	return !r.Optional && r.Channel != API && !r.Config.Kind.IsPerPod() && !r.Config.IsShared() && !strings.HasPrefix(r.Config.Name, "sh.helm.release.v1.")
}
