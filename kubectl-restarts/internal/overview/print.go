package overview

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"

	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// OnlyLeader says what is missing.
const OnlyLeader = "Only the leader of the controller knows what waits for its grace period, its turn or a place at this moment, and which permissions it lacks: see its status page, /readyz or log."

// Print writes the report for a person.
func (r *Report) Print(w io.Writer, options printers.PrintOptions, now time.Time) error {
	facts.PrintGaps(w, r.Gaps, now)
	fmt.Fprintln(w, text.Safe(r.Summary))
	if r.Hold != "" {
		fmt.Fprintln(w, "All restarts are held ("+facts.ReleaseAll+"): "+text.Safe(r.Hold))
	}
	section := func(name string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(w, "\n%s:\n", name)
		}
		for _, line := range lines {
			fmt.Fprintln(w, "  "+text.Safe(line))
		}
	}
	section("Halts", some(r.Halts))
	if !r.HaltsRead {
		section("Halts", []string{"not known: you may not read the ConfigMap of halts, or it is elsewhere (--controller-namespace)"})
	}
	section("Configs on hold (release with: "+r.release+")", some(r.Holds))
	section("Workloads on hold (release with: "+r.release+")", r.heldWorkloads)
	section("Annotations that cannot be used", r.mistakes)
	if r.Leader != nil {
		section("Other kinds", r.Leader.kinds())
		return r.Leader.print(w, options, now)
	}
	for _, table := range []*metav1.Table{r.fanOutTable(options, now), r.workloadTable(options, now)} {
		if err := printTable(w, table, options); err != nil {
			return err
		}
	}
	helped := remedies{}
	for i := range r.Workloads {
		helped.add(r.Workloads[i].Remedy, r.Workloads[i].Namespace, r.Workloads[i].Workload, options)
	}
	if len(helped) > 0 {
		fmt.Fprintln(w)
	}
	helped.print(w)
	_, err := fmt.Fprintf(w, "\n%s\n", OnlyLeader)
	return err
}

// printTable prints a table that has rows. The table has its own column for namespaces: that of the
// printer would be empty, since the rows have no objects.
func printTable(w io.Writer, table *metav1.Table, options printers.PrintOptions) error {
	if len(table.Rows) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	options.WithNamespace = false
	return printers.NewTablePrinter(options).PrintObj(table, w)
}

func newTable(options printers.PrintOptions, names ...string) *metav1.Table {
	table := &metav1.Table{}
	if options.WithNamespace {
		names = append([]string{"Namespace"}, names...)
	}
	for _, name := range names {
		table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: name, Type: "string"})
	}
	return table
}

func addRow(table *metav1.Table, options printers.PrintOptions, namespace string, cells ...any) {
	if options.WithNamespace {
		cells = append([]any{namespace}, cells...)
	}
	for i, cell := range cells {
		if s, isText := cell.(string); isText {
			if cells[i] = text.Safe(s); i < len(cells)-1 {
				cells[i] = text.Cell(s)
			}
		}
	}
	table.Rows = append(table.Rows, metav1.TableRow{Cells: cells})
}

func (r *Report) fanOutTable(options printers.PrintOptions, now time.Time) *metav1.Table {
	table := newTable(options, "Config", "Last heard", "Fan-out")
	for i := range r.FanOuts {
		f := &r.FanOuts[i]
		addRow(table, options, f.Namespace, f.Config, facts.Age(now.Sub(f.At)), f.Progress)
	}
	return table
}

func (r *Report) workloadTable(options printers.PrintOptions, now time.Time) *metav1.Table {
	table := newTable(options, "Workload", "State", "Since", "Wave", "Why")
	for i := range r.Workloads {
		row := &r.Workloads[i]
		addRow(table, options, row.Namespace, row.Workload, string(row.State), facts.AgeOf(status.Beginning{Since: row.Since, AtLeast: row.AtLeast}, now), row.Wave, short(row.Why, options))
	}
	return table
}

// print writes the tables.
func (l *FromLeader) print(w io.Writer, options printers.PrintOptions, now time.Time) error {
	for _, table := range []*metav1.Table{l.fanOutTable(options, now), l.workloadTable(options, now), l.restartTable(options, now)} {
		if err := printTable(w, table, options); err != nil {
			return err
		}
	}
	helped := remedies{}
	for _, list := range l.lists() {
		for i := range list.Items {
			namespace, name := split(list.Items[i].Workload)
			helped.add(list.Items[i].Remedy, namespace, name, options)
		}
		if list.More() > 0 && len(list.Items) > 0 {
			fmt.Fprintf(w, "\n%d more %s %s.", list.More(), text.Are(list.More()), text.Safe(string(list.Items[0].State)))
		}
	}
	fmt.Fprintln(w)
	helped.print(w)
	return nil
}

func (l *FromLeader) fanOutTable(options printers.PrintOptions, now time.Time) *metav1.Table {
	table := newTable(options, "Config", "Since", "Fan-out")
	for i := range l.FanOuts.Items {
		f := &l.FanOuts.Items[i]
		namespace, name := split(f.Config)
		addRow(table, options, namespace, name, facts.AgeOf(f.Beginning, now), f.Progress())
	}
	return table
}

func (l *FromLeader) workloadTable(options printers.PrintOptions, now time.Time) *metav1.Table {
	table := newTable(options, "Workload", "State", "Since", "Until", "Why")
	for _, list := range l.lists() {
		for i := range list.Items {
			e := &list.Items[i]
			namespace, name := split(e.Workload)
			addRow(table, options, namespace, name, string(e.State), facts.AgeOf(e.Beginning, now), clock(e.Until), shortest(why(e), options))
		}
	}
	return table
}

// why says what a workload waits for, or what it restarts for, the most important part first.
func why(e *status.Entry) []string {
	var parts []string
	isRetried := e.State == status.Retrying // otherwise only the record is, and what it waits for matters more
	if e.Error != "" && isRetried {
		parts = append(parts, text.Count(e.Attempts, "failed attempt")+": "+e.Error)
	}
	for _, part := range []string{reason(e), e.On, e.Text, e.Due} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if e.Error != "" && !isRetried {
		parts = append(parts, e.Error)
	}
	parts = []string{strings.Join(parts, "; ")} // which is never left out
	if e.Exposed {
		parts = append(parts, "its pods have read the new content already")
	}
	if e.For != "" {
		parts = append(parts, e.For)
	}
	if e.Pods != nil {
		parts = append(parts, fmt.Sprintf("%d of %d pods updated, %d available", e.Pods.Updated, e.Pods.Wanted, e.Pods.Available))
	}
	if parts[0] == "" {
		parts = parts[1:]
	}
	return parts
}

// reason says what a workload waits for, empty if the text of its entry does.
func reason(e *status.Entry) string {
	switch reason := gate.Reason(e.Reason); {
	case reason == gate.Backoff:
		return facts.KeepChanging
	case e.Text != "" && (reason == gate.Window || reason == gate.Hold):
		return ""
	}
	return e.Reason
}

// shortest joins the first parts for a table: as many as there is room for, and the first one in any case.
func shortest(parts []string, options printers.PrintOptions) string {
	whole := strings.Join(parts, "; ")
	for !options.Wide && len(parts) > 1 && utf8.RuneCountInString(whole) > shortWhy {
		parts = parts[:len(parts)-1]
		whole = strings.Join(parts, "; ")
	}
	return short(whole, options)
}

// someRestarts is how many of the last restarts are shown.
const someRestarts = 10

func (l *FromLeader) restartTable(options printers.PrintOptions, now time.Time) *metav1.Table {
	table := newTable(options, "Restarted", "Ago", "Outcome", "Took", "Cause")
	for i := range l.Restarts.Items[:min(len(l.Restarts.Items), someRestarts)] {
		r := &l.Restarts.Items[i]
		namespace, name := split(r.Workload)
		outcome, took := "rolling", ""
		if r.Outcome != "" {
			outcome = string(r.Outcome)
		}
		if r.Took > 0 {
			took = fmt.Sprintf("%ds", r.Took)
		}
		addRow(table, options, namespace, name, facts.AgeOf(status.Beginning{Since: r.Time}, now), outcome, took, short(r.Cause, options))
	}
	return table
}

func clock(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
