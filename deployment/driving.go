package deployment

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/handover"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

func (e *Engine) newMonitor(options *Options, clients *apiclient.Clients) *handover.Monitor {
	return handover.New(handover.Options{
		Apps:          clients.Apps,
		WatchApps:     clients.WatchApps,
		Namespace:     options.OwnNamespace,
		Standby:       options.Standby,
		Drive:         e.drive,
		Rest:          e.rest,
		RestIn:        e.resting.add,
		ResumeIn:      e.resumeIn,
		WorkingSince:  e.workingSince,
		Events:        e.ownEvents,
		ForeignWrites: e.metrics.rivalWrites,
		FalseAlarms:   e.metrics.falseAlarms,
		Quarantine:    e.quarantine,
		Log:           options.Log,
	})
}

// drives reports whether the engine drives the Deployments of a namespace.
func (e *Engine) drives(namespace string) bool {
	return e.driving.Load() && !e.resting.has(namespace)
}

// drive starts from scratch with all Deployments.
func (e *Engine) drive() {
	e.histories.clear()
	e.driving.Store(true)
	for _, key := range e.caches.deployments.keys(noLimit, deploymentsIn("")) {
		e.add(key)
	}
}

// rest lets the writes under way complete, and prevents further ones.
func (e *Engine) rest() {
	e.driving.Store(false)
	e.resting.clear() // only then, or a write could begin in one of these namespaces
}

// resumeIn starts driving the Deployments of a namespace again.
func (e *Engine) resumeIn(namespace string) {
	e.resting.remove(namespace)
	for _, key := range e.caches.deployments.keys(noLimit, deploymentsIn(namespace)) {
		e.wake(key)
	}
}

// workingSince returns since when all watches that the engine needs in order to drive have
// worked; zero if one of them does not work.
func (e *Engine) workingSince() (since time.Time) {
	for _, w := range e.watches {
		working := w.Status().WorkingSince
		if working.IsZero() {
			return working
		}
		if working.After(since) {
			since = working
		}
	}
	return since
}

// wake queues a Deployment, unless the engine stands by: then all Deployments are queued when
// it begins to drive.
func (e *Engine) wake(key types.NamespacedName) {
	if e.driving.Load() {
		e.add(key)
	}
}
