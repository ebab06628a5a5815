package catalog

import "strings"

// helmReleasePrefix begins the names of Secrets that the controller does not watch.
const helmReleasePrefix = "sh.helm.release.v1."

// Missing is a config that the containers need to start, and that does not exist or lacks a key.
type Missing struct {
	Config ConfigRef
	// Key is a key that the config lacks, empty if there is no such config.
	Key string
}

// Missing returns the first config that pods need to start and do not find, and how many there are. Of volumes, only
// whole configs count: a template does not say what happens without a file. Only kinds of configs count of which all have been
// listed, which isKnown reports.
func (v *View) Missing(isKnown func(ConfigKind) bool) (first Missing, count int) {
	if v.Workload.Idle {
		return Missing{}, 0
	}
	var last ConfigRef // the references to a config are next to each other
	for i := range v.Workload.References {
		r := &v.Workload.References[i]
		if key, isMissing := v.misses(r); isMissing && r.Config != last && isKnown(r.Config.Kind) {
			last = r.Config
			if count++; count == 1 {
				first = Missing{r.Config, key}
			}
		}
	}
	return first, count
}

// misses reports whether the config of a reference is missing, or which of its keys is.
func (v *View) misses(r *Reference) (key string, isMissing bool) {
	if !r.IsRequired() {
		return "", false
	}
	config := v.present(r.Config)
	names, isList := r.Keys.Listed()
	if config == nil || r.Channel != Environment || !isList {
		return "", config == nil
	}
	for _, name := range names {
		if !inData(config.Keys, name) {
			return name, true
		}
	}
	return "", false
}

// IsRequired reports whether a pod needs the config to start.
func (r *Reference) IsRequired() bool {
	return !r.Optional && r.Channel != API && !r.Config.Kind.IsPerPod() && !r.Config.IsShared() && !strings.HasPrefix(r.Config.Name, helmReleasePrefix)
}
