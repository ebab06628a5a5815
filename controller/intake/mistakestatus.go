package intake

import (
	"cmp"
	"slices"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

// OnWorkload returns what a person has got wrong on an object with a name such as "deployment/namespace/name", nil if nothing is
// known of it.
func (a *Mistakes) OnWorkload(name string) *status.Mistake {
	if ref, isWorkload := names.ParseWorkloadRef(name); isWorkload {
		return a.On(kinds.NameOfWorkload(ref))
	}
	return nil
}

// On returns what is wrong with an object, nil if nothing is.
func (a *Mistakes) On(object quarantine.Object) *status.Mistake {
	known, _ := a.Known.Find(place(object), object)
	return a.Shown(object, known)
}

// Shown returns a mistake for people, nil if it is none now.
func (a *Mistakes) Shown(object quarantine.Object, m kinds.Mistake) *status.Mistake {
	text := a.describe(object, m)
	if text == "" {
		return nil
	}
	return &status.Mistake{Object: object.String(), Problem: text, Beginning: status.Beginning{Since: m.Since.UTC(), AtLeast: m.AtLeast}}
}

// In returns the first mistakes of a namespace, or of all if it is empty, for people.
func (a *Mistakes) In(namespace string) status.List[status.Mistake] {
	first := status.NewShortlist(compareMistakes)
	a.Known.Each(namespace, func(object quarantine.Object, known kinds.Mistake) {
		if m := a.Shown(object, known); m != nil {
			first.Add(*m)
		}
	})
	return status.ListOf(first, func(mistake status.Mistake) status.Mistake { return mistake })
}

func compareMistakes(a, b status.Mistake) int { return cmp.Compare(a.Object, b.Object) }

// About returns the mistakes on a workload, on the configs of its namespace that it reads, and on its Namespace. Its own
// come first, even if too many of the namespace are known to keep them.
func (a *Mistakes) About(view *catalog.View) (mistakes []status.Mistake) {
	a.Known.Each(view.Workload.Ref.Namespace, func(object quarantine.Object, known kinds.Mistake) {
		if ref, isConfig := names.ParseConfigRef(object.String()); isConfig && view.Configs[ref] != nil || object.Namespace == "" {
			if m := a.Shown(object, known); m != nil {
				mistakes = append(mistakes, *m)
			}
		}
	})
	slices.SortFunc(mistakes, compareMistakes)
	own := a.On(kinds.NameOfWorkload(view.Workload.Ref))
	if text := brief.Text(a.problemOfValues(view.Workload)); own == nil && text != "" {
		own = &status.Mistake{Object: view.Workload.Ref.String(), Problem: text}
	}
	if own != nil {
		mistakes = slices.Insert(mistakes, 0, *own)
	}
	return mistakes
}
