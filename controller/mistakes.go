package controller

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/brief"
	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/quarantine"
	"kubernetes-deployment-restart-controller/status"
)

// mistake is what a person has got wrong on an object, as the watch showed it: annotations and labels that have no effect. An
// observation of nearly all objects has none.
type mistake struct {
	uid  types.UID
	text string
	// since is when the watch showed it first, and atLeast that a list did, so that it may be older.
	since   time.Time
	atLeast bool
}

// newMistake returns nil if the text is empty.
func newMistake(uid types.UID, text string) *mistake {
	if text == "" {
		return nil
	}
	return &mistake{uid: uid, text: brief.Text(text)}
}

// place returns the namespace whose owner made a mistake on an object: a Namespace is in itself.
func place(object quarantine.Object) string { return cmp.Or(object.Namespace, object.Name) }

// mistakeOn describes the mistake of an object; empty if it has none, or if it is not kept.
func (c *Controller) mistakeOn(object quarantine.Object) string {
	known, _ := c.mistakes.find(place(object), object)
	return known.text
}

// mistakesIn returns the first mistakes of a namespace, or of all if it is empty, for people.
func (c *Controller) mistakesIn(namespace string) status.List[status.Mistake] {
	first := status.NewShortlist(func(a, b status.Mistake) int { return cmp.Compare(a.Object, b.Object) })
	c.mistakes.each(namespace, func(object quarantine.Object, known mistake) {
		first.Add(known.on(object))
	})
	return status.ListOf(first, func(mistake status.Mistake) status.Mistake { return mistake })
}

func (m mistake) on(object quarantine.Object) status.Mistake {
	return status.Mistake{Object: object.String(), Problem: m.text, Beginning: status.Beginning{Since: m.since.UTC(), AtLeast: m.atLeast}}
}

// mistakesAround describes the mistakes on the Namespace of a workload, and on the configs of that namespace that it reads.
func (c *Controller) mistakesAround(view *catalog.View) (problems []string) {
	c.mistakes.each(view.Workload.Ref.Namespace, func(object quarantine.Object, known mistake) {
		if ref, isConfig := catalog.ParseConfigRef(object.String()); isConfig && view.Configs[ref] != nil || object.Namespace == "" {
			problems = append(problems, strings.ToLower(object.Kind.Kind)+"/"+object.Name+": "+known.text)
		}
	})
	slices.Sort(problems)
	return problems
}

// noteMistake takes in what a person has got wrong on an object, nil if nothing, and reports it if it is news. It is listed
// if no event shows when it came to be.
func (c *Controller) noteMistake(object quarantine.Object, found *mistake, isListed bool) {
	object.ResourceVersion = ""
	if found == nil {
		c.mistakes.drop(place(object), object)
		return
	}
	if known, _ := c.mistakes.find(place(object), object); known.uid == found.uid && known.text == found.text {
		return
	}
	found.since, found.atLeast = time.Now(), isListed
	if c.mistakes.put(place(object), object, *found) && c.leading.Load() {
		c.reportMistake(object, *found)
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
	c.mistakes.dropAll(namespace, func(object quarantine.Object) bool {
		_, isListed := listed[object]
		return object.Kind == kind && !isListed
	})
	for _, o := range all {
		if o.mistake != nil {
			c.noteMistake(o.name(), o.mistake, true)
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
