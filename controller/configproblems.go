package controller

import (
	"iter"

	"github.com/cespare/xxhash/v2"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/quarantine"
)

// Problems of the annotations of configs are reported when an event shows them, and once by each leader if no event has:
// they may be older than the process, or a list has shown them.

// reportUnseenProblems reports problems of configs that this leader has not reported.
func (c *Controller) reportUnseenProblems(configs iter.Seq[catalog.ConfigRef]) {
	unreported := 0
	for ref := range configs {
		c.quarantine.Try(quarantine.Queue, nameOfConfig(ref), func() {
			if !c.reports.noteUnseenProblem(ref) {
				unreported++
			}
		})
	}
	if unreported > 0 {
		c.log.Warn("cannot use annotations of further configs, too many to report", "configs", unreported)
	}
}

// noteProblem reports which annotations of a config cannot be used.
func (r *fanOutReports) noteProblem(ref catalog.ConfigRef) {
	problem := r.gate.problemOfConfig(ref)
	r.remember(ref, problem)
	r.reportProblem(ref, problem)
}

// noteUnseenProblem does so unless this leader has reported the same. It returns false if there are too many to report.
func (r *fanOutReports) noteUnseenProblem(ref catalog.ConfigRef) (isReported bool) {
	problem := r.gate.problemOfConfig(ref)
	known, _ := r.problems.find(ref.Namespace, ref)
	isKnown := problem != "" && known == xxhash.Sum64String(problem)
	r.mu.Lock()
	hasRoom := problem == "" || r.hasRoom(ref.Namespace)
	r.mu.Unlock()
	if isKnown || !hasRoom {
		return isKnown
	}
	r.remember(ref, problem)
	r.reportProblem(ref, problem)
	return true
}

// reportProblem logs no more than there is an Event about: anybody who may annotate a config can do that often.
func (r *fanOutReports) reportProblem(ref catalog.ConfigRef, problem string) {
	if problem != "" && r.note(ref, corev1.EventTypeWarning, reasonInvalid, problem) {
		r.log.Warn("cannot use an annotation of a config", "config", ref, "problem", problem)
	}
}

// remember remembers a problem as reported, or that there is none.
func (r *fanOutReports) remember(ref catalog.ConfigRef, problem string) {
	if problem == "" {
		r.problems.drop(ref.Namespace, ref)
		return
	}
	r.problems.put(ref.Namespace, ref, xxhash.Sum64String(problem))
}

// forgetProblems forgets what was reported, as at the start of a leader.
func (r *fanOutReports) forgetProblems() {
	r.problems.dropAll("", func(catalog.ConfigRef) bool { return true })
}
