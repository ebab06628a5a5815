package impact

import (
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// Report is what a program reads.
type Report struct {
	Workloads []Row `json:"workloads"`
	// Runs are CronJobs and Jobs that need no restart, missing if the caller may not list them.
	Runs    []Run    `json:"runs,omitzero"`
	Order   []string `json:"order"`
	Summary Summary  `json:"summary"`
	Notes   []string `json:"notes"`
}

// Summary counts.
type Summary struct {
	Workloads int    `json:"workloads"`
	Pods      int64  `json:"pods"`
	Held      int    `json:"held"`
	Waiting   int    `json:"waiting"`
	Maybe     int    `json:"maybe"`
	Text      string `json:"text"`
}

// Report returns the result for a program. Lists are never null.
func (r *Result) Report(notes []string) Report {
	report := Report{Workloads: r.Rows, Runs: r.Runs, Order: r.Order, Notes: notes}
	report.Summary.Workloads, report.Summary.Pods = r.Count()
	report.Summary.Held, report.Summary.Waiting, report.Summary.Maybe = r.With(Held), r.With(Waits), r.With(Maybe)
	report.Summary.Text = r.Summary()
	if report.Workloads == nil {
		report.Workloads = []Row{}
	}
	if report.Order == nil {
		report.Order = []string{}
	}
	if report.Notes == nil {
		report.Notes = []string{}
	}
	return report
}

// Summary says in one line how much would restart, and what needs no restart.
func (r *Result) Summary() string { return text.Join(" ", r.restarts(), r.needless()) }

// needless says which CronJobs and Jobs need no restart, empty if none is known.
func (r *Result) needless() string {
	var kinds []string
	for _, kind := range []facts.RunKind{facts.CronJob, facts.Job} {
		count := 0
		for i := range r.Runs {
			if r.Runs[i].Kind == kind {
				count++
			}
		}
		if count > 0 {
			kinds = append(kinds, text.Count(count, string(kind)))
		}
	}
	if len(kinds) == 0 {
		return ""
	}
	read, need, what := "read", "need", "what changes"
	if len(r.Runs) == 1 {
		read, need = "reads", "needs"
	}
	if r.isOne {
		what = "it"
	}
	return fmt.Sprintf("%s %s %s, and %s no restart: each run reads it anew.", strings.Join(kinds, " and "), read, what, need)
}

// restarts says how much would restart.
func (r *Result) restarts() string {
	workloads, pods := r.Count()
	maybe := r.With(Maybe)
	var summary strings.Builder
	switch {
	case workloads == 0 && maybe == 0 && r.Unknown() == 0 && len(r.Elsewhere) == 0:
		return "Nothing would restart."
	case workloads == 0:
		summary.WriteString("Nothing would certainly restart.")
	default:
		fmt.Fprintf(&summary, "%s, %s would restart.", text.Count(workloads, "workload"), text.Count(pods, "pod"))
	}
	for _, part := range []struct {
		count int
		is    string
	}{{r.With(Held), "held"}, {r.With(Waits), "waiting for a window"}} {
		if part.count > 0 {
			fmt.Fprintf(&summary, " %d of them %s.", part.count, part.is)
		}
	}
	if maybe > 0 {
		fmt.Fprintf(&summary, " %d more might.", maybe)
	}
	if unknown := r.Unknown(); unknown > 0 {
		fmt.Fprintf(&summary, " You may not read whether %d more %s enabled.", unknown, text.Are(unknown))
	}
	return summary.String()
}

var answers = map[Outcome]string{Restarts: "yes", Held: "held", Waits: "later", Maybe: "maybe", ByHand: "by hand", Stays: "no"}

// Print writes a table of the workloads, the order in which they restart, and the summary.
func (r *Result) Print(w io.Writer, options printers.PrintOptions) error {
	if len(r.Rows) > 0 {
		table := r.table(options) // with its own column for namespaces: that of the printer would be empty
		options.WithNamespace = false
		if err := printers.NewTablePrinter(options).PrintObj(table, w); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	for _, line := range r.Order {
		fmt.Fprintln(w, text.Safe(line))
	}
	_, err := fmt.Fprintln(w, r.Summary())
	return err
}

// table has no line breaks in its cells, which the printer would cut.
func (r *Result) table(options printers.PrintOptions) *metav1.Table {
	table := &metav1.Table{}
	for _, name := range []string{"Workload", "Pods", "Wave", "Restarts", "Keys", "Why"} {
		table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: name, Type: "string"})
	}
	if options.WithNamespace {
		table.ColumnDefinitions = append([]metav1.TableColumnDefinition{{Name: "Namespace", Type: "string"}}, table.ColumnDefinitions...)
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		why := text.Safe(row.Reason)
		if row.Outcome == Restarts && !options.Wide {
			why = ""
		}
		cells := []any{strings.ToLower(string(row.Kind)) + "/" + row.Name, row.Pods, row.Wave, answers[row.Outcome], text.Safe(row.keys(options.Wide)), why}
		if options.WithNamespace {
			cells = append([]any{row.Namespace}, cells...)
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: cells})
	}
	return table
}

// keys names the changed keys that the workload sees, of a Secret only their number.
func (r *Row) keys(all bool) string {
	parts := make([]string, 0, len(r.Changes))
	for i := range r.Changes {
		parts = append(parts, r.Changes[i].Config+": "+r.Changes[i].keys(all))
	}
	return strings.Join(parts, "; ")
}

// namedKeys is how many keys a table names.
const namedKeys = 3

func (s *Seen) keys(all bool) string {
	switch {
	case s.Count == 0:
		return "keys unknown"
	case len(s.Keys) == 0:
		return text.Count(s.Count, "key")
	case len(s.Keys) > namedKeys && !all:
		return strings.Join(s.Keys[:namedKeys], ", ") + fmt.Sprintf(" and %d more", len(s.Keys)-namedKeys)
	}
	return strings.Join(s.Keys, ", ")
}

// Namespaces returns how many namespaces the workloads are in.
func (r *Result) Namespaces() int {
	namespaces := make(map[string]struct{})
	for i := range r.Rows {
		namespaces[r.Rows[i].Namespace] = struct{}{}
	}
	return len(namespaces)
}
