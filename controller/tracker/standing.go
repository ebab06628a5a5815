package tracker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/controller/wording"
	"kubernetes-deployment-restart-controller/internal/status"
)

// WaitedFor is what a restart waits for that the gate does not let begin.
type WaitedFor struct {
	Config names.ConfigRef // of the fan-out or halt
	Text   string          // in the words of those who hold it, or whose window it is
}

// WaitedForBy returns what a restart waits for that the gate has answered so.
func WaitedForBy(answer *gate.Answer) WaitedFor {
	switch {
	case answer.Reason == gate.SlowStart:
		return WaitedFor{Config: answer.FanOut.Config}
	case answer.Halt != nil && answer.Halt.Config.Kind == 0: // the further halts of a namespace
		return WaitedFor{Text: wording.Wait(*answer)}
	case answer.Halt != nil:
		return WaitedFor{Config: answer.Halt.Config}
	}
	return WaitedFor{Text: answer.Text}
}

// Standing is what one workload waits for.
type Standing struct {
	Ref          names.WorkloadRef
	State        status.State
	Since, Until time.Time
	Restarted    time.Time // if it has failed
	AtLeast      bool      // it may have begun before since
	Reason       gate.Reason
	By           WaitedFor
	IsExposed    bool
	subjects     [MaxSubjects]fmt.Stringer // the first configs that changed, if it is pending; the others are nil
	Restart      *decide.Decision          // what it restarts for, if it rolls and is followed
	Failure      FailedAttempts
}

// CompareStandings puts those first that have waited longest, as far as that is known.
func CompareStandings(a, b Standing) int {
	isUnknown := func(s Standing) int {
		if s.Since.IsZero() {
			return 1
		}
		return 0
	}
	return cmp.Or(isUnknown(a)-isUnknown(b), a.Since.Compare(b.Since), cmp.Compare(a.Ref.Namespace, b.Ref.Namespace), cmp.Compare(a.Ref.Name, b.Ref.Name), cmp.Compare(a.Ref.Kind, b.Ref.Kind))
}

// MaxSubjects is how many changed configs are named.
const MaxSubjects = 3

// StandingOfChanges returns what a workload waits for with these changes.
func StandingOfChanges(ref names.WorkloadRef, changes *pending.Changes) Standing {
	s := Standing{Ref: ref, State: status.Pending}
	for _, change := range changes.All() {
		if s.Since.IsZero() || change.Since.Before(s.Since) {
			s.Since = change.Since
		}
		if s.Until.IsZero() || change.Due.Before(s.Until) {
			s.Until = change.Due
		}
		if _, isConfig := change.Subject.(names.ConfigRef); isConfig {
			s.addSubject(change.Subject)
		}
	}
	return s
}

// addSubject adds a config that changed if it is one of the first in their order, so that the same ones are named each
// time.
func (s *Standing) addSubject(config fmt.Stringer) {
	for i, known := range s.subjects {
		if known == nil || pending.CompareConfigs(config.(names.ConfigRef), known.(names.ConfigRef)) < 0 {
			copy(s.subjects[i+1:], s.subjects[i:])
			s.subjects[i] = config
			return
		}
	}
}

// StandingOfBacklog returns what a workload waits for with this backlog.
func StandingOfBacklog(ref names.WorkloadRef, w *Backlog) Standing {
	s := Standing{Ref: ref, State: status.Deciding, Since: w.putOffSince, Until: w.Owed, AtLeast: w.AtLeast, Reason: w.PutOff, By: w.PutOffBy, IsExposed: w.isExposed, Failure: w.Failure}
	isMark := w.Failure.IsMark()
	switch hasFailed := w.Failure.Problem != "" && !isMark; {
	case w.PutOff == gate.Backoff:
		s.State = status.Slowed
	case w.PutOff.IsHold():
		s.State, s.Since = status.Held, w.heldSince
	case hasFailed: // whoever has the turn meanwhile
		s.State, s.Since, s.Until = status.Retrying, w.Failure.Since, w.Failure.Next
		s.AtLeast = s.AtLeast || w.Failure.atLeast
	case w.PutOff != "":
		s.State = status.Waiting
	default:
		s.Since, s.Until = w.Since, time.Time{}
	}
	if s.State != status.Retrying && !isMark { // it is not tried, so why attempts failed may be gone
		s.Failure = FailedAttempts{}
	}
	if w.PutOff == "" {
		s.By = WaitedFor{Text: w.Failure.Unknown}
	}
	return s
}

// LastError returns the error of the last attempt that failed, with since when they fail if the workload waits for something else.
func (s *Standing) LastError() string {
	if s.Failure.Problem == "" || s.State == status.Retrying {
		return s.Failure.Problem
	}
	since := " (failing since "
	if s.Failure.atLeast {
		since = " (failing at least since "
	}
	return s.Failure.Problem + since + s.Failure.Since.UTC().Format(time.RFC3339) + ")"
}

// StateOf also tells workloads that roll from those that run with all their pods again.
func (s *Standing) StateOf(w *workload.Workload) status.State {
	if s.State == status.Rolling && w.Rollout.IsWhole() {
		return status.Soaking
	}
	return s.State
}

// Changed names the configs that changed.
func (s *Standing) Changed() (names []string) {
	for _, subject := range s.subjects {
		if subject != nil {
			names = append(names, subject.String())
		}
	}
	slices.Sort(names)
	return names
}
