package controller

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/brief"
	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/quarantine"
	"kubernetes-deployment-restart-controller/status"
)

// maxMistakes is of how many objects of a namespace the mistakes are kept and reported. Whoever may write to a namespace can
// make any number of them.
const maxMistakes = 50

// mistake is what a person has got wrong on an object, as the watch showed it: annotations and labels that have no effect. An
// observation of nearly all objects has none.
type mistake struct {
	uid  types.UID
	text string
}

// newMistake returns nil if the text is empty.
func newMistake(uid types.UID, text string) *mistake {
	if text == "" {
		return nil
	}
	return &mistake{uid, brief.Text(text)}
}

// mistakes are the mistakes of all objects that have some, by namespace. Its methods may be called by several goroutines at
// once.
type mistakes struct {
	mu sync.Mutex
	of map[string]map[quarantine.Object]mistake // the objects have neither UID nor resource version
}

// place returns the namespace whose owner made a mistake on an object: a Namespace is in itself.
func place(object quarantine.Object) string { return cmp.Or(object.Namespace, object.Name) }

// take takes in the mistake of an object, nil if it has none, and reports whether it is news.
func (m *mistakes) take(object quarantine.Object, found *mistake) (isNews bool) {
	object.ResourceVersion = ""
	m.mu.Lock()
	defer m.mu.Unlock()
	if found == nil {
		m.forget(object)
		return false
	}
	inside := m.of[place(object)]
	known, isKnown := inside[object]
	switch {
	case isKnown && known == *found, !isKnown && len(inside) >= maxMistakes:
		return false
	case m.of == nil:
		m.of = make(map[string]map[quarantine.Object]mistake)
	}
	if inside == nil {
		inside = make(map[quarantine.Object]mistake)
		m.of[place(object)] = inside
	}
	inside[object] = *found
	return true
}

// forget must be called with the lock held.
func (m *mistakes) forget(object quarantine.Object) {
	if inside := m.of[place(object)]; inside != nil {
		if delete(inside, object); len(inside) == 0 {
			delete(m.of, place(object))
		}
	}
}

// keep forgets the mistakes of the objects of a kind in a namespace, or in all if it is empty, that a list does not show.
func (m *mistakes) keep(kind schema.GroupVersionKind, namespace string, listed map[quarantine.Object]struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, inside := range m.of {
		for object := range inside {
			if _, isListed := listed[object]; !isListed && object.Kind == kind && isInside(namespace, place(object)) {
				m.forget(object)
			}
		}
	}
}

// all returns copies of the mistakes, in no particular order.
func (m *mistakes) all() map[quarantine.Object]mistake {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make(map[quarantine.Object]mistake)
	for _, inside := range m.of {
		for object, known := range inside {
			all[object] = known
		}
	}
	return all
}

// textOf describes the mistake of an object; empty if it has none.
func (m *mistakes) textOf(object quarantine.Object) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of[place(object)][object].text
}

// list returns the first mistakes of a namespace, or of all if it is empty, for people.
func (m *mistakes) list(namespace string) status.List[status.Mistake] {
	first := status.NewShortlist(func(a, b status.Mistake) int { return cmp.Compare(a.Object, b.Object) })
	m.mu.Lock()
	defer m.mu.Unlock()
	listed := m.of
	if namespace != "" {
		listed = map[string]map[quarantine.Object]mistake{namespace: m.of[namespace]}
	}
	for _, inside := range listed {
		for object, known := range inside {
			first.Add(status.Mistake{Object: object.String(), Problem: known.text})
		}
	}
	return status.ListOf(first, func(mistake status.Mistake) status.Mistake { return mistake })
}

// around describes the mistakes on the Namespace of a workload, and on the configs of that namespace that it reads.
func (m *mistakes) around(view *catalog.View) (problems []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for object, known := range m.of[view.Workload.Ref.Namespace] {
		ref, isConfig := catalog.ParseConfigRef(object.String())
		if isConfig && view.Configs[ref] != nil || object.Namespace == "" {
			problems = append(problems, strings.ToLower(object.Kind.Kind)+"/"+object.Name+": "+known.text)
		}
	}
	slices.Sort(problems)
	return problems
}

// noteMistake takes in what a person has got wrong on an object, and reports it if it is news.
func (c *Controller) noteMistake(o *observation) {
	if object := o.name(); c.mistakes.take(object, o.mistake) && c.leading.Load() {
		c.reportMistake(object, *o.mistake)
	}
}

// listMistakes takes in the mistakes of all objects of a kind in a namespace, or in all namespaces.
func (c *Controller) listMistakes(kind schema.GroupVersionKind, namespace string, all []*observation) {
	listed := make(map[quarantine.Object]struct{})
	for _, o := range all {
		if o.mistake != nil {
			object := o.name()
			object.ResourceVersion = ""
			listed[object] = struct{}{}
		}
	}
	c.mistakes.keep(kind, namespace, listed)
	for _, o := range all {
		if o.mistake != nil {
			c.noteMistake(o)
		}
	}
}

// reportMistakes reports, as at the start of a leader, the mistakes that were noticed before. The API server has the Events
// of a former leader for a while, and then these are not created again.
func (c *Controller) reportMistakes() {
	for object, known := range c.mistakes.all() {
		c.reportMistake(object, known)
	}
}

func (c *Controller) reportMistake(object quarantine.Object, m mistake) {
	reference := object.Reference()
	reference.UID, reference.Namespace = m.uid, place(object) // where those look who made it
	c.recorder.Event(reference, corev1.EventTypeWarning, reasonInvalid, m.text)
}
