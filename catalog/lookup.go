package catalog

import (
	"slices"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// Lookup answers questions about what a catalog knows; it changes nothing. All methods may be called by several goroutines
// at once. The values that it returns are shared and never modified.
type Lookup struct {
	mu sync.RWMutex // guards the store
	store
	wholes content.WholeChecksums // needs no lock
}

// Workload returns what the catalog knows about a workload, or nil if it does not have the workload.
// The value is shared and never modified.
func (l *Lookup) Workload(ref names.WorkloadRef) *workload.Workload {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.workload(ref)
}

// Sequence returns the sequence of the last observation.
func (l *Lookup) Sequence() names.Sequence {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.moment
}

// WorkloadsReferencing returns the workloads that reference a config, in no particular order.
// The returned values are shared and never modified.
func (l *Lookup) WorkloadsReferencing(ref names.ConfigRef) []*workload.Workload {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.readersOf(ref)
}

// Size returns how many configs and how many workloads are known.
func (l *Lookup) Size() (configs, workloads int) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.configs.Len() - l.gone, l.workloads.Len()
}

// HasWorkloads reports whether the catalog has workloads of a namespace.
func (l *Lookup) HasWorkloads(namespace string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.ContainsFunc(l.workloadKinds, func(kind names.WorkloadKind) bool { return l.workloads.Has(kind, namespace) })
}

// HasNamespace reports whether the catalog has workloads or configs of a namespace, also such as are gone.
func (l *Lookup) HasNamespace(namespace string) bool {
	if l.HasWorkloads(namespace) {
		return true
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.ContainsFunc(configKinds, func(kind names.ConfigKind) bool { return l.configs.Has(kind, namespace) })
}

var configKinds = []names.ConfigKind{names.ConfigMap, names.Secret}

// Namespaces returns the namespaces of which the catalog has workloads or configs, and how many workloads they have. It looks at each
// namespace.
func (l *Lookup) Namespaces() map[string]int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	found := make(map[string]int)
	for namespace := range l.configs.Sizes() {
		found[namespace] += 0
	}
	for namespace, size := range l.workloads.Sizes() {
		found[namespace] += size
	}
	return found
}

// WorkloadsIn returns the workloads of a namespace, or of all if it is empty, in no particular order.
func (l *Lookup) WorkloadsIn(namespace string) (refs []names.WorkloadRef) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, kind := range l.workloadKinds {
		all := l.workloads.Of(kind, namespace)
		refs = slices.Grow(refs, len(all))
		for _, w := range all {
			refs = append(refs, w.Ref)
		}
	}
	return refs
}

// ConfigsIn returns the ConfigMaps and Secrets that exist in a namespace, or in all if it is empty, in no particular order.
func (l *Lookup) ConfigsIn(namespace string) (refs []names.ConfigRef) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, kind := range configKinds {
		all := l.configs.Of(kind, namespace)
		refs = slices.Grow(refs, len(all))
		for _, config := range all {
			if !config.Deleted {
				refs = append(refs, config.Ref)
			}
		}
	}
	return refs
}

// CountReaders returns how many workloads of its namespace read a config.
func (l *Lookup) CountReaders(ref names.ConfigRef) int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.references.Count(ref)
}

// HasConfig reports whether the catalog knows a config that is not gone.
func (l *Lookup) HasConfig(ref names.ConfigRef) bool { return l.Config(ref) != nil }

// Config returns a config that exists, or nil. The value is shared and never modified.
func (l *Lookup) Config(ref names.ConfigRef) *content.Config {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.present(ref)
}

// IsContentOf reports whether a config of a kind and name has a content in any namespace; see
// [Lookup.ContentID]. It looks at each namespace.
func (l *Lookup) IsContentOf(kind names.ConfigKind, name, content string) bool {
	for _, ref := range l.namesakes(kind, name) {
		if l.ContentID(ref, nil) == content {
			return true
		}
	}
	return false
}

func (l *Lookup) namesakes(kind names.ConfigKind, name string) (found []names.ConfigRef) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, config := range l.configs.Namesakes(kind, name) {
		if !config.Deleted {
			found = append(found, config.Ref)
		}
	}
	return found
}

// EditedSince reports whether keys of a config were edited after a moment; no keys means any. It is true
// for a config that is gone.
func (l *Lookup) EditedSince(ref names.ConfigRef, keys []string, moment names.Sequence) bool {
	config := l.Config(ref)
	return config == nil || config.Appeared > moment || hasEditAfter(config, keys, moment)
}

func hasEditAfter(config *content.Config, keys []string, moment names.Sequence) bool {
	return slices.ContainsFunc(config.Edits, func(edit annotation.Edit) bool { return edit.Seen > moment && content.IsAmong(edit, keys) })
}

// IsBackSince reports whether a config was only gone for a while after a moment, as far as keys are concerned: it has appeared again
// since, but none of them was edited, and no container of the workload could start without it. Whether the content is the
// same is not compared.
func (l *Lookup) IsBackSince(w *workload.Workload, ref names.ConfigRef, keys []string, moment names.Sequence) bool {
	config := l.Config(ref)
	return config != nil && config.Appeared > moment && !hasEditAfter(config, keys, moment) &&
		!slices.ContainsFunc(w.ReferencesTo(ref), func(r template.Reference) bool { return r.Optional })
}

// ShowedEditTo reports whether a watch showed an edit of a config after a moment that the pod template of a workload lets it see.
func (l *Lookup) ShowedEditTo(w *workload.Workload, ref names.ConfigRef, moment names.Sequence) bool {
	config := l.Config(ref)
	if config == nil {
		return false
	}
	selected := content.Selections(w.ReferencesTo(ref))
	return slices.ContainsFunc(config.Edits, func(edit annotation.Edit) bool { return edit.Seen > moment && config.IsSeen(edit, selected) })
}

// EditedFor returns when the last edit of a config was made that the pod template of a workload lets it see, zero if none is known.
func (l *Lookup) EditedFor(w *workload.Workload, ref names.ConfigRef) time.Time {
	config, selected := l.Config(ref), content.Selections(w.ReferencesTo(ref))
	return config.LastEdit(func(edit annotation.Edit) bool { return config.IsSeen(edit, selected) })
}

// ContentKey returns the id of the key with which [Lookup.ContentID] is made of a config, empty if it is made with none.
func (l *Lookup) ContentKey(ref names.ConfigRef) string {
	if !ref.Kind.IsSecret() {
		return ""
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.key.ID()
}

// ShowedEdit reports whether a watch showed an edit of keys of a config after a time; no keys means any. It is true for a
// config that is gone.
func (l *Lookup) ShowedEdit(ref names.ConfigRef, keys []string, since time.Time) bool {
	config := l.Config(ref)
	return config == nil || slices.ContainsFunc(config.Edits, func(edit annotation.Edit) bool {
		return edit.Seen > 0 && edit.At.After(since) && content.IsAmong(edit, keys)
	})
}

// MissedEdit reports whether a config was edited after the record of a workload was made and before the
// watches began: it differs from the record, and no watch showed an edit since. Then nobody knows which
// of its keys the workload still has.
func (l *Lookup) MissedEdit(w *workload.Workload, ref names.ConfigRef) bool {
	if ref.Kind.IsPerPod() || l.EditedSince(ref, nil, w.RecordSeen) {
		return false // no record has its content
	}
	l.mu.RLock()
	present, key := l.present(ref), l.key
	l.mu.RUnlock()
	recorded, found := w.Record.Checksums[ref]
	if present == nil || !found || ref.Kind.IsSecret() && (key.IsZero() || !w.Record.IsReadableWith(key)) {
		return false
	}
	return recorded != l.wholes.Checksum(present, content.Selections(w.RecordedReferences(ref)), key)
}

// ContentID returns 16 hexadecimal digits that identify the present content of the given keys of a
// config, or of all its keys if none is given. That a key is missing is part of the content; other
// keys are not. The id of a Secret's content is made with the key of checksums, so that nobody can
// test guesses against it. It is empty if the config is gone, the key of checksums is not known, or no
// rotation shows which of its contents is the newest.
func (l *Lookup) ContentID(config names.ConfigRef, keys []string) string {
	l.mu.RLock()
	present, key := l.present(config), l.key
	l.mu.RUnlock()
	if present == nil || config.Kind.IsSecret() && key.IsZero() || config.Kind.IsPerPod() && present.Keys.Len() == 0 {
		return ""
	}
	return l.wholes.Checksum(present, content.SelectionOf(keys), key).String()
}

// PolicyOf returns what the annotations of a config ask for. It is the zero value for a config that
// is gone.
func (l *Lookup) PolicyOf(ref names.ConfigRef) policy.ConfigPolicy {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if config := l.present(ref); config != nil && config.Policy != nil {
		return *config.Policy
	}
	return policy.ConfigPolicy{}
}

// LacksRequired reports whether a config does not exist, or lacks a key, without which the containers of a workload cannot
// start.
func (l *Lookup) LacksRequired(w *workload.Workload, ref names.ConfigRef) bool {
	present := l.Config(ref)
	return !ref.Kind.IsPerPod() && slices.ContainsFunc(template.ReferencesTo(w.References, ref), func(reference template.Reference) bool {
		names, _ := reference.Keys.Listed()
		return !reference.Optional && (present == nil || slices.ContainsFunc(names, func(name string) bool { return !content.HasKey(present.Keys, name) }))
	})
}

// NamesElsewhere returns the names that a config has in the namespaces with which it is shared and whose
// workloads name it, sorted.
func (l *Lookup) NamesElsewhere(ref names.ConfigRef) []names.ConfigRef {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.namesElsewhere(ref)
}
