package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
)

// A workload may let only those configs count that are marked, as with Reloader's annotations search and match. A config
// without the mark is ignored for this workload, as one that ignores itself is for all workloads; see [View.ignored].

// Kinds are kinds of configs of which some count that are marked.
type Kinds uint8

// bothKinds are all that can be marked. In a record, they are the value true.
const bothKinds = Kinds(1<<ConfigMap | 1<<Secret)

func (k Kinds) has(kind ConfigKind) bool { return k>>kind&1 == 1 }

// MarshalJSON encodes one kind by its name.
func (k Kinds) MarshalJSON() ([]byte, error) {
	for _, kind := range []ConfigKind{ConfigMap, Secret} {
		if k == 1<<kind {
			return json.Marshal(kind.String())
		}
	}
	return json.Marshal(k == bothKinds)
}

// UnmarshalJSON is the inverse of [Kinds.MarshalJSON].
func (k *Kinds) UnmarshalJSON(encoded []byte) error {
	var name string
	if json.Unmarshal(encoded, &name) == nil {
		if *k = 1 << parseConfigKind(name) & bothKinds; *k == 0 {
			return fmt.Errorf("no config of the kind %.40q is marked", name)
		}
		return nil
	}
	var both bool
	if err := json.Unmarshal(encoded, &both); err != nil {
		return err
	}
	if *k = 0; both {
		*k = bothKinds
	}
	return nil
}

// isMarked reports whether a config, which may be nil, is marked.
func (c *Config) isMarked() bool { return c != nil && c.Policy != nil && c.Policy.Marked }

// needsMark reports whether a config counts only if it is marked.
func (r rules) needsMark(ref ConfigRef) bool {
	isAbout := func(e entry) bool { return e.isAbout(ref) }
	return r.marked.has(ref.Kind) && !slices.ContainsFunc(r.only, isAbout) && !slices.ContainsFunc(r.also, isAbout)
}

// Ignores reports whether the workload ignores a config, which may be nil, by an annotation of the config or for the
// lack of one.
func (w *Workload) Ignores(config *Config) bool {
	return config != nil && w.IgnoresBy(config.Ref, config.Policy)
}

// IgnoresBy reports whether the workload ignores a config with that policy, which may be nil.
func (w *Workload) IgnoresBy(ref ConfigRef, policy *ConfigPolicy) bool {
	if policy != nil && (policy.Ignored || policy.Marked) {
		return policy.Ignored
	}
	return w.needsMark(ref)
}

func (w *Workload) needsMark(ref ConfigRef) bool {
	if w.Filtering == nil || w.Filter().Marked == 0 {
		return false
	}
	references := referencesTo(w.References, ref)
	return len(references) > 0 && references[0].NeedsMark
}

// ignoredUntil returns a moment until which the workload ignored a config, as far as a watch showed it; 0 if none did.
// An edit of the config by then does not count.
func (w *Workload) ignoredUntil(config *Config) Sequence {
	until := config.countsAfter()
	if !w.needsMark(config.Ref) {
		return until
	}
	changed, marked := w.filterChanged(), config.markedAfter()
	recorded := w.recordedReferences(config.Ref)
	switch {
	case changed == 0:
		return max(until, marked)
	case w.Applied.Trusted && w.Applied.saysIgnored(config.Ref) && len(recorded) > 0 && recorded[0].NeedsMark:
		return max(until, min(marked, changed)) // it may have counted by a filter in between
	}
	return until
}

// markedAfter is like [Config.countsAfter] for workloads that need the mark.
func (c *Config) markedAfter() Sequence {
	if c == nil || c.Policy == nil {
		return 0
	}
	return c.Policy.MarkedAfter
}
