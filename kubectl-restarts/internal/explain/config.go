package explain

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// ConfigInput is what the cluster shows of a config and of those that may read it.
type ConfigInput struct {
	Ref names.ConfigRef
	// Config is nil if the config does not exist, or if the caller may not read it, which Unreadable says. A Secret has no keys
	// here.
	Config     *facts.Config
	Unreadable bool
	// Workloads and Runs are those of its namespace.
	Workloads []facts.Workload
	Runs      []facts.Run
	// Standing returns how an enabled workload stands, and why.
	Standing func(names.WorkloadRef) (state, why string)
	Halts    facts.Halts
	// Gaps are why the rest is incomplete.
	Gaps []status.Gap
	Now  time.Time
}

// ConfigReport is what a program reads, and what [ConfigReport.Print] prints.
type ConfigReport struct {
	Gaps       []status.Gap `json:"gaps,omitempty"`
	Namespace  string       `json:"namespace"`
	Config     string       `json:"config"`
	Conclusion string       `json:"conclusion"`
	Exists     *bool        `json:"exists,omitempty"`
	// Keys are those of a ConfigMap.
	Keys     []string   `json:"keys,omitempty"`
	Created  time.Time  `json:"created,omitzero"`
	LastEdit *KnownEdit `json:"lastEdit,omitempty"`
	Hold     string     `json:"hold,omitempty"`
	Halts    []string   `json:"halts"`
	Readers  []Reader   `json:"readers"`
	now      time.Time
}

// KnownEdit is the last edit of the content that the managedFields show. They date all keys of a field manager by its last write, and
// show no edit that removes keys only.
type KnownEdit struct {
	At time.Time `json:"at"`
	// By is the field manager, empty if that is not known.
	By string `json:"by,omitempty"`
}

// Reader is a workload or a run that reads a config.
type Reader struct {
	Name string `json:"name"`
	// Keys names the keys that its containers see. It counts those of a Secret, as far as they are known.
	Keys     string `json:"keys"`
	ReadAs   string `json:"readAs"`
	Optional bool   `json:"optional"`
	// State is as in the overview for an enabled workload, and one of the following for others.
	State string `json:"state"`
	Why   string `json:"why,omitempty"`
}

// The states of readers that the overview does not have.
const (
	notEnabled = "not enabled"
	noRestart  = "no restart"
)

// Config explains a config: who reads it, and what its readers wait for.
func Config(in *ConfigInput) ConfigReport {
	r := ConfigReport{
		Gaps: in.Gaps, Namespace: in.Ref.Namespace, Config: facts.ConfigName(in.Ref), Halts: []string{}, Readers: in.readers(), now: in.Now,
	}
	if !in.Unreadable {
		r.Exists = new(in.Config != nil)
	}
	if in.Config != nil {
		if r.LastEdit = lastEdit(in.Config.Edits); in.Config.Created > 0 {
			r.Created = time.Unix(int64(in.Config.Created), 0).UTC()
		}
		if in.Config.Policy != nil {
			r.Hold = in.Config.Policy.Hold
		}
		if !in.Ref.Kind.IsSecret() {
			r.Keys = in.Config.Keys.Names()
		}
	}
	if in.Halts.Hold != "" {
		r.Hold = text.Join("; ", r.Hold, "all restarts ("+facts.ReleaseAll+"): "+in.Halts.Hold)
	}
	for i := range in.Halts.Active {
		halt := &in.Halts.Active[i]
		isOf := halt.Config.Source() == in.Ref || facts.Concerns(halt, in.Ref)
		if isOf && (in.Config == nil || !facts.IsOver(halt, in.Config.Config, !in.Ref.Kind.IsSecret())) {
			r.Halts = append(r.Halts, facts.DescribeHalt(halt))
		}
	}
	r.Conclusion = r.conclusion()
	return r
}

// lastEdit returns the last edit of any key, nil if none is known.
func lastEdit(edits []annotation.Edit) *KnownEdit {
	if len(edits) == 0 {
		return nil
	}
	last := slices.MaxFunc(edits, func(a, b annotation.Edit) int { return a.At.Compare(b.At) })
	return &KnownEdit{last.At.UTC(), last.Writer}
}

// readers returns those that read the config, first the workloads.
func (in *ConfigInput) readers() []Reader {
	readers := []Reader{}
	add := func(name, state, why string, w facts.Workload) {
		own := Input{Workload: w}
		if in.Config != nil {
			own.Configs = []*content.Config{in.Config.Config}
		}
		for _, row := range own.configs() {
			if row.Config == facts.ConfigName(in.Ref) {
				readers = append(readers, Reader{name, row.Keys, row.ReadAs, row.Optional, state, why})
			}
		}
	}
	for i := range in.Workloads {
		w := &in.Workloads[i]
		if !slices.Contains(w.Configs(), in.Ref) {
			continue
		}
		state, why := notEnabled, w.Why()
		if w.Enabled {
			state, why = in.Standing(w.Ref)
		}
		add(w.Name(), state, why, *w)
	}
	slices.SortStableFunc(readers, func(a, b Reader) int { return strings.Compare(a.Name, b.Name) })
	for i := range in.Runs {
		if run := &in.Runs[i]; run.Refers(in.Ref) {
			add(run.String(), noRestart, facts.NoRestart, run.Reader())
		}
	}
	return readers
}

// conclusion says in one line who reads the config, and how these stand.
func (r *ConfigReport) conclusion() string {
	name := r.Config + " in " + r.Namespace
	if r.Exists != nil && !*r.Exists {
		name += " does not exist"
	}
	if len(r.Readers) == 0 {
		return name + ": no workload reads it."
	}
	counts := make(map[string]int)
	for i := range r.Readers {
		counts[r.Readers[i].State]++
	}
	var parts []string
	for i := range r.Readers { // in their order
		if state := r.Readers[i].State; counts[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[state], state))
			delete(counts, state)
		}
	}
	read := "read it"
	if len(r.Readers) == 1 {
		read = "reads it"
	}
	return fmt.Sprintf("%s: %s %s: %s.", name, text.Count(len(r.Readers), "workload"), read, strings.Join(parts, ", "))
}

// Print writes the report for a person.
func (r *ConfigReport) Print(w io.Writer) error {
	facts.PrintGaps(w, r.Gaps, r.now)
	fmt.Fprintf(w, "%s\n\n", text.Safe(r.Conclusion))
	line := func(name, value string) { fmt.Fprintf(w, "%-11s%s\n", name+":", text.Safe(value)) }
	if len(r.Keys) > 0 {
		line("Keys", text.List(r.Keys, namedKeys))
	}
	if !r.Created.IsZero() {
		line("Created", r.dated(r.Created))
	}
	if r.Exists != nil && *r.Exists {
		line("Last edit", r.lastEdit())
	}
	line("Hold", cmp.Or(r.Hold, "none"))
	for i, halt := range append(r.Halts, "none")[:max(len(r.Halts), 1)] {
		line([]string{"Halts", "     "}[min(i, 1)], halt)
	}
	if len(r.Readers) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	if err := printers.NewTablePrinter(printers.PrintOptions{}).PrintObj(r.table(), w); err != nil {
		return err
	}
	if more := len(r.Readers) - maxRows; more > 0 {
		fmt.Fprintf(w, "and %s\n", text.Count(more, "further workload"))
	}
	return nil
}

func (r *ConfigReport) dated(at time.Time) string {
	return ago(at.Format(time.RFC3339), r.now)
}

func (r *ConfigReport) lastEdit() string {
	switch {
	case r.LastEdit == nil:
		return "none is known since it was created"
	case r.LastEdit.By == "":
		return r.dated(r.LastEdit.At)
	}
	return r.dated(r.LastEdit.At) + " by " + r.LastEdit.By
}

func (r *ConfigReport) table() *metav1.Table {
	table := &metav1.Table{}
	for _, name := range []string{"Workload", "Keys", "Read as", "State", "Why"} {
		table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: name, Type: "string"})
	}
	for i := range r.Readers[:min(len(r.Readers), maxRows)] {
		reader := &r.Readers[i]
		table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{text.Cell(reader.Name), text.Cell(reader.Keys), reader.ReadAs, text.Cell(reader.State), text.Safe(reader.Why)}})
	}
	return table
}
