package status

import "time"

// What a [Listing] lists.
const (
	ListNamespaces = "namespaces"
	ListWorkloads  = "workloads"
	ListConfigs    = "configs"
)

// Listing is a page of all that the controller knows of one sort, sorted by name.
type Listing struct {
	// Time is when it was made.
	Time time.Time `json:"time"`
	Knowledge
	// What is one of the constants above. Namespace is where the workloads or configs are.
	What      string `json:"what"`
	Namespace string `json:"namespace,omitempty"`
	// Total is how many there are. Page is one of Pages, from 1.
	Total int      `json:"total"`
	Page  int      `json:"page"`
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
