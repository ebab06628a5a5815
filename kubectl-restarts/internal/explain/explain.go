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

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
	"kubernetes-deployment-restart-controller/status"
)

// Input is what the cluster shows.
type Input struct {
	Workload facts.Workload
	// Configs holds the configs that exist and that the caller may read. Of a Secret only the
	// policy counts.
	Configs []*catalog.Config
	// Unreadable are the configs that the caller may not read; those that are in neither list do
	// not exist.
	Unreadable []catalog.ConfigRef
	Halts      facts.Halts
	Events     []facts.Event
	// Leader is what the leader answers, nil if it was not asked.
	Leader *FromLeader
	// Leads says whether the lease is held, nil if that is not known.
	Leads *bool
	// Gaps are why the leader could not be asked.
	Gaps []status.Gap
	Now  time.Time
}

// OnlyLeader says what is missing.
const OnlyLeader = "Only the leader of the controller knows what the record says about Secrets, which edits of the last moments it has seen, what else waits or rolls at this moment, and whether the budget of restarts is used up."

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

// ConfigRow is a config that the workload reads.
type ConfigRow struct {
	Config string `json:"config"`
	// Keys names the keys that the containers see. It counts those of a Secret, as far as they are known.
	Keys     string `json:"keys"`
	ReadAs   string `json:"readAs"`
	Optional bool   `json:"optional"`
	Content  string `json:"content"`
}

// Explain explains a workload.
func Explain(in *Input) Report {
	w := &in.Workload
	r := Report{
		Gaps: in.Gaps, Namespace: w.Ref.Namespace, Workload: w.Name(), Enabled: w.Enabled, Pods: in.pods(), Record: in.record(), Method: w.ByEviction(), Wave: w.Wave(),
		Windows: in.windows(), Holds: in.holds(), Grace: "that of the controller", Halts: []string{}, Configs: in.configs(), Events: in.Events,
		OnlyLeader: OnlyLeader, now: in.Now,
	}
	if w.Enabled {
		r.EnabledBy = w.Why()
	}
	if at, cause := w.Restarted(); at != "" {
		r.Last = &Restart{At: at, Cause: cause}
	}
	if w.GracePeriod != nil {
		r.Grace = w.GracePeriod.String()
	}
	for _, halt := range in.halts() {
		r.Halts = append(r.Halts, facts.DescribeHalt(&halt))
	}
	if !in.Halts.Known {
		r.Halts = append(r.Halts, "not known: you may not read the ConfigMap of halts, or it is elsewhere (--controller-namespace)")
	}
	for _, problem := range append([]string{w.Mistakes, w.Problem, w.Applied.Problem}, policyProblems(w.Policy)...) {
		if problem != "" {
			r.Problems = append(r.Problems, problem)
		}
	}
	if r.Events == nil {
		r.Events = []facts.Event{}
	}
	if r.Leader = in.Leader; r.Leader == nil {
		r.Conclusion, r.Timeless = in.conclusion(in.Now), in.conclusion(time.Time{})
		return r
	}
	r.Problems = slices.DeleteFunc(r.Problems, func(own string) bool { // which the leader names, too
		return slices.ContainsFunc(r.Leader.Problems, func(named string) bool { return strings.Contains(named, own) })
	})
	r.Grace = time.Duration(r.Leader.GracePeriod * float64(time.Second)).String()
	r.Gaps = r.Leader.Gaps
	r.Enabled, r.EnabledBy = true, cmp.Or(r.Leader.EnabledBy, r.EnabledBy) // otherwise it knows no such workload
	r.Conclusion, r.Timeless, r.OnlyLeader = in.ledConclusion(in.Now), in.ledConclusion(time.Time{}), ""
	return r
}

func policyProblems(policy *catalog.WorkloadPolicy) []string {
	if policy == nil {
		return nil
	}
	return []string{policy.Problem, policy.Left}
}

func (in *Input) pods() string {
	r := in.Workload.Rollout
	if r.ByPods {
		return fmt.Sprintf("%d wanted; the status of this kind says nothing about a rollout", r.Wanted)
	}
	if !r.Observed {
		return fmt.Sprintf("%d wanted; the status is not up to date", r.Wanted)
	}
	return fmt.Sprintf("%d wanted, %d of the present template, %d of earlier ones, %d available", r.Wanted, r.Updated, r.Outdated, r.Available)
}

func (in *Input) record() string {
	record := &in.Workload.Applied
	switch {
	case record.Problem != "":
		return "cannot be read; the controller replaces it"
	case record.Earlier != nil:
		return "made by an earlier controller; this one compares it once and replaces it"
	case record.Checksums == nil:
		return "none yet"
	case record.Reverted != nil:
		return "made with a restart that another client has reverted since"
	case !record.Trusted:
		return "not trusted: not made by the controller, or for another pod template; the start times of the pods decide"
	case !record.Contradicted.IsZero():
		return fmt.Sprintf("made at %s for the present pod template; contradicted since %s", record.Written.UTC().Format(time.RFC3339), record.Contradicted.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("made at %s for the present pod template", record.Written.UTC().Format(time.RFC3339))
}

func (in *Input) windows() []string {
	windows := []string{}
	for window := range in.Workload.Wishes(in.Configs, "").Windows() {
		if window.By == catalog.ByController {
			continue
		}
		isClosed, opens := facts.Closed(window, in.Now)
		state := "open now"
		if isClosed {
			state = facts.Opening("its window", opens)
		}
		windows = append(windows, fmt.Sprintf("%s: %s (%s)", by(window), window.Text, state))
	}
	return windows
}

func (in *Input) holds() []string {
	holds := []string{}
	for hold := range in.Workload.Wishes(in.Configs, in.Halts.Hold).Holds() {
		holds = append(holds, by(hold)+": "+hold.Text)
	}
	return holds
}

// by says who has a wish.
func by(wish catalog.Wish) string {
	switch wish.By {
	case catalog.ByWorkload:
		return "the workload"
	case catalog.ByConfig:
		return facts.ConfigName(wish.Config)
	case catalog.ByController:
	}
	return "everything"
}

// halts returns the halts of the configs that the workload reads.
func (in *Input) halts() []gate.Halt {
	configs := in.Workload.Configs()
	return slices.DeleteFunc(slices.Clone(in.Halts.Active), func(h gate.Halt) bool {
		return !slices.ContainsFunc(configs, func(ref catalog.ConfigRef) bool { return facts.Concerns(&h, ref) })
	})
}

// configs returns a row for each config that the workload reads.
func (in *Input) configs() []ConfigRow {
	rows := []ConfigRow{}
	for _, ref := range in.Workload.Configs() {
		row := ConfigRow{Config: facts.ConfigName(ref), ReadAs: in.Workload.ReadAs(ref), Content: in.content(ref), Optional: true}
		var names []string
		seesAll, rules := false, ""
		for _, reference := range in.Workload.ReferencesTo(ref) {
			listed, _ := reference.Keys.Listed()
			names = append(names, listed...)
			seesAll, rules = seesAll || reference.Keys.HasAll(), cmp.Or(rules, reference.Keys.Rules())
			row.Optional = row.Optional && reference.Optional
		}
		switch {
		case in.isIgnored(ref):
			row.Keys = "none: the config is ignored"
		case !seesAll && in.Workload.SeesAllButHidden(ref):
			row.Keys = in.allButHidden(ref)
		default:
			row.Keys = keys(ref, names, seesAll, rules)
		}
		rows = append(rows, row)
	}
	return rows
}

// isIgnored reports whether the workload ignores a config, as far as its annotations are known.
func (in *Input) isIgnored(ref catalog.ConfigRef) bool {
	return slices.ContainsFunc(in.Configs, func(c *catalog.Config) bool { return c.Ref == ref && in.Workload.Ignores(c) })
}

// allButHidden says that the containers see all keys but those that something else replaces, as a variable or as a file.
func (in *Input) allButHidden(ref catalog.ConfigRef) string {
	config := in.config(ref)
	if config == nil || ref.Kind.IsSecret() {
		return "all that nothing replaces"
	}
	if hidden := in.Workload.Unseen(config); len(hidden) > 0 {
		return "all but " + text.List(hidden, namedKeys)
	}
	return "all"
}

// namedKeys is how many keys of a config are named.
const namedKeys = 10

// keys says which keys the containers see. The rules describe those that annotations leave, and name keys, too.
func keys(ref catalog.ConfigRef, names []string, seesAll bool, rules string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case rules != "" && ref.Kind.IsSecret():
		return "those that only and ignore leave"
	case rules != "":
		return rules
	case seesAll:
		return "all"
	case ref.Kind.IsSecret():
		return text.Count(len(names), "key")
	}
	return text.List(names, namedKeys)
}

// content says how the content of a config relates to the record.
func (in *Input) content(ref catalog.ConfigRef) string {
	config := in.config(ref)
	switch {
	case ref.Kind.IsPerPod():
		return "each pod has its own, which counts with --csi"
	case slices.Contains(in.Unreadable, ref):
		return "you may not read it"
	case config == nil:
		return "missing"
	case ref.Kind.IsSecret():
		return "only the leader knows"
	case !in.Workload.Applied.Trusted:
		return "not compared: there is no trusted record"
	}
	switch isRecorded, isSame := in.Workload.Recorded(config); {
	case !isRecorded:
		return "not in the record"
	case isSame:
		return "as recorded"
	}
	return "differs from the record"
}

func (in *Input) config(ref catalog.ConfigRef) *catalog.Config {
	for _, config := range in.Configs {
		if config.Ref == ref {
			return config
		}
	}
	return nil
}

// decide decides about the workload with the ConfigMaps, because what the record says about Secrets
// cannot be read.
func (in *Input) decide() catalog.Decision {
	c := catalog.New(catalog.ConfigMap)
	var configs []*catalog.Config
	for _, config := range in.Configs {
		if config.Ref.Kind == catalog.ConfigMap {
			own := *config
			configs = append(configs, &own)
		}
	}
	c.ListConfigs(catalog.ConfigMap, "", configs, in.Now, true, func(catalog.ConfigRef) {})
	w := in.Workload.Workload
	c.ListWorkloads(w.Ref.Kind, "", []*catalog.Workload{&w}, 0, func(catalog.WorkloadRef) {})
	view, _ := c.View(w.Ref)
	return catalog.Decide(view)
}

// changed returns the configs that cause a restart, with their names.
func (in *Input) changed(decision *catalog.Decision) (configs []*catalog.Config, names string) {
	var all []string
	for i := range decision.Causes {
		ref := decision.Causes[i].Config
		all = append(all, facts.ConfigName(ref))
		configs = append(configs, in.config(ref))
	}
	return configs, text.List(all, namedKeys)
}

func (in *Input) name() string {
	return fmt.Sprintf("%s in %s", in.Workload.Name(), in.Workload.Ref.Namespace)
}

// conclusion says in one sentence what is the case, as far as the cluster shows; without ages if the time is zero.
func (in *Input) conclusion(now time.Time) string {
	w := &in.Workload
	name := in.name()
	switch {
	case w.EnabledUnknown:
		return fmt.Sprintf("%s does not seem to be enabled: its annotation %s is missing, and you may not read what else may enable it.", name, catalog.EnabledAnnotation)
	case !w.Enabled:
		return fmt.Sprintf("%s is not enabled, so no edit restarts it: %s.", name, w.Why())
	case w.Deleting:
		return name + " is being deleted."
	case w.Excess != catalog.NoExcess:
		return fmt.Sprintf("%s has more than %d references to configs, so the controller leaves it alone.", name, catalog.MaxReferences)
	case len(w.References) == 0:
		return name + " reads no ConfigMap or Secret, so no edit restarts it."
	}
	decision := in.decide()
	restarted, _ := w.Restarted()
	switch {
	case decision.Outcome == catalog.Restart:
		configs, names := in.changed(&decision)
		return fmt.Sprintf("%s has not restarted yet for what has changed in %s: %s.", name, names, in.waits(configs))
	case w.Idle:
		return in.idle()
	case decision.Outcome == catalog.AskPods, decision.Outcome == catalog.AskConfigs:
		return fmt.Sprintf("%s: the record alone does not decide, and the controller looks at the start times of the pods (%s).", name, decision.Reason)
	case restarted != "" && !w.Rollout.IsWhole() && !w.Rollout.ByPods:
		return fmt.Sprintf("%s is rolling, or cannot: it was restarted at %s, and not all of its pods run.", name, ago(restarted, now))
	case w.Evict > 0 && w.Method() == catalog.ByEviction:
		return fmt.Sprintf("%s was restarted by eviction at %s; pods that were created before may be left.", name, ago(restarted, now))
	}
	return in.atRest()
}

// atRest says how a workload is for which nothing seems to be under way.
func (in *Input) atRest() string {
	w, name := &in.Workload, in.name()
	switch {
	case w.Applied.Checksums == nil:
		return name + " has no record yet; the controller makes one after the grace period, if it runs and watches the namespace."
	case w.LacksPods():
		return fmt.Sprintf("%s waits for no restart%s, but not all of its pods run: %s.", name, in.reservation(), in.pods())
	}
	return fmt.Sprintf("%s is up to date%s%s.", name, in.reservation(), in.wouldHold())
}

func (in *Input) idle() string {
	return in.name() + " wants no pods; pods that start later read the present content."
}

// ledConclusion says in one sentence what is the case, as the leader decides; without ages if the time is zero.
func (in *Input) ledConclusion(now time.Time) string {
	switch conclusion := in.Leader.conclusion(in.name(), now); {
	case !in.Leader.isSettled():
		return conclusion
	case in.Workload.Idle:
		return in.idle()
	default:
		return strings.TrimSuffix(conclusion, ".") + in.wouldHold() + "."
	}
}

// wouldHold says what would hold the next restart, empty if nothing would.
func (in *Input) wouldHold() string {
	for hold := range in.Workload.Wishes(in.Configs, in.Halts.Hold).Holds() {
		edit := "an edit"
		if hold.By == catalog.ByConfig {
			edit += " of " + facts.ConfigName(hold.Config)
		}
		return "; " + edit + " would be held: " + strings.TrimSuffix(hold.Text, ".")
	}
	return ""
}

// lastFailure returns what the last Event since the last restart says about why it does not follow; empty if there is none.
func (in *Input) lastFailure() (message string) {
	restarted, _ := in.Workload.Restarted()
	since, _ := time.Parse(time.RFC3339Nano, restarted) // zero if it never restarted
	for _, e := range in.Events {                       // the latest first
		if (e.Reason == facts.RestartFailed || e.Reason == facts.RestartBackoff) && !e.At.Before(since.Truncate(time.Second)) {
			return e.Message
		}
	}
	return ""
}

func (in *Input) reservation() string {
	if len(in.Unreadable) > 0 {
		return ", as far as you may read what it reads"
	}
	if slices.ContainsFunc(in.Workload.References, func(r catalog.Reference) bool { return r.Config.Kind.IsSecret() }) {
		return " as far as its ConfigMaps show"
	}
	return ""
}

// lacks says which config does not exist that new pods need to start, empty if all exist or it is not known.
func (in *Input) lacks() string {
	for i := range in.Workload.References {
		r := &in.Workload.References[i]
		exists := slices.ContainsFunc(in.Configs, func(c *catalog.Config) bool { return c.Ref == r.Config })
		if r.IsRequired() && !exists && !slices.Contains(in.Unreadable, r.Config) {
			return facts.ConfigName(r.Config) + " does not exist: no new pod can start"
		}
	}
	return ""
}

// waits says what a restart that is due waits for.
func (in *Input) waits(configs []*catalog.Config) string {
	w := &in.Workload
	var halt *gate.Halt
	for _, active := range in.halts() {
		if slices.ContainsFunc(configs, func(c *catalog.Config) bool { return facts.Concerns(&active, c.Ref) }) {
			halt = &active
			break
		}
	}
	switch answer := w.Admit(configs, in.Halts.Hold, halt, in.lacks(), in.Now); {
	case answer.Reason == gate.Hold:
		return answer.Text
	case answer.Reason == gate.Halted:
		return "it is halted, " + facts.DescribeHalt(halt)
	case answer.Reason == gate.Missing:
		return answer.Text
	case w.Hold != catalog.NoHold:
		return facts.ByHand(w.Hold)
	case answer.Reason == gate.Window:
		return facts.Opening(answer.Text, answer.Until)
	}
	if in.Leads != nil && !*in.Leads {
		return "it waits because no replica of the controller leads"
	}
	if failed := in.lastFailure(); failed != "" {
		return "the last Event about that says: " + strings.TrimSuffix(failed, ".")
	}
	grace := "its grace period"
	if w.GracePeriod != nil {
		grace += " of " + w.GracePeriod.String()
	}
	why := "nothing that you can see holds it back; it waits for " + grace + ", or its turn, or the controller does not run"
	if in.Leads != nil {
		why += ", or has lost its permissions: look at its log"
	}
	return why
}

// SortEvents sorts events, the latest first.
func SortEvents(events []facts.Event) {
	slices.SortStableFunc(events, func(a, b facts.Event) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Reason, b.Reason))
	})
}
