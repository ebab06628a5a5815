// Package overview says which workloads of a namespace, or of a cluster, are not settled, from what the
// cluster shows. It is pure.
package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// Input is what the cluster shows.
type Input struct {
	// Namespace is empty for all.
	Namespace string
	Workloads []facts.Workload
	// Mistakes are those of the objects, as far as the caller could read these; see [Input.Take].
	Mistakes []status.Mistake
	// Configs holds the metadata of the configs, and Contents those that were read. Unlisted are the kinds that are missing
	// among the former because the caller may not list them.
	Configs  []*content.Config
	Unlisted map[names.ConfigKind]bool
	Contents map[names.ConfigRef]*content.Config
	Halts    facts.Halts
	Events   []facts.Event
	// Leader is what the leader says, nil if it was not asked. Gaps are why it could not be asked, and what the caller may not
	// read.
	Leader *FromLeader
	Gaps   []status.Gap
	Now    time.Time
}

// FanOut is the last that an Event said about the fan-out of a config.
type FanOut struct {
	Namespace string    `json:"namespace"`
	Config    string    `json:"config"`
	At        time.Time `json:"at"`
	Progress  string    `json:"progress"`
}

// Report is the overview.
type Report struct {
	// Gaps are why the rest is incomplete.
	Gaps      []status.Gap  `json:"gaps,omitempty"`
	Summary   string        `json:"summary"`
	Counts    map[State]int `json:"counts"`
	Hold      string        `json:"hold,omitempty"` // of everything
	Halts     []string      `json:"halts"`
	HaltsRead bool          `json:"haltsRead"`
	Holds     []string      `json:"configsOnHold"`
	FanOuts   []FanOut      `json:"fanOuts"`
	Workloads []Row         `json:"workloads"`
	// Leader is what the leader says is under way, nil if it was not asked.
	Leader        *FromLeader `json:"leader,omitempty"`
	heldWorkloads []string
	mistakes      []string
	release       string // how to release the holds of workloads and configs
}

// The reasons of the Events that matter here.
const (
	fanOut = "FanOut"

	missingConfig = "MissingConfig"
	configFound   = "ConfigFound"
)

// Take takes in the configs, and what is wrong with the annotations of them and of the workloads. The halts must be there.
func (in *Input) Take(configs []facts.Config) {
	note := func(on fmt.Stringer, problem string) {
		if problem != "" {
			in.Mistakes = append(in.Mistakes, status.Mistake{Object: on.String(), Problem: problem})
		}
	}
	for i := range in.Workloads {
		note(in.Workloads[i].Ref, in.Workloads[i].Wrong())
	}
	for i := range configs {
		in.Configs = append(in.Configs, configs[i].Config)
		note(configs[i].Ref, configs[i].Wrong(&in.Halts))
	}
	slices.SortFunc(in.Mistakes, func(a, b status.Mistake) int { return strings.Compare(a.Object, b.Object) })
}

// someMistakes is how many annotations without effect are shown.
const someMistakes = 10

// mistakes describes the first annotations and labels without effect of so many.
func (in *Input) mistakes(total int) (mistakes []string) {
	items := in.Mistakes[:min(len(in.Mistakes), someMistakes)]
	for i := range items {
		namespace, name := split(items[i].Object)
		if namespace != "" {
			name = in.prefix(namespace) + name
		}
		mistakes = append(mistakes, name+": "+items[i].Problem+facts.Since(items[i].Beginning))
	}
	if more := total - len(items); more > 0 {
		mistakes = append(mistakes, fmt.Sprintf("and %d more", more))
	}
	return mistakes
}

// Look returns the overview.
func Look(in *Input) Report {
	r := Report{Gaps: slices.Concat(in.Gaps, in.Halts.Gaps()), Counts: make(map[State]int), Hold: in.Halts.Hold, HaltsRead: in.Halts.Known, Halts: []string{}, Workloads: []Row{}}
	r.release = facts.ReleaseCommand(cmp.Or(in.Namespace, "NAMESPACE"), "TYPE/NAME")
	look := newLook(in)
	for i := range in.Workloads {
		if w := &in.Workloads[i]; w.Enabled {
			row := look.row(w)
			if r.Counts[row.State]++; row.State != Settled {
				r.Workloads = append(r.Workloads, row)
			}
		}
	}
	slices.SortFunc(r.Workloads, func(a, b Row) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), cmp.Compare(slices.Index(states, a.State), slices.Index(states, b.State)), cmp.Compare(a.Wave, b.Wave), strings.Compare(a.Workload, b.Workload))
	})
	for i := range look.Halts.Active {
		if halt := &look.Halts.Active[i]; in.isInside(halt.Config.Namespace) {
			r.Halts = append(r.Halts, in.prefix(halt.Config.Namespace)+facts.DescribeHalt(halt))
		}
	}
	r.Holds = in.holds()
	r.FanOuts, r.Summary = look.fanOuts(r.Workloads), in.summary(r.Counts)
	if r.Leader = in.Leader; r.Leader != nil {
		r.Gaps, r.Hold = r.Leader.Gaps, cmp.Or(r.Hold, r.Leader.AllHeld)
		r.Summary, r.Halts, r.HaltsRead = in.count(r.Counts)+". "+r.Leader.summary(), r.Leader.halts(in.prefix), true
		r.heldWorkloads, in.Mistakes = r.Leader.holds(in.prefix), r.Leader.Mistakes.Items
		r.mistakes = in.mistakes(r.Leader.Mistakes.Total)
		return r
	}
	r.heldWorkloads = some(in.heldWorkloads())
	look.dateMistakes()
	r.mistakes = in.mistakes(len(in.Mistakes))
	return r
}

// some returns the first lines of a list, and counts the others.
func some(lines []string) []string {
	if len(lines) <= status.Limit+1 { // the last one takes no more room than their number
		return lines
	}
	return append(slices.Clip(lines[:status.Limit]), fmt.Sprintf("and %d more", len(lines)-status.Limit))
}

// heldWorkloads lists the workloads on hold, by whom and since when as far as their managedFields say so.
func (in *Input) heldWorkloads() (holds []string) {
	for i := range in.Workloads {
		w := &in.Workloads[i]
		if !w.Enabled || w.Policy == nil || w.Policy.Hold == "" {
			continue
		}
		hold := in.prefix(w.Ref.Namespace) + w.Name() + ": " + w.Policy.Hold + facts.SetAt(w.Policy.HoldSet)
		if w.HeldBy != "" {
			hold += fmt.Sprintf(" (set by %s)", w.HeldBy)
		}
		holds = append(holds, hold)
	}
	slices.Sort(holds)
	return holds
}

// holds lists the configs on hold, since when if the leader or their managedFields say so.
func (in *Input) holds() []string {
	holds := []string{}
	for _, config := range in.Configs {
		if config.Policy == nil || config.Policy.Hold == "" {
			continue
		}
		since := facts.SetAt(config.Policy.HoldSet)
		if in.Leader != nil {
			since = facts.HeldSince(&in.Leader.Holds, config.Ref)
		}
		holds = append(holds, in.prefix(config.Ref.Namespace)+facts.ConfigName(config.Ref)+": "+config.Policy.Hold+since)
	}
	slices.Sort(holds)
	return holds
}

func (in *Input) isInside(namespace string) bool {
	return in.Namespace == "" || namespace == in.Namespace || namespace == "*"
}

// prefix names the namespace if there are several.
func (in *Input) prefix(namespace string) string {
	if in.Namespace == "" {
		return namespace + ": "
	}
	return ""
}

func (in *Input) summary(counts map[State]int) string {
	var parts []string
	for _, state := range states {
		if counts[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[state], state))
		}
	}
	if len(parts) == 0 {
		return in.count(counts) + "."
	}
	return in.count(counts) + ": " + strings.Join(parts, ", ") + "."
}

// count says how many workloads are enabled.
func (in *Input) count(counts map[State]int) string {
	total := 0
	for _, count := range counts {
		total += count
	}
	where := "in all namespaces"
	if in.Namespace != "" {
		where = "in " + in.Namespace
	}
	if total == 0 {
		return "No workload is enabled " + strings.Replace(where, "all namespaces", "any namespace", 1)
	}
	return text.Count(total, "workload") + " enabled " + where
}
