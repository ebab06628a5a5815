package intake

import (
	"cmp"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/controller/wording"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/notes"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// Mistakes are what people got wrong, by objects without resource versions. A Namespace is in itself.
type Mistakes struct {
	Known     notes.Notes[quarantine.Object, kinds.Mistake]
	Gate      *gatekeeper.Gatekeeper
	Restarter *restart.Restarter
	Rules     *optin.Rules
	Role      *run.Role
	Events    record.EventRecorder
	Log       *slog.Logger
}

// of returns what a person has got wrong on an object, nil if nothing, as nearly always. It is the only place that
// decides that. The object must have been taken in.
func (a *Mistakes) of(o *kinds.Observation) *kinds.Mistake {
	var found kinds.Mistake
	if o.Mistake != nil {
		found = *o.Mistake
	}
	switch {
	case o.Config != nil && o.Config.Policy != nil && !a.Rules.Ignores(o.Config.Ref.Namespace):
		found.Text, found.Resume = wording.JoinProblems(found.Text, a.Gate.ProblemOfConfig(o.Config.Policy)), o.Config.Policy.Resume
	case o.Workload != nil && o.Workload.Workload != nil:
		found.UID, found.Text = o.Workload.Workload.UID, wording.JoinProblems(found.Text, a.problemOfValues(o.Workload.Workload))
	}
	found.Text = brief.Text(found.Text)
	if a.describe(o.Name(), found) == "" && (found.Resume == "" || a.knowsHalts()) {
		return nil
	}
	return &found
}

// knowsHalts reports whether it is known which halts there are. A standby never knows.
func (a *Mistakes) knowsHalts() bool {
	_, knows := a.Gate.KnowsOfHalts()
	return a.Role.DryRun || knows && a.Role.Leads()
}

// JudgeResumes reports, once it is known which halts there are, which ids end none of them, and forgets the others.
func (a *Mistakes) JudgeResumes() {
	for object, known := range a.Known.All() {
		switch text := a.describe(object, known); {
		case known.Resume == "":
		case text == "":
			a.Known.Drop(place(object), object)
		case text != known.Text: // otherwise it was reported before
			a.report(object, known)
		}
	}
}

// problemOfValues describes which values of a workload's annotations cannot be used, empty if there are none.
func (a *Mistakes) problemOfValues(w *workload.Workload) string {
	return wording.JoinProblems(w.GracePeriod.ProblemWith(a.Restarter.GracePeriod(w).String()), a.Gate.ProblemOf(w), a.Restarter.Unwatched(w))
}

// describe describes a mistake on an object; empty if it is none now.
func (a *Mistakes) describe(object quarantine.Object, m kinds.Mistake) string {
	if m.Resume == "" {
		return m.Text
	}
	ref, _ := names.ParseConfigRef(object.String())
	return brief.Text(wording.JoinProblems(m.Text, a.Gate.ProblemOfResume(ref, m.Resume)))
}

// place returns the namespace whose owner made a mistake on an object: a Namespace is in itself.
func place(object quarantine.Object) string { return cmp.Or(object.Namespace, object.Name) }

// Note takes in what a person has got wrong on an object that exists, nil if nothing, and reports it, or its end, if it
// is news. It is listed if no event shows when it came to be.
func (a *Mistakes) Note(object quarantine.Object, found *kinds.Mistake, isListed bool) {
	object.ResourceVersion = ""
	known, wasFound := a.Known.Find(place(object), object)
	if found == nil {
		// An id that ended no halt was a mistake also if no halt is left.
		if a.Known.Drop(place(object), object); a.Role.Leads() && wasFound && (known.Text != "" || a.knowsHalts()) {
			a.Log.Info("all annotations and labels can be used again", "object", object.String())
			a.event(object, known.UID, corev1.EventTypeNormal, "nothing is wrong with its annotations and labels any more")
		}
		return
	}
	if known.UID == found.UID && known.Text == found.Text && known.Resume == found.Resume {
		return
	}
	if found.Since, found.AtLeast = time.Now(), isListed; found.Shares(&known) {
		found.Since, found.AtLeast = known.Since, known.AtLeast
	}
	if a.Known.Put(place(object), object, *found) && a.Role.Leads() {
		a.report(object, *found)
	}
}

// forget forgets what is wrong with an object that is gone.
func (a *Mistakes) forget(object quarantine.Object) {
	object.ResourceVersion = ""
	a.Known.Drop(place(object), object)
}

// list takes in the mistakes of all objects of a kind in a namespace, or in all namespaces.
func (a *Mistakes) list(kind schema.GroupVersionKind, namespace string, all []*kinds.Observation) {
	listed := make(map[quarantine.Object]*kinds.Mistake)
	for _, o := range all {
		object := o.Name()
		object.ResourceVersion = ""
		if m := a.of(o); m != nil {
			listed[object] = m
		} else {
			a.Note(object, nil, true)
		}
	}
	a.Known.DropAll(namespace, func(object quarantine.Object) bool {
		_, isListed := listed[object]
		return object.Kind == kind && !isListed
	})
	for object, m := range listed {
		a.Note(object, m, true)
	}
}

// ReportAll reports, as at the start of a leader, the mistakes that were noticed before. The API server has the Events
// of a former leader for a while, and then these are not created again.
func (a *Mistakes) ReportAll() {
	for object, known := range a.Known.All() {
		a.report(object, known)
	}
}

func (a *Mistakes) report(object quarantine.Object, m kinds.Mistake) {
	text := a.describe(object, m)
	if text == "" {
		return
	}
	a.Log.Warn("an annotation or a label cannot be used", "object", object.String(), "problem", text)
	a.event(object, m.UID, corev1.EventTypeWarning, text)
}

func (a *Mistakes) event(object quarantine.Object, uid types.UID, eventType, text string) {
	reference := object.Reference()
	reference.UID, reference.Namespace = uid, place(object) // where those look who made it
	a.Events.Event(reference, eventType, events.Invalid, text)
}
