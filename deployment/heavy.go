package deployment

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/digest"
	"kubernetes-deployment-restart-controller/deployment/pack"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
)

// turnOfHeavy is how long a step for a heavy Deployment, or a page of pods, keeps others of its kind waiting at most. A step that
// takes longer mostly waits for the API server, and the queue limits how many such steps a namespace has.
const turnOfHeavy = time.Second

// enter returns when a step for a Deployment may begin, and what ends its turn. Heavy ones take turns, because each of them may
// decode several heavy objects, and the process has only one memory.
func (e *Engine) enter(key types.NamespacedName) (leave func()) {
	if !e.caches.isHeavy(key) {
		return func() {}
	}
	return takeTurn(&e.heavy, key.Namespace)
}

// takeTurn returns when it is the caller's turn, and what ends it.
func takeTurn(lock *fairqueue.TurnLock, namespace string) (leave func()) {
	lock.Enter(namespace)
	end := sync.OnceFunc(lock.Leave)
	timer := time.AfterFunc(turnOfHeavy, end)
	return func() {
		timer.Stop()
		end()
	}
}

// isHeavy reports whether a step for a Deployment may decode a heavy object that is known.
func (c *caches) isHeavy(key types.NamespacedName) bool {
	d := c.deployments.get(key)
	return d != nil && (d.Heavy || c.hasHeavy(noLimit, controlledBy(d.Namespace, d.UID)) || c.hasHeavy(maxOrphans, c.orphanGroups(d)...))
}

func (c *caches) hasHeavy(limit int, groups ...digest.Digest) bool {
	return slices.ContainsFunc(c.replicaSets.members(limit, groups), func(e entry[packedReplicaSet]) bool { return e.packed.isHeavy() })
}

// isHeavy costs little, unlike to unpack all.
func (p packedReplicaSet) isHeavy() (isHeavy bool) {
	own := pack.UnpackerOf(p.own)
	own.Flags(&isHeavy)
	return isHeavy
}
