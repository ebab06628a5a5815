package template

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/glob"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// Filter is what the annotations of a workload say about which configs and keys count. Each text has
// the usable entries of one annotation, sorted, each once, and separated by commas. The zero value
// stands for no annotations: everything counts.
type Filter struct {
	// Only limits what counts to what it names, unless it is empty.
	Only string `json:"only,omitempty"`
	// Also adds what it names, whatever Only says.
	Also string `json:"also,omitempty"`
	// Ignore leaves out of that what it names.
	Ignore string `json:"ignore,omitempty"`
	// Marked are the kinds of configs of which those also count that are marked; see [policy.ConfigPolicy.Marked]. If there are
	// any, what Only does not name counts for no other reason.
	Marked names.Kinds `json:"marked,omitempty"`
}

const (
	// MaxFilter is how many bytes one annotation may have: the record has a copy of it.
	MaxFilter = 4096
	// MaxFilterEntries is how many entries one annotation may have. Each is compared with the name of
	// each config that the pod template mentions.
	MaxFilterEntries = 100
	// MaxFilterGlobs is how many of them may have wildcards. They take longer to compare, may be about all
	// configs that the workload reads, and are kept for each of these if they name keys. If the name of
	// the key has wildcards, it is also compared with each key whenever the workload is decided about.
	MaxFilterGlobs = 10
)

// Size returns how many bytes the filter takes in the basis.
func (f Filter) Size() int {
	if f == (Filter{}) {
		return 0
	}
	return len(`,"filter":{"only":"","also":"","ignore":"","marked":"configmap"}`) + f.Length()
}

// Length returns how many bytes of text the filter has.
func (f Filter) Length() int { return len(f.Only) + len(f.Also) + len(f.Ignore) }

// ReadFilter reads the annotations of a workload. Entries of [annotation.IgnoreAnnotation] and [annotation.AlsoAnnotation] that
// cannot be used count as absent. The whole [annotation.OnlyAnnotation] does if one of its entries cannot be used.
// So a mistake makes more count, and no restart is lost for what the containers read.
func ReadFilter(r *annotation.PolicyReader) Filter {
	var f Filter
	only, problem := eachEntry(r, annotation.OnlyAnnotation, Entry.isOfOwnNamespace)
	if problem != "" {
		r.Reject(annotation.OnlyAnnotation, "%s; it counts as absent, so everything counts", problem)
	} else {
		f.Only = only
	}
	if f.Also, problem = eachEntry(r, annotation.AlsoAnnotation, Entry.IsOneConfig); problem != "" {
		r.Reject(annotation.AlsoAnnotation, "%s; what cannot be used does not count", problem)
	}
	if f.Ignore, problem = eachEntry(r, annotation.IgnoreAnnotation, Entry.isAny); problem != "" {
		r.Reject(annotation.IgnoreAnnotation, "%s; what cannot be used is not ignored", problem)
	}
	return f
}

// IsUsable reports whether annotations can say this. Anyone may write a record under the name of the
// controller, and nothing else limits what a filter there says.
func (f Filter) IsUsable() bool {
	is := func(text string, check func(Entry) error) bool {
		usable, problem := ReadEntries(text, check)
		return usable == text && problem == ""
	}
	return is(f.Only, Entry.isOfOwnNamespace) && is(f.Also, Entry.IsOneConfig) && is(f.Ignore, Entry.isAny)
}

// eachEntry returns the usable entries of an annotation, and what is wrong with the others. The function
// check returns an error for an entry that this annotation cannot have.
func eachEntry(r *annotation.PolicyReader, name string, check func(Entry) error) (usable, problem string) {
	return ReadEntries(r.Annotations[name], check)
}

// ReadEntries reads the entries of an annotation.
func ReadEntries(text string, check func(Entry) error) (usable, problem string) {
	if text == "" {
		return "", ""
	}
	if len(text) > MaxFilter {
		return "", fmt.Sprintf("%d bytes are too many, the limit is %d", len(text), MaxFilter)
	}
	if count := strings.Count(text, ",") + 1; count > MaxFilterEntries {
		return "", fmt.Sprintf("%d entries are too many, the limit is %d", count, MaxFilterEntries)
	}
	return normalEntries(strings.Split(text, ","), check)
}

// normalEntries returns the usable entries in their normal form, and what is wrong with the first of
// the others.
func normalEntries(entries []string, check func(Entry) error) (usable, problem string) {
	kept, globs := make([]string, 0, len(entries)), 0
	for _, text := range entries {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		e, err := parseEntry(text)
		if err == nil {
			err = check(e)
		}
		if !glob.IsLiteral(text) {
			if globs++; err == nil && globs > MaxFilterGlobs {
				err = fmt.Errorf("it is one of more than %d entries with wildcards", MaxFilterGlobs)
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

// Entry names configs of a kind by a glob and, unless it is about the whole configs, their keys. A
// config of another namespace is named NAMESPACE/NAME, without wildcards.
type Entry struct {
	kind      names.ConfigKind
	name, key string
	hasGlob   bool // the name is a glob
	// rule is the key as a [keyRules] has it. All configs that the entry is about share it.
	rule string
}

// parseEntry parses an entry: KIND/NAME, KIND/NAME:KEY, or either with NAMESPACE/NAME.
func parseEntry(text string) (Entry, error) {
	kind, rest, _ := strings.Cut(text, "/")
	name, key, hasKey := strings.Cut(rest, ":")
	e := Entry{kind: names.ParseConfigKind(strings.ToLower(kind)), name: name, key: key}
	if e.kind == 0 {
		return Entry{}, fmt.Errorf("it does not begin with %q or %q", names.ConfigMap.String()+"/", names.Secret.String()+"/")
	}
	if err := checkConfigName(name); err != nil {
		return Entry{}, err
	}
	switch {
	case hasKey && e.kind.IsPerPod():
		return Entry{}, errNoKeys
	case hasKey:
		return e, glob.Check(key)
	}
	return e, nil
}

// checkConfigName returns an error if a text is neither a usable glob nor NAMESPACE/NAME.
func checkConfigName(text string) error {
	namespace, name, isElsewhere := strings.Cut(text, "/")
	switch {
	case !isElsewhere:
		return glob.Check(text)
	case !glob.IsLiteral(text):
		return errors.New("wildcards cannot name configs of other namespaces")
	}
	return cmp.Or(glob.Check(namespace), glob.Check(name))
}

// String is the inverse of [parseEntry].
func (e Entry) String() string {
	if e.key == "" {
		return e.kind.String() + "/" + e.name
	}
	return e.kind.String() + "/" + e.name + ":" + e.key
}

func (e Entry) isAbout(ref names.ConfigRef) bool {
	return e.kind == ref.Kind && (e.name == ref.Name || e.hasGlob && !ref.IsShared() && glob.Matches(e.name, ref.Name))
}

var (
	errElsewhere    = errors.New("only annotations that name what is read through the API, or is ignored, name other namespaces")
	errNoKeys       = errors.New("a SecretProviderClass counts as a whole")
	errNotAPI       = errors.New("no program reads a SecretProviderClass through the API")
	errNotOneConfig = errors.New("wildcards cannot name configs that are read through the API, only their keys")
)

// isAny lets an annotation have each entry.
func (Entry) isAny() error { return nil }

// isOfOwnNamespace returns an error for configs of other namespaces.
func (e Entry) isOfOwnNamespace() error {
	if strings.Contains(e.name, "/") {
		return errElsewhere
	}
	return nil
}

// IsOneConfig returns an error unless the entry names one config, so that the workloads that read a config
// are found by its name.
func (e Entry) IsOneConfig() error {
	switch {
	case !glob.IsLiteral(e.name):
		return errNotOneConfig
	case e.kind.IsPerPod():
		return errNotAPI
	}
	return nil
}

// Rules are the entries of a [Filter].
type Rules struct {
	only, also, ignore []Entry
	// marked is that of the [Filter].
	marked names.Kinds
}

// Rules parses the texts of a filter of a workload of the given namespace.
func (f Filter) Rules(namespace string) Rules {
	return Rules{
		only:   parseEntries(f.Only, only, namespace),
		also:   parseEntries(f.Also, only, namespace),
		ignore: parseEntries(f.Ignore, ignore, namespace),
		marked: f.Marked,
	}
}

func parseEntries(text string, mark ruleMark, namespace string) []Entry {
	if text == "" {
		return nil
	}
	var entries []Entry
	for text := range strings.SplitSeq(text, ",") {
		if e, err := parseEntry(text); err == nil {
			e.name = strings.TrimPrefix(e.name, namespace+"/")
			e.hasGlob, e.rule = !glob.IsLiteral(e.name), mark.of(e.key)
			entries = append(entries, e)
		}
	}
	return entries
}

// Limit returns the references with the keys that count. References of which no key can count are
// left out. It takes the references sorted by config, and may change their list.
func (r Rules) Limit(references []Reference) []Reference {
	if len(r.only)+len(r.ignore) == 0 && r.marked == 0 {
		return references
	}
	limited := references[:0]
	for ofOne := range names.Runs(references, OfOneConfig) {
		keys, needsMark := r.of(ofOne[0].Config), r.needsMark(ofOne[0].Config)
		for _, reference := range ofOne {
			var is bool
			reference.NeedsMark = needsMark
			if reference.Keys, is = keys.limit(reference.Keys); is {
				limited = append(limited, reference)
			}
		}
	}
	return slices.Clone(limited)
}

// of returns which keys of a config count of those that the pod template refers to.
func (r Rules) of(ref names.ConfigRef) keyRules {
	var keys keyRules
	if (len(r.only) > 0 || r.marked != 0) && !r.needsMark(ref) {
		keys = namedBy(r.only, ref)
	}
	return r.withoutIgnored(keys, ref)
}

// ofAlso returns which keys of a config count by [annotation.AlsoAnnotation].
func (r Rules) ofAlso(ref names.ConfigRef) keyRules {
	return r.withoutIgnored(namedBy(r.also, ref), ref)
}

// namedBy returns which keys of a config the entries name.
func namedBy(entries []Entry, ref names.ConfigRef) keyRules {
	keys, hasWhole := keyRules{none: true}, false
	for _, e := range entries {
		if e.isAbout(ref) {
			keys.none, hasWhole = false, hasWhole || e.key == ""
			keys.only = append(keys.only, e.rule)
		}
	}
	if hasWhole {
		keys.only = nil
	}
	return keys
}

func (r Rules) withoutIgnored(keys keyRules, ref names.ConfigRef) keyRules {
	for _, e := range r.ignore {
		if e.isAbout(ref) {
			keys.none = keys.none || strings.Trim(e.key, "*") == ""
			keys.ignore = append(keys.ignore, e.rule)
		}
	}
	return keys
}

// needsMark reports whether a config counts only if it is marked.
func (r Rules) needsMark(ref names.ConfigRef) bool {
	isAbout := func(e Entry) bool { return e.isAbout(ref) }
	return r.marked.Has(ref.Kind) && !slices.ContainsFunc(r.only, isAbout) && !slices.ContainsFunc(r.also, isAbout)
}
