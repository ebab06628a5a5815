package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

// ExplainWorkload explains what the controller knows of a workload with a name such as
// "deployment/namespace/name". It returns nil if the controller knows no enabled workload of that name.
func (b *board) ExplainWorkload(name string, now time.Time) (explained *status.Workload) {
	ref, isWorkload := names.ParseWorkloadRef(name)
	if !isWorkload {
		return nil
	}
	b.quarantine.Try(quarantine.Metrics, nameOfWorkload(ref), func() { explained = b.explain(ref, now) })
	return explained
}

func (b *board) explain(ref names.WorkloadRef, now time.Time) *status.Workload {
	view, found := b.catalog.View(ref)
	if !found {
		return b.explainUnknown(ref, now)
	}
	w, s := view.Workload, b.standingOf(ref)
	explained := &status.Workload{
		Time: now.UTC(), Entry: b.entry(s),
		ByHand: byHand(w), GracePeriod: b.restarter.gracePeriod(w).Seconds(), Wave: int(waveOf(w)),
		Reads: readsOf(&view), Record: recordOfWorkload(w), Change: b.changes.waiting(ref), Last: b.lastRestartOf(w),
	}
	if s.state == status.Lacking {
		explained.Due = b.dueBesides(ref)
	}
	explained.EnabledBy = b.optIns.enabledBy(ref)
	explained.Pods = podsOf(b.shown(w))
	if w.Method() != policy.NoMethod { // which is among the problems
		explained.Method = string(w.Method())
	}
	if w.Policy != nil {
		explained.Window = w.Policy.Window
	}
	explained.Holds = holdsOf(&view, b.catalog)
	if absence, found := b.absences.find(ref); found && s.state != status.Lacking && s.reason != gate.Missing {
		explained.Problems = append(explained.Problems, brief.Text(absence.text+": without it, no new pod can start"))
	}
	explained.Mistakes = b.mistakes.about(&view)
	if problem := leftOn(w); problem != "" {
		explained.Problems = append(explained.Problems, brief.Text(problem))
	}
	if !b.restarter.knowsConfigsOf(ref) {
		explained.Decision = status.Decision{Outcome: status.Undecided, Reason: errConfigsUnknown.Error()}
		return explained
	}
	decision := decide.Decide(view)
	if b.role.acts() { // otherwise nobody has counted which pods are left
		b.deliveries.includeLeft(w, &decision)
	}
	explained.Decision = status.Decision{Outcome: string(decision.Outcome), Reason: decision.Reason}
	switch {
	case decision.Outcome == decide.Restart:
		explained.Decision.Causes = brief.Text(describe(decision))
		explained.Gate = b.askGate(&view, &decision, now)
	case s.reason != "" && s.reason != reasonEviction:
		explained.Gate = &status.Answer{Reason: string(s.reason), On: explained.On, Why: explained.Text, Until: explained.Until}
	}
	return explained
}

// standingOf returns what a workload lacks or waits for, as the overview does.
func (b *board) standingOf(ref names.WorkloadRef) standing {
	if s, isAlone := b.standingAlone(ref); isAlone {
		return s
	}
	s := b.standingOfRestarts(ref)
	if absence, found := b.absences.find(ref); found && s.state != status.Failed {
		return standingOfAbsence(ref, absence)
	}
	return s
}

// standingOfRestarts returns what a workload waits for: for its next restart, or else for the end of the last one.
func (b *board) standingOfRestarts(ref names.WorkloadRef) standing {
	if w, waits := b.restarter.backlogs.of(ref); waits {
		return standingOfBacklog(ref, &w)
	}
	if restart := b.deliveries.of(ref); restart != nil {
		return standingOfRestart(ref, restart)
	}
	if row, isUnderWay := b.evictions.of(ref); isUnderWay {
		return standingOfEviction(ref, &row)
	}
	s := b.resting.standingOf(ref)
	b.changes.of(ref, func(changes map[fmt.Stringer]*pendingChange) { s = standingOfChanges(ref, changes) })
	return s
}

// askGate returns what the gate answers to a restart that is due. Asking changes nothing. It is nil if this
// process makes no restarts.
func (b *board) askGate(view *catalog.View, decision *decide.Decision, now time.Time) *status.Answer {
	if !b.role.acts() {
		return nil
	}
	request := b.restarter.requestFor(view, decision, now)
	if err := b.gate.knowsEnough(request); err != nil {
		return &status.Answer{Why: err.Error()}
	}
	answer := b.gate.explain(request, now)
	explained := &status.Answer{MayBegin: answer.MayBegin(), Reason: string(answer.Reason), Until: answer.Until.UTC()}
	if by := waitedForBy(&answer); by.config != (names.ConfigRef{}) {
		explained.On = by.config.String()
	}
	switch answer.Reason {
	case gate.Hold, gate.Halted, gate.Missing, gate.Window:
		explained.Why = brief.Text(describeWait(answer))
	case gate.Wave:
		explained.Why = describeEarlierWave(b.gate.earlierWave(view.Workload.Ref.Namespace))
	}
	return explained
}

// explain returns what the gate would answer to a request, and changes nothing.
func (g *gatekeeper) explain(r *gate.Request, now time.Time) gate.Answer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return detached(g.ledger.Explain(r, now))
}

func byHand(w *workload.Workload) string {
	if w.Idle {
		return "it wants no pods"
	}
	return strings.TrimPrefix(describeHold(w), ". ")
}

const (
	// maxKeys is how many keys of a ConfigMap are named.
	maxKeys = 20
	// longestKey is how many bytes of the name of a key are shown. The API allows no longer ones in a ConfigMap, but any
	// text in a pod template.
	longestKey = 253
)

// readsOf returns the configs that the containers of a workload read.
func readsOf(view *catalog.View) status.List[status.Seen] {
	all := view.Workload.Configs()
	reads := status.List[status.Seen]{Total: len(all), Items: make([]status.Seen, 0, min(len(all), status.Limit))}
	for _, config := range all[:min(len(all), status.Limit)] {
		reads.Items = append(reads.Items, seenOf(view, config))
	}
	return reads
}

func seenOf(view *catalog.View, config names.ConfigRef) status.Seen {
	seen := status.Seen{Config: config.String(), Optional: true, ReadAs: view.Workload.ReadAs(config)}
	known := view.Configs[config]
	seen.Exists = known != nil && !known.Deleted
	seen.Ignored = seen.Exists && view.Workload.Ignores(known)
	var keys []string
	var byRules []template.Reference
	for i := range view.Workload.References {
		reference := &view.Workload.References[i]
		if reference.Config != config {
			continue
		}
		seen.Optional = seen.Optional && reference.Optional
		seen.AllKeys = seen.AllKeys || reference.Keys.HasAll()
		if names, isList := reference.Keys.Listed(); isList {
			keys = append(keys, names...)
		} else {
			byRules = append(byRules, *reference)
		}
	}
	isHidden := view.Workload.SeesAllButHidden(config)
	if seen.AllKeys = seen.AllKeys || isHidden && len(view.Workload.Unseen(known)) == 0; seen.AllKeys {
		if seen.Exists {
			seen.KeyCount = len(known.Keys)
		}
		return seen
	}
	if seen.Exists {
		keys = append(keys, known.SelectedKeys(byRules)...)
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	seen.KeyCount = len(keys)
	if !config.Kind.IsSecret() {
		for _, key := range keys[:min(len(keys), maxKeys)] {
			seen.Keys = append(seen.Keys, brief.Within(longestKey, key))
		}
	}
	return seen
}

func recordOfWorkload(w *workload.Workload) status.Record {
	return status.Record{
		Trusted: w.Applied.Trusted, Written: w.Applied.Written.UTC(), Configs: len(w.Applied.Checksums),
		Reverted: w.Applied.Reverted != nil, Problem: brief.Text(w.Applied.Problem),
	}
}

// lastRestartOf returns the last restart of a workload: as this process remembers it, or else as its pod template
// and its record show it.
func (b *board) lastRestartOf(w *workload.Workload) *status.Restart {
	if last := b.deliveries.history.of(w.Ref); last != nil {
		return last
	}
	at, err := time.Parse(time.RFC3339, w.Timestamp)
	if w.Method() == policy.ByEviction && w.Applied.Trusted && len(w.Applied.RestartedFor) > 0 {
		at, err = w.Applied.Written, nil
	}
	if err != nil || annotation.IsForged(at) {
		return nil
	}
	restart := &status.Restart{Time: at.UTC(), Workload: w.Ref.String()}
	if w.Applied.Trusted && len(w.Applied.RestartedFor) > 0 {
		restart.Cause = causeNote(recordedFor(w))
	}
	return restart
}

// waiting returns the change of a workload that is not due, nil if there is none.
func (q *changeQueue) waiting(ref names.WorkloadRef) (change *status.Change) {
	q.of(ref, func(changes map[fmt.Stringer]*pendingChange) {
		s := standingOfChanges(ref, changes)
		change = &status.Change{Since: s.since.UTC(), Due: s.until.UTC(), For: s.changed()}
	})
	return change
}

// of calls a function with the changes of a workload that are not due, if there are any. The function must not keep
// the map.
func (q *changeQueue) of(ref names.WorkloadRef, do func(map[fmt.Stringer]*pendingChange)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if changes := q.pending[ref]; len(changes) > 0 {
		do(changes)
	}
}

// of returns what a workload waits for, and false if it waits for nothing.
func (b *backlogs) of(ref names.WorkloadRef) (w backlog, waits bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w, waits = b.waiting[ref]
	return w, waits
}

// ExplainConfig explains what the controller knows of a config with a name such as "configmap/namespace/name". It
// returns nil if the controller does not know it.
func (b *board) ExplainConfig(name string, now time.Time) *status.Config {
	ref, isConfig := names.ParseConfigRef(name)
	if !isConfig {
		return nil
	}
	known, readers := b.catalog.Config(ref), b.catalog.WorkloadsReferencing(ref)
	explained := &status.Config{Time: now.UTC(), Name: ref.String(), Exists: known != nil, States: make(map[status.State]int)}
	explained.FanOuts, explained.Halts = b.gate.overviewOf(ref)
	if known == nil && len(readers) == 0 && explained.FanOuts.Total == 0 && explained.Halts.Total == 0 {
		return nil
	}
	policy := b.catalog.PolicyOf(ref)
	explained.Ignored = policy.Ignored
	if !ref.IsShared() { // its readers elsewhere see it, but not with whom else
		explained.SharedWith = policy.Readers
	}
	explained.Gradual, explained.Window, explained.Hold = b.gate.isGradual(policy), policy.Window, policy.Hold
	if explained.Mistake = b.mistakes.on(nameOfConfig(ref)); explained.Mistake == nil {
		problem := joinProblems(b.gate.problemOfConfig(&policy), b.gate.problemOfResume(ref, policy.Resume))
		explained.Mistake = b.mistakes.shown(nameOfConfig(ref), mistake{text: brief.Text(problem)})
	}
	if known != nil {
		explained.Content, explained.KeyCount = b.catalog.ContentID(ref, nil), len(known.Keys)
		explained.Keys = keyNames(known)
	}
	list := status.NewShortlist(compareReaders)
	for _, w := range readers {
		s := b.standingOf(w.Ref)
		explained.States[s.stateOf(w)]++
		list.Add(s)
	}
	explained.Readers = status.ListOf(list, b.entry)
	return explained
}

// compareReaders sorts those first that need attention, and those last that wait for nothing.
func compareReaders(a, b standing) int {
	return cmp.Or(cmp.Compare(slices.Index(status.States, b.state), slices.Index(status.States, a.state)), compareStandings(a, b))
}

// keyNames names the first keys of a ConfigMap.
func keyNames(config *content.Config) (names []string) {
	if config.Ref.Kind.IsSecret() {
		return nil
	}
	for i := range config.Keys[:min(len(config.Keys), maxKeys)] {
		names = append(names, config.Keys[i].Name)
	}
	return names
}

// overviewOf returns how far the fan-outs of a config have come, and its halts.
func (g *gatekeeper) overviewOf(config names.ConfigRef) (status.List[status.FanOut], status.List[status.Halt]) {
	progress, active := newProgressList(), newHaltList()
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.ledger.ProgressOf(config) {
		progress.Add(p)
	}
	g.addHalts(active, config)
	return status.ListOf(progress, g.fanOutOf), status.ListOf(active, g.haltOf)
}
