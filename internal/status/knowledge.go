package status

import (
	"cmp"
	"fmt"
	"time"
)

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

// Gap is something that is not known, or not done.
type Gap struct {
	// Text is a clause without a full stop that says what is not known, and what follows from that.
	Text string `json:"text"`
	Beginning
	// Why is the error that causes it, empty if there is none.
	Why string `json:"why,omitempty"`
	// Remedy is a sentence that says what to do.
	Remedy string `json:"remedy,omitempty"`
}

// Line describes the gap in one line, as /readyz shows it.
func (g *Gap) Line() string {
	line := "[!] " + g.Text
	if !g.Since.IsZero() {
		line += g.Word() + "since " + g.Since.UTC().Format(time.RFC3339)
	}
	if reason := g.Reason(); reason != "" {
		line += ": " + reason
	}
	return line
}

// Word is what stands before since when the gap is there.
func (g *Gap) Word() string {
	if g.AtLeast {
		return ", at least "
	}
	return " "
}

// Reason says why, and what to do; empty if neither is known.
func (g *Gap) Reason() string {
	if g.Why == "" || g.Remedy == "" {
		return g.Why + g.Remedy
	}
	return g.Why + ". " + g.Remedy
}

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

// Lease is the Lease by which replicas elect their leader.
type Lease struct {
	// Namespace is that of the replicas.
	Namespace string `json:"namespace,omitempty"`
	// Holder names the pod that holds it, empty if nobody is known to hold it.
	Holder string `json:"holder,omitempty"`
	// Since is since when it holds it, and Renewed is when it last renewed it. It holds it for so many seconds after that.
	Since   time.Time `json:"since,omitzero"`
	Renewed time.Time `json:"renewed,omitzero"`
	Seconds int       `json:"seconds,omitempty"`
	// Problem is why this replica can neither take nor renew it, empty if it can; ProblemSince is since when, and Remedy what
	// to do, empty if that is not known.
	Problem      string    `json:"problem,omitempty"`
	ProblemSince time.Time `json:"problemSince,omitzero"`
	Remedy       string    `json:"remedy,omitempty"`
}

// IsHeld reports whether somebody holds the lease.
func (l *Lease) IsHeld(now time.Time) bool {
	return l.Holder != "" && !now.After(l.Renewed.Add(time.Duration(l.Seconds)*time.Second))
}

// NobodyLeads says that nobody is known to hold the lease any more.
func (l *Lease) NobodyLeads() Gap {
	gap := Gap{Text: "No replica of the controller leads, so nothing restarts", Beginning: Beginning{Since: l.Renewed}, Why: l.Problem, Remedy: l.remedy()}
	switch {
	case l.Holder != "":
		gap.Text = fmt.Sprintf("Probably no replica of the controller leads, so nothing restarts: pod %s has not renewed its lease of %d s", l.Holder, l.Seconds)
	case l.Problem != "":
		gap.Text, gap.Since = "This replica cannot read or take the lease, so it does not know whether another one leads", l.ProblemSince
	}
	return gap
}

// remedy says what to do if nobody leads.
func (l *Lease) remedy() string {
	return cmp.Or(l.Remedy, fmt.Sprintf("Look at the controller's pods and their logs: kubectl get pods -n %[1]s, kubectl logs -n %[1]s POD, with --previous if it has ended.", l.Namespace))
}

// gap says what is wrong with the lease of a replica.
func (l *Lease) gap(leads bool, now time.Time) (gap Gap, found bool) {
	switch {
	case l == nil:
		return Gap{}, false
	case !l.IsHeld(now) && leads:
		return Gap{Text: "This replica has not renewed its lease, so another one may lead", Beginning: Beginning{Since: l.Renewed}, Why: l.Problem, Remedy: l.remedy()}, true
	case !l.IsHeld(now):
		return l.NobodyLeads(), true
	case l.Problem != "" && leads:
		return Gap{Text: "This replica cannot renew its lease and is about to stop leading", Beginning: Beginning{Since: l.Renewed}, Why: l.Problem, Remedy: l.Remedy}, true
	case l.Problem != "":
		return Gap{Text: "This replica cannot take part in the leader election", Beginning: Beginning{Since: l.ProblemSince}, Why: l.Problem, Remedy: l.remedy()}, true
	}
	return Gap{}, false
}

// Line describes the lease of a replica in one line, as /readyz shows it.
func (l *Lease) Line(leads bool, now time.Time) string {
	gap, found := l.gap(leads, now)
	switch {
	case found:
		return gap.Line()
	case leads:
		return "[+] leading since " + l.Since.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("[+] standing by, pod %s leads since %s and last renewed its lease at %s", l.Holder, l.Since.UTC().Format(time.RFC3339), l.Renewed.UTC().Format(time.RFC3339))
}
