package template

import (
	"slices"
	"strings"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// Selection selects keys of a config: the ones that a container sees.
type Selection struct {
	// Names are the selected keys, sorted; nil selects all.
	Names []string
	// DataOnly leaves out a ConfigMap's binaryData.
	DataOnly bool
	// ByRules means that Names are rules by which keys are selected; see [keyRules]. They are those of the workload's
	// [Filter], if it has one, and one for each hidden key.
	ByRules bool
}

// Listed returns the names of the selected keys, sorted, and false if the selection does not list
// them: it selects all keys, or those that rules let count.
func (s Selection) Listed() ([]string, bool) {
	if s.ByRules {
		return nil, false
	}
	return s.Names, s.Names != nil
}

// HasAll reports whether the selection selects keys of any name.
func (s Selection) HasAll() bool { return s.Names == nil }

// Everything reports whether a container sees all of the config.
func (s Selection) Everything() bool { return s.Names == nil && !s.DataOnly }

// Selects reports whether a key is among the selected ones.
func (s Selection) Selects(key names.Key) bool {
	if s.DataOnly && key.Binary {
		return false
	}
	return s.HasName(key.Name)
}

// HasName reports whether a key of that name is selected, whether it is in the data or the
// binaryData.
func (s Selection) HasName(name string) bool {
	if s.Names == nil {
		return true
	}
	if s.ByRules {
		return allowedBy(s.Names, name)
	}
	_, found := slices.BinarySearch(s.Names, name)
	return found
}

// rank orders selections of all keys, those by rules, and lists.
func (s Selection) rank() int {
	switch {
	case s.Names == nil:
		return 0
	case s.ByRules:
		return 1
	}
	return 2
}

// Union selects the keys that any of the references of one channel to one config selects.
func Union(references []Reference) Selection {
	all := references[0].Keys
	if len(references) == 1 {
		return all
	}
	var names, rules []string
	lists := make(map[*string]struct{}) // of rules; many references may share one
	for i := range references {
		keys := references[i].Keys
		switch {
		case keys.HasAll():
			return keys
		case !keys.ByRules:
			if i == 0 || !isSameList(keys.Names, references[i-1].Keys.Names) {
				names = append(names, keys.Names...)
			}
			continue
		case len(lists) == 0:
			rules = keys.Names
		}
		if _, isKnown := lists[&keys.Names[0]]; !isKnown && len(lists) > 0 {
			rules = inBoth(rules, keys.Names)
		}
		lists[&keys.Names[0]] = struct{}{}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(lists) > 0 {
		return allowedOrNamed(rules, names, all.DataOnly)
	}
	return Selection{Names: names, DataOnly: all.DataOnly}
}

// isSameList reports whether two lists are one in memory, as those of containers are that read the keys which a filter lists.
func isSameList(a, b []string) bool { return len(a) > 0 && len(a) == len(b) && &a[0] == &b[0] }

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
