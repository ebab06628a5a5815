package explain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// FromLeader is what the leader of the controller answers: what it decides, and what its gate admits. Here it
// is only put into words.
type FromLeader struct {
	// Name names the leader.
	Name string `json:"name"`
	*status.Workload
}

// Unknown is what a leader answers that knows no enabled workload of this name.
type Unknown struct {
	// Name names the leader.
	Name string
	status.Problem
}

// since says since when what is wrong with the workload is there: as a leader says that does not know it, or at least since an
// Event told of it; empty if that is not known. A leader that knows it says so by itself.
func (in *Input) since(problem string) string {
	known := in.Unknown
	switch {
	case problem == "" || in.Leader != nil:
		return ""
	case known != nil && known.Mistake != nil && strings.Contains(known.Mistake.Problem, problem):
		return facts.Since(known.Mistake.Beginning)
	}
	return facts.Since(in.lastOf(facts.InvalidAnnotation).Dates(problem))
}

// grace is the grace period of the workload.
func (l *FromLeader) grace() string {
	return time.Duration(l.GracePeriod * float64(time.Second)).String()
}

// conclusion says in one sentence what the leader decides; without ages if the time is zero.
func (l *FromLeader) conclusion(workload string, now time.Time) string {
	switch {
	case l.State == status.LeftAlone:
		return fmt.Sprintf("%s is left alone, so no config change restarts it: %s.", workload, strings.TrimSuffix(l.Text, "."))
	case l.Error != "" && l.State == status.Retrying && l.OnlyRecord:
		return fmt.Sprintf("%s waits for no restart, but %s.%s The next attempt %s.", workload, strings.TrimSuffix(l.Error, "."), l.remedy(), l.nextAttempt(now))
	case l.Error != "" && l.State == status.Retrying:
		return fmt.Sprintf("%s could not be restarted or recorded, and the next attempt %s: %s.%s", workload, l.nextAttempt(now), strings.TrimSuffix(l.Error, "."), l.remedy())
	case l.Decision.Outcome == "restart" && l.OnlyRecord:
		return fmt.Sprintf("%s %s; %s.%s", workload, l.due(now), strings.TrimSuffix(l.Error, "."), l.remedy())
	case l.Decision.Outcome == "restart":
		return workload + " " + l.due(now) + "."
	case l.Gate != nil && !l.Gate.MayBegin:
		return fmt.Sprintf("%s has not been looked at yet: %s.", workload, strings.TrimSuffix(waitsFor(l.Gate, now), "."))
	}
	return l.condition(workload)
}

// condition says how a workload is for which nothing is due.
func (l *FromLeader) condition(workload string) string {
	switch {
	case l.Decision.Outcome == status.Undecided && (l.State == status.Deciding || l.State == status.Settled):
		return fmt.Sprintf("%s has not been decided about yet: %s.", workload, l.Decision.Reason)
	case l.State == status.Failed && l.Last != nil && l.Last.Why != "":
		return fmt.Sprintf("%s has failed after its restart: %s.", workload, strings.TrimSuffix(cmp.Or(l.Text, l.Last.Why), "."))
	case l.Reason == "eviction":
		return fmt.Sprintf("%s restarts by eviction, and no pod is evicted: %s.", workload, l.Text)
	case l.State == status.Lacking:
		return fmt.Sprintf("%s waits for no restart, but %s. Pods need it to start: without it, those that run go on, but no new one can start.%s", workload, l.Text, l.remedy())
	case l.State == status.Unready:
		return fmt.Sprintf("%s waits for no restart, but %s%s.%s", workload, strings.TrimSuffix(l.Text, "."), l.pods(), l.remedy())
	case l.isRolling() && l.Pods != nil:
		return fmt.Sprintf("%s is %s%s%s.", workload, l.State, l.pods(), l.remark())
	}
	return fmt.Sprintf("%s is %s: %s.", workload, l.State, l.reason())
}

// pods says how many pods are updated and available, empty if that is not known.
func (l *FromLeader) pods() string {
	if l.Pods == nil {
		return ""
	}
	return fmt.Sprintf(": %d of %d pods updated, %d available", l.Pods.Updated, l.Pods.Wanted, l.Pods.Available)
}

// reason says why it is in its state: what the controller does not know yet, or what it decides.
func (l *FromLeader) reason() string {
	if l.isUndecided() {
		return fmt.Sprintf("%s (%s)", strings.TrimSuffix(l.Text, "."), l.Decision.Reason)
	}
	return l.Decision.Reason
}

// isUndecided reports whether the controller does not know enough yet to decide.
func (l *FromLeader) isUndecided() bool { return l.State == status.Deciding && l.Text != "" }

// isSettled reports whether nothing is due or under way.
func (l *FromLeader) isSettled() bool {
	return l.State == status.Settled && l.Error == "" && l.Decision.Outcome != "restart" && l.Decision.Outcome != status.Undecided && (l.Gate == nil || l.Gate.MayBegin)
}

// nextAttempt says when an attempt follows on one that failed.
func (l *FromLeader) nextAttempt(now time.Time) string {
	if l.Until.IsZero() {
		return "is under way"
	}
	return "follows " + when(l.Until, now)
}

// remedy says what helps, empty if that is not known.
func (l *FromLeader) remedy() string {
	if l.Remedy == "" {
		return ""
	}
	return " What helps: " + string(l.Remedy) + "."
}

// remark says what else is known of the restart that is under way, empty if nothing is.
func (l *FromLeader) remark() string {
	switch {
	case l.Text == "":
		return ""
	case l.Method == "evict":
		return "; the next eviction waits: " + l.Text
	}
	return "; " + l.Text
}

// due says what becomes of a restart that is due. The causes are a sentence, such as "configmap web changed".
func (l *FromLeader) due(now time.Time) string {
	because, although := "", ""
	if causes := l.Decision.Causes; causes != "" {
		because, although = ": "+causes, " although "+causes
	}
	switch {
	case l.Gate == nil:
		return "is due to restart, but the controller restarts nothing, as in a dry run" + because
	case !l.Gate.MayBegin:
		return fmt.Sprintf("has not restarted yet%s: %s", although, strings.TrimSuffix(waitsFor(l.Gate, now), "."))
	case l.isUndecided():
		return fmt.Sprintf("has not restarted yet%s: %s", although, strings.TrimSuffix(l.Text, "."))
	case l.ByHand != "":
		return fmt.Sprintf("does not restart by itself%s: %s", although, l.ByHand)
	case l.Change != nil:
		return fmt.Sprintf("restarts when its grace period ends, %s%s", when(l.Change.Due, now), because)
	}
	return "is about to restart" + because
}

// gate says what a restart waits for, or that it may begin.
func (l *FromLeader) gate(now time.Time) string {
	switch {
	case !l.Gate.MayBegin:
		return text.Join(": ", l.Gate.Reason, waitsFor(l.Gate, now))
	case l.Error != "" && !l.OnlyRecord:
		return "the restart may begin, but its last attempt failed"
	case l.isUndecided():
		return "nothing, once the controller can decide"
	}
	return "the restart may begin"
}

func (l *FromLeader) isRolling() bool {
	return l.State == status.Rolling || l.State == status.Soaking || l.State == status.Failed
}

// waitsFor says what a restart waits for.
func waitsFor(a *status.Answer, now time.Time) string {
	if a.Why != "" {
		return facts.OwnCommands(a.Why)
	}
	until := ""
	if !a.Until.IsZero() {
		until = ", " + when(a.Until, now)
	}
	switch gate.Reason(a.Reason) {
	case gate.Hold:
		return "it is held"
	case gate.Halted:
		return a.On + " is halted"
	case gate.Missing:
		return "it lacks a config that new pods need to start"
	case gate.Backoff:
		return facts.KeepChanging + ", so it restarts later" + until
	case gate.Window:
		return "its window is closed" + until
	case gate.Wave:
		return "an earlier wave of its namespace is not over"
	case gate.SlowStart:
		return "it waits for its turn in the slow start of " + a.On
	case gate.Limit:
		return "it waits for its turn: as many restarts as allowed are under way"
	}
	return "it waits" + until
}

func when(at, now time.Time) string {
	if now.IsZero() || !at.After(now) {
		return "at " + at.Format(time.RFC3339)
	}
	return fmt.Sprintf("at %s (in %s)", at.Format(time.RFC3339), facts.Age(at.Sub(now)))
}

// lines are shown below what the cluster shows, each with its name.
func (l *FromLeader) lines(now time.Time) [][2]string {
	state := string(l.State)
	if !l.Since.IsZero() {
		state += " for " + facts.AgeOf(l.Beginning, now)
	}
	if l.State == status.Retrying {
		state += "; " + text.Count(l.Attempts, "failed attempt")
	}
	if l.Reason == "eviction" || l.State == status.Lacking || l.State == status.Unready || l.State == status.LeftAlone {
		state += "; " + text.Join("; ", l.Text, l.Due)
	}
	if l.Exposed {
		state += "; its pods have read the new content already"
	}
	lines := [][2]string{
		{"Leader", l.Name},
		{"  State", state},
		{"  Decision", text.Join(": ", l.Decision.Outcome, l.Decision.Reason, l.Decision.Causes)},
	}
	if l.Gate != nil {
		lines = append(lines, [2]string{"  Gate", l.gate(now)})
	}
	if l.Change != nil {
		lines = append(lines, [2]string{"  Change", text.Join(" ", text.List(l.Change.For, namedKeys), "waits until", l.Change.Due.Format(time.RFC3339))})
	}
	if last := l.Last; last != nil {
		took := string(last.Outcome)
		if last.Took > 0 {
			took = fmt.Sprintf("%s after %ds", last.Outcome, last.Took)
		}
		lines = append(lines, [2]string{"  Restart", text.Join(", ", last.Time.Format(time.RFC3339), last.Cause, took, last.Why)})
		if facts.IsLookCommand(last.Command) {
			lines = append(lines, [2]string{"  Look with", last.Command})
		}
	}
	for _, problem := range l.problems() {
		lines = append(lines, [2]string{"  Problem", problem})
	}
	return lines
}

// problems are those that the leader names, with since when mistakes are there.
func (l *FromLeader) problems() (all []string) {
	for i := range l.Mistakes {
		on := ""
		if m := &l.Mistakes[i]; m.Object != l.Workload.Workload {
			on = m.Object + ": "
		}
		all = append(all, on+l.Mistakes[i].Problem+facts.Since(l.Mistakes[i].Beginning))
	}
	return append(all, l.Problems...)
}
