package show

import (
	"cmp"
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
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/judge"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/controller/wording"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

// ExplainWorkload explains what the controller knows of a workload with a name such as
// "deployment/namespace/name". It returns nil if the controller knows no enabled workload of that name.
func (b *Board) ExplainWorkload(name string, now time.Time) (explained *status.Workload) {
	ref, isWorkload := names.ParseWorkloadRef(name)
	if !isWorkload {
		return nil
	}
	b.Quarantine.Try(quarantine.Metrics, kinds.NameOfWorkload(ref), func() { explained = b.Explain(ref, now) })
	return explained
}

// Explain explains a workload.
func (b *Board) Explain(ref names.WorkloadRef, now time.Time) *status.Workload {
	view, found := b.Catalog.View(ref)
	if !found {
		return b.explainUnknown(ref, now)
	}
	w, s := view.Workload, b.StandingOf(ref)
	explained := &status.Workload{
		Time: now.UTC(), Entry: b.entry(s), ResourceVersion: w.ResourceVersion,
		ByHand: byHand(w), GracePeriod: b.Restarter.GracePeriod(w).Seconds(), Wave: int(gatekeeper.WaveOf(w)),
		Reads: b.ReadsOf(&view), Record: recordOfWorkload(w), Change: b.changeOf(ref), Last: b.LastRestartOf(w),
	}
	if s.State == status.Lacking {
		explained.Due = b.dueBesides(ref)
	}
	explained.EnabledBy = b.OptIns.EnabledBy(ref)
	explained.Pods = podsOf(b.shown(w))
	if w.Method() != policy.NoMethod { // which is among the problems
		explained.Method = string(w.Method())
	}
	if w.Policy != nil {
		explained.Window = w.Policy.Window
	}
	explained.Holds = holdsOf(&view, b.Catalog)
	if absence, found := b.Absences.Find(ref); found && s.State != status.Lacking && s.Reason != gate.Missing {
		explained.Problems = append(explained.Problems, brief.Text(absence.Text+": without it, no new pod can start"))
	}
	explained.Mistakes = b.Mistakes.About(&view)
	if problem := restart.LeftOn(w); problem != "" {
		explained.Problems = append(explained.Problems, brief.Text(problem))
	}
	if !b.Restarter.KnowsConfigsOf(ref) {
		explained.Decision = status.Decision{Outcome: status.Undecided, Reason: failures.ErrConfigsUnknown.Error()}
		return explained
	}
	decision := decide.Decide(view)
	if b.Role.Acts() { // otherwise nobody has counted which pods are left
		b.Deliveries.IncludeLeft(w, &decision)
	}
	explained.Decision = status.Decision{Outcome: string(decision.Outcome), Reason: decision.Reason}
	switch {
	case decision.Outcome == decide.Restart:
		explained.Decision.Causes = brief.Text(wording.Causes(decision))
		explained.Gate = b.askGate(&view, &decision, now)
	case s.Reason != "" && s.Reason != reasonEviction:
		explained.Gate = &status.Answer{Reason: string(s.Reason), On: explained.On, Why: explained.Text, Until: explained.Until}
	}
	return explained
}

// StandingOf returns what a workload lacks or waits for, as the overview does.
func (b *Board) StandingOf(ref names.WorkloadRef) tracker.Standing {
	if s, isAlone := b.standingAlone(ref); isAlone {
		return s
	}
	s := b.standingOfRestarts(ref)
	if absence, found := b.Absences.Find(ref); found && s.State != status.Failed {
		return judge.StandingOfAbsence(ref, absence)
	}
	return s
}

// standingOfRestarts returns what a workload waits for: for its next restart, or else for the end of the last one.
func (b *Board) standingOfRestarts(ref names.WorkloadRef) tracker.Standing {
	switch row := b.Table.Of(ref); {
	case row.Backlog != nil:
		return tracker.StandingOfBacklog(ref, row.Backlog)
	case row.Rolling != nil:
		return StandingOfRestart(ref, row.Rolling)
	case row.Eviction != nil:
		return standingOfEviction(ref, row.Eviction)
	case row.Changes != nil:
		return tracker.StandingOfChanges(ref, row.Changes)
	}
	return b.Resting.StandingOf(ref)
}

// changeOf returns the change of a workload that is not due, nil if there is none.
func (b *Board) changeOf(ref names.WorkloadRef) *status.Change {
	changes := b.Table.Of(ref).Changes
	if changes == nil {
		return nil
	}
	s := tracker.StandingOfChanges(ref, changes)
	return &status.Change{Since: s.Since.UTC(), Due: s.Until.UTC(), For: s.Changed()}
}

// askGate returns what the gate answers to a restart that is due. Asking changes nothing. It is nil if this
// process makes no restarts.
func (b *Board) askGate(view *catalog.View, decision *decide.Decision, now time.Time) *status.Answer {
	if !b.Role.Acts() {
		return nil
	}
	request := b.Restarter.RequestFor(view, decision, now)
	if err := b.Gate.KnowsEnough(request); err != nil {
		return &status.Answer{Why: err.Error()}
	}
	answer := b.Gate.Explain(request, now)
	explained := &status.Answer{MayBegin: answer.MayBegin(), Reason: string(answer.Reason), Until: answer.Until.UTC()}
	if by := tracker.WaitedForBy(&answer); by.Config != (names.ConfigRef{}) {
		explained.On = by.Config.String()
	}
	switch answer.Reason {
	case gate.Hold, gate.Halted, gate.Missing, gate.Window:
		explained.Why = brief.Text(wording.Wait(answer))
	case gate.Wave:
		explained.Why = wording.EarlierWave(b.Gate.EarlierWave(view.Workload.Ref.Namespace))
	}
	return explained
}

func byHand(w *workload.Workload) string {
	if w.Idle {
		return "it wants no pods"
	}
	return strings.TrimPrefix(wording.Hold(w), ". ")
}

const (
	// maxKeys is how many keys of a ConfigMap are named.
	maxKeys = 20
	// longestKey is how many bytes of the name of a key are shown. The API allows no longer ones in a ConfigMap, but any
	// text in a pod template.
	longestKey = 253
)

// ReadsOf returns the configs that the containers of a workload read.
func (b *Board) ReadsOf(view *catalog.View) status.List[status.Seen] {
	all := view.Workload.Configs()
	reads := status.List[status.Seen]{Total: len(all), Items: make([]status.Seen, 0, min(len(all), status.Limit))}
	for _, config := range all[:min(len(all), status.Limit)] {
		reads.Items = append(reads.Items, b.seenOf(view, config))
	}
	return reads
}

func (b *Board) seenOf(view *catalog.View, config names.ConfigRef) status.Seen {
	seen := status.Seen{Config: config.String(), Optional: true, ReadAs: view.Workload.ReadAs(config)}
	known := view.Configs[config]
	isThere := known != nil && !known.Deleted
	seen.Exists = b.exists(config, isThere)
	seen.ResourceVersion = known.ResourceVersion()
	seen.Ignored = isThere && view.Workload.Ignores(known)
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
		if isThere {
			seen.KeyCount = known.Keys.Len()
		}
		return seen
	}
	if isThere {
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

// exists reports whether a config exists of which the catalog says whether it is there, nil if that is not known.
func (b *Board) exists(config names.ConfigRef, isThere bool) *bool {
	namespace := config.Source().Namespace
	if isThere || config.Kind.IsPerPod() && b.Watching.KnowMounts(namespace) || b.Watching.KnowWhatExists(config.Kind, namespace) {
		return &isThere
	}
	return nil
}

func recordOfWorkload(w *workload.Workload) status.Record {
	return status.Record{
		Trusted: w.Record.Trusted, Written: w.Record.Written.UTC(), Configs: len(w.Record.Checksums),
		Reverted: w.Record.Reverted != nil, Problem: brief.Text(w.Record.Problem),
	}
}

// LastRestartOf returns the last restart of a workload: as this process remembers it, or else as its pod template
// and its record show it, which do not say what became of it.
func (b *Board) LastRestartOf(w *workload.Workload) *status.Restart {
	if last := b.Deliveries.History.Of(w.Ref); last != nil {
		return last
	}
	at, err := time.Parse(time.RFC3339, w.Timestamp)
	if w.Method() == policy.ByEviction && w.Record.Trusted && len(w.Record.RestartedFor) > 0 {
		at, err = w.Record.Written, nil
	}
	if err != nil || annotation.IsForged(at) {
		return nil
	}
	restart := &status.Restart{Time: at.UTC(), Workload: w.Ref.String(), Outcome: status.Unknown, Why: "this replica has not followed it"}
	if w.Record.Trusted && len(w.Record.RestartedFor) > 0 {
		restart.Cause = wording.CauseNote(follow.RecordedFor(w))
	}
	return restart
}

// ExplainConfig explains what the controller knows of a config with a name such as "configmap/namespace/name". It
// returns nil if the controller does not know it.
func (b *Board) ExplainConfig(name string, now time.Time) *status.Config {
	ref, isConfig := names.ParseConfigRef(name)
	if !isConfig {
		return nil
	}
	known, readers := b.Catalog.Config(ref), b.Catalog.WorkloadsReferencing(ref)
	explained := &status.Config{Time: now.UTC(), Name: ref.String(), Exists: b.exists(ref, known != nil), States: make(map[status.State]int)}
	explained.FanOuts, explained.Halts = b.Gate.OverviewOf(ref)
	if known == nil && len(readers) == 0 && explained.FanOuts.Total == 0 && explained.Halts.Total == 0 {
		return nil
	}
	policy := b.Catalog.PolicyOf(ref)
	explained.Ignored = policy.Ignored
	if !ref.IsShared() { // its readers elsewhere see it, but not with whom else
		explained.SharedWith = policy.Readers
	}
	explained.Gradual, explained.Window, explained.Hold = b.Gate.IsGradual(policy), policy.Window, policy.Hold
	if explained.Mistake = b.Mistakes.On(kinds.NameOfConfig(ref)); explained.Mistake == nil {
		problem := wording.JoinProblems(b.Gate.ProblemOfConfig(&policy), b.Gate.ProblemOfResume(ref, policy.Resume))
		explained.Mistake = b.Mistakes.Shown(kinds.NameOfConfig(ref), kinds.Mistake{Text: brief.Text(problem)})
	}
	if known != nil {
		explained.Content, explained.KeyCount = b.Catalog.ContentID(ref, nil), known.Keys.Len()
		explained.Keys = keyNames(known)
	}
	b.addRestarts(explained, ref, known)
	list := status.NewShortlist(compareReaders)
	for _, w := range readers {
		s := b.StandingOf(w.Ref)
		explained.States[s.StateOf(w)]++
		list.Add(s)
	}
	explained.Readers = status.ListOf(list, b.entry)
	return explained
}

// addRestarts adds the restarts for the contents of a config that are on their way, or for the last one.
func (b *Board) addRestarts(to *status.Config, ref names.ConfigRef, known *content.Config) {
	since := known.LastEdit(func(annotation.Edit) bool { return true })
	for _, f := range to.FanOuts.Items {
		if since.IsZero() || f.Since.Before(since) {
			since = f.Since
		}
	}
	to.Restarts, to.RestartsSince = b.Deliveries.History.For(ref, since.Truncate(time.Second)), since.UTC()
	to.MissesRestarts = b.Gate.IsBeforeBegin(since)
}

// compareReaders sorts those first that need attention, and those last that wait for nothing.
func compareReaders(a, b tracker.Standing) int {
	return cmp.Or(cmp.Compare(slices.Index(status.States, b.State), slices.Index(status.States, a.State)), tracker.CompareStandings(a, b))
}

// keyNames names the first keys of a ConfigMap.
func keyNames(config *content.Config) []string {
	if config.Ref.Kind.IsSecret() {
		return nil
	}
	return slices.Clip(config.Keys.Names()[:min(config.Keys.Len(), maxKeys)])
}
