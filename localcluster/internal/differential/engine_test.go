package differential

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/deployment"
	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// engine is the deployment engine: its plans, and its own writes. What it knows of the cluster and when it plans again
// is played as its Engine does it.
type engine struct {
	server *server
	writer *deployment.Writer
	queue  *queue
	// What an Engine remembers of its last writes; isHasty leaves out the times, so that no write waits for
	// another.
	creation                 rollout.CreationFailure
	created                  string
	statusWritten, stepTaken time.Time
	isHasty                  bool
	isWriting                bool
	logf                     func(format string, arguments ...any)
}

func newEngine(s *server, events record.EventRecorder, isHasty bool, logf func(string, ...any)) *engine {
	return &engine{
		server:  s,
		writer:  deployment.NewWriter(api{s}, events),
		queue:   newQueue(),
		isHasty: isHasty,
		logf:    logf,
	}
}

// observe takes notice of a change. Its own writes are known to it from the answers.
func (e *engine) observe(_, _ object) {
	if !e.isWriting {
		e.queue.Add(name)
	}
}

func (e *engine) due() time.Time { return e.queue.nextDue() }

func (e *engine) retry() { e.queue.retry() }

// step plans if there is a reason to, and applies the plan. It reports whether there was one.
func (e *engine) step(ctx context.Context) bool {
	if _, found := e.queue.next(); !found {
		return false
	}
	object := get[*appsv1.Deployment](e.server, name)
	if object == nil {
		e.creation, e.created, e.statusWritten, e.stepTaken = rollout.CreationFailure{}, "", time.Time{}, time.Time{}
		return true
	}
	d := rollout.NewDeployment(object)
	actions, wake := rollout.Plan(e.state(d))
	if len(actions) > 0 {
		e.logf("plan: %v", actions)
	}
	e.isWriting = true
	done, failure, err := e.writer.Apply(ctx, d, actions)
	e.isWriting = false
	isStep, isReported := e.record(actions[:done])
	switch {
	case failure.Name != "":
		e.creation = failure
		e.queue.Add(name)
	case err != nil:
		e.logf("fails: %v", err)
		e.queue.AddRateLimited(name)
	default:
		e.scheduleNext(isStep, isReported, wake)
	}
	return true
}

// scheduleNext decides when to plan next after a plan was applied, as Engine.scheduleNext does.
func (e *engine) scheduleNext(isStep, isReported bool, wake time.Time) {
	hasFailed, hasCollided := e.creation.Name != "" && !e.creation.Collided, e.creation.Collided
	if !hasCollided || isReported || isStep {
		e.creation = rollout.CreationFailure{}
	}
	if !wake.IsZero() {
		e.queue.AddAfter(name, time.Until(wake))
	}
	switch {
	case hasFailed:
		e.queue.AddRateLimited(name)
		return
	case isStep, hasCollided && isReported:
		e.queue.Add(name)
	}
	e.queue.Forget(name)
}

// record adds what was written, as writeHistory.record does.
func (e *engine) record(actions []rollout.Action) (isStep, isReported bool) {
	for _, action := range actions {
		switch a := action.(type) {
		case rollout.UpdateStatus:
			isReported, e.created = true, ""
		case rollout.RecordEvent:
		case rollout.CreateReplicaSet:
			isStep, e.created = true, a.Name
		default:
			isStep = true
		}
	}
	if isReported && !e.isHasty {
		e.statusWritten = time.Now()
	}
	if isStep && !e.isHasty {
		e.stepTaken = time.Now()
	}
	return isStep, isReported
}

// state collects what a plan may look at, as caches.observe does.
func (e *engine) state(d *rollout.Deployment) *rollout.State {
	s := &rollout.State{Now: time.Now(), Deployment: d, Creation: e.creation, Created: e.created, StatusWritten: e.statusWritten, StepTaken: e.stepTaken}
	for _, object := range list[*appsv1.ReplicaSet](e.server) {
		switch rs := rollout.NewReplicaSet(object); rs.Controller {
		case d.UID:
			s.ReplicaSets = append(s.ReplicaSets, rs)
		case "":
			s.Orphans = append(s.Orphans, rs)
		}
	}
	if d.Strategy == appsv1.RecreateDeploymentStrategyType {
		s.Pods = map[types.UID]int{}
		for _, pod := range list[*corev1.Pod](e.server) {
			owner := metav1.GetControllerOfNoCopy(pod)
			if owner != nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
				s.Pods[owner.UID]++
			}
		}
	}
	return s
}
