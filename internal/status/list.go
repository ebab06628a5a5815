package status

import "slices"

// Limit is how many elements a list has at most.
const Limit = 50

// fewItems is how many elements most lists have that do not become full.
const fewItems = 4

// List is the beginning of a list.
type List[T any] struct {
	// Total is how many elements the whole list has.
	Total int `json:"total"`
	Items []T `json:"items"`
}

// More returns how many elements are left out.
func (l List[T]) More() int { return l.Total - len(l.Items) }

// Shortlist finds the first of many values. It takes little memory, however many there are.
type Shortlist[T any] struct {
	compare func(a, b T) int
	total   int
	first   []T // sorted
}

// NewShortlist returns an empty list that is sorted by a comparison.
func NewShortlist[T any](compare func(a, b T) int) *Shortlist[T] {
	return &Shortlist[T]{compare: compare}
}

// Add adds a value.
func (s *Shortlist[T]) Add(value T) {
	s.total++
	isFull := len(s.first) == Limit
	if isFull && s.compare(value, s.first[Limit-1]) >= 0 {
		return
	}
	if isFull {
		s.first = s.first[:Limit-1]
	}
	if len(s.first) == fewItems {
		s.first = slices.Grow(s.first, Limit-fewItems) // at once: most longer lists become full
	}
	i, _ := slices.BinarySearchFunc(s.first, value, s.compare)
	s.first = slices.Insert(s.first, i, value)
}

// ListOf returns the first values in another form. The list is never nil.
func ListOf[T, E any](s *Shortlist[T], as func(T) E) List[E] {
	items := make([]E, 0, len(s.first))
	for _, value := range s.first {
		items = append(items, as(value))
	}
	return List[E]{s.total, items}
}
