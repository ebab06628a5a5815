package overview

import (
	"cmp"
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

// FromLeader is what the leader of the controller says is under way. It takes the place of what Events and
// annotations show.
type FromLeader struct {
	// Name names the leader.
	Name string `json:"name"`
	*status.Overview
}

// Timeless returns the same without the time at which it was made.
func (l *FromLeader) Timeless() *FromLeader {
	if l == nil {
		return nil
	}
	return &FromLeader{l.Name, l.Overview.Timeless()}
}

// lists returns the workloads by what they wait for, those first that need attention.
func (l *FromLeader) lists() []status.List[status.Entry] {
	return []status.List[status.Entry]{l.Failed, l.Lacking, l.Retrying, l.Unready, l.LeftAlone, l.Held, l.Slowed, l.Waiting, l.Rolling, l.Pending}
}

// summary counts what is under way.
func (l *FromLeader) summary() string {
	var parts []string
	for i, name := range []string{"failed", "lacking a config", "retrying", "unready", "left alone", "held", "slowed", "due, undecided or waiting", "rolling", "pending"} {
		if total := l.lists()[i].Total; total > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", total, name))
		}
	}
	nothing := "nothing is under way"
	if len(l.Gaps) > 0 {
		nothing = "it knows of nothing that is under way, but does not see everything"
	}
	summary := "The leader (" + l.Name + ") says: " + cmp.Or(strings.Join(parts, ", "), nothing) + "."
	if l.DryRun {
		summary += " It is a dry run: nothing is restarted."
	}
	return summary
}

// kinds describes the further kinds of workloads that the controller cannot watch, or not all of which it can restart.
func (l *FromLeader) kinds() (kinds []string) {
	for _, kind := range l.Kinds {
		if kind.Missing {
			kinds = append(kinds, kind.Workload+" is not installed")
		}
		if kind.Unusable > 0 {
			kinds = append(kinds, fmt.Sprintf("%s: %d enabled but cannot be restarted, see their Events", kind.Workload, kind.Unusable))
		}
	}
	return kinds
}

// halts describes the halts, each with the command that ends it.
func (l *FromLeader) halts(prefix func(namespace string) string) []string {
	halts := []string{}
	for i := range l.Halts.Items {
		halt := &l.Halts.Items[i]
		record := gate.HaltRecord{ID: halt.ID, Config: halt.Config, Keys: halt.Keys, Content: "not shown", Failed: halt.Failed, Since: halt.Since}
		known, isOne := record.Halt()
		if !isOne {
			halts = append(halts, fmt.Sprintf("%s has broken %s; revert it%s", halt.Config, text.List(halt.Failed, 3), holdsBack(halt.Held)))
			continue
		}
		halts = append(halts, prefix(known.Config.Namespace)+facts.DescribeHaltWith(&known, halt.Command)+holdsBack(halt.Held))
	}
	if l.Halts.More() > 0 {
		halts = append(halts, fmt.Sprintf("and %d more", l.Halts.More()))
	}
	return halts
}

func holdsBack(held int) string {
	if held == 0 {
		return ""
	}
	if held == 1 {
		return " (1 workload waits)"
	}
	return fmt.Sprintf(" (%d workloads wait)", held)
}

// holds lists the workloads on hold. Those of configs are read from their annotations.
func (l *FromLeader) holds(prefix func(namespace string) string) (holds []string) {
	for i := range l.Holds.Items {
		if hold := &l.Holds.Items[i]; !hold.IsConfig {
			namespace, name := split(hold.On)
			holds = append(holds, prefix(namespace)+name+": "+hold.Text+facts.Since(hold.Beginning))
		}
	}
	if l.Holds.More() > 0 {
		holds = append(holds, fmt.Sprintf("and %d more workloads or configs", l.Holds.More()))
	}
	return holds
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

// split splits a name such as "deployment/shop/web" into the namespace and the name as kubectl has it.
func split(name string) (namespace, short string) {
	kind, rest, _ := strings.Cut(name, "/")
	namespace, short, isWhole := strings.Cut(rest, "/")
	if !isWhole {
		return "", name
	}
	return namespace, kind + "/" + short
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
	isSaid := e.Text != "" && (e.Reason == string(gate.Window) || e.Reason == string(gate.Hold)) // by the text
	if e.Reason != "" && !isSaid {
		parts = append(parts, e.Reason)
	}
	for _, part := range []string{e.On, e.Text, e.Due} {
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
