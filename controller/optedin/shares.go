package optedin

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"kubernetes-deployment-restart-controller/internal/notes"
)

// shares limit how much the large objects of each namespace take together. If they take more than the limit, the largest
// are left alone: as many as it takes for the others to fit. Which ones follows from the objects alone, so that all
// controllers agree, in whatever order they see them. It is safe for use by several goroutines.
type shares[K comparable] struct {
	limit int
	// compare breaks ties: of two objects of one size, the one that comes later is left alone first.
	compare func(a, b K) int

	mu         sync.Mutex
	namespaces map[string]*share[K]
}

// share is that of one namespace. Its objects are sorted, the smallest first. The first ones are kept, so many of them,
// and take sum together; the others are left alone.
type share[K comparable] struct {
	sizes   map[K]int
	objects []sized[K]
	kept    int
	sum     int
}

type sized[K comparable] struct {
	size int
	key  K
}

// LittleSize is how much an object may take without counting: it is then not many times larger than one that takes
// nothing, and most namespaces have nothing to remember.
const LittleSize = 16

func newShares[K comparable](limit int, compare func(a, b K) int) *shares[K] {
	return &shares[K]{limit: limit, compare: compare, namespaces: make(map[string]*share[K])}
}

// put notes how much an object takes, 0 if it is gone. It returns the other objects that are to be left alone from now
// on, and those that are no longer.
func (s *shares[K]) put(namespace string, key K, size int) (leave, readmit []K) {
	if size <= LittleSize {
		size = 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.namespaces[namespace]
	switch {
	case in == nil && size == 0, in != nil && in.sizes[key] == size:
		return nil, nil
	case in == nil:
		in = &share[K]{sizes: make(map[K]int)}
		s.namespaces[namespace] = in
	}
	in.remove(key, s.order)
	in.insert(sized[K]{size, key}, s.order)
	leave, readmit = in.settle(s.limit)
	if len(in.objects) == 0 {
		delete(s.namespaces, namespace)
	}
	isOther := func(other K) bool { return other != key }
	return filtered(leave, isOther), filtered(readmit, isOther)
}

// putAll notes, as put does, how much many objects of a namespace take. It sorts all of them once: putting them one by one
// would take quadratic time. What it returns includes these objects themselves.
func (s *shares[K]) putAll(namespace string, sizes map[K]int) (leave, readmit []K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.namespaces[namespace]
	if before == nil {
		before = new(share[K])
	}
	in := &share[K]{sizes: make(map[K]int)}
	maps.Copy(in.sizes, before.sizes)
	for key, size := range sizes {
		if in.sizes[key] = size; size <= LittleSize {
			delete(in.sizes, key)
		}
	}
	if len(in.sizes) == 0 {
		delete(s.namespaces, namespace)
	} else {
		s.namespaces[namespace] = in
	}
	for key, size := range in.sizes {
		in.objects = append(in.objects, sized[K]{size, key})
	}
	slices.SortFunc(in.objects, s.order)
	in.settle(s.limit)
	return moved(before.objects[:before.kept], in.objects[in.kept:]), moved(before.objects[before.kept:], in.objects[:in.kept])
}

// moved returns the objects that were among the former ones and are among the present ones.
func moved[K comparable](former, present []sized[K]) (keys []K) {
	were := make(map[K]struct{}, len(former))
	for _, object := range former {
		were[object.key] = struct{}{}
	}
	for _, object := range present {
		if _, found := were[object.key]; found {
			keys = append(keys, object.key)
		}
	}
	return keys
}

// leaves reports whether an object is left alone.
func (s *shares[K]) leaves(namespace string, key K) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.namespaces[namespace]
	if in == nil || in.sizes[key] == 0 {
		return false
	}
	return in.place(sized[K]{in.sizes[key], key}, s.order) >= in.kept
}

// those returns the objects that count, in a namespace or, if that is empty, in all of them.
func (s *shares[K]) those(namespace string) (keys []K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range notes.Inside(s.namespaces, namespace) {
		for _, object := range in.objects {
			keys = append(keys, object.key)
		}
	}
	return keys
}

func (s *shares[K]) order(a, b sized[K]) int {
	if a.size != b.size {
		return cmp.Compare(a.size, b.size)
	}
	return s.compare(a.key, b.key)
}

func (in *share[K]) place(object sized[K], order func(a, b sized[K]) int) int {
	i, _ := slices.BinarySearchFunc(in.objects, object, order)
	return i
}

func (in *share[K]) remove(key K, order func(a, b sized[K]) int) {
	size, found := in.sizes[key]
	if !found {
		return
	}
	i := in.place(sized[K]{size, key}, order)
	delete(in.sizes, key)
	if in.objects = slices.Delete(in.objects, i, i+1); i < in.kept {
		in.kept--
		in.sum -= size
	}
}

func (in *share[K]) insert(object sized[K], order func(a, b sized[K]) int) {
	if object.size == 0 {
		return
	}
	i := in.place(object, order)
	in.sizes[object.key] = object.size
	if in.objects = slices.Insert(in.objects, i, object); i < in.kept {
		in.kept++
		in.sum += object.size
	}
}

// settle keeps as many objects as fit, and returns those that did not fit before or do not fit any more.
func (in *share[K]) settle(limit int) (leave, readmit []K) {
	for in.sum > limit {
		in.kept--
		in.sum -= in.objects[in.kept].size
		leave = append(leave, in.objects[in.kept].key)
	}
	for in.kept < len(in.objects) && in.sum+in.objects[in.kept].size <= limit {
		readmit = append(readmit, in.objects[in.kept].key)
		in.sum += in.objects[in.kept].size
		in.kept++
	}
	return leave, readmit
}

func filtered[K any](all []K, isWanted func(K) bool) []K {
	return slices.DeleteFunc(all, func(k K) bool { return !isWanted(k) })
}
