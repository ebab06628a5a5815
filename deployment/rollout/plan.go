package rollout

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/internal/podtemplate"
)

// Plan computes what has to be done for a Deployment now, and when to plan again even if
// nothing has changed (zero: never). A settled Deployment needs no actions. A plan is one step
// of a rollout: after it has been applied, the next plan follows from the API server's
// answers.
func Plan(s *State) (actions []Action, wake time.Time) {
	if s.Deployment.Invalid != nil {
		return reject(s), time.Time{}
	}
	if claims := claim(s); len(claims) > 0 {
		return claims, time.Time{}
	}
	p := newPlan(s)
	p.noteCreation()
	target, isRollback := rollbackRequest(s.Deployment)
	switch {
	case s.Deployment.Deleting:
		p.refreshNew()
		return p.report()
	case s.Deployment.Paused:
		p.notePause()
		p.refreshNew()
		p.rescale()
		p.noteHeld() // its pods may break meanwhile
		p.retryPods()
		if !isRollback {
			p.prune()
		}
		return p.report()
	case isRollback:
		p.ensureNew()
		p.rollBack(target)
		return p.actions(), time.Time{}
	}
	p.notePause()
	p.judge()
	if p.isRescaled() && !p.isFallenBack() && !p.isLimited() { // else what has failed must not grow, or beyond its step
		p.refreshNew()
		if p.rescale() {
			p.retryPods()
			p.estimateProgress() // the status below hides the progress from the next plan
			return p.report()
		}
	}
	p.strategy.step(p)
	p.noteSizes()
	p.retryPods()
	p.prune()
	p.estimateProgress()
	return p.report()
}

// reject reports once per generation why there is no plan.
func reject(s *State) []Action {
	d := s.Deployment
	if d.Status.ObservedGeneration >= d.Generation {
		return nil
	}
	status := d.Status
	status.ObservedGeneration = d.Generation
	return []Action{
		UpdateStatus{Status: status},
		RecordEvent{Type: corev1.EventTypeWarning, Reason: d.Invalid.Reason, Message: d.Invalid.Message},
	}
}

// plan is a plan under construction.
type plan struct {
	s *State
	d *Deployment
	// strategy is the Deployment's strategy.
	strategy strategy
	// newRS is the ReplicaSet that has the Deployment's template; it is nil if it does not
	// exist yet. oldRSs holds all other ReplicaSets, the oldest first.
	newRS  *member
	oldRSs []*member
	// target is the ReplicaSet that is to have all the pods: the new one, unless its release has
	// failed. others holds all other ReplicaSets, the oldest first.
	target *member
	others []*member
	// bare is the sum of the Deployment's template without the annotations of restarts.
	bare podtemplate.Sum
	// release is nil unless a failed release falls back, or rollouts take steps. fellBack, held and unkept are what to report with the
	// status that says first that it has fallen back, waits at a step, or takes no steps any more; empty for nothing.
	release                *release
	fellBack, held, unkept string

	conditions *conditions
	collisions *int32
	// creationFailed means that the creation of the new ReplicaSet has just failed.
	creationFailed bool

	wake      time.Time // when a postponed step is due
	resized   []*member // in the order of resizing
	create    []Action
	deletions []Action
	rollback  []Action
	events    []Action
}

// member is a ReplicaSet with what the plan has ordered for it so far.
type member struct {
	*ReplicaSet
	size            int64
	changes         map[string]string // annotations to set
	minReadySeconds *int32            // to set
	isOrdered       bool              // to be created
	failedBy        FailureCause      // why its release has just failed, one of FailureCauses
	ended           *outcome          // how its rollout ended, as endedBy says; nil if nobody has asked
	endedBy         string
}

// newPlan begins a plan for a Deployment that has nothing to claim or is being deleted. A
// Deployment that is being deleted does not release ReplicaSets that it no longer selects, so
// the plan leaves them out.
func newPlan(s *State) *plan {
	p := &plan{
		s:          s,
		d:          s.Deployment,
		strategy:   strategies[s.Deployment.Strategy],
		conditions: newConditions(s.Now, s.Deployment.Status.Conditions),
		collisions: s.Deployment.Status.CollisionCount,
	}
	own := s.ReplicaSets
	if p.d.Deleting {
		own, _ = p.d.selected(own)
	}
	own = oldestFirst(own)
	present := p.d.NewReplicaSet(own)
	for _, rs := range own {
		m := &member{ReplicaSet: rs, size: rs.Replicas}
		if rs == present {
			p.newRS = m
		} else {
			p.oldRSs = append(p.oldRSs, m)
		}
	}
	p.target, p.others = p.newRS, p.oldRSs
	p.bare = p.bareOfTemplate()
	p.readRelease()
	return p
}

// bareOfTemplate returns [Deployment.Bare], also of a Deployment that does not ask for anything about releases any more.
func (p *plan) bareOfTemplate() podtemplate.Sum {
	isNoted := func(m *member) bool { return m.Annotations[outcomeAnnotation] != "" }
	if knowsReleases(p.d.Annotations) || !slices.ContainsFunc(p.all(), isNoted) {
		return p.d.Bare
	}
	_, bare := sumsOf(p.d.Template.decode(), true)
	return bare
}

// all returns all ReplicaSets, the new one at the end.
func (p *plan) all() []*member {
	all := p.oldRSs[:len(p.oldRSs):len(p.oldRSs)]
	if p.newRS != nil {
		all = append(all, p.newRS)
	}
	return all
}

// active returns the ReplicaSets that want pods.
func active(members []*member) []*member {
	var wanting []*member
	for _, m := range members {
		if m.size > 0 {
			wanting = append(wanting, m)
		}
	}
	return wanting
}

// sum adds up a number over the ReplicaSets.
func sum(members []*member, number func(*member) int64) (total int64) {
	for _, m := range members {
		total += number(m)
	}
	return total
}

func size(m *member) int64      { return m.size }
func existing(m *member) int64  { return m.Existing }
func ready(m *member) int64     { return m.Ready }
func available(m *member) int64 { return m.Available }

// staying returns how many available pods a ReplicaSet is sure to have left when it has
// reached its size. Its status may still be from when it was larger. Until its controller has
// observed the last change, no pod is sure to stay: the ReplicaSet may have been smaller in
// between.
func staying(m *member) int64 {
	if !m.Observed {
		return 0
	}
	return min(m.Available, m.size)
}

// resize orders a size, and notes what it was computed from. It returns false if the
// ReplicaSet already has that size.
func (p *plan) resize(m *member, replicas int64) bool {
	if !p.setSize(m, replicas) {
		return false
	}
	p.noteSize(m)
	return true
}

// setSize orders a size. It returns false if the ReplicaSet already has that size.
func (p *plan) setSize(m *member, replicas int64) bool {
	if m.size == replicas {
		return false
	}
	m.size = replicas
	p.resized = append(p.resized, m)
	return true
}

// noteSize orders the annotations that show what a ReplicaSet's size was computed from.
func (p *plan) noteSize(m *member) {
	p.resized = append(p.resized, m)
	m.set(missing(p.d.sizeAnnotations(), m.Annotations))
}

// set orders annotations.
func (m *member) set(annotations map[string]string) {
	if m.changes == nil {
		m.changes = map[string]string{}
	}
	maps.Copy(m.changes, annotations)
}

// annotation returns the value that an annotation will have.
func (m *member) annotation(key string) string {
	if value, found := m.changes[key]; found {
		return value
	}
	return m.Annotations[key]
}

// actions returns the ordered actions, apart from the status and deletions. ReplicaSets are
// updated in the order in which they were resized, but growing ones come last, so that there
// are never too many pods in between.
func (p *plan) actions() []Action {
	var actions, growing []Action
	if !p.isFallenBack() {
		actions = p.create
	}
	done := map[*member]bool{}
	for _, m := range append(p.resized, p.all()...) {
		switch {
		case done[m] || !m.needsUpdate():
		case m.size > m.Replicas:
			growing = append(growing, m.update())
		default:
			actions = append(actions, m.update())
		}
		done[m] = true
	}
	actions = append(actions, growing...)
	if p.isFallenBack() { // it gets no pods, and its creation may be refused
		actions = append(actions, p.create...)
	}
	actions = append(actions, p.rollback...)
	return append(actions, p.events...)
}

func (m *member) needsUpdate() bool {
	return !m.isOrdered && (m.size != m.Replicas || len(m.changes) > 0 || m.minReadySeconds != nil)
}

func (m *member) update() UpdateReplicaSet {
	return UpdateReplicaSet{
		Target:          m.Meta,
		From:            m.Replicas,
		To:              m.size,
		Annotations:     m.changes,
		MinReadySeconds: m.minReadySeconds,
		FailedBy:        m.failedBy,
	}
}

func (p *plan) recordEvent(kind, reason, message string) {
	p.events = append(p.events, RecordEvent{Type: kind, Reason: reason, Message: message})
}
