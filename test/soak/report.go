package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/test/soak/model"
)

// report is what a soak has come to.
type report struct {
	seed       uint64
	figures    []string
	violations []model.Violation
	stories    string
	logs       []string // about the failures
	failures   []string // beside the violations
}

func (r *report) add(format string, arguments ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, arguments...))
}

// failed reports whether something went wrong.
func (r *report) failed() bool { return len(r.violations)+len(r.failures) > 0 }

// stoodBy is in the log of an engine that takes another one, as the former leader, for a rival.
const stoodBy = "standing by: another controller drives deployments"

// These are enough to see what the violations have in common.
const (
	shownViolations = 8 // of each rule
	shownStories    = 6
	storiesOfRule   = 2 // one may be the machine's fault
)

// String is the report as people read it.
func (r *report) String() string {
	var text strings.Builder
	for _, figure := range r.figures {
		fmt.Fprintln(&text, figure)
	}
	for _, log := range r.logs {
		fmt.Fprintln(&text, log)
	}
	byRule := map[string]int{}
	for i := range r.violations {
		v := &r.violations[i]
		if byRule[v.Rule]++; byRule[v.Rule] <= shownViolations {
			fmt.Fprintf(&text, "WRONG: %s: %s %s at %s: %s\n", v.Rule, v.Workload.Kind, v.Workload.Name, v.At.UTC().Format("15:04:05.000"), v.What)
		}
	}
	if len(r.violations) > 0 {
		fmt.Fprintf(&text, "       in all: %s\n", list(byRule))
	}
	text.WriteString(r.stories)
	for _, failure := range r.failures { // last, because what shows only the end of a log must show them
		fmt.Fprintf(&text, "WRONG: %s\n", failure)
	}
	verdict := "nothing lost, nothing needless, nothing leaked"
	if r.failed() {
		verdict = "WRONG, see above"
	}
	fmt.Fprintf(&text, "verdict of the soak with seed %d: %s\n", r.seed, verdict)
	return text.String()
}

func (s *soak) report(atEnd footprint) *report {
	r := &report{seed: s.seed}
	violations, tally := s.judge.verdict()
	r.violations = violations
	figure := func(name, format string, arguments ...any) {
		r.figures = append(r.figures, fmt.Sprintf("%-10s %s", name, fmt.Sprintf(format, arguments...)))
	}
	edits, kills := s.driver.counts(), s.saboteur.counts()
	count, slowest := slowPods(s.pods)
	figure("workloads", "%d, of four kinds, with %d configs", len(s.world.workloads), len(s.world.configs))
	r.stories = s.stories(r.violations)
	figure("time", "%s, %s of it disturbed", time.Since(s.begin).Round(time.Second), s.duration)
	figure("edits", "%d: %s", sum(edits), list(edits))
	figure("restarts", "%d, of which %d were repeated after a revert, and %d were of pods that had read content that was undone",
		s.judge.restarts()-s.firstLook, tally.Again, tally.Returned)
	figure("of these", "%d by eviction; %d of Gadgets", s.restartsOf(func(d *workload) bool { return d.evicts }),
		s.restartsOf(func(d *workload) bool { return d.kind == gadgetKind }))
	calm, hostile := s.answers()
	figure("answers", "from the edit to the restart: in calm times %s; with hostile objects in another namespace, %s", calm, hostile)
	figure("hostility", "%d times: %s", len(s.spells), list(s.tenant.counts()))
	faults := s.proxy.Injected()
	figure("faults", "%d: %s", sum(faults), list(faults))
	figure("kills", "%d: %s; %d leases lost", sum(kills), list(kills), s.replicas.leasesLost())
	halts, resumed := s.judge.halts()
	figure("held", "%d halts, of which people resumed %d; %d pods crashed; %d restarts failed; at most %d of %d restarts rolled at the same time",
		halts, resumed, s.breaker.count(), s.replicas.countLogs("restart failed"), tally.Rolling, fanOutLimit)
	figure("truces", "%d, in which the controllers could see everything; outside of them, %d pods have read content that no controller could know of",
		s.truces.Load(), tally.Unknowable)
	if lines := s.replicas.logs(stoodBy); lines != "" { // there is no other engine, but a leader may be late to notice that it no longer leads
		figure("engine", "stood by, which delays everything:\n%s", strings.TrimSuffix(lines, "\n"))
	}
	versions := s.observer.counts()
	figure("observed", "%d versions: %s; with %d gaps in which the observer could not watch the API server", sum(versions), list(versions), s.observer.gaps.Load())
	if s.startedAnew > 0 {
		figure("cluster", "kube-controller-manager and KWOK were restarted %d times at the end, because rollouts were stuck", s.startedAnew)
	}
	figure("pods", "%d, of which %d started more than 10 s after their creation, the slowest after %s", len(s.pods), count, slowest)
	figure("at start", "%s", s.atStart)
	figure("at end", "%s", atEnd)
	most := float64(s.most.Load())
	figure("at most", "%.0f MiB resident", most/mebi)
	if most > mostResident {
		r.add("a controller has had %.0f MiB in RAM, more than %d", most/mebi, mostResident/mebi)
	}
	for _, crash := range s.replicas.crashed() {
		r.add("%s", crash)
	}
	return r
}

// restartsOf counts the restarts of some workloads.
func (s *soak) restartsOf(is func(*workload) bool) (count int) {
	for _, d := range s.world.workloads {
		if is(d) {
			count += s.judge.restartsOf(d.ref())
		}
	}
	return count
}

// stories describes what happened to the first workloads that went wrong by each rule, and what the
// controllers' logs have about them.
func (s *soak) stories(violations []model.Violation) string {
	var shown []model.WorkloadRef
	rules := map[string]int{}
	var text strings.Builder
	for i := range violations {
		ref, rule := violations[i].Workload, violations[i].Rule
		if len(shown) == shownStories || slices.Contains(shown, ref) || rules[rule] == storiesOfRule {
			continue
		}
		shown = append(shown, ref)
		rules[rule]++
		fmt.Fprintf(&text, "%sthe controllers' logs about it:\n%s", s.judge.story(ref), s.replicas.logs(ref.Name+" "))
	}
	return text.String()
}

// slowPods counts those that the cluster was slow to start, which is not the controller's fault,
// and returns how long the slowest took.
func slowPods(pods []model.Pod) (count int, slowest time.Duration) {
	for i := range pods {
		took := pods[i].Started.Sub(pods[i].Created)
		if took > 10*time.Second {
			count++
		}
		slowest = max(slowest, took)
	}
	return count, slowest
}

// list shows counts in a stable order.
func list[K cmp.Ordered](counts map[K]int) string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%v %d", what, counts[what]))
	}
	return strings.Join(parts, ", ")
}

func (r *replicas) leasesLost() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

func (r *replicas) crashed() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.crashes)
}

// auditPolicy makes the API server log what ServiceAccounts write to workloads, and who creates and deletes pods. The
// status is not among it: the deployment engine writes that of all Deployments.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    userGroups: ["system:serviceaccounts"]
    verbs: [create, update, patch, delete, deletecollection]
    resources:
      - group: apps
        resources: [deployments, statefulsets, daemonsets]
      - group: soak.example.com
        resources: [gadgets]
  - level: Metadata
    verbs: [create, delete, deletecollection]
    resources:
      - group: ""
        resources: [pods, pods/eviction]
  - level: None
`

const auditLog = "audit.log"

// judgeAudit finds writes to workloads that were never opted in. Unlike a watch, the
// log knows also of writes that nobody could observe.
func (s *soak) judgeAudit(r *report) {
	log, err := os.ReadFile(filepath.Join(s.directory, auditLog))
	if err != nil {
		r.add("cannot read the audit log: %v", err)
		return
	}
	never := map[string]bool{}
	for _, d := range s.world.workloads {
		if d.never {
			never[strings.ToLower(d.kind)+"s/"+d.namespace+"/"+d.name] = true
		}
	}
	writes := 0
	for line := range bytes.Lines(log) {
		var entry struct {
			User           struct{ Username string }
			ObjectRef      struct{ Resource, Subresource, Namespace, Name string }
			ResponseStatus struct{ Code int }
		}
		// The API server may have been killed as it wrote the line.
		if json.Unmarshal(line, &entry) != nil || entry.User.Username != s.account || entry.ObjectRef.Subresource != "" {
			continue
		}
		writes++
		if ref := entry.ObjectRef; never[ref.Resource+"/"+ref.Namespace+"/"+ref.Name] {
			r.add("not enabled: the controller has written to %s %s/%s, which was never opted in: %s", ref.Resource, ref.Namespace, ref.Name, line)
		}
	}
	if writes == 0 {
		r.add("the audit log shows no write of the controller at all")
	}
}
