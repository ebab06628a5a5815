package template

import (
	"cmp"
	"slices"
	"strings"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// A workload names the configs that its programs read through the API, in [annotation.AlsoAnnotation]. Nothing else
// shows what a program reads, so all containers count as if each read the configs when it starts. A
// program that reads them again later needs no restart, and need not name them.

// add adds the references to the configs that a workload of the namespace reads through the API. It takes
// the references sorted, and returns them sorted.
func (r Rules) add(references []Reference, namespace string) []Reference {
	if len(r.also) == 0 {
		return references
	}
	named := slices.Clone(r.also)
	slices.SortFunc(named, compareConfigsOfEntries)
	for ofOne := range names.Runs(named, func(a, b *Entry) bool { return compareConfigsOfEntries(*a, *b) == 0 }) {
		ref := names.ConfigRef{Kind: ofOne[0].kind, Namespace: namespace, Name: ofOne[0].name}
		keys := r.ofAlso(ref)
		if selected, is := keys.limit(Selection{}); is {
			references = append(references, Reference{Config: ref, Keys: selected, Channel: API, Optional: true})
		}
	}
	slices.SortStableFunc(references, func(a, b Reference) int { return compareWays(&a, &b) })
	return references
}

func compareConfigsOfEntries(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), strings.Compare(a.name, b.name))
}
