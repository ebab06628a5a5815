// Package impact computes which workloads would restart if configs changed, before anything is
// applied. It is pure: the cluster's objects and the time come in as arguments.
//
// The decisions are those of package catalog: a catalog takes in the present configs and workloads
// and then the changed configs, and decides about each workload that sees a changed key.
package impact

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

// Input is everything that matters.
type Input struct {
	Changes   []Change
	Workloads []facts.Workload
	// Runs are the CronJobs and Jobs, nil if the caller may not list them.
	Runs []facts.Run
	// Hold is why all restarts are held; empty if they are not, or if that is not known.
	Hold string
	Now  time.Time
}

// Outcome is what would become of a workload.
type Outcome string

// The outcomes.
const (
	// Restarts means that the pods restart.
	Restarts Outcome = "restarts"
	// Held means that they restart when a person removes a hold, and Waits that they restart when
	// a window opens.
	Held  Outcome = "held"
	Waits Outcome = "waits"
	// Maybe means that pods restart only if they started while other content was there.
	Maybe Outcome = "maybe"
	// ByHand means that the workload is patched, and its pods restart when a person acts.
	ByHand Outcome = "by hand"
	// Stays means that the pods do not restart.
	Stays Outcome = "stays"
)

// willRestart reports whether pods restart now or later.
func (o Outcome) willRestart() bool { return o == Restarts || o == Held || o == Waits }

// Seen is what a workload sees of a change.
type Seen struct {
	Config string `json:"config"`
	// Keys are the names of the changed keys that the workload sees, missing for a Secret. Count is
	// their number, 0 if it is not known.
	Keys  []string `json:"keys,omitempty"`
	Count int      `json:"count"`
}

// Row is a workload that sees a changed key.
type Row struct {
	Namespace string             `json:"namespace"`
	Kind      names.WorkloadKind `json:"kind"`
	Name      string             `json:"name"`
	Pods      int32              `json:"pods"`
	Wave      int16              `json:"wave"`
	Changes   []Seen             `json:"changes"`
	Outcome   Outcome            `json:"outcome"`
	Reason    string             `json:"reason"`
	// EnabledUnknown means that the pods stay only if the workload is as little enabled as it seems.
	EnabledUnknown bool `json:"enabledUnknown,omitempty"`
}

// Result is the impact of all changes.
type Result struct {
	Rows []Row
	// Order describes in which order the workloads restart, in sentences.
	Order []string
	// Runs are the CronJobs and Jobs that see a changed key, nil if the caller may not list them.
	Runs []Run
	// Elsewhere names the configs whose change workloads of other namespaces see, which are not among the rows.
	Elsewhere []string
	// isOne means that one config changes.
	isOne bool
}

// Run is a CronJob or a Job that sees a changed key. It needs no restart.
type Run struct {
	Namespace string        `json:"namespace"`
	Kind      facts.RunKind `json:"kind"`
	Name      string        `json:"name"`
}

// Compute returns the impact of the changes: a row for each workload that sees a changed key, in
// the order in which the workloads restart.
func Compute(in *Input) Result {
	known := newKnown(in)
	var result Result
	for i := range in.Workloads {
		if row, isConcerned := known.row(&in.Workloads[i]); isConcerned {
			result.Rows = append(result.Rows, row)
		}
	}
	slices.SortFunc(result.Rows, func(a, b Row) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Wave, b.Wave), strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Name, b.Name))
	})
	for i := range in.Changes {
		if change := &in.Changes[i]; change.isSeenElsewhere() {
			result.Elsewhere = append(result.Elsewhere, facts.ConfigName(change.Ref))
		}
	}
	result.Order = known.order(result.Rows)
	result.Runs, result.isOne = in.runs(), len(in.Changes) == 1
	return result
}

// runs returns the CronJobs and Jobs that see a changed key.
func (in *Input) runs() []Run {
	if in.Runs == nil {
		return nil
	}
	runs := []Run{}
	for i := range in.Runs {
		run := &in.Runs[i]
		if slices.ContainsFunc(in.Changes, func(c Change) bool {
			return run.Reads(c.Ref, c.Before, c.After) || c.KeysUnknown && run.Refers(c.Ref)
		}) {
			runs = append(runs, Run{run.Namespace, run.Kind, run.Name})
		}
	}
	return runs
}

// Count returns how many workloads and pods would restart, now or later.
func (r *Result) Count() (workloads int, pods int64) {
	for i := range r.Rows {
		if r.Rows[i].Outcome.willRestart() {
			workloads++
			pods += int64(r.Rows[i].Pods)
		}
	}
	return workloads, pods
}

// With returns how many workloads have the outcome.
func (r *Result) With(outcome Outcome) (count int) {
	for i := range r.Rows {
		if r.Rows[i].Outcome == outcome {
			count++
		}
	}
	return count
}

// Unknown returns how many workloads may restart although they do not seem to be enabled.
func (r *Result) Unknown() (count int) {
	for i := range r.Rows {
		if r.Rows[i].EnabledUnknown {
			count++
		}
	}
	return count
}

// known is what the catalogs know: one as the cluster is, and one in which the configs have changed.
type known struct {
	*Input
	present, changed *catalog.Catalog
}

func newKnown(in *Input) *known {
	k := &known{Input: in, present: in.catalog(), changed: in.catalog()}
	for i := range in.Changes {
		after := *in.Changes[i].After
		if in.Changes[i].Before == nil {
			after.Created = uint32(in.Now.Unix())
		}
		k.changed.ObserveConfig(after, in.Now)
	}
	return k
}

// catalog returns a catalog of the cluster as it is.
func (in *Input) catalog() *catalog.Catalog {
	c := catalog.New()
	for _, kind := range []names.ConfigKind{names.ConfigMap, names.Secret} {
		var configs []*content.Config
		for i := range in.Changes {
			if before := in.Changes[i].Before; before != nil && before.Ref.Kind == kind {
				own := *before
				configs = append(configs, &own)
			}
		}
		c.ListConfigs(kind, "", configs, in.Now, true, func(names.ConfigRef) {})
	}
	workloads := make(map[names.WorkloadKind][]*workload.Workload)
	for i := range in.Workloads {
		own := in.Workloads[i].Workload
		workloads[own.Ref.Kind] = append(workloads[own.Ref.Kind], &own)
	}
	for kind, all := range workloads {
		c.ListWorkloads(kind, "", all, 0, func(names.WorkloadRef) {})
	}
	return c
}

// row returns the row of a workload, and false if it sees no changed key.
func (k *known) row(w *facts.Workload) (Row, bool) {
	row := Row{Namespace: w.Ref.Namespace, Kind: w.Ref.Kind, Name: w.Ref.Name, Pods: w.Rollout.Wanted, Wave: w.Wave(), EnabledUnknown: w.EnabledUnknown}
	var seen []*Change
	for i := range k.Changes {
		change := &k.Changes[i]
		keys := w.VisibleChanges(change.Ref, change.Before, change.After)
		if len(keys) == 0 {
			continue
		}
		seen = append(seen, change)
		row.Changes = append(row.Changes, newSeen(change, keys))
	}
	if len(seen) == 0 {
		return Row{}, false
	}
	row.Outcome, row.Reason = k.outcome(w, seen)
	return row, true
}

func newSeen(change *Change, keys []string) Seen {
	seen := Seen{Config: facts.ConfigName(change.Ref)}
	if !change.KeysUnknown {
		seen.Count = len(keys)
		if !change.Ref.Kind.IsSecret() {
			seen.Keys = keys
		}
	}
	return seen
}

// outcome returns what would become of a workload that sees the changes, and why.
func (k *known) outcome(w *facts.Workload, seen []*Change) (Outcome, string) {
	switch {
	case w.EnabledUnknown:
		return Stays, "not enabled, as far as you may read: " + w.Why()
	case !w.Enabled:
		return Stays, "not enabled: " + w.Why()
	}
	decision := k.decide(k.changed, w)
	if decision.Outcome == decide.AskConfigs && !w.Idle { // what the original controller recorded differs from any other content
		decision.Outcome = decide.Restart
	}
	switch {
	case decision.Outcome != decide.Restart && isNew(seen):
		return Stays, "the config is new, and no container can have started without it"
	case decision.Outcome != decide.Restart && w.Idle:
		return Stays, "it wants no pods; pods that start later read the new content"
	case decision.Outcome != decide.Restart && k.decide(k.present, w).Outcome == decide.Restart:
		return Maybe, "the content returns to what the pods were recorded with; they restart only if one of them started in between"
	case decision.Outcome != decide.Restart:
		return Stays, decision.Reason
	}
	return k.admit(w, seen, decision.Reason)
}

// isNew reports whether all changes create configs.
func isNew(seen []*Change) bool {
	return !slices.ContainsFunc(seen, func(c *Change) bool { return c.Before != nil })
}

// decide decides about a workload whose pods all run with the present content, as far as no record
// says otherwise.
func (k *known) decide(c *catalog.Catalog, w *facts.Workload) decide.Decision {
	view, found := c.View(w.Ref)
	if !found {
		return decide.Decision{Outcome: decide.Keep, Reason: "it is not in the catalog"}
	}
	decision := decide.Decide(view)
	if decision.Outcome != decide.AskPods {
		return decision
	}
	if w.Rollout.Wanted <= 0 {
		return decide.ByPods(view, nil)
	}
	return decide.ByPods(view, []decide.Pod{k.pod(w)})
}

// earlier is how long before the change pods started, as far as that matters: long enough that no
// clock can take the change for older.
const earlier = time.Minute

// pod returns a pod that runs with the present content.
func (k *known) pod(w *facts.Workload) decide.Pod {
	started := k.Now.Add(-earlier)
	pod := decide.Pod{Created: started, Mounted: started}
	for _, container := range w.Readers() {
		pod.Started = append(pod.Started, decide.Start{Container: container, At: started})
	}
	return pod
}

// admit returns what becomes of a restart that is due: what people asked for may put it off.
func (k *known) admit(w *facts.Workload, seen []*Change, reason string) (Outcome, string) {
	configs := make([]*content.Config, 0, len(seen))
	for _, change := range seen {
		configs = append(configs, change.After)
	}
	answer := w.Admit(configs, k.Hold, nil, "", k.Now)
	switch {
	case answer.Reason == gate.Hold:
		return Held, answer.Text
	case w.Hold.HoldsAll():
		return ByHand, facts.ByHand(w.Hold)
	case answer.Reason == gate.Window:
		return Waits, facts.Opening(answer.Text, answer.Until)
	case w.Hold != workload.NoHold:
		return Restarts, reason + "; " + facts.ByHand(w.Hold)
	}
	return Restarts, reason
}
