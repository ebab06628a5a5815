package controller

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/status"
)

// absencePatience is how long a config may be missing before an Event says so: tools delete and create an object to replace it,
// and create workloads before their configs.
const absencePatience = 10 * time.Second

// absencePeriod is how often the leader looks for absences to report.
const absencePeriod = 5 * time.Second

// absences are the enabled workloads that need a config, or a key of one, that does not exist. Their pods go on running,
// but none can start. An absence begins when a judgement of the workload finds it, and ends with one that does not. If it
// lasts, the leader reports it once. Its methods may be called by several goroutines at once.
type absences struct {
	mu sync.Mutex // of what reads a note and writes it
	of noted[names.WorkloadRef, absence]

	catalog *catalog.Catalog
	role    *role
	events  record.EventRecorder
	log     *slog.Logger
}

func newAbsences(known *catalog.Catalog, role *role, events record.EventRecorder, log *slog.Logger) *absences {
	return &absences{of: noted[names.WorkloadRef, absence]{countsAll: true}, catalog: known, role: role, events: events, log: log}
}

type absence struct {
	text       string // what is missing
	since      time.Time
	atLeast    bool // it was found soon after the start, so it may have begun earlier
	isReported bool
	wasTold    bool // something else that it lacked was reported, and that has not ended
}

// put notes what a workload lacks, empty if nothing.
func (a *absences) put(ref names.WorkloadRef, text string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, _ := a.of.find(ref.Namespace, ref)
	if text == "" {
		a.reportEnd(ref, known, now)
		a.of.drop(ref.Namespace, ref)
		return
	}
	if known.text != text {
		a.of.put(ref.Namespace, ref, absence{text: text, since: now, atLeast: a.role.isAtStart(now), wasTold: known.wasReported(now)})
	}
}

// wasReported reports whether an Event says that the workload lacks something, perhaps of a former leader.
func (a absence) wasReported(now time.Time) bool {
	return a.isReported || a.wasTold || a.text != "" && now.Sub(a.since) >= absencePatience+absencePeriod
}

// reportEnd takes back the Event about an absence, which a former leader may have created. Without that, it would be the last
// word on the workload.
func (a *absences) reportEnd(ref names.WorkloadRef, known absence, now time.Time) {
	w := a.catalog.Workload(ref)
	switch {
	case !known.wasReported(now) || w == nil || !a.role.leads():
		return
	case w.Idle:
		a.report(w, corev1.EventTypeNormal, reasonFound, "it wants no pods any more, so they lack no config")
	default:
		a.report(w, corev1.EventTypeNormal, reasonFound, "no config is missing any more that pods need to start")
	}
	a.log.Info("a problem of a workload is over", "workload", ref, "was", reasonMissing)
}

// report creates an Event, or renews that of a former leader that says the same.
func (a *absences) report(w *workload.Workload, eventType, reason, message string) {
	a.events.Event(objectReference(w), eventType, reason, message)
}

// find returns what a workload lacks. Beyond the notes that are kept, it looks again, and since when is not known.
func (a *absences) find(ref names.WorkloadRef) (absence, bool) {
	found, isOne := a.of.find(ref.Namespace, ref)
	if isOne && found.text == "" {
		if view, isKnown := a.catalog.View(ref); isKnown {
			found.text = describeMissing(&view, anyConfig)
		}
	}
	return found, isOne
}

func anyConfig(names.ConfigRef) bool { return true }

// run reports absences until the context ends.
func (a *absences) run(ctx context.Context) {
	ticker := time.NewTicker(absencePeriod)
	defer ticker.Stop()
	for {
		for ref, text := range a.due(time.Now()) {
			if w := a.catalog.Workload(ref); w != nil {
				a.log.Warn("a workload needs a config that does not exist", "workload", ref, "missing", text)
				a.report(w, corev1.EventTypeWarning, reasonMissing, text+", which pods need to start: without it, those that run go on, but no new one can start. Create it, or make the reference optional")
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
func (a *absences) due(now time.Time) map[names.WorkloadRef]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	due := make(map[names.WorkloadRef]string)
	for ref, absence := range a.of.all() {
		if !absence.isReported && now.Sub(absence.since) >= absencePatience {
			due[ref], absence.isReported = absence.text, true
			a.of.put(ref.Namespace, ref, absence)
		}
	}
	return due
}

// maxQuoted is how long the names are, in bytes, that texts quote and no API server has checked.
const maxQuoted = 100

// describeMissing says what a workload lacks of the configs that are known, empty if nothing. It names no keys of Secrets.
func describeMissing(view *catalog.View, isKnown func(names.ConfigRef) bool) string {
	first, count := view.Missing(isKnown)
	if count == 0 {
		return ""
	}
	text := configName(first.Config) + " does not exist"
	switch {
	case len(validation.IsDNS1123Subdomain(first.Config.Name)) > 0: // which the API accepts in a template
		text = fmt.Sprintf("a config does not exist, because no object can have its name: %q", brief.Within(maxQuoted, first.Config.Name))
	case view.MayBeUnwatched(first.Config):
		text = "no " + configName(first.Config) + " is watched: it does not exist, or is of type helm.sh/release.v1"
	case first.Key == "":
	case first.Config.Kind.IsSecret():
		text = configName(first.Config) + " lacks a key"
	case len(validation.IsConfigMapKey(first.Key)) > 0:
		text = fmt.Sprintf("%s cannot have the key %q", configName(first.Config), brief.Within(maxQuoted, first.Key))
	default:
		text = configName(first.Config) + " has no key " + first.Key
	}
	if count > 1 {
		text += fmt.Sprintf(" (and %d more)", count-1)
	}
	return text
}

func standingOfAbsence(ref names.WorkloadRef, a absence) standing {
	return standing{ref: ref, state: status.Lacking, since: a.since, atLeast: a.atLeast, by: waitedFor{text: a.text}}
}
