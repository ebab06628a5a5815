package content

import (
	"slices"
	"strings"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// finder finds items in a list that is sorted by their names. Names that come in order, as they do in other lists of the
// same config, take little more than a comparison each, however long the list is.
type finder[T any] struct {
	list []T
	name func(*T) string
	next int // after the item that was found last
}

// keyFinder finds keys in the same way.
type keyFinder struct {
	keys  names.Keys
	names *finder[string]
}

func newKeyFinder(keys names.Keys) keyFinder { return keyFinder{keys, newNameFinder(keys.Names())} }

// find is [finder.find].
func (f keyFinder) find(name string) (key names.Key, found bool) {
	if _, found = f.names.find(name); found {
		key = f.keys.At(f.names.next - 1)
	}
	return key, found
}

func newEditFinder(edits []annotation.Edit) *finder[annotation.Edit] {
	return &finder[annotation.Edit]{list: edits, name: func(e *annotation.Edit) string { return e.Key }}
}

func newNameFinder(names []string) *finder[string] {
	return &finder[string]{list: names, name: func(name *string) string { return *name }}
}

// find returns the item of that name, and the zero value and false if there is none.
func (f *finder[T]) find(name string) (item T, found bool) {
	from, step := f.next, 1
	if from < len(f.list) && f.name(&f.list[from]) == name {
		f.next++
		return f.list[from], true
	}
	if from > 0 && f.name(&f.list[from-1]) >= name {
		from = 0
	}
	to := from
	for to < len(f.list) && f.name(&f.list[to]) < name {
		from, to, step = to, to+step, 2*step
	}
	within := f.list[from:min(to+1, len(f.list))]
	i, found := slices.BinarySearchFunc(within, name, func(item T, name string) int { return strings.Compare(f.name(&item), name) })
	if f.next = from + i; !found {
		return item, false
	}
	f.next++
	return within[i], true
}

// FindKey finds a key by its name.
func FindKey(keys names.Keys, name string) (names.Key, bool) {
	i, found := slices.BinarySearch(keys.Names(), name)
	if !found {
		return names.Key{}, false
	}
	return keys.At(i), true
}
