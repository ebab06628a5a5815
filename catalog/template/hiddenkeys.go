package template

import (
	"slices"
	"strings"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// hiddenKeys are keys of any config that nobody sees there: something else has their names as a variable, or their
// paths in a volume. They are sorted.
type hiddenKeys []string

const (
	// maxHidings is how many selections of a pod template leave out hidden keys; the others select all keys. Each of them
	// is compared with each edit of its config.
	maxHidings = 16
	// MaxHidden is how many variables of a container, or files of a volume, may hide keys; more of them hide none. A selection
	// may concern very many configs.
	MaxHidden = 256
)

// keysHiddenBy returns the keys that are hidden by variables or files of these names.
func (m *mentions) keysHiddenBy(listed map[string]struct{}) hiddenKeys {
	if len(listed) == 0 || len(listed) > MaxHidden || m.hidings == maxHidings {
		return nil
	}
	hidden := make(hiddenKeys, 0, len(listed))
	for name := range listed {
		if len(name) <= names.LongestName && !strings.Contains(name, "/") {
			hidden = append(hidden, name)
		}
	}
	slices.Sort(hidden)
	return hidden
}

func (h hiddenKeys) has(key string) bool {
	_, found := slices.BinarySearch(h, key)
	return found
}

// under returns the keys whose names are hidden if they have a prefix.
func (h hiddenKeys) under(prefix string) hiddenKeys {
	if prefix == "" {
		return h
	}
	var under hiddenKeys
	first, _ := slices.BinarySearch(h, prefix)
	for _, name := range h[first:] {
		key, isUnder := strings.CutPrefix(name, prefix)
		if !isUnder {
			break
		}
		if key != "" {
			under = append(under, key)
		}
	}
	return under
}

// allBut selects all keys but the hidden ones.
func (m *mentions) allBut(hidden hiddenKeys) Selection {
	if len(hidden) == 0 || m.hidings == maxHidings {
		return Selection{}
	}
	m.hidings++
	m.count += len(hidden)
	names := make([]string, 0, len(hidden))
	for _, key := range hidden {
		names = append(names, string(ignoreName)+key) // never a glob, whatever is in the name of a variable
	}
	return Selection{Names: names, ByRules: true}
}
