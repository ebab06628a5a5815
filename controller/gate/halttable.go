package gate

import (
	"iter"
	"maps"
	"slices"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
)

const (
	// maxFailed is how many failed workloads a halt remembers.
	maxFailed = 3
	// maxFailedNamespaces is how many namespaces the halt of a group remembers in which workloads failed.
	maxFailedNamespaces = 16
	// maxHalts is how many active halts a namespace has at most. While it has that many, all its gradual restarts are halted.
	maxHalts = 16
	// maxHaltsOf is how many halts of a config are remembered, and maxRemembered how many of a namespace.
	maxHaltsOf, maxRemembered = 16, 64
	// maxHaltsInAll is how many are remembered in all: namespaces come and go.
	maxHaltsInAll = 4000
)

// halts holds the halts of all namespaces.
type halts struct {
	of map[names.ConfigRef][]*Halt
	// in holds the same halts by namespace, and full stands for the further ones of a namespace that has
	// too many.
	in        map[string]map[*Halt]struct{}
	full      map[string]*Halt
	active    int
	count     int     // of all
	forgotten []*Halt // see [Ledger.TakeForgotten]
}

func newHalts() halts {
	return halts{of: make(map[names.ConfigRef][]*Halt), in: make(map[string]map[*Halt]struct{}), full: make(map[string]*Halt)}
}

func (h *halts) add(halt *Halt) {
	namespace := halt.Config.Namespace
	if h.in[namespace] == nil {
		h.in[namespace] = make(map[*Halt]struct{})
	}
	h.in[namespace][halt] = struct{}{}
	h.count++
	h.of[halt.Config] = append(h.of[halt.Config], halt)
}

func (h *halts) remove(halt *Halt) {
	namespace := halt.Config.Namespace
	h.count--
	if delete(h.in[namespace], halt); len(h.in[namespace]) == 0 {
		delete(h.in, namespace)
	}
	kept := slices.DeleteFunc(slices.Clone(h.of[halt.Config]), func(other *Halt) bool { return other == halt })
	if h.of[halt.Config] = kept; len(kept) == 0 {
		delete(h.of, halt.Config)
	}
}

// makeRoom reports whether a config may have another halt. If there are too many otherwise, it forgets the oldest whose contents are
// gone, or else those that a person has resumed.
func (h *halts) makeRoom(config names.ConfigRef) bool {
	if h.isFull(config.Namespace) {
		return false
	}
	for {
		var oldest *Halt
		switch {
		case len(h.of[config]) >= maxHaltsOf:
			oldest = oldestOf(slices.Values(h.of[config]))
		case len(h.in[config.Namespace]) >= maxRemembered:
			oldest = oldestOf(maps.Keys(h.in[config.Namespace]))
		case h.count >= maxHaltsInAll:
			oldest = h.oldestOfAll()
		default:
			return true
		}
		if oldest == nil {
			return false
		}
		h.remove(oldest)
		h.forgotten = append(h.forgotten, oldest)
	}
}

func (h *halts) oldestOfAll() *Halt {
	return oldestOf(func(yield func(*Halt) bool) {
		for _, in := range h.in {
			for halt := range in {
				if !yield(halt) {
					return
				}
			}
		}
	})
}

// oldestOf returns the oldest halt that is not active, nil if there is none. One that was resumed comes last: it forgives failures.
func oldestOf(all iter.Seq[*Halt]) (oldest *Halt) {
	isLater := func(a, b *Halt) bool {
		if a.Resumed.IsZero() != b.Resumed.IsZero() {
			return b.Resumed.IsZero()
		}
		return a.Since.After(b.Since)
	}
	for halt := range all {
		if !halt.isActive && (oldest == nil || isLater(oldest, halt)) {
			oldest = halt
		}
	}
	return oldest
}

// find returns a halt that stops a restart, nil if there is none. Restarts for configs that are not
// gradual are never stopped.
func (h *halts) find(causes []Cause) *Halt {
	hasRoom := "" // in which namespace, mostly that of all
	for i := range causes {
		cause := &causes[i]
		if !cause.IsGradual {
			continue
		}
		for _, halt := range h.of[cause.Config] {
			if halt.isActive && halt.concerns(cause) {
				return halt
			}
		}
		if halt := h.withContent(cause.Group, cause.Content); halt != nil && halt.isActive {
			return halt
		}
		if namespace := cause.Config.Namespace; namespace != hasRoom {
			if h.isFull(namespace) {
				return h.fullOf(namespace)
			}
			hasRoom = namespace
		}
	}
	return nil
}

// isFull reports whether a namespace has so many active halts that no more would be remembered.
func (h *halts) isFull(namespace string) bool {
	active := 0
	for halt := range h.in[namespace] {
		if halt.IsActive() {
			active++
		}
	}
	return active >= maxHalts
}

func (h *halts) fullOf(namespace string) *Halt {
	if h.full[namespace] == nil {
		h.full[namespace] = &Halt{Config: names.ConfigRef{Namespace: namespace}, isActive: true}
	}
	return h.full[namespace]
}

// related returns the halts of a config that have present content in common with one of them, itself included. Each reader
// may have restarted for other keys, but the same key may have broken them all.
func (h *halts) related(halt *Halt) []*Halt {
	var related []*Halt
	for _, other := range h.of[halt.Config] {
		if other == halt || !other.isGone && !IsGroup(halt.Config) && decide.ShareKey(other.Keys, halt.Keys) {
			related = append(related, other)
		}
	}
	return related
}

// isForgiven reports whether a person has resumed the restarts for all the content of a failed restart since it began.
func (h *halts) isForgiven(failure *Failure) bool {
	return slices.ContainsFunc(h.of[failure.Config], func(halt *Halt) bool {
		return failure.Began.Before(halt.Resumed) && (halt.Content == failure.Content || !halt.isGone && !IsGroup(failure.Config) && haveAll(halt.Keys, failure.Keys))
	})
}

func (h *halts) withContent(config names.ConfigRef, content string) *Halt {
	i := slices.IndexFunc(h.of[config], func(halt *Halt) bool { return halt.Content == content })
	if i < 0 {
		return nil
	}
	return h.of[config][i]
}

// haveAll reports whether a list of keys has all those of another one. No keys mean all.
func haveAll(all, keys []string) bool {
	return len(all) == 0 || len(keys) > 0 && !slices.ContainsFunc(keys, func(key string) bool { return !slices.Contains(all, key) })
}
