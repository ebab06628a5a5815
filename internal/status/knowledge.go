package status

import "time"

// Knowledge says how much a replica knows, and thus how far to trust what it shows.
type Knowledge struct {
	// Gaps are why what it shows is incomplete, or why nothing is done about it. Whoever shows it shows these first.
	Gaps []Gap `json:"gaps,omitempty"`
	// Lease is that of the leader election, nil if the replica takes no part in one.
	Lease *Lease `json:"lease,omitempty"`
	// Watches are those whose objects are shown, the broken ones first.
	Watches List[Watch] `json:"watches"`
}

// NewKnowledge returns what follows from a lease and watches. Leads means that this replica acts.
func NewKnowledge(leads bool, lease *Lease, watches *Shortlist[Watch], now time.Time) Knowledge {
	k := Knowledge{Lease: lease, Watches: ListOf(watches, func(w Watch) Watch { return w })}
	if gap, found := lease.gap(leads, now); found {
		k.Gaps = append(k.Gaps, gap)
	}
	for i := range k.Watches.Items {
		if w := &k.Watches.Items[i]; !w.Works {
			k.Gaps = append(k.Gaps, w.gap())
		}
	}
	return k
}

// timeless returns the same without what changes although nothing happens.
func (k Knowledge) timeless() Knowledge {
	if k.Lease != nil {
		lease := *k.Lease
		lease.Renewed = time.Time{}
		k.Lease = &lease
	}
	return k
}
