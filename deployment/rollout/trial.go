package rollout

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/internal/podsight"
)

// Trial is what one process has seen of an attempt at a release, because the API does not show it. It is immutable. A
// process that takes over begins anew, which costs a flapping release one more progress deadline at most.
type Trial struct {
	// Of is the UID of the new ReplicaSet, and Attempt which attempt at the release it is.
	Of      types.UID
	Attempt int64
	// Most is the most new pods that were available, of those that are wanted, and Fewest how few old ones there were, including
	// terminating ones. A pod that becomes ready again and again is no progress. IsIdle means that no pods were wanted.
	Most, Fewest int64
	IsIdle       bool
	// IsKnown means that these three are known.
	IsKnown bool
	// Failed is why the attempt has failed, empty if it has not.
	Failed FailureCause
	Look
}

// Look is what the pods of a new ReplicaSet showed at one time.
type Look struct {
	// At is a time just before the look, zero if there was none. Took is how long it took.
	At   time.Time
	Took time.Duration
	// IsLast means that the release seemed complete.
	IsLast bool
	// Ready is how many pods were ready, and Worst the pod that says most against the release.
	Ready int64
	Worst Finding
}

// Finding is what one pod shows of a release.
type Finding struct{ podsight.Sight }

// IsBroken reports whether the pod crashes, or cannot be made.
func (f *Finding) IsBroken() bool { return f.Condition == podsight.Broken }

// Hangs reports whether the pod has started and is not ready.
func (f *Finding) Hangs() bool { return f.Condition == podsight.Hanging }

// weight orders findings. A pod that cannot start for a reason outside the template says nothing.
func (f *Finding) weight() int {
	switch {
	case f.IsBroken():
		return 3
	case f.LacksImage():
		return 2
	case f.Hangs():
		return 1
	}
	return 0
}

// Add takes in a pod of the ReplicaSet.
func (l *Look) Add(seen podsight.Sight) {
	found := Finding{seen}
	l.Ready += int64(seen.Ready)
	switch weight, worst := found.weight(), l.Worst.weight(); {
	case weight > worst, weight == worst && weight > 0 && found.Since.Before(l.Worst.Since):
		l.Worst = found
	}
}

// With returns the trial after a look.
func (t *Trial) With(a *LookAtPods) *Trial {
	later := Trial{}
	if t != nil && t.Of == a.Target.UID && t.Attempt == a.Attempt {
		later = *t
	}
	later.Of, later.Attempt, later.Look = a.Target.UID, a.Attempt, *a.Found
	return &later
}

// trial returns what was seen of the present attempt, nil if nothing was.
func (p *plan) trial() *Trial {
	if t := p.s.Trial; t != nil && p.isWatched() && t.Of == p.newRS.UID && t.Attempt == p.attempt() {
		return t
	}
	return nil
}

// remembered returns what to remember of the present attempt when the status is written. After a failure, it is all that
// remains if a policy drops the note of it.
func (p *plan) remembered() *Trial {
	before := p.s.Trial
	switch {
	case p.isFallenBack() && p.newRS != nil && p.newRS.failedBy != "" && before != nil:
		failed := *before
		if failed.Of != p.newRS.UID || failed.Attempt != p.release.outcome.Attempt { // a person has aborted it before it was looked at
			failed = Trial{Of: p.newRS.UID, Attempt: p.release.outcome.Attempt}
		}
		failed.Failed = p.newRS.failedBy
		return &failed
	case p.isFallenBack():
		return before
	case !p.isWatched(), p.newRS.isOrdered:
		return nil
	}
	t := Trial{Of: p.newRS.UID, Attempt: p.attempt(), Most: p.newRS.Available, Fewest: p.earlierPods(), IsIdle: p.d.Replicas == 0, IsKnown: true}
	if before = p.trial(); before != nil {
		t.Look = before.Look
		if before.IsKnown {
			t.Most, t.Fewest = min(max(t.Most, before.Most), p.d.Replicas), min(t.Fewest, before.Fewest)
		}
	}
	return &t
}

// earlierPods returns how many pods of other templates exist, including terminating ones.
func (p *plan) earlierPods() int64 {
	return sum(p.oldRSs, func(m *member) int64 {
		if m.Terminating == nil {
			return m.Existing
		}
		return m.Existing + int64(*m.Terminating)
	})
}

// firstLook is after how long without progress the pods of a release are looked at for the first time. The time doubles
// each time up to longestPause, or the progress deadline if that is longer, and is at least lookShare times as long as a look
// took. A release that seems complete and does not prove to be is looked at again after a second, and then less often, too. At a
// step, differPause is the longest time if the pods are not as the last look has seen them.
const (
	firstLook    = 15 * time.Second
	provingPause = time.Second
	longestPause = 10 * time.Minute
	differPause  = time.Minute
	lookShare    = 10
)

// nextLook returns when the pods are to be looked at next, zero for never: while there is no progress, at the deadline, and
// before the release counts as complete.
func (p *plan) nextLook() time.Time {
	t := p.trial()
	if t == nil {
		t = &Trial{}
	}
	progressing := p.conditions.get(appsv1.DeploymentProgressing)
	if progressing == nil || p.newRS.Existing == 0 || p.isComplete() && p.isProven() {
		return time.Time{}
	}
	progressed, next, pause := progressing.LastUpdateTime.Time, progressing.LastUpdateTime.Add(firstLook), firstLook
	isUrgent := p.isComplete() || p.isToProve()
	if isUrgent {
		next, pause = p.s.Now, provingPause
	}
	if t.At.After(progressed) || isUrgent && !t.At.IsZero() { // another clock may be ahead
		stalled := min(t.At.Sub(progressed), max(*p.d.ProgressDeadline, longestPause))
		next = t.At.Add(max(pause, stalled, lookShare*t.Took))
	}
	if p.differs(t) {
		next = earlier(next, t.At.Add(max(differPause, lookShare*t.Took)))
	}
	for _, at := range p.occasions(t) {
		if t.At.Before(at) {
			next = earlier(next, at)
		}
	}
	return next
}

// occasions returns when to look in any case: at the deadline, when the soak time of a step is over, and when a pod that hangs has had
// its time.
func (p *plan) occasions(last *Trial) (at []time.Time) {
	if deadline, running := p.deadline(); running {
		at = append(at, deadline.Add(deadlineDelay))
	}
	if over := p.soaked(); !over.IsZero() {
		at = append(at, over)
	}
	if last.Worst.Hangs() {
		at = append(at, last.Worst.Since.Add(*p.d.ProgressDeadline))
	}
	return at
}
