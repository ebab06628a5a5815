package row

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// Content is what a config holds. Equal values are equal contents, also when one comes back.
type Content struct {
	Config names.ConfigRef
	ID     string
}

// Template identifies a pod template without the annotations that restart it, ours and kubectl's.
type Template [16]byte

// PodState is how a pod is, as far as that says something about the contents that it read.
type PodState uint8

// The states of pods.
const (
	// Unstarted pods have read no config: there is no node, no quota, no image, or a volume that is no config is missing.
	Unstarted PodState = iota
	// Starting pods have read their configs, and were never ready.
	Starting
	// Ready pods run.
	Ready
	// Unready pods were ready once.
	Unready
	// Crashing pods start again and again, and read their configs each time; or a container cannot be made for its config.
	Crashing
)

// Pod is a pod of a workload.
type Pod struct {
	Template Template
	// Rollout is the same number for the pods of one rollout.
	Rollout int
	// Reads are the contents that the pod is known to have read, or to have tried to. Pods may share the slice.
	Reads []Content
	State PodState
	// Since is when the state began.
	Since time.Time
}

func (p *Pod) reads(c Content) bool { return slices.Contains(p.Reads, c) }

// isBroken reports whether a pod has read its configs, and does not run.
func (p *Pod) isBroken() bool { return p.isUnready() || p.isCrashing() }

func (p *Pod) isCrashing() bool { return p.State == Crashing }

func (p *Pod) isUnready() bool { return p.State == Starting || p.State == Unready }

// isStuck reports whether a pod has read its configs and has not been ready since a time, and isYoung whether it may become
// ready: it is not ready since a later time.
func (p *Pod) isStuck(since time.Time) bool { return p.isUnready() && !p.Since.After(since) }
func (p *Pod) isYoung(since time.Time) bool { return p.isUnready() && p.Since.After(since) }

// runsSince reports whether a pod has been running since a time.
func (p *Pod) runsSince(since time.Time) bool { return p.State == Ready && !p.Since.After(since) }

// Pods are what is known of the pods of a workload at a moment. Of a StatefulSet with a partition, only those count that a
// restart replaces. Those that terminate do not.
type Pods struct {
	// Wanted is how many there should be.
	Wanted int
	// Template and Rollout are those of the pods that the workload creates now.
	Template Template
	Rollout  int
	All      []Pod
}

func (p *Pods) count(is func(*Pod) bool) (count int) {
	for i := range p.All {
		if is(&p.All[i]) {
			count++
		}
	}
	return count
}

func (p *Pods) any(is func(*Pod) bool) bool { return p.count(is) > 0 }

// expected returns how many pods run, or are expected to: what they have in common may be away for a moment.
func (p *Pods) expected(since time.Time) int {
	return min(p.Wanted, p.count(func(pod *Pod) bool { return pod.State == Ready || pod.isYoung(since) }))
}

// running returns how many pods have been running since a time.
func (p *Pods) running(since time.Time) int {
	return min(p.Wanted, p.count(func(pod *Pod) bool { return pod.runsSince(since) }))
}

// replaced returns how many pods of the present rollout run.
func (p *Pods) replaced() int {
	return p.count(func(pod *Pod) bool { return pod.State == Ready && pod.Rollout == p.Rollout })
}

// mostOfRollout returns how many pods of one rollout, at most, are as the function says. During a rollout there are more
// pods than wanted, and those of different templates have nothing to do with each other.
func (p *Pods) mostOfRollout(is func(*Pod) bool) (most int) {
	counts := make(map[int]int, 2)
	for i := range p.All {
		if pod := &p.All[i]; is(pod) {
			counts[pod.Rollout]++
			most = max(most, counts[pod.Rollout])
		}
	}
	return most
}

// isWhole reports whether all pods that are wanted have been running since a time, with the present template, and no others
// are there.
func (p *Pods) isWhole(since time.Time) bool {
	isAsWanted := func(pod *Pod) bool { return pod.runsSince(since) && pod.Template == p.Template }
	return p.Wanted > 0 && len(p.All) == p.Wanted && p.count(isAsWanted) == p.Wanted
}

func (p *Pods) allRead(c Content) bool {
	return !p.any(func(pod *Pod) bool { return !pod.reads(c) })
}
