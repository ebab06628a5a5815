package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// The annotations of a workload that say which of the configs and keys that its containers read
// count. What does not count is not compared, not recorded and no reason to restart. On a config,
// [IgnoreAnnotation] has the value "true", and lets nothing of the config count for any workload.
const (
	OnlyAnnotation   = "com.xing.deployment-restart.only"
	IgnoreAnnotation = "com.xing.deployment-restart.ignore"
)

// Filter is what the annotations of a workload say about which configs and keys count. Each text has
// the usable entries of one annotation, sorted, each once, and separated by commas. The zero value
// stands for no annotations: everything counts.
type Filter struct {
	// Only limits what counts to what it names, unless it is empty.
	Only string `json:"only,omitempty"`
	// Ignore leaves out of that what it names.
	Ignore string `json:"ignore,omitempty"`
}

const (
	// maxFilter is how many bytes one annotation may have: the record has a copy of it.
	maxFilter = 4096
	// maxFilterEntries is how many entries one annotation may have. Each is compared with the name of
	// each config that the pod template mentions.
	maxFilterEntries = 100
	// maxKeyGlobs is how many of them may have wildcards in the name of a key. Each is compared with
	// each key of the configs that it is about, whenever the workload is decided about.
	maxKeyGlobs = 10
)

// size returns how many bytes the filter takes in the basis.
func (f Filter) size() int {
	if f == (Filter{}) {
		return 0
	}
	return len(`,"filter":{"only":"","ignore":""}`) + len(filteredMark) + len(f.Only) + len(f.Ignore)
}

// filter reads the annotations of a workload. Entries of [IgnoreAnnotation] that cannot be used count
// as absent. The whole [OnlyAnnotation] does if one of its entries cannot be used. So a mistake makes
// more count, and no restart is lost.
func (r *policyReader) filter() Filter {
	var f Filter
	only, problem := r.entries(OnlyAnnotation)
	if problem != "" {
		r.reject(OnlyAnnotation, "%s; it counts as absent, so everything counts", problem)
	} else {
		f.Only = only
	}
	if f.Ignore, problem = r.entries(IgnoreAnnotation); problem != "" {
		r.reject(IgnoreAnnotation, "%s; what cannot be used is not ignored", problem)
	}
	return f
}

// entries returns the usable entries of an annotation, and what is wrong with the others.
func (r *policyReader) entries(name string) (usable, problem string) {
	text := r.annotations[name]
	if text == "" {
		return "", ""
	}
	if len(text) > maxFilter {
		return "", fmt.Sprintf("%d bytes are too many, the limit is %d", len(text), maxFilter)
	}
	if count := strings.Count(text, ",") + 1; count > maxFilterEntries {
		return "", fmt.Sprintf("%d entries are too many, the limit is %d", count, maxFilterEntries)
	}
	return normalEntries(strings.Split(text, ","))
}

// normalEntries returns the usable entries in their normal form, and what is wrong with the first of
// the others.
func normalEntries(entries []string) (usable, problem string) {
	kept, globs := make([]string, 0, len(entries)), 0
	for _, text := range entries {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		e, err := parseEntry(text)
		if e.key != "" && !isLiteral(e.key) {
			if globs++; err == nil && globs > maxKeyGlobs {
				err = fmt.Errorf("it is one of more than %d entries with wildcards in the name of a key", maxKeyGlobs)
			}
		}
		if err == nil {
			kept = append(kept, e.String())
		} else if problem == "" {
			problem = fmt.Sprintf("cannot use the entry %.60q: %v", text, err)
		}
	}
	slices.Sort(kept)
	return strings.Join(slices.Compact(kept), ","), problem
}

// entry names configs of a kind by a glob and, unless it is about the whole configs, their keys.
type entry struct {
	kind      ConfigKind
	name, key string
}

// parseEntry parses an entry: KIND/NAME or KIND/NAME:KEY.
func parseEntry(text string) (entry, error) {
	kind, rest, _ := strings.Cut(text, "/")
	name, key, hasKey := strings.Cut(rest, ":")
	e := entry{parseConfigKind(strings.ToLower(kind)), name, key}
	if e.kind == 0 {
		return entry{}, fmt.Errorf("it does not begin with %q or %q", ConfigMap.String()+"/", Secret.String()+"/")
	}
	if err := checkGlob(name); err != nil {
		return entry{}, err
	}
	if hasKey {
		return e, checkGlob(key)
	}
	return e, nil
}

// String is the inverse of [parseEntry].
func (e entry) String() string {
	if e.key == "" {
		return e.kind.String() + "/" + e.name
	}
	return e.kind.String() + "/" + e.name + ":" + e.key
}

func (e entry) isAbout(ref ConfigRef) bool {
	return e.kind == ref.Kind && matchesGlob(e.name, ref.Name)
}

// rules are the entries of a [Filter].
type rules struct {
	only, ignore []entry
}

// rules parses the texts of a filter.
func (f Filter) rules() rules { return rules{parseEntries(f.Only), parseEntries(f.Ignore)} }

func parseEntries(text string) []entry {
	if text == "" {
		return nil
	}
	var entries []entry
	for text := range strings.SplitSeq(text, ",") {
		if e, err := parseEntry(text); err == nil {
			entries = append(entries, e)
		}
	}
	return entries
}

// limit returns the references with the keys that count. References of which no key can count are
// left out. It takes the references sorted by config, and may change their list.
func (r rules) limit(references []Reference) []Reference {
	if len(r.only)+len(r.ignore) == 0 {
		return references
	}
	limited := references[:0]
	for ofOne := range runs(references, ofOneConfig) {
		keys := r.of(ofOne[0].Config)
		for _, reference := range ofOne {
			var is bool
			if reference.Keys, is = keys.limit(reference.Keys); is {
				limited = append(limited, reference)
			}
		}
	}
	return slices.Clone(limited)
}

// of returns which keys of a config count.
func (r rules) of(ref ConfigRef) keyRules {
	keys := keyRules{none: len(r.only) > 0}
	hasWhole := false
	for _, e := range r.only {
		if e.isAbout(ref) {
			keys.none, hasWhole = false, hasWhole || e.key == ""
			keys.only = append(keys.only, e.key)
		}
	}
	if hasWhole {
		keys.only = nil
	}
	for _, e := range r.ignore {
		if e.isAbout(ref) {
			keys.none = keys.none || strings.Trim(e.key, "*") == ""
			keys.ignore = append(keys.ignore, e.key)
		}
	}
	return keys
}

// keyRules say which keys of a config count: those that match one of the globs in only, if there are
// any, and none of those in ignore.
type keyRules struct {
	only, ignore []string
	none         bool
}

func (k *keyRules) counts(key string) bool {
	matches := func(glob string) bool { return matchesGlob(glob, key) }
	return !k.none && (len(k.only) == 0 || slices.ContainsFunc(k.only, matches)) && !slices.ContainsFunc(k.ignore, matches)
}

// limit limits a selection to the keys that count. It returns false if no key can count.
func (k *keyRules) limit(keys Selection) (Selection, bool) {
	names, isList := keys.Listed()
	switch {
	case k.none:
		return Selection{}, false
	case len(k.only)+len(k.ignore) == 0:
		return keys, true
	case isList:
		keys.Names = k.counting(names)
		return keys, len(keys.Names) > 0
	case len(k.only) > 0 && !slices.ContainsFunc(k.only, func(glob string) bool { return !isLiteral(glob) }):
		keys.Names = k.counting(slices.Sorted(slices.Values(k.only)))
		return keys, len(keys.Names) > 0
	}
	keys.Names, keys.ByRules = k.encoded(), true
	return keys, true
}

// counting returns those of sorted names that count.
func (k *keyRules) counting(names []string) []string {
	return slices.DeleteFunc(slices.Compact(slices.Clone(names)), func(name string) bool { return !k.counts(name) })
}

// The first characters of encoded rules.
const (
	onlyRule   = '+'
	ignoreRule = '-'
)

// encoded returns the rules as they are kept in a [Selection].
func (k *keyRules) encoded() []string {
	encoded := make([]string, 0, len(k.only)+len(k.ignore))
	for _, glob := range k.only {
		encoded = append(encoded, string(onlyRule)+glob)
	}
	for _, glob := range k.ignore {
		encoded = append(encoded, string(ignoreRule)+glob)
	}
	return encoded
}

// allowedBy reports whether a key counts by encoded rules.
func allowedBy(encoded []string, key string) bool {
	hasOnly, isNamed := false, false
	for _, rule := range encoded {
		glob := rule[1:]
		if rule[0] == onlyRule {
			hasOnly, isNamed = true, isNamed || matchesGlob(glob, key)
		} else if matchesGlob(glob, key) {
			return false
		}
	}
	return isNamed || !hasOnly
}

// Rules describes the keys of a selection that a [Filter] limits to those that match patterns; empty if
// none does.
func (s Selection) Rules() string {
	if !s.ByRules {
		return ""
	}
	var only, ignored []string
	for _, rule := range s.Names {
		if rule[0] == onlyRule {
			only = append(only, rule[1:])
		} else {
			ignored = append(ignored, rule[1:])
		}
	}
	described := "all"
	if len(only) > 0 {
		described = strings.Join(only, ", ")
	}
	if len(ignored) > 0 {
		described += " but " + strings.Join(ignored, ", ")
	}
	return described
}
