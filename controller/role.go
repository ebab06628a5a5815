package controller

import (
	"sync/atomic"
	"time"

	"kubernetes-deployment-restart-controller/internal/status"
)

// role is what this process is: a standby, the leader, or a dry run. Its methods may be called by several goroutines at once.
type role struct {
	dryRun  bool
	began   time.Time // when the process began
	leading atomic.Bool
}

// leads reports whether this process decides about changes.
func (r *role) leads() bool { return r.leading.Load() }

// acts reports whether this process writes to workloads.
func (r *role) acts() bool { return r.leads() && !r.dryRun }

// beginning returns when something began that has just been found.
func (r *role) beginning(now time.Time) status.Beginning {
	return status.Beginning{Since: now, AtLeast: r.isAtStart(now)}
}

// isAtStart reports whether what is found now may have been there before this process.
func (r *role) isAtStart(now time.Time) bool { return now.Sub(r.began) < atStart }

// atStart is for how long after the start what begins may have been there before.
const atStart = time.Minute
