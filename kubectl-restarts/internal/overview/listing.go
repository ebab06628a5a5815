package overview

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/printers"

	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// ListedStates are the states by which workloads are listed: those of the cluster, and those that only the leader knows.
var ListedStates = slices.Concat(states, []State{State(status.Pending), State(status.Deciding), State(status.Retrying), State(status.Soaking)})

// Listing lists the enabled workloads that are in certain states, also those that are settled.
type Listing struct {
	Gaps      []status.Gap `json:"gaps,omitempty"`
	Workloads []Row        `json:"workloads"`
	// Total is how many workloads are enabled.
	Total int `json:"total"`
}

// List returns the enabled workloads among those that are in one of the states, or all of them without any. The report is about them.
func List(report *Report, workloads []facts.Workload, wanted []State) *Listing {
	l := &Listing{Gaps: report.Gaps, Workloads: []Row{}}
	standings := report.Standings()
	for i := range workloads {
		w := &workloads[i]
		if !w.Enabled {
			continue
		}
		l.Total++
		if is := standings.Of(w.Ref); len(wanted) == 0 || slices.Contains(wanted, is.State) {
			l.Workloads = append(l.Workloads, Row{Namespace: w.Ref.Namespace, Workload: w.Name(), State: is.State, Wave: w.Wave(), Why: is.Why})
		}
	}
	slices.SortFunc(l.Workloads, func(a, b Row) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), cmp.Compare(slices.Index(ListedStates, a.State), slices.Index(ListedStates, b.State)), strings.Compare(a.Workload, b.Workload))
	})
	return l
}

// Print writes the listing for a person.
func (l *Listing) Print(w io.Writer, options printers.PrintOptions, now time.Time) error {
	facts.PrintGaps(w, l.Gaps, now)
	fmt.Fprintf(w, "%d of %s that %s enabled:\n", len(l.Workloads), text.Count(l.Total, "workload"), text.Are(l.Total))
	table := newTable(options, "Workload", "State", "Wave", "Why")
	for i := range l.Workloads {
		row := &l.Workloads[i]
		addRow(table, options, row.Namespace, row.Workload, string(row.State), row.Wave, short(row.Why, options))
	}
	return printTable(w, table, options)
}
