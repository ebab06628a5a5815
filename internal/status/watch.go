package status

import (
	"cmp"
	"time"
)

// Watch is what a replica sees of the objects of a resource.
type Watch struct {
	// Resource and Namespace are those of the watch's metrics. An empty namespace means all.
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	// Works means that all objects have been listed, and that changes arrive.
	Works bool `json:"works"`
	// Listed means that all objects have been listed at least once.
	Listed bool `json:"listed"`
	// Since is since when it works, or does not. It is zero before the first attempt has ended.
	Since time.Time `json:"since,omitzero"`
	// Problem is why it does not work, and Remedy what to do.
	Problem string `json:"problem,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
	// Without says what does not work meanwhile.
	Without string `json:"without,omitempty"`
}

// NewWatches returns an empty list of watches.
func NewWatches() *Shortlist[Watch] {
	return NewShortlist(func(a, b Watch) int {
		return cmp.Or(compareBools(a.Works, b.Works), compareBools(a.Listed, b.Listed), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace))
	})
}

// compareBools sorts false first.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func (w *Watch) gap() Gap {
	what := "The controller cannot watch "
	switch {
	case !w.Listed && w.Problem == "":
		what = "The controller has not yet listed all "
	case !w.Listed:
		what = "The controller cannot list "
	}
	if what += w.Resource; w.Namespace != "" {
		what += " in " + w.Namespace
	}
	if w.Without != "" {
		what += ", so " + w.Without
	}
	return Gap{Text: what, Beginning: Beginning{Since: w.Since, AtLeast: !w.Listed && !w.Since.IsZero()}, Why: w.Problem, Remedy: w.Remedy}
}
