package run

import (
	"sync/atomic"
	"time"

	"kubernetes-deployment-restart-controller/internal/status"
)

// Role is what this process is: a standby, the leader, or a dry run. Its methods may be called by several goroutines at once.
type Role struct {
	DryRun  bool
	Began   time.Time // when the process began
	Leading atomic.Bool
}

// Leads reports whether this process decides about changes.
func (r *Role) Leads() bool { return r.Leading.Load() }

// Acts reports whether this process writes to workloads.
func (r *Role) Acts() bool { return r.Leads() && !r.DryRun }

// Beginning returns when something began that has just been found.
func (r *Role) Beginning(now time.Time) status.Beginning {
	return status.Beginning{Since: now, AtLeast: r.IsAtStart(now)}
}

// IsAtStart reports whether what is found now may have been there before this process.
func (r *Role) IsAtStart(now time.Time) bool { return now.Sub(r.Began) < AtStart }

// AtStart is for how long after the start what begins may have been there before.
const AtStart = time.Minute
