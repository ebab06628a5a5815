package controller

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

// mistake is what a person has got wrong on an object, as the watch showed it: annotations and labels that have no effect, and
// values that cannot be used.
type mistake struct {
	uid  types.UID
	text string
	// resume is the id of a halt that an annotation of a config resumes. It is a mistake as long as another halt is active, so
	// it is kept for as long as it is not known which ones are.
	resume string
	// since is when the watch showed the first of them that is still there, and atLeast that a list did, so that it may be older.
	since   time.Time
	atLeast bool
}

// shares reports whether something of what was wrong with the object before is still wrong.
func (m *mistake) shares(known *mistake) bool {
	before := strings.Split(known.text, "; ")
	return m.uid == known.uid && known.text != "" && slices.ContainsFunc(strings.Split(m.text, "; "), func(part string) bool { return slices.Contains(before, part) })
}

// newMistake returns nil if the text is empty.
func newMistake(uid types.UID, text string) *mistake {
	if text == "" {
		return nil
	}
	return &mistake{uid: uid, text: text}
}

// mistakeOf returns what a person has got wrong on an object, nil if nothing, as nearly always. It is the only place that
// decides that. The object must have been taken in.
func (c *Controller) mistakeOf(o *observation) *mistake {
	var found mistake
	if o.mistake != nil {
		found = *o.mistake
	}
	switch {
	case o.config != nil && o.config.Policy != nil && !c.optIns.rules.Ignores(o.config.Ref.Namespace):
		found.text, found.resume = joinProblems(found.text, c.gate.problemOfConfig(o.config.Policy)), o.config.Policy.Resume
	case o.workload != nil && o.workload.workload != nil:
		found.uid, found.text = o.workload.workload.UID, joinProblems(found.text, c.problemOfValues(o.workload.workload))
	}
	found.text = brief.Text(found.text)
	if c.describe(o.name(), found) == "" && (found.resume == "" || c.knowsHalts()) {
		return nil
	}
	return &found
}

// knowsHalts reports whether it is known which halts there are. A standby never knows.
func (c *Controller) knowsHalts() bool {
	_, knows := c.gate.knowsOfHalts()
	return c.options.DryRun || knows && c.leading.Load()
}

// judgeResumes reports, once it is known which halts there are, which ids end none of them, and forgets the others.
func (c *Controller) judgeResumes() {
	for object, known := range c.mistakes.all() {
		switch text := c.describe(object, known); {
		case known.resume == "":
		case text == "":
			c.mistakes.drop(place(object), object)
		case text != known.text: // otherwise it was reported before
			c.reportMistake(object, known)
		}
	}
}

// problemOfValues describes which values of a workload's annotations cannot be used, empty if there are none.
func (c *Controller) problemOfValues(w *workload.Workload) string {
	return joinProblems(w.GraceProblem(c.restarter.gracePeriod(w).String()), c.gate.problemOf(w), c.restarter.unwatched(w))
}

// describe describes a mistake on an object; empty if it is none now.
func (c *Controller) describe(object quarantine.Object, m mistake) string {
	if m.resume == "" {
		return m.text
	}
	ref, _ := names.ParseConfigRef(object.String())
	return brief.Text(joinProblems(m.text, c.gate.problemOfResume(ref, m.resume)))
}

// place returns the namespace whose owner made a mistake on an object: a Namespace is in itself.
func place(object quarantine.Object) string { return cmp.Or(object.Namespace, object.Name) }

// MistakeOn returns what a person has got wrong on an object with a name such as "deployment/namespace/name", nil if nothing is
// known of it.
func (c *Controller) MistakeOn(name string) *status.Mistake {
	if ref, isWorkload := names.ParseWorkloadRef(name); isWorkload {
		return c.mistakeOn(nameOfWorkload(ref))
	}
	return nil
}

func (c *Controller) mistakeOn(object quarantine.Object) *status.Mistake {
	known, _ := c.mistakes.find(place(object), object)
	return c.shownMistake(object, known)
}

// shownMistake returns a mistake for people, nil if it is none now.
func (c *Controller) shownMistake(object quarantine.Object, m mistake) *status.Mistake {
	text := c.describe(object, m)
	if text == "" {
		return nil
	}
	return &status.Mistake{Object: object.String(), Problem: text, Beginning: status.Beginning{Since: m.since.UTC(), AtLeast: m.atLeast}}
}

// mistakesIn returns the first mistakes of a namespace, or of all if it is empty, for people.
func (c *Controller) mistakesIn(namespace string) status.List[status.Mistake] {
	first := status.NewShortlist(compareMistakes)
	c.mistakes.each(namespace, func(object quarantine.Object, known mistake) {
		if m := c.shownMistake(object, known); m != nil {
			first.Add(*m)
		}
	})
	return status.ListOf(first, func(mistake status.Mistake) status.Mistake { return mistake })
}

func compareMistakes(a, b status.Mistake) int { return cmp.Compare(a.Object, b.Object) }

// mistakesAbout returns the mistakes on a workload, on the configs of its namespace that it reads, and on its Namespace. Its own
// come first, even if too many of the namespace are known to keep them.
func (c *Controller) mistakesAbout(view *catalog.View) (mistakes []status.Mistake) {
	c.mistakes.each(view.Workload.Ref.Namespace, func(object quarantine.Object, known mistake) {
		if ref, isConfig := names.ParseConfigRef(object.String()); isConfig && view.Configs[ref] != nil || object.Namespace == "" {
			if m := c.shownMistake(object, known); m != nil {
				mistakes = append(mistakes, *m)
			}
		}
	})
	slices.SortFunc(mistakes, compareMistakes)
	own := c.mistakeOn(nameOfWorkload(view.Workload.Ref))
	if text := brief.Text(c.problemOfValues(view.Workload)); own == nil && text != "" {
		own = &status.Mistake{Object: view.Workload.Ref.String(), Problem: text}
	}
	if own != nil {
		mistakes = slices.Insert(mistakes, 0, *own)
	}
	return mistakes
}

// noteMistake takes in what a person has got wrong on an object that exists, nil if nothing, and reports it, or its end, if it
// is news. It is listed if no event shows when it came to be.
func (c *Controller) noteMistake(object quarantine.Object, found *mistake, isListed bool) {
	object.ResourceVersion = ""
	known, wasFound := c.mistakes.find(place(object), object)
	if found == nil {
		// An id that ended no halt was a mistake also if no halt is left.
		if c.mistakes.drop(place(object), object); c.leading.Load() && wasFound && (known.text != "" || c.knowsHalts()) {
			c.log.Info("all annotations and labels can be used again", "object", object.String())
			c.eventMistake(object, known.uid, corev1.EventTypeNormal, "nothing is wrong with its annotations and labels any more")
		}
		return
	}
	if known.uid == found.uid && known.text == found.text && known.resume == found.resume {
		return
	}
	if found.since, found.atLeast = time.Now(), isListed; found.shares(&known) {
		found.since, found.atLeast = known.since, known.atLeast
	}
	if c.mistakes.put(place(object), object, *found) && c.leading.Load() {
		c.reportMistake(object, *found)
	}
}

// forgetMistake forgets what is wrong with an object that is gone.
func (c *Controller) forgetMistake(object quarantine.Object) {
	object.ResourceVersion = ""
	c.mistakes.drop(place(object), object)
}

// listMistakes takes in the mistakes of all objects of a kind in a namespace, or in all namespaces.
func (c *Controller) listMistakes(kind schema.GroupVersionKind, namespace string, all []*observation) {
	listed := make(map[quarantine.Object]*mistake)
	for _, o := range all {
		object := o.name()
		object.ResourceVersion = ""
		if m := c.mistakeOf(o); m != nil {
			listed[object] = m
		} else {
			c.noteMistake(object, nil, true)
		}
	}
	c.mistakes.dropAll(namespace, func(object quarantine.Object) bool {
		_, isListed := listed[object]
		return object.Kind == kind && !isListed
	})
	for object, m := range listed {
		c.noteMistake(object, m, true)
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
	text := c.describe(object, m)
	if text == "" {
		return
	}
	c.log.Warn("an annotation or a label cannot be used", "object", object.String(), "problem", text)
	c.eventMistake(object, m.uid, corev1.EventTypeWarning, text)
}

func (c *Controller) eventMistake(object quarantine.Object, uid types.UID, eventType, text string) {
	reference := object.Reference()
	reference.UID, reference.Namespace = uid, place(object) // where those look who made it
	c.recorder.Event(reference, eventType, reasonInvalid, text)
}
