package judge

import (
	"context"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/controller/wording"
	"kubernetes-deployment-restart-controller/internal/notes"
	"kubernetes-deployment-restart-controller/internal/status"
)

// absencePatience is how long a config may be missing before an Event says so: tools delete and create an object to replace it,
// and create workloads before their configs.
const absencePatience = 10 * time.Second

// absencePeriod is how often the leader looks for absences to report.
const absencePeriod = 5 * time.Second

// Absences are the enabled workloads that need a config, or a key of one, that does not exist. Their pods go on running,
// but none can start. An absence begins when a judgement of the workload finds it, and ends with one that does not. If it
// lasts, the leader reports it once. Its methods may be called by several goroutines at once.
type Absences struct {
	mu sync.Mutex // of what reads a note and writes it
	Of notes.Notes[names.WorkloadRef, Absence]

	catalog *catalog.Catalog
	role    *run.Role
	Events  record.EventRecorder
	log     *slog.Logger
}

// NewAbsences knows of nothing that is missing yet.
func NewAbsences(known *catalog.Catalog, role *run.Role, events record.EventRecorder, log *slog.Logger) *Absences {
	return &Absences{Of: notes.Notes[names.WorkloadRef, Absence]{CountsAll: true}, catalog: known, role: role, Events: events, log: log}
}

// Absence is what a workload lacks.
type Absence struct {
	Text       string // what is missing
	since      time.Time
	atLeast    bool // it was found soon after the start, so it may have begun earlier
	isReported bool
	wasTold    bool // something else that it lacked was reported, and that has not ended
}

// Put notes what a workload lacks, empty if nothing.
func (a *Absences) Put(ref names.WorkloadRef, text string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, _ := a.Of.Find(ref.Namespace, ref)
	if text == "" {
		a.reportEnd(ref, known, now)
		a.Of.Drop(ref.Namespace, ref)
		return
	}
	if known.Text != text {
		a.Of.Put(ref.Namespace, ref, Absence{Text: text, since: now, atLeast: a.role.IsAtStart(now), wasTold: known.wasReported(now)})
	}
}

// wasReported reports whether an Event says that the workload lacks something, perhaps of a former leader.
func (a Absence) wasReported(now time.Time) bool {
	return a.isReported || a.wasTold || a.Text != "" && now.Sub(a.since) >= absencePatience+absencePeriod
}

// reportEnd takes back the Event about an absence, which a former leader may have created. Without that, it would be the last
// word on the workload.
func (a *Absences) reportEnd(ref names.WorkloadRef, known Absence, now time.Time) {
	w := a.catalog.Workload(ref)
	switch {
	case !known.wasReported(now) || w == nil || !a.role.Leads():
		return
	case w.Idle:
		a.report(w, corev1.EventTypeNormal, events.Found, "it wants no pods any more, so they lack no config")
	default:
		a.report(w, corev1.EventTypeNormal, events.Found, "no config is missing any more that pods need to start")
	}
	a.log.Info("a problem of a workload is over", "workload", ref, "was", events.Missing)
}

// report creates an Event, or renews that of a former leader that says the same.
func (a *Absences) report(w *workload.Workload, eventType, reason, message string) {
	a.Events.Event(kinds.ObjectReference(w), eventType, reason, message)
}

// Find returns what a workload lacks. Beyond the notes that are kept, it looks again, and since when is not known.
func (a *Absences) Find(ref names.WorkloadRef) (Absence, bool) {
	found, isOne := a.Of.Find(ref.Namespace, ref)
	if isOne && found.Text == "" {
		if view, isKnown := a.catalog.View(ref); isKnown {
			found.Text = wording.Missing(&view, anyConfig)
		}
	}
	return found, isOne
}

func anyConfig(names.ConfigRef) bool { return true }

// Run reports absences until the context ends.
func (a *Absences) Run(ctx context.Context) {
	ticker := time.NewTicker(absencePeriod)
	defer ticker.Stop()
	for {
		for ref, text := range a.due(time.Now()) {
			if w := a.catalog.Workload(ref); w != nil {
				a.log.Warn("a workload needs a config that does not exist", "workload", ref, "missing", text)
				a.report(w, corev1.EventTypeWarning, events.Missing, text+", which pods need to start: without it, those that run go on, but no new one can start. Create it, or make the reference optional")
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// due takes the absences that are to be reported, which are those that last, of those of which a note is kept.
func (a *Absences) due(now time.Time) map[names.WorkloadRef]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	due := make(map[names.WorkloadRef]string)
	for ref, absence := range a.Of.All() {
		if !absence.isReported && now.Sub(absence.since) >= absencePatience {
			due[ref], absence.isReported = absence.Text, true
			a.Of.Put(ref.Namespace, ref, absence)
		}
	}
	return due
}

// StandingOfAbsence returns how a workload is that lacks something.
func StandingOfAbsence(ref names.WorkloadRef, a Absence) tracker.Standing {
	return tracker.Standing{Ref: ref, State: status.Lacking, Since: a.since, AtLeast: a.atLeast, By: tracker.WaitedFor{Text: a.Text}}
}
