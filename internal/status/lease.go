package status

import (
	"cmp"
	"fmt"
	"time"
)

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
