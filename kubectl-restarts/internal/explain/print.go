package explain

import (
	"fmt"
	"io"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// Print writes the report for a person, the conclusion first.
func (r *Report) Print(w io.Writer) error {
	facts.PrintGaps(w, r.Gaps, r.now)
	fmt.Fprintf(w, "%s\n\n", text.Safe(r.Conclusion))
	line := func(name, value string) { fmt.Fprintf(w, "%-14s%s\n", name+":", text.Safe(value)) }
	lines := func(name, none string, values []string) {
		if len(values) == 0 {
			line(name, none)
		}
		for i, value := range values {
			if i == 0 {
				line(name, value)
			} else {
				fmt.Fprintf(w, "%-14s%s\n", "", text.Safe(value))
			}
		}
	}
	line("Enabled", r.enabled())
	line("Pods", r.Pods)
	if r.FallenBack != "" {
		line("Fallen back", r.FallenBack)
	}
	if r.AtStep != "" {
		line("At a step", r.AtStep)
	}
	if r.Last == nil {
		line("Last restart", "none by the controller")
	} else {
		line("Last restart", ago(r.Last.At, r.now))
		line("  Cause", r.Last.Cause)
	}
	line("Record", r.Record)
	if r.Method != "" {
		line("Method", r.Method)
	}
	line("Wave", strconv.Itoa(int(r.Wave)))
	lines("Window", "none that applies", r.Windows)
	lines("Hold", "none", r.Holds)
	line("Grace period", r.Grace)
	lines("Halts", "none", r.Halts)
	if len(r.Problems) > 0 {
		lines("Problems", "", r.Problems)
	}
	if len(r.Configs) > 0 {
		fmt.Fprintln(w)
		if err := printConfigs(w, configsTable(r.Configs, true), len(r.Configs)); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	var events []string
	for i := range r.Events {
		events = append(events, r.Events[i].String(r.now))
	}
	lines("Events", "none of the controller", events)
	if r.Leader == nil {
		_, err := fmt.Fprintf(w, "\n%s\n", r.OnlyLeader)
		return err
	}
	fmt.Fprintln(w)
	for _, l := range r.Leader.lines(r.now) {
		line(l[0], l[1])
	}
	return nil
}

func (r *Report) enabled() string {
	switch {
	case !r.Enabled:
		return "no"
	case r.EnabledBy == "": // an earlier version of the leader does not say it
		return "yes"
	}
	return "yes, by " + r.EnabledBy
}

// ago shows the timestamp of a restart, which anyone who may write the workload can choose.
func ago(timestamp string, now time.Time) string {
	at, err := time.Parse(time.RFC3339Nano, timestamp)
	if err != nil || at.After(now) { // such as after a zero time
		return timestamp
	}
	return fmt.Sprintf("%s (%s ago)", at.UTC().Format(time.RFC3339), facts.Age(now.Sub(at)))
}

// maxRows is how many configs are printed.
const maxRows = 300

// printConfigs prints a table of so many configs.
func printConfigs(w io.Writer, table *metav1.Table, total int) error {
	if err := printers.NewTablePrinter(printers.PrintOptions{}).PrintObj(table, w); err != nil {
		return err
	}
	if more := total - maxRows; more > 0 {
		fmt.Fprintf(w, "and %s\n", text.Count(more, "further config"))
	}
	return nil
}

// configsTable shows what a pod template says, in which anything may be the name of a config or a key.
func configsTable(configs []ConfigRow, withContent bool) *metav1.Table {
	table := &metav1.Table{}
	columns := []string{"Config", "Keys", "Read as", "Optional", "Content"}
	if !withContent {
		columns = columns[:4]
	}
	for _, name := range columns {
		table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: name, Type: "string"})
	}
	for i := range configs[:min(len(configs), maxRows)] {
		c := &configs[i]
		optional := map[bool]string{true: "yes", false: "no"}[c.Optional]
		cells := []any{text.Cell(c.Config), text.Cell(c.Keys), c.ReadAs, optional, c.Content}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: cells[:len(columns)]})
	}
	return table
}
