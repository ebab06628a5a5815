package status

import "time"

// What a [Listing] lists.
const (
	ListNamespaces = "namespaces"
	ListWorkloads  = "workloads"
	ListConfigs    = "configs"
)

// Selection is what a [Listing] lists.
type Selection struct {
	// What is one of the constants above. Namespace is where the workloads or configs are, empty for all namespaces.
	What      string `json:"what"`
	Namespace string `json:"namespace,omitempty"`
	// Query is a part of the names, in lower case, and States are those of the workloads; empty means any.
	Query  string  `json:"query,omitempty"`
	States []State `json:"states,omitempty"`
	// Page is the number of the page, from 1.
	Page int `json:"page"`
}

// Listing is a page of all that the controller knows of one sort, or of what was asked for, sorted by name.
type Listing struct {
	// Time is when it was made.
	Time time.Time `json:"time"`
	Knowledge
	Selection
	// Total is how many there are on all Pages together.
	Total int      `json:"total"`
	Pages int      `json:"pages"`
	Items []Listed `json:"items"`
}

// Timeless returns the same without what changes although nothing happens.
func (l *Listing) Timeless() *Listing {
	timeless := *l
	timeless.Time, timeless.Knowledge = time.Time{}, l.timeless()
	return &timeless
}

// Listed is one of them.
type Listed struct {
	// Name is that of a namespace, or of a workload or config as their pages are named.
	Name string `json:"name"`
	// State is that of a workload.
	State State `json:"state,omitempty"`
	// Workloads is how many enabled workloads are in a namespace, or read a config.
	Workloads int `json:"workloads"`
}

// ListingSize is how many a page has.
const ListingSize = 200

// PageOf returns a page of a list of names, from 1, and how many pages there are: one if there are no names. It is empty if there is no
// such page.
func PageOf[T any](all []T, page int) (items []T, pages int) {
	pages = max(1, (len(all)+ListingSize-1)/ListingSize)
	if page < 1 || page > pages {
		return nil, pages
	}
	first := (page - 1) * ListingSize
	return all[first:min(first+ListingSize, len(all))], pages
}
