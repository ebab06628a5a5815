package controller

import (
	"cmp"
	"log/slog"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
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

// mistakes are what people got wrong, by objects without resource versions. A Namespace is in itself.
type mistakes struct {
	known     noted[quarantine.Object, mistake]
	gate      *gatekeeper
	restarter *restarter
	rules     *optin.Rules
	role      *role
	events    record.EventRecorder
	log       *slog.Logger
}

// of returns what a person has got wrong on an object, nil if nothing, as nearly always. It is the only place that
// decides that. The object must have been taken in.
func (a *mistakes) of(o *observation) *mistake {
	var found mistake
	if o.mistake != nil {
		found = *o.mistake
	}
	switch {
	case o.config != nil && o.config.Policy != nil && !a.rules.Ignores(o.config.Ref.Namespace):
		found.text, found.resume = joinProblems(found.text, a.gate.problemOfConfig(o.config.Policy)), o.config.Policy.Resume
	case o.workload != nil && o.workload.workload != nil:
		found.uid, found.text = o.workload.workload.UID, joinProblems(found.text, a.problemOfValues(o.workload.workload))
	}
	found.text = brief.Text(found.text)
	if a.describe(o.name(), found) == "" && (found.resume == "" || a.knowsHalts()) {
		return nil
	}
	return &found
}

// knowsHalts reports whether it is known which halts there are. A standby never knows.
func (a *mistakes) knowsHalts() bool {
	_, knows := a.gate.knowsOfHalts()
	return a.role.dryRun || knows && a.role.leads()
}

// judgeResumes reports, once it is known which halts there are, which ids end none of them, and forgets the others.
func (a *mistakes) judgeResumes() {
	for object, known := range a.known.all() {
		switch text := a.describe(object, known); {
		case known.resume == "":
		case text == "":
			a.known.drop(place(object), object)
		case text != known.text: // otherwise it was reported before
			a.report(object, known)
		}
	}
}

// problemOfValues describes which values of a workload's annotations cannot be used, empty if there are none.
func (a *mistakes) problemOfValues(w *workload.Workload) string {
	return joinProblems(w.GraceProblem(a.restarter.gracePeriod(w).String()), a.gate.problemOf(w), a.restarter.unwatched(w))
}

// describe describes a mistake on an object; empty if it is none now.
func (a *mistakes) describe(object quarantine.Object, m mistake) string {
	if m.resume == "" {
		return m.text
	}
	ref, _ := names.ParseConfigRef(object.String())
	return brief.Text(joinProblems(m.text, a.gate.problemOfResume(ref, m.resume)))
}

// place returns the namespace whose owner made a mistake on an object: a Namespace is in itself.
func place(object quarantine.Object) string { return cmp.Or(object.Namespace, object.Name) }

// OnWorkload returns what a person has got wrong on an object with a name such as "deployment/namespace/name", nil if nothing is
// known of it.
func (a *mistakes) OnWorkload(name string) *status.Mistake {
	if ref, isWorkload := names.ParseWorkloadRef(name); isWorkload {
		return a.on(nameOfWorkload(ref))
	}
	return nil
}

func (a *mistakes) on(object quarantine.Object) *status.Mistake {
	known, _ := a.known.find(place(object), object)
	return a.shown(object, known)
}

// shown returns a mistake for people, nil if it is none now.
func (a *mistakes) shown(object quarantine.Object, m mistake) *status.Mistake {
	text := a.describe(object, m)
	if text == "" {
		return nil
	}
	return &status.Mistake{Object: object.String(), Problem: text, Beginning: status.Beginning{Since: m.since.UTC(), AtLeast: m.atLeast}}
}

// in returns the first mistakes of a namespace, or of all if it is empty, for people.
func (a *mistakes) in(namespace string) status.List[status.Mistake] {
	first := status.NewShortlist(compareMistakes)
	a.known.each(namespace, func(object quarantine.Object, known mistake) {
		if m := a.shown(object, known); m != nil {
			first.Add(*m)
		}
	})
	return status.ListOf(first, func(mistake status.Mistake) status.Mistake { return mistake })
}

func compareMistakes(a, b status.Mistake) int { return cmp.Compare(a.Object, b.Object) }

// about returns the mistakes on a workload, on the configs of its namespace that it reads, and on its Namespace. Its own
// come first, even if too many of the namespace are known to keep them.
func (a *mistakes) about(view *catalog.View) (mistakes []status.Mistake) {
	a.known.each(view.Workload.Ref.Namespace, func(object quarantine.Object, known mistake) {
		if ref, isConfig := names.ParseConfigRef(object.String()); isConfig && view.Configs[ref] != nil || object.Namespace == "" {
			if m := a.shown(object, known); m != nil {
				mistakes = append(mistakes, *m)
			}
		}
	})
	slices.SortFunc(mistakes, compareMistakes)
	own := a.on(nameOfWorkload(view.Workload.Ref))
	if text := brief.Text(a.problemOfValues(view.Workload)); own == nil && text != "" {
		own = &status.Mistake{Object: view.Workload.Ref.String(), Problem: text}
	}
	if own != nil {
		mistakes = slices.Insert(mistakes, 0, *own)
	}
	return mistakes
}

// note takes in what a person has got wrong on an object that exists, nil if nothing, and reports it, or its end, if it
// is news. It is listed if no event shows when it came to be.
func (a *mistakes) note(object quarantine.Object, found *mistake, isListed bool) {
	object.ResourceVersion = ""
	known, wasFound := a.known.find(place(object), object)
	if found == nil {
		// An id that ended no halt was a mistake also if no halt is left.
		if a.known.drop(place(object), object); a.role.leads() && wasFound && (known.text != "" || a.knowsHalts()) {
			a.log.Info("all annotations and labels can be used again", "object", object.String())
			a.event(object, known.uid, corev1.EventTypeNormal, "nothing is wrong with its annotations and labels any more")
		}
		return
	}
	if known.uid == found.uid && known.text == found.text && known.resume == found.resume {
		return
	}
	if found.since, found.atLeast = time.Now(), isListed; found.shares(&known) {
		found.since, found.atLeast = known.since, known.atLeast
	}
	if a.known.put(place(object), object, *found) && a.role.leads() {
		a.report(object, *found)
	}
}

// forget forgets what is wrong with an object that is gone.
func (a *mistakes) forget(object quarantine.Object) {
	object.ResourceVersion = ""
	a.known.drop(place(object), object)
}

// list takes in the mistakes of all objects of a kind in a namespace, or in all namespaces.
func (a *mistakes) list(kind schema.GroupVersionKind, namespace string, all []*observation) {
	listed := make(map[quarantine.Object]*mistake)
	for _, o := range all {
		object := o.name()
		object.ResourceVersion = ""
		if m := a.of(o); m != nil {
			listed[object] = m
		} else {
			a.note(object, nil, true)
		}
	}
	a.known.dropAll(namespace, func(object quarantine.Object) bool {
		_, isListed := listed[object]
		return object.Kind == kind && !isListed
	})
	for object, m := range listed {
		a.note(object, m, true)
	}
}

// reportAll reports, as at the start of a leader, the mistakes that were noticed before. The API server has the Events
// of a former leader for a while, and then these are not created again.
func (a *mistakes) reportAll() {
	for object, known := range a.known.all() {
		a.report(object, known)
	}
}

func (a *mistakes) report(object quarantine.Object, m mistake) {
	text := a.describe(object, m)
	if text == "" {
		return
	}
	a.log.Warn("an annotation or a label cannot be used", "object", object.String(), "problem", text)
	a.event(object, m.uid, corev1.EventTypeWarning, text)
}

func (a *mistakes) event(object quarantine.Object, uid types.UID, eventType, text string) {
	reference := object.Reference()
	reference.UID, reference.Namespace = uid, place(object) // where those look who made it
	a.events.Event(reference, eventType, reasonInvalid, text)
}
