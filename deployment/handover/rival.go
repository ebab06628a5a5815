package handover

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// The reasons of Events, each with its type and when it is sent; docs/events.md is made from these comments.
const (
	// Warning: on the probe: the engine begins to stand by for another Deployment controller.
	reasonRival = "RivalEngine"
	// Normal: on the probe: the engine drives Deployments again.
	reasonTookOver = "TookOver"
	// Warning: another field manager has written the status of the Deployment, so the engine rests in the namespace until it
	// has made sure that no other controller drives Deployments.
	reasonForeignWrite = "ForeignStatusWrite"
)

// detection is what was detected of another field manager.
type detection struct {
	manager    string
	did        string
	deployment types.NamespacedName
	time       time.Time
}

// What others can do.
const (
	wroteStatus = "wrote the status of"
	replaced    = "of another process of this installation replaced"
)

func (d detection) String() string {
	return fmt.Sprintf("%s %s deployment %s", d.manager, d.did, d.deployment)
}

// rivalDetected takes in that another controller drives Deployments. The engine stops
// immediately. Callers must hold the lock.
func (m *Monitor) rivalDetected(manager, did string, deployment types.NamespacedName) {
	if did == wroteStatus {
		m.options.ForeignWrites.Inc(manager)
	}
	now, delay := time.Now(), m.delay()
	m.rival = detection{manager, did, deployment, now}
	if m.detector.rivalDetected(now, delay) {
		m.options.Rest()
		m.options.Log.Warn("standing by: another controller drives deployments", "manager", manager, "deployment", deployment.String(), "takes_over_after_silence_of", delay.Round(time.Second).String())
		m.options.Events.Eventf(m.reference(), corev1.EventTypeWarning, reasonRival,
			"the deployment engine stands by and does not drive Deployments: %s. It takes over when it has detected no other controller for %s", m.rival, takeoverDelay)
	}
	m.wake()
}

// foreignWrite takes in that another field manager has written the status of a Deployment. The
// engine rests in its namespace until it has made sure that the writer does not drive
// Deployments. Other tools drive paused ones, which no Deployment controller rolls out, so the
// status of those says nothing; a controller answers the probe, too.
func (m *Monitor) foreignWrite(d *rollout.Deployment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.options.ForeignWrites.Inc(d.StatusBy.Manager)
	if m.detector == nil || d.Paused {
		return
	}
	m.lastForeign = detection{d.StatusBy.Manager, wroteStatus, d.Key(), time.Now()}
	if !m.detector.foreignWrite(d.Namespace) || m.detector.phase != driving {
		return // it already rests there, or will rest there after it takes over, until it is sure
	}
	m.options.RestIn(d.Namespace)
	m.options.Log.Warn("resting in a namespace: another field manager has written the status of a deployment", "manager", d.StatusBy.Manager, "deployment", d.Key().String())
	m.options.Events.Eventf(d.Reference(), corev1.EventTypeWarning, reasonForeignWrite,
		"%s wrote the status. The deployment engine rests in this namespace until it is sure that no other controller drives Deployments", d.StatusBy.Manager)
	m.wake()
}

// reference returns a reference to the probe, for Events.
func (m *Monitor) reference() *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: rollout.DeploymentKind.GroupVersion().String(), Kind: rollout.DeploymentKind.Kind,
		Namespace: m.prober.namespace, Name: probeName, UID: m.present.UID, ResourceVersion: m.present.ResourceVersion,
	}
}
