// Package receipt says which pods may have read an earlier content of a config than the present one, and whether they are going to
// restart. It is pure.
//
// It judges by pods: whoever owns them, enabled or not, terminating ones as well, since each of them would break if the earlier
// content were revoked. A pod has read the present content if the API server created it after the last edit of what it sees, or if
// its containers started clearly later. Where dates do not show it, the controller's word counts: a record that has the present
// content of a ConfigMap, or the leader. It counts only as far as it says what it has seen: what it does not mention says nothing.
package receipt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/overview"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// Input is what the caller may see.
type Input struct {
	Contents []Content
	// Pods are those that refer to any of the configs.
	Pods []Pod
	// Workloads are those of the pods' namespaces, and Overviews says how they stand, by their namespaces, or for the empty one of all.
	// Those of namespaces whose workloads the caller may not list are missing.
	Workloads []facts.Workload
	Overviews map[string]*overview.Report
	// Leader returns what the leader says of an enabled workload: nil if it does not answer, and one without a name if it knows none
	// of that name. Without it, the leader is not asked.
	Leader func(names.WorkloadRef) *status.Workload
	// EnabledOnly leaves out the readers that the controller does not restart for these configs.
	EnabledOnly bool
}

// Verdict is what becomes of a reader.
type Verdict string

// The verdicts.
const (
	// Delivered means that no pod is left that may have read an earlier content.
	Delivered Verdict = "delivered"
	// Waits means that pods are left, and nothing shows that they stay.
	Waits Verdict = "waiting"
	// Stays means that pods are left, and do not restart unless a person acts.
	Stays Verdict = "not delivered"
	// Unknown means that nothing shows whether pods are left.
	Unknown Verdict = "unknown"
)

// Reader is a workload, or whatever else owns pods that read the configs, or a pod of its own.
type Reader struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"` // as kubectl names it
	// Pods is how many read the configs, Left how many of them may have read an earlier content, and Leaving how many of those
	// terminate.
	Pods    int     `json:"pods"`
	Left    int     `json:"left"`
	Leaving int     `json:"leaving"`
	Verdict Verdict `json:"verdict"`
	// Why says why pods are left, and Remedy which command helps.
	Why    string `json:"why,omitempty"`
	Remedy string `json:"remedy,omitempty"`
}

// Receipt is how far the contents are delivered.
type Receipt struct {
	Readers []Reader `json:"readers"`
	Pods    int      `json:"pods"`
	Left    int      `json:"left"`
}

// With returns the readers that have a verdict.
func (r *Receipt) With(verdict Verdict) (readers []Reader) {
	for _, reader := range r.Readers {
		if reader.Verdict == verdict {
			readers = append(readers, reader)
		}
	}
	return readers
}

// Judge returns how far the contents are delivered.
func Judge(in *Input) Receipt {
	j := newJudge(in)
	found := make(map[owner]*group)
	for i := range in.Pods {
		j.add(found, &in.Pods[i])
	}
	receipt := Receipt{Readers: []Reader{}}
	for _, g := range found {
		if in.EnabledOnly && j.isUncounted(g) {
			continue
		}
		j.judge(g)
		receipt.Readers = append(receipt.Readers, g.Reader)
		receipt.Pods += g.Pods
		receipt.Left += g.Left
	}
	slices.SortFunc(receipt.Readers, func(a, b Reader) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return receipt
}

// judge knows what owns pods.
type judge struct {
	*Input
	contents  map[names.ConfigRef]*Content
	workloads map[owner]*facts.Workload
	standings map[*overview.Report]*overview.Standings
	selectors map[*facts.Workload]labels.Selector
}

func newJudge(in *Input) *judge {
	j := &judge{in, make(map[names.ConfigRef]*Content), make(map[owner]*facts.Workload), make(map[*overview.Report]*overview.Standings), make(map[*facts.Workload]labels.Selector)}
	for i := range in.Contents {
		j.contents[in.Contents[i].Ref] = &in.Contents[i]
	}
	for i := range in.Workloads {
		w := &in.Workloads[i]
		kind := string(w.Ref.Kind)
		if w.Ref.Kind.IsCustom() {
			kind = customKind
		}
		j.workloads[owner{w.Ref.Namespace, kind, w.Ref.Name}] = w
	}
	return j
}

// overview returns how the workloads of a namespace stand, nil if that is not known.
func (j *judge) overview(namespace string) *overview.Report {
	return cmp.Or(j.Overviews[namespace], j.Overviews[""])
}

// standingOf returns how an enabled workload of a namespace with an overview stands.
func (j *judge) standingOf(ref names.WorkloadRef) overview.Standing {
	report := j.overview(ref.Namespace)
	if j.standings[report] == nil {
		j.standings[report] = report.Standings()
	}
	return j.standings[report].Of(ref)
}

// of returns the workload that owns a pod, nil if none is known: what is only named like one of its own does not count.
func (j *judge) of(pod *Pod) *facts.Workload {
	w := j.named(pod.workload)
	if w == nil || !j.selects(w, pod) {
		return nil
	}
	return w
}

// selects reports whether a workload selects a pod by its labels.
func (j *judge) selects(w *facts.Workload, pod *Pod) bool {
	if j.selectors[w] == nil {
		selector, err := labels.Parse(w.Selector)
		if err != nil {
			selector = labels.Nothing()
		}
		j.selectors[w] = selector
	}
	return j.selectors[w].Matches(pod.labels)
}

// named returns the workload of a kind and a name, nil if there is none. One of a custom kind is known by its API group and its name.
func (j *judge) named(by owner) *facts.Workload {
	if w := j.workloads[by]; w != nil {
		return w
	}
	_, group, isCustom := strings.Cut(by.kind, ".")
	w := j.workloads[owner{by.namespace, customKind, by.name}]
	if w == nil || !isCustom || !strings.HasSuffix(string(w.Ref.Kind), "."+group) {
		return nil
	}
	return w
}

// group is the pods of one reader.
type group struct {
	Reader
	kind     string
	workload *facts.Workload
	stay     int  // how many of the pods do not terminate
	leaver   *Pod // the first of the pods left that terminates
	missed   map[*Content]missed
	// unreported means that pods may have started with an earlier content, and their nodes have not said so.
	unreported bool
	// leavesOut means that something is not among the missed because it does not count.
	leavesOut bool
}

// missed is what pods of a reader may have missed of a content.
type missed struct {
	// read is when the last of these pods read the config.
	read time.Time
	// counts means that they restart for it, as far as their workload is enabled, and ignored that they do not, or not for all of it.
	counts, ignored bool
}

// add adds a pod to those of its owner, if it reads any of the configs.
func (j *judge) add(found map[owner]*group, pod *Pod) {
	w := j.of(pod)
	references := j.references(pod, w)
	if len(references) == 0 {
		return
	}
	by := pod.workload
	switch {
	case by.kind == "":
		by.name = pod.Name
	case w == nil && j.overview(pod.Namespace) != nil:
		by = pod.controller
	}
	g := found[by]
	if g == nil {
		g = &group{Reader: Reader{Namespace: pod.Namespace, Name: j.nameOf(pod, w)}, kind: by.kind, workload: w, missed: make(map[*Content]missed)}
		found[by] = g
	}
	g.Pods++
	if !pod.IsLeaving {
		g.stay++
	}
	isLeft := false
	for i := range references {
		isLeft = j.miss(g, pod, &references[i]) || isLeft
	}
	if isLeft {
		g.Left++
		if pod.IsLeaving {
			g.Leaving++
			g.leaver = firstToLeave(g.leaver, pod)
		}
	}
}

// references returns by what a pod, whose workload is nil if none is known, reads the configs.
func (j *judge) references(pod *Pod, w *facts.Workload) []template.Reference {
	references := pod.References
	if w == nil {
		return references
	}
	for i := range w.References { // only its annotations show what its programs read through the API
		r := &w.References[i]
		c := j.contents[r.Config.Source()]
		if r.Channel == template.API && c != nil && (!r.Config.IsShared() || c.Config.As(r.Config) != nil) { // anybody may name it
			references = append(slices.Clip(references), *r)
		}
	}
	return references
}

// miss notes what a pod may have missed that it reads by a reference, and reports whether it has.
func (j *judge) miss(g *group, pod *Pod, by *template.Reference) bool {
	c := j.contents[by.Config.Source()]
	read, hasRead := pod.FirstRead(by)
	if !hasRead && pod.IsUnreported {
		read, hasRead = pod.Created, true
		g.unreported = g.unreported || c.isAfter(pod, read, by.Keys)
	}
	if !hasRead || !c.Undated && !c.isAfter(pod, read, by.Keys) {
		return false
	}
	counts, ignored := j.counts(g.workload, c, pod, read, by.Keys)
	if j.EnabledOnly && !counts {
		g.leavesOut = true
		return false
	}
	m := g.missed[c]
	g.missed[c] = missed{names.Latest(m.read, read), m.counts || counts, !j.EnabledOnly && (m.ignored || ignored)}
	return true
}

// nameOf names the owner of a pod as kubectl does.
func (j *judge) nameOf(pod *Pod, w *facts.Workload) string {
	switch {
	case w != nil:
		return w.Name()
	case pod.Kind == "":
		return "pod/" + pod.Name
	case pod.workload.kind == string(names.Deployment) && j.overview(pod.Namespace) == nil:
		return "deployment/" + pod.workload.name
	}
	return strings.ToLower(pod.Kind) + "/" + pod.Owner
}

// isUncounted reports whether the controller does not restart a reader for any of the contents that it may have missed.
func (j *judge) isUncounted(g *group) bool {
	switch {
	case g.workload == nil:
		return g.kind == "" || g.kind == job || j.overview(g.Namespace) != nil
	case !g.workload.Enabled:
		return !g.workload.EnabledUnknown
	}
	return g.leavesOut && len(g.missed) == 0
}

const job = "Job"

// counts reports whether a workload, nil if none is known, restarts for a content that a pod may have missed, as far as it is enabled,
// and whether its annotations or those of the config leave out that or a part of it.
func (j *judge) counts(w *facts.Workload, c *Content, pod *Pod, read time.Time, keys template.Selection) (counts, ignored bool) {
	if w == nil || !w.Enabled {
		return true, false
	}
	ref := c.in(pod.Namespace)
	var counted []template.Selection
	if !w.IgnoresBy(ref, c.Policy) {
		counted = content.Selections(template.ReferencesTo(w.References, ref))
	}
	if c.Undated || c.replaces(read) {
		return len(counted) > 0, len(counted) == 0
	}
	for _, edit := range c.Edits {
		if c.misses(pod, read, keys, edit) {
			isCounted := c.IsSeen(edit, counted)
			counts, ignored = counts || isCounted, ignored || !isCounted
		}
	}
	return counts, ignored
}

// ignored returns the contents among those that pods may have missed for which, or for a part of which, their workload does not
// restart.
func (g *group) ignored() (contents []string) {
	for c, missed := range g.missed {
		if missed.ignored {
			contents = append(contents, c.Name())
		}
	}
	slices.Sort(contents)
	return contents
}

// isIgnored reports whether the workload does not restart for anything that its pods may have missed.
func (g *group) isIgnored() bool {
	for _, missed := range g.missed {
		if missed.counts {
			return false
		}
	}
	return len(g.missed) > 0
}

// undated returns the contents among those that pods may have missed of which no date is known.
func (g *group) undated() (contents []string) {
	for c := range g.missed {
		if c.Undated {
			contents = append(contents, c.Name())
		}
	}
	slices.Sort(contents)
	return contents
}

// judge finds out what becomes of a reader.
func (j *judge) judge(g *group) {
	w := g.workload
	switch {
	case g.Left == 0:
		g.Verdict = Delivered
	case g.Leaving == g.Left:
		g.terminate()
	case len(g.undated()) > 0:
		g.Verdict, g.Why = Unknown, "the managedFields of "+text.List(g.undated(), 3)+" do not say when it was edited"
	case g.unreported:
		g.Verdict, g.Why = Waits, "nodes have not reported whether containers have started"
	case g.kind == job:
		g.Verdict, g.Why = Waits, "it runs until its Job ends"
	case g.kind == "":
		g.Verdict, g.Why = Stays, "it is a pod that no controller owns, so nobody replaces it"
		g.Remedy = fmt.Sprintf("kubectl delete -n %s %s", g.Namespace, g.Name)
	case j.overview(g.Namespace) == nil:
		g.Verdict, g.Why = Waits, "whether it restarts is not known: you may not list the workloads"
	case w == nil:
		g.Verdict, g.Why = Stays, "it is no workload that the controller knows"
	case w.EnabledUnknown:
		g.Verdict, g.Why = Waits, "whether it restarts is not known: you may not read what enables it"
	case !w.Enabled:
		g.Verdict, g.Why, g.Remedy = Stays, "not enabled: "+w.Why(), g.restart()
	case g.isIgnored() && w.Rollout.Outdated <= 0: // else pods of an earlier template are on their way out
		g.ignore()
	default:
		j.stand(g)
	}
}

// firstToLeave returns which of two pods terminates for longer; the first one may be nil.
func firstToLeave(a, b *Pod) *Pod {
	if a != nil && cmp.Or(a.leavingSince.Compare(b.leavingSince), strings.Compare(a.Name, b.Name)) <= 0 {
		return a
	}
	return b
}

// terminate notes that the pods that are left terminate.
func (g *group) terminate() {
	g.Verdict, g.Why = Waits, "they terminate, such as "+g.leaver.leaving
	g.Remedy = fmt.Sprintf("kubectl describe -n %s pod/%s", g.Namespace, g.leaver.Name)
}

// ignore notes that a reader stays because of what does not count.
func (g *group) ignore() {
	g.Verdict, g.Why, g.Remedy = Stays, "it does not restart for what has changed in "+text.List(g.ignored(), 3)+": annotations leave it out, or no container sees it", g.restart()
}

// restart returns the command that restarts a workload, empty if kubectl has none.
func (g *group) restart() string {
	if g.workload.Ref.Kind.IsCustom() {
		return ""
	}
	return fmt.Sprintf("kubectl rollout restart -n %s %s", g.Namespace, g.Name)
}

// stand finds out what becomes of an enabled workload by how it stands.
func (j *judge) stand(g *group) {
	is := j.standingOf(g.workload.Ref)
	state := string(is.State)
	if !is.Until.IsZero() {
		state += " until " + is.Until.UTC().Format(time.RFC3339)
	}
	g.Verdict, g.Why = Waits, text.Join(": ", state, is.Why)
	if is.IsDryRun {
		g.Verdict, g.Why, g.Remedy = Stays, "the controller is a dry run, which restarts nothing", g.restart()
		return
	}
	switch is.State {
	case overview.Settled:
		j.settle(g, &is)
	case overview.Failed:
		if j.hasRestartedSince(g) { // else the last edit may be what mends it
			g.Verdict = Stays
		}
	case overview.Lacking, overview.Held, overview.OnHold, overview.LeftAlone, overview.NotApplied:
		g.Verdict = Stays
	}
	if g.Verdict == Waits && g.Left > g.Leaving && g.workload.Hold.HoldsAll() { // whatever the controller does with its template
		g.Verdict, g.Why = Stays, facts.ByHand(g.workload.Hold)
	}
	if g.Verdict == Stays && g.Remedy == "" {
		g.Remedy = fmt.Sprintf("kubectl restarts explain -n %s %s", g.Namespace, g.Name)
	}
}

// settle finds out what becomes of an enabled workload of which nothing is known to be due.
func (j *judge) settle(g *group, is *overview.Standing) {
	_, isEvicted := g.workload.Record.EvictedAt()
	g.Why = "nothing shows yet that it restarts"
	isTold, isUnwatched := j.isTold(g, is)
	switch {
	case isTold && len(g.ignored()) > 0:
		g.ignore()
	case isTold: // what terminates may be older than what is recorded
		if g.Left = g.Leaving; g.Left > 0 {
			g.terminate()
		} else {
			g.Verdict, g.Why = Delivered, ""
		}
	case g.workload.Hold != workload.NoHold:
		g.Verdict, g.Why = Stays, facts.ByHand(g.workload.Hold)
	case g.workload.Rollout.Outdated > 0:
		g.Why = "pods of an earlier template are left"
	case isEvicted:
		g.Why = "it restarts " + g.workload.ByEviction()
	case g.hasOthers():
		g.Verdict, g.Why = Stays, "more pods are named like its own than it has"
	case isUnwatched:
		g.Verdict, g.Why, g.Remedy = Stays, "the leader does not watch it, or not what it reads", g.restart()
	}
}

// hasRestartedSince reports whether a workload has restarted since the last edit of what its pods may have missed.
func (j *judge) hasRestartedSince(g *group) bool {
	last, _ := g.workload.Restarted()
	restarted, err := time.Parse(time.RFC3339Nano, last)
	if err != nil {
		return false
	}
	for c := range g.missed {
		if edited, _ := c.Edited(); !restarted.After(edited) {
			return false
		}
	}
	return true
}
