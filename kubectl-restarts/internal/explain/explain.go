// Package explain says why a workload restarted or did not, from what the cluster shows. It is pure.
//
// What only the leader of the controller knows is missing: what the record says about Secrets, and what
// else waits or rolls.
package explain

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
)

// Input is what the cluster shows.
type Input struct {
	Workload facts.Workload
	// Configs holds the configs that exist and that the caller may read. Of a Secret only the
	// policy counts.
	Configs []*content.Config
	// Unreadable are the configs that the caller may not read; those that are in neither list do
	// not exist.
	Unreadable []names.ConfigRef
	Halts      facts.Halts
	Events     []facts.Event
	// wrong describes what is wrong with the annotations of configs, with their names.
	wrong []string
	// Leader is what the leader answers, nil if it was not asked.
	Leader *FromLeader
	// Unknown is what it answers instead if it knows no enabled workload of this name.
	Unknown *Unknown
	// Leads says whether the lease is held, nil if that is not known.
	Leads *bool
	// Gaps are why the leader could not be asked.
	Gaps []status.Gap
	Now  time.Time
}

// Take takes in a config that exists, under the name by which the workload reads it. The halts must be there.
func (in *Input) Take(ref names.ConfigRef, config *facts.Config) {
	if wrong := config.Wrong(&in.Halts); wrong != "" {
		in.wrong = append(in.wrong, config.Ref.String()+": "+wrong)
	}
	switch shared := config.As(ref); {
	case !ref.IsShared():
		in.Configs = append(in.Configs, config.Config)
	case shared != nil:
		in.Configs = append(in.Configs, shared)
	}
}

// problems describes what is wrong with the annotations of the workload and of the configs that it reads, as the leader does.
func (in *Input) problems() (problems []string) {
	w, grace := &in.Workload, facts.UnknownGrace
	if in.Leader != nil {
		grace = in.Leader.grace()
	}
	all := append(append([]string{w.Mistakes}, w.WrongValues(grace)...), w.Record.Problem)
	if w.Policy != nil {
		all = append(all, w.Policy.Left)
	}
	for i, problem := range all {
		all[i] += in.since(problem)
	}
	all = append(all, in.wrong...)
	return slices.DeleteFunc(all, func(problem string) bool { return problem == "" })
}

// OnlyLeader says what is missing.
const OnlyLeader = "Only the leader of the controller knows what the record says about Secrets, which edits of the last moments it has seen, what else waits or rolls at this moment, whether the budget of restarts is used up, and which permissions it lacks; its log has these, too."

// Report is what a program reads, and what [Report.Print] prints.
type Report struct {
	// Gaps are why the rest is incomplete.
	Gaps      []status.Gap `json:"gaps,omitempty"`
	Namespace string       `json:"namespace"`
	Workload  string       `json:"workload"`
	// Conclusion is for people. Timeless is the same without ages, such as 3m ago.
	Conclusion string        `json:"-"`
	Timeless   string        `json:"conclusion"`
	Enabled    bool          `json:"enabled"`
	EnabledBy  string        `json:"enabledBy,omitempty"`
	Pods       string        `json:"pods"`
	FallenBack string        `json:"fallenBack,omitempty"`
	AtStep     string        `json:"atStep,omitempty"`
	Last       *Restart      `json:"lastRestart,omitempty"`
	Record     string        `json:"record"`
	Method     string        `json:"method,omitempty"`
	Wave       int16         `json:"wave"`
	Windows    []string      `json:"windows"`
	Holds      []string      `json:"holds"`
	Grace      string        `json:"gracePeriod"`
	Halts      []string      `json:"halts"`
	Problems   []string      `json:"problems,omitempty"`
	Configs    []ConfigRow   `json:"configs"`
	Events     []facts.Event `json:"events"`
	// Leader is what the leader answers. OnlyLeader says what is missing without it.
	Leader     *FromLeader `json:"leader,omitempty"`
	OnlyLeader string      `json:"onlyLeader,omitempty"`
	now        time.Time
}

// Restart is the last restart.
type Restart struct {
	// At is the time in RFC 3339, unless somebody has written something else to the workload.
	At    string `json:"at"`
	Cause string `json:"cause,omitempty"`
}

// Explain explains a workload.
func Explain(in *Input) Report {
	w := &in.Workload
	r := Report{
		Gaps: slices.Concat(in.Gaps, in.Halts.Gaps()), Namespace: w.Ref.Namespace, Workload: w.Name(), Enabled: w.Enabled, Pods: in.pods(), FallenBack: w.FellBack, AtStep: w.AtStep, Record: in.record(), Method: w.ByEviction(), Wave: w.Wave(),
		Windows: in.windows(), Holds: in.holds(), Grace: "that of the controller", Halts: []string{}, Problems: in.problems(), Configs: in.configs(), Events: in.Events,
		OnlyLeader: OnlyLeader, now: in.Now,
	}
	if w.Enabled {
		r.EnabledBy = w.Why()
	}
	if at, cause := w.Restarted(); at != "" {
		r.Last = &Restart{At: at, Cause: cause}
	}
	if own, isOwn := w.GracePeriod.Own(); isOwn {
		r.Grace = own.String()
	}
	for _, halt := range in.halts() {
		r.Halts = append(r.Halts, facts.DescribeHalt(&halt))
	}
	if !in.Halts.Known {
		r.Halts = append(r.Halts, "not known: you may not read the ConfigMap of halts, or it is elsewhere (--controller-namespace)")
	}
	if r.Events == nil {
		r.Events = []facts.Event{}
	}
	if in.Unknown != nil {
		r.Gaps, r.OnlyLeader = in.Unknown.Gaps, "The leader ("+in.Unknown.Name+") knows no enabled workload of this name."
	}
	if r.Leader = in.Leader; r.Leader == nil {
		r.Conclusion, r.Timeless = in.conclusion(in.Now), in.conclusion(time.Time{})
		return r
	}
	r.Problems = slices.DeleteFunc(r.Problems, func(own string) bool { // which the leader names, too
		return slices.ContainsFunc(r.Leader.problems(), func(named string) bool { return strings.Contains(named, own) })
	})
	r.Grace = r.Leader.grace()
	r.Gaps = r.Leader.Gaps
	r.Enabled, r.EnabledBy = true, cmp.Or(r.Leader.EnabledBy, r.EnabledBy) // otherwise it knows no such workload
	r.Conclusion, r.Timeless, r.OnlyLeader = in.ledConclusion(in.Now), in.ledConclusion(time.Time{}), ""
	return r
}

func (in *Input) pods() string {
	r := in.Workload.Rollout
	if r.ByPods {
		return fmt.Sprintf("%d wanted; the status of this kind says nothing about a rollout", r.Wanted)
	}
	if !r.Observed {
		return fmt.Sprintf("%d wanted; the status is not up to date", r.Wanted)
	}
	if in.Workload.IsFallenBack() {
		return fmt.Sprintf("%d wanted, %d of an earlier release, %d of the one that has failed, %d available", r.Wanted, r.Updated, r.Outdated, r.Available)
	}
	return fmt.Sprintf("%d wanted, %d of the present template, %d of earlier ones, %d available", r.Wanted, r.Updated, r.Outdated, r.Available)
}

func (in *Input) record() string {
	record, about := &in.Workload.Record, "the present pod template"
	if in.Workload.IsFallenBack() {
		about = "the pods of an earlier release"
	}
	switch {
	case record.Problem != "":
		return "cannot be read; the controller replaces it"
	case record.Original != nil:
		return "made by the original controller; this one compares it once and replaces it"
	case record.Checksums == nil:
		return "none yet"
	case record.Reverted != nil:
		return "made with a restart that another client has reverted since"
	case !record.Trusted:
		return "not trusted: not made by the controller, or for another pod template; the start times of the pods decide"
	case !record.DiffersSince().IsZero():
		return fmt.Sprintf("made at %s for %s; contradicted since %s", record.Written.UTC().Format(time.RFC3339), about, record.DiffersSince().UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("made at %s for %s", record.Written.UTC().Format(time.RFC3339), about)
}

// SortEvents sorts events, the latest first.
func SortEvents(events []facts.Event) {
	slices.SortStableFunc(events, func(a, b facts.Event) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Reason, b.Reason))
	})
}
