package template

import (
	"cmp"
	"slices"
	"strings"

	"kubernetes-deployment-restart-controller/catalog/glob"
)

// A rule is the name of a key, or a glob, behind a character that says which of both it is, and whether what it names counts or
// does not. Sorted rules have the few globs at both ends, and the names in between can be looked up: there may be very many
// keys to look for.
const (
	onlyGlob   = '*'
	onlyName   = '+'
	ignoreName = '-'
	ignoreGlob = '~'
)

// ruleMark is what marks the rules of an annotation: names and globs.
type ruleMark struct{ name, glob byte }

var (
	only   = ruleMark{onlyName, onlyGlob}
	ignore = ruleMark{ignoreName, ignoreGlob}
)

// of returns the rule of a key.
func (m ruleMark) of(key string) string {
	if glob.IsLiteral(key) {
		return string(rune(m.name)) + key
	}
	return string(rune(m.glob)) + key
}

// allowedBy reports whether a key counts by rules, which are sorted.
func allowedBy(rules []string, key string) bool {
	hasOnly := len(rules) > 0 && rules[0][0] <= onlyName
	isNamed := !hasOnly || hasRule(rules, onlyName, key)
	for i := 0; !isNamed && i < len(rules) && rules[i][0] == onlyGlob; i++ {
		isNamed = glob.Matches(rules[i][1:], key)
	}
	if !isNamed || hasRule(rules, ignoreName, key) {
		return false
	}
	for i := len(rules) - 1; i >= 0 && rules[i][0] == ignoreGlob; i-- {
		if glob.Matches(rules[i][1:], key) {
			return false
		}
	}
	return true
}

func hasRule(rules []string, mark byte, key string) bool {
	_, found := slices.BinarySearchFunc(rules, key, func(rule, key string) int {
		return cmp.Or(cmp.Compare(rule[0], mark), strings.Compare(rule[1:], key))
	})
	return found
}

// allowedOrNamed selects what rules allow and, besides, keys of these names, which only a rule about the key itself forbids.
func allowedOrNamed(rules, names []string, dataOnly bool) Selection {
	rules = slices.DeleteFunc(slices.Clone(rules), func(rule string) bool {
		_, isNamed := slices.BinarySearch(names, rule[1:])
		return rule[0] == ignoreName && isNamed
	})
	if len(rules) == 0 {
		return Selection{DataOnly: dataOnly}
	}
	return Selection{Names: rules, DataOnly: dataOnly, ByRules: true}
}

// inBoth returns what is in both of two sorted lists.
func inBoth(a, b []string) []string {
	var both []string
	for len(a) > 0 && len(b) > 0 {
		switch order := strings.Compare(a[0], b[0]); {
		case order < 0:
			a = a[1:]
		case order > 0:
			b = b[1:]
		default:
			both, a, b = append(both, a[0]), a[1:], b[1:]
		}
	}
	return both
}

// keyRules say which keys of a config count: those that one of the rules in only names, if there are
// any, and none of those in ignore.
type keyRules struct {
	only, ignore []string
	none         bool
	// all are the rules of both, sorted. They are collected for the first key.
	all []string
	// names select what counts of all keys of the config, whichever container reads it; byRules means
	// that they are rules. Both are computed once, for the first container.
	names   []string
	byRules bool
}

func (k *keyRules) counts(key string) bool { return !k.none && allowedBy(k.sorted(), key) }

// sorted returns the rules as [allowedBy] takes them.
func (k *keyRules) sorted() []string {
	if k.all == nil {
		k.all = slices.Concat(k.only, k.ignore)
		slices.Sort(k.all)
	}
	return k.all
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
	case keys.ByRules && len(keys.Names)+len(k.only)+len(k.ignore) <= MaxFilterEntries:
		both := keyRules{only: k.only, ignore: slices.Concat(k.ignore, keys.Names)}
		keys.Names, keys.ByRules = both.ofAll()
	default:
		keys.Names, keys.ByRules = k.ofAll()
	}
	return keys, len(keys.Names) > 0
}

// ofAll selects what counts of all keys: by their names if the rules list them, otherwise by the rules.
func (k *keyRules) ofAll() (names []string, byRules bool) {
	switch {
	case k.names != nil:
	case len(k.only) > 0 && !slices.ContainsFunc(k.only, func(rule string) bool { return rule[0] == onlyGlob }):
		for _, rule := range k.only {
			k.names = append(k.names, rule[1:])
		}
		slices.Sort(k.names)
		k.names = k.counting(k.names)
	default:
		k.names, k.byRules = k.sorted(), true
	}
	return k.names, k.byRules
}

// counting returns those of sorted names that count.
func (k *keyRules) counting(names []string) []string {
	return slices.DeleteFunc(slices.Compact(slices.Clone(names)), func(name string) bool { return !k.counts(name) })
}
