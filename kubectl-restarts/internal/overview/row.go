package overview

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

// Row is a workload that is not settled.
type Row struct {
	Namespace string `json:"namespace"`
	Workload  string `json:"workload"`
	State     State  `json:"state"`
	// Since is when that began, as far as it is known. AtLeast means that it may have begun earlier: an Event tells of it.
	Since   time.Time `json:"since,omitzero"`
	AtLeast bool      `json:"atLeast,omitempty"`
	Wave    int16     `json:"wave"`
	Why     string    `json:"why,omitempty"`
	// Remedy is what helps, empty if that is not known.
	Remedy status.Remedy `json:"remedy,omitempty"`
}

func (l *look) row(w *facts.Workload) Row {
	row := Row{Namespace: w.Ref.Namespace, Workload: w.Name(), Wave: w.Wave(), State: Settled}
	last, cause := w.Restarted()
	restarted, err := time.Parse(time.RFC3339Nano, last)
	if err != nil {
		restarted = time.Time{}
	}
	failed, excess := l.since(w, facts.RestartNotDelivered, restarted), l.events[about{w.Ref.Namespace, w.Name(), facts.TooManyReferences}]
	switch alone := w.LeftAlone(excess); {
	case failed != nil && !w.Rollout.IsWhole():
		row.State, row.Since, row.Why = Failed, failed.At, status.WithoutRemedy(failed.Message)
	case last != "" && w.Rollout.GaveUp:
		row.State, row.Since, row.Why = Failed, restarted, "its pods make no progress since it restarted"
	case alone != "":
		row.State, row.Why = LeftAlone, alone
		if told := cmp.Or(excess, l.events[about{w.Ref.Namespace, w.Name(), facts.NotSupported}]); told != nil {
			row.Since, row.AtLeast = told.At, true
		}
	case !w.Record.DiffersSince().IsZero():
		row.Since = w.Record.DiffersSince()
		l.due(w, &row, restarted)
	case w.AtStep != "":
		row.State, row.Since, row.Why = Held, restarted, w.AtStep
	case last != "" && !w.Hold.HoldsAll() && !w.Rollout.IsWhole() && !w.Rollout.ByPods:
		row.State, row.Since, row.Why = Rolling, restarted, cause+"; "+podsOf(w)
	default:
		l.judge(w, &row, restarted)
	}
	l.amend(w, &row, restarted)
	return row
}

// amend says in the row of a workload what it lacks, and what helps if its restart is refused.
func (l *look) amend(w *facts.Workload, row *Row, restarted time.Time) {
	if lacks := l.lacks(w); lacks != "" && row.State != Failed && row.State != LeftAlone {
		l.lack(w, row, lacks)
	}
	switch failed := l.refused(w, restarted); {
	case failed == nil:
	case row.State == NotApplied:
		row.Remedy = status.RemedyIn(failed.Message)
	case row.State == Held, row.State == OnHold:
		row.Why, row.Remedy = row.Why+"; besides, the last attempt failed: "+facts.FailureIn(failed.Message), status.RemedyIn(failed.Message)
	}
}

// lack notes in the row of a workload what it lacks, which matters more than what it waits for.
func (l *look) lack(w *facts.Workload, row *Row, lacks string) {
	row.Why, row.Remedy = lacks, status.CreateConfig
	if slices.Contains([]State{Held, Slowed, NotApplied, Waiting, Behind}, row.State) {
		row.Why += "; a restart is due"
		if !row.Since.IsZero() {
			row.Why += " since " + row.Since.UTC().Format(time.RFC3339)
		}
	}
	row.State, row.Since = Lacking, time.Time{}
	missing, found := l.events[about{w.Ref.Namespace, w.Name(), missingConfig}], l.events[about{w.Ref.Namespace, w.Name(), configFound}]
	if missing != nil && (found == nil || missing.At.After(found.At)) {
		row.Since, row.AtLeast = missing.At, true
	}
}

// judge finds out whether a workload waits for nothing, unless the leader says so.
func (l *look) judge(w *facts.Workload, row *Row, restarted time.Time) {
	since, why := l.behind(w)
	unknown := l.unknown(w)
	switch {
	case why != "":
		row.Since, row.AtLeast = since, true
		if l.due(w, row, restarted); row.State == Waiting {
			row.State, row.Why = Behind, why
		}
	case w.Policy != nil && w.Policy.Hold != "":
		row.State, row.Why = OnHold, w.Policy.Hold
	case unknown != "":
		row.State, row.Why = Unknown, unknown
	case w.LacksPods():
		row.State, row.Why, row.Remedy = Unready, podsOf(w), status.LookAtPods
	}
}

// podsOf says what the status of a workload says about its pods.
func podsOf(w *facts.Workload) string {
	return fmt.Sprintf("%d of %d pods updated, %d available", w.Rollout.Updated, w.Rollout.Wanted, w.Rollout.Available)
}

// due notes the state of a workload that should restart since the time in its row, and why it does not.
func (l *look) due(w *facts.Workload, row *Row, restarted time.Time) {
	row.State, row.Why = Waiting, "its record says that a restart is due"
	if answer := l.admit(w); !answer.MayBegin() {
		row.State, row.Why = Held, describe(answer)
		if halt := answer.Halt; halt != nil && halt.Since.After(row.Since) { // before that, it waited for others
			row.Since, row.AtLeast = halt.Since, false
		}
		if set := l.holdSet(w); answer.Reason == gate.Hold && set.At.After(row.Since) { // likewise
			row.Since, row.AtLeast = set.At, !set.IsExact
		}
	} else if slowed := l.since(w, facts.RestartBackoff, restarted); slowed != nil {
		row.State, row.Why = Slowed, slowed.Message
	} else if failed := l.refused(w, restarted); failed != nil {
		row.State, row.Why = NotApplied, "the last attempt failed: "+facts.FailureIn(failed.Message)
	}
}

// holdSet returns when the first of the annotations was set that hold the restarts of a workload, zero if that is not known of
// one of them.
func (l *look) holdSet(w *facts.Workload) (first policy.HoldTime) {
	var all []policy.HoldTime
	if l.Halts.Hold != "" {
		all = append(all, policy.HoldTime{})
	}
	if w.Policy != nil && w.Policy.Hold != "" {
		all = append(all, w.Policy.HoldSet)
	}
	for _, ref := range w.Configs() {
		if config := l.configs[ref]; config != nil && config.Policy != nil && config.Policy.Hold != "" {
			all = append(all, config.Policy.HoldSet)
		}
	}
	if len(all) == 0 {
		return first
	}
	return slices.MinFunc(all, func(a, b policy.HoldTime) int { return a.At.Compare(b.At) })
}

// admit answers whether a restart of a workload for any of its configs may begin, as far as people's
// wishes and halts say.
func (l *look) admit(w *facts.Workload) gate.Answer {
	var configs []*content.Config
	var halt *gate.Halt
	for _, ref := range w.Configs() {
		if config := l.configs[ref]; config != nil {
			configs = append(configs, config)
		}
		halt = cmp.Or(halt, l.halts[ref], l.halts[gate.GroupOf(ref.Kind, ref.Name)])
	}
	return w.Admit(configs, l.Halts.Hold, halt, l.lacks(w), l.Now)
}

func describe(answer gate.Answer) string {
	switch answer.Reason {
	case gate.Halted:
		return facts.ConfigName(answer.Halt.Config) + " is halted"
	case gate.Window:
		return facts.Opening(answer.Text, answer.Until)
	}
	return answer.Text
}
