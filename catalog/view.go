package catalog

import (
	"slices"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// View is what the catalog knows about one workload at one moment. The values it points to are
// shared and never modified.
type View struct {
	Workload *workload.Workload
	// Configs holds the referenced configs that are known.
	Configs map[names.ConfigRef]*content.Config
	// Sources holds those that are of other namespaces, as the catalog keeps them; see [View.Source].
	Sources map[names.ConfigRef]*content.Config
	// Past holds the past contents of these configs, the oldest first. Configs without past
	// contents are absent.
	Past     map[names.ConfigRef][]content.Past
	Sequence names.Sequence
	// Complete is the moment at which the catalog had last taken in the first list of a kind of
	// config.
	Complete names.Sequence
	// Listing reports whether the catalog is taking in a list of the namespace's configs. Some
	// of them may then be newer than others, so a decision would soon be made again.
	Listing bool
	// Key keys the checksums of Secrets. It is zero until it is known.
	Key content.ChecksumKey
	// Originals holds the [record.OriginalDigest]s of the configs that [decide.UnsettledByOriginal]
	// returns. A Catalog does not know them; the caller provides them.
	Originals map[names.ConfigRef]names.Checksum
	// Mounts is what is known of the referenced configs of which each pod has its own content.
	Mounts map[names.ConfigRef]content.CSIClassMounts
}

// LacksKey reports whether nothing can be recorded on the workload yet because it reads a
// Secret and the key is not known.
func (v *View) LacksKey() bool {
	return v.Key.IsZero() && slices.ContainsFunc(v.Workload.References, func(r template.Reference) bool { return r.Config.Kind.IsKeyed() })
}

// Present returns a referenced config that exists, or nil.
func (v *View) Present(ref names.ConfigRef) *content.Config {
	if config := v.Configs[ref]; config != nil && !config.Deleted {
		return config
	}
	return nil
}

// View returns what the catalog knows about a workload, and false if it does not have the
// workload.
func (l *Lookup) View(ref names.WorkloadRef) (View, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	workload := l.workload(ref)
	if workload == nil {
		return View{}, false
	}
	view := View{Workload: workload.ReadWith(l.key), Configs: make(map[names.ConfigRef]*content.Config), Sequence: l.moment, Complete: l.complete, Key: l.key}
	view.Listing = l.listing[""] > 0 || l.listing[ref.Namespace] > 0
	var unrecorded []names.ConfigRef
	for _, reference := range workload.References {
		view.addMounts(&l.store, &reference)
		if reference.Channel == template.API && reference.Config.IsShared() {
			if view.addShared(&l.store, reference.Config) {
				unrecorded = append(unrecorded, reference.Config)
			}
			continue
		}
		if config := l.config(reference.Config); config != nil {
			view.Configs[reference.Config] = config
		}
		if past, found := l.past[reference.Config]; found {
			view.addPast(reference.Config, past)
		}
	}
	view.Workload = view.Workload.WithoutRecordOf(unrecorded)
	return view, true
}

// addPast adds the past contents of a config.
func (v *View) addPast(config names.ConfigRef, past []content.Past) {
	if v.Past == nil {
		v.Past = make(map[names.ConfigRef][]content.Past)
	}
	v.Past[config] = past
}

// Missing is a config that the containers need to start, and that does not exist or lacks a key.
type Missing struct {
	Config names.ConfigRef
	// Key is a key that the config lacks, empty if there is no such config.
	Key string
}

// Missing returns the first config that pods need to start and do not find, and how many there are. Only those configs
// count that isKnown reports on: all of their kind have been listed, for example.
func (v *View) Missing(isKnown func(names.ConfigRef) bool) (first Missing, count int) {
	if v.Workload.Idle {
		return Missing{}, 0
	}
	var last names.ConfigRef // the references to a config are next to each other
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
// not watch; see [workload.Workload.MayBeUnwatched]. One that was seen was of another type.
func (v *View) MayBeUnwatched(ref names.ConfigRef) bool {
	return v.Configs[ref] == nil && v.Workload.Record.MayBeUnwatched(ref)
}

// misses reports whether the config of a reference is missing, or which of its keys is.
func (v *View) misses(r *template.Reference) (key string, isMissing bool) {
	if !r.IsRequired() {
		return "", false
	}
	config := v.Present(r.Config)
	names, isList := r.Keys.Listed()
	if config == nil || !r.Items && r.Channel != template.Environment || !isList {
		return "", config == nil
	}
	for _, name := range names {
		if key, found := content.FindKey(config.Keys, name); !found || !r.Keys.Selects(key) {
			return name, true
		}
	}
	return "", false
}

// addShared adds what is known of a config of another namespace, if it is shared with the workload. It reports
// whether the record is from before that, so that it says nothing about the config.
func (v *View) addShared(s *store, ref names.ConfigRef) (isUnrecorded bool) {
	source := ref.Source()
	known := s.source(ref)
	config := known.As(ref)
	if config == nil {
		return false
	}
	if v.Configs[ref] = config; v.Sources == nil {
		v.Sources = make(map[names.ConfigRef]*content.Config)
	}
	v.Sources[ref] = known
	if past, found := s.past[source]; found {
		v.addPast(ref, past)
	}
	v.Listing = v.Listing || s.listing[source.Namespace] > 0
	since, _ := config.SharedSince(ref.Namespace)
	return since.Began > v.Workload.RecordSeen
}

// Source returns what the catalog keeps of a config of the view: of the config itself if it is one of another
// namespace. It is the same value in each view until the config changes.
func (v *View) Source(ref names.ConfigRef) *content.Config {
	if source := v.Sources[ref]; source != nil {
		return source
	}
	return v.Configs[ref]
}
