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

// Rules describes the keys of a selection that a [Filter] limits to those that match patterns; empty if
// none does.
func (s Selection) Rules() string {
	if !s.ByRules {
		return ""
	}
	var only, ignored []string
	for _, rule := range s.Names {
		if rule[0] <= onlyName {
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
