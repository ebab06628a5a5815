package model

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// OutOfBounds is the rule of the deployment engine.
const OutOfBounds = "out of bounds"

// Rollout is what a Deployment wants of a rollout, and how far the engine has looked.
type Rollout struct {
	Generation, Observed         int64
	Replicas, Surge, Unavailable int
	Recreate                     bool
}

// SetSight is a ReplicaSet as it was at one resource version.
type SetSight struct {
	At                  time.Time
	Version             uint64
	Listed              bool
	Deployment          string // the UID of its owner
	Name                string
	Replicas, Available int
	Gone                bool

	// lost is how many pods it lost last that were available, and lostAt is when.
	lost   int
	lostAt time.Time
}

// notice is how long the engine may take to act on a pod that is not available any more, on a busy machine and with
// requests that are delayed. An order that comes earlier was given before.
const notice = 5 * time.Second

// known returns how many available pods the engine may have known of at a time.
func (s SetSight) known(at time.Time) int {
	if at.Sub(s.lostAt) < notice {
		return s.Available + s.lost
	}
	return s.Available
}

// SeeSet takes in a ReplicaSet.
func (m *Model) SeeSet(s SetSight) {
	m.sets[s.Deployment] = append(m.sets[s.Deployment], s)
	m.timeline.see(s.Version, s.At, s.Listed)
}

// gap is a span of resource versions of which something was not observed.
type gap struct{ from, to uint64 }

// Gap takes in that from the one resource version to the other not everything was seen.
func (m *Model) Gap(from, to uint64) { m.gaps = append(m.gaps, gap{from, to}) }

func (m *Model) isBlind(version uint64) bool {
	return slices.ContainsFunc(m.gaps, func(g gap) bool { return g.from <= version && version <= g.to })
}

// rolling replays one Deployment and its ReplicaSets.
type rolling struct {
	specs      []Rollout // from the generation that the engine has observed to the present one
	sets       map[string]SetSight
	scaledDown bool // since the last time that it was settled
}

// judgeBounds replays what was observed of a Deployment and its ReplicaSets in the order
// of resource versions, and judges each order that the engine gave: an order is a
// ReplicaSet that wants another number of pods than before.
func (m *Model) judgeBounds(ref WorkloadRef, life []Sight) (found []Violation) {
	sets := slices.Clone(m.sets[life[0].UID])
	if len(sets) == 0 {
		return nil
	}
	slices.SortStableFunc(sets, func(a, b SetSight) int { return cmp.Compare(a.Version, b.Version) })
	r := rolling{sets: map[string]SetSight{}}
	next := 0
	for i := range sets {
		for ; next < len(life) && life[next].Version < sets[i].Version; next++ {
			r.observe(life[next].Rollout)
		}
		what := r.order(sets[i], m.timeline.before(sets[i].Version, sets[i].At))
		if what != "" && !sets[i].Listed && !m.isBlind(sets[i].Version) {
			found = append(found, Violation{ref, OutOfBounds, sets[i].At, what})
		}
	}
	return found
}

// observe takes in the Deployment. The engine may still act on any generation since the
// one that its status shows.
func (r *rolling) observe(spec Rollout) {
	if n := len(r.specs); n > 0 && spec.Replicas < r.specs[n-1].Replicas {
		r.scaledDown = true
	}
	if n := len(r.specs); n > 0 && r.specs[n-1].Generation == spec.Generation {
		r.specs[n-1] = spec
	} else {
		r.specs = append(r.specs, spec)
	}
	r.specs = slices.DeleteFunc(r.specs, func(s Rollout) bool { return s.Generation < spec.Observed })
}

// order takes in a ReplicaSet, which may have been written since a time, and returns what is wrong with it.
func (r *rolling) order(s SetSight, since time.Time) string {
	before, known := r.sets[s.Name]
	// The engine may know what is so, or what was so shortly before.
	present := func(other SetSight) int { return other.Available }
	former := func(other SetSight) int { return other.known(since) }
	total, available := r.count(present)
	_, formerly := r.count(former)
	if s.lost, s.lostAt = before.lost, before.lostAt; s.Available < before.Available {
		s.lost, s.lostAt = before.known(s.At)-s.Available, s.At
	}
	if s.Gone {
		delete(r.sets, s.Name)
	} else {
		r.sets[s.Name] = s
	}
	defer r.settle()
	if len(r.specs) == 0 || s.Gone {
		return ""
	}
	newTotal, newAvailable := r.count(present)
	_, newFormerly := r.count(former)
	switch {
	case s.Replicas > before.Replicas || !known && s.Replicas > 0:
		return r.judgeMore(s, r.specs[len(r.specs)-1], newTotal)
	case known && s.Replicas < before.Replicas && r.judgeFewer(s, before, total, formerly, newFormerly) != "":
		return r.judgeFewer(s, before, total, available, newAvailable)
	}
	return ""
}

func (r *rolling) judgeMore(s SetSight, present Rollout, total int) string {
	allowed := 0
	for _, spec := range r.specs {
		allowed = max(allowed, spec.Replicas+spec.Surge)
	}
	if total > allowed {
		return fmt.Sprintf("with %d of %s there are to be %d pods, at most %d are allowed", s.Replicas, s.Name, total, allowed)
	}
	if present.Recreate && total > s.Replicas {
		return fmt.Sprintf("%s is to have %d pods while other ReplicaSets are to have %d; it recreates", s.Name, s.Replicas, total-s.Replicas)
	}
	return ""
}

// judgeFewer lets a Deployment that was scaled down since it was settled lose available
// pods (docs/engine.md, Limits). The pods that go are those that are not available, as
// far as there are any: before.Available is what the engine could know.
func (r *rolling) judgeFewer(s, before SetSight, total, available, newAvailable int) string {
	if r.scaledDown {
		return ""
	}
	needed := -1
	for _, spec := range r.specs {
		if spec.Recreate {
			return ""
		}
		if least := spec.Replicas - spec.Unavailable; needed < 0 || least < needed {
			needed = least
		}
	}
	if newAvailable < needed && newAvailable < available {
		return fmt.Sprintf("%s goes from %d to %d of %d pods, which leaves %d available, at least %d are needed",
			s.Name, before.Replicas, s.Replicas, total, newAvailable, needed)
	}
	return ""
}

// count returns how many pods are wanted, and how many of these are available. The function returns that
// of a ReplicaSet.
func (r *rolling) count(availableOf func(SetSight) int) (total, available int) {
	for _, s := range r.sets {
		total += s.Replicas
		available += min(availableOf(s), s.Replicas)
	}
	return total, available
}

// settle notes when one ReplicaSet has all that is wanted.
func (r *rolling) settle() {
	total, available := r.count(func(s SetSight) int { return s.Available })
	if n := len(r.specs); n == 1 && total == r.specs[0].Replicas && available == total {
		r.scaledDown = false
	}
}
