package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// The sentence that a report begins with.

// decide decides about the workload with the ConfigMaps, because what the record says about Secrets
// cannot be read.
func (in *Input) decide() decide.Decision {
	c := catalog.New(names.ConfigMap)
	var configs []*content.Config
	for _, config := range in.Configs {
		if config.Ref.Kind == names.ConfigMap {
			own := *config
			configs = append(configs, &own)
		}
	}
	c.ListConfigs(names.ConfigMap, "", configs, in.Now, true, func(names.ConfigRef) {})
	w := in.Workload.Workload
	c.ListWorkloads(w.Ref.Kind, "", []*workload.Workload{&w}, 0, func(names.WorkloadRef) {})
	view, _ := c.View(w.Ref)
	return decide.Decide(view)
}

// changed returns the configs that cause a restart, with their names.
func (in *Input) changed(decision *decide.Decision) (configs []*content.Config, names string) {
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
	case !w.Enabled || in.Unknown != nil:
		return name + " " + in.notEnabled()
	case w.Deleting:
		return name + " is being deleted."
	case w.LeftAlone(in.lastOf(facts.TooManyReferences)) != "":
		return fmt.Sprintf("%s is left alone, so no config change restarts it: %s.", name, w.LeftAlone(in.lastOf(facts.TooManyReferences)))
	case len(w.References) == 0:
		return name + " reads no ConfigMap or Secret that counts, so no edit restarts it" + limits(w.Filter()) + "."
	}
	decision := in.decide()
	restarted, _ := w.Restarted()
	switch {
	case decision.Outcome == decide.Restart:
		configs, names := in.changed(&decision)
		return fmt.Sprintf("%s has not restarted yet for what has changed in %s: %s.", name, names, in.waits(configs))
	case w.Idle:
		return in.idle()
	case in.lacks() != "":
		return fmt.Sprintf("%s lacks a config: %s.", name, in.lacks())
	case decision.Outcome == decide.AskPods, decision.Outcome == decide.AskConfigs:
		return fmt.Sprintf("%s: the record alone does not decide; when its pods started does, which the leader looks at if it may (%s).", name, decision.Reason)
	case in.rolls(now) != "":
		return in.rolls(now)
	case w.Record.Evict > 0 && w.Method() == policy.ByEviction:
		return fmt.Sprintf("%s was restarted by eviction at %s; pods that were created before may be left.", name, ago(restarted, now))
	}
	return in.atRest()
}

// limits says what annotations leave of what a workload reads, empty if they say nothing.
func limits(f template.Filter) string {
	var limits []string
	if f.Only != "" {
		limits = append(limits, fmt.Sprintf("`only` names %.60q", f.Only))
	}
	if f.Ignore != "" {
		limits = append(limits, fmt.Sprintf("`ignore` names %.60q", f.Ignore))
	}
	if len(limits) == 0 {
		return ""
	}
	return " (its annotation " + strings.Join(limits, ", and ") + ")"
}

// notEnabled says why no edit restarts the workload: it is not enabled, or the leader does not know it.
func (in *Input) notEnabled() string {
	w := &in.Workload
	switch {
	case w.Enabled:
		return fmt.Sprintf("seems to be enabled, by %s, but the leader knows no enabled workload of this name, so no edit restarts it: %s.", w.Why(),
			"either it has just been enabled, or its kind or namespace is not watched, which the flags --workload and --namespace of the controller decide")
	case w.EnabledUnknown && in.Unknown == nil:
		return fmt.Sprintf("does not seem to be enabled: %s, and you may not read what else may enable it.", w.Why())
	}
	return fmt.Sprintf("is not enabled, so no edit restarts it: %s.", w.Why())
}

// atRest says how a workload is for which nothing seems to be under way.
func (in *Input) atRest() string {
	w, name := &in.Workload, in.name()
	switch {
	case w.Record.Checksums == nil:
		return name + " has no record yet; a controller that runs, watches the namespace and may read what it reads makes one after the grace period."
	case in.editedSecret() != nil:
		secret := in.editedSecret()
		return fmt.Sprintf("%s may have to restart: %s was edited at %s, after its record was made, and only the leader can compare a Secret; if it cannot, its /readyz and log say why%s.",
			name, facts.ConfigName(secret.Ref), w.EditedAfterRecord(secret).UTC().Format(time.RFC3339), in.wouldHold()+in.besides())
	case len(in.Unreadable) > 0:
		return fmt.Sprintf("%s may or may not be up to date, because you may not read all that it reads, such as %s%s.", name, facts.ConfigName(in.Unreadable[0]), in.wouldHold())
	case w.AtStep != "":
		return fmt.Sprintf("%s waits at a step of its rollout, and for nothing else%s%s.", name, in.reservation(), in.wouldHold())
	case w.LacksPods():
		return fmt.Sprintf("%s waits for no restart%s, but not all of its pods run: %s. What helps: %s.", name, in.reservation(), in.pods(), status.LookAtPods)
	}
	if w.IsFallenBack() {
		name += " runs an earlier release, because the present one has failed, and"
	}
	return fmt.Sprintf("%s is up to date%s%s.", name, in.reservation(), in.wouldHold())
}

func (in *Input) idle() string {
	return in.name() + " wants no pods; pods that start later read the present content. " +
		"If another controller makes pods from its pod template, such as Argo Rollouts or Flagger, an edit does not restart those."
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
		if hold.By == policy.ByConfig {
			edit += " of " + facts.ConfigName(hold.Config)
		}
		return "; " + edit + " would be held: " + strings.TrimSuffix(hold.Text, ".")
	}
	return ""
}

// lastFailure returns what the last Event since the last restart says about why it does not follow, and since when at least
// Events say so; empty if there is none.
func (in *Input) lastFailure() (message string) {
	restarted, _ := in.Workload.Restarted()
	since, _ := time.Parse(time.RFC3339Nano, restarted) // zero if it never restarted
	var failed *facts.Event
	var first time.Time
	for i := range in.Events { // the latest first
		e := &in.Events[i]
		if e.At.Before(since.Truncate(time.Second)) || failed != nil && e.EndsFailures() && e.At.Before(failed.At) {
			break
		}
		switch {
		case e.EndsFailures():
			return ""
		case e.Reason != facts.RestartFailed && e.Reason != facts.RestartBackoff:
			continue
		case failed == nil:
			failed = e
		}
		for _, at := range []time.Time{e.At, e.First} {
			if !at.IsZero() && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
	}
	if failed == nil {
		return ""
	}
	return fmt.Sprintf("%s (at least since %s)", strings.TrimSuffix(failed.Message, "."), first.UTC().Format(time.RFC3339))
}

// rolls says that not all pods run since the last restart, and why if an Event does; empty if that is not the case.
func (in *Input) rolls(now time.Time) string {
	restarted, _ := in.Workload.Restarted()
	switch failed := in.hasFailed(); {
	case failed != nil:
		return fmt.Sprintf("%s was restarted at %s, and not all of its pods run: %s.", in.name(), ago(restarted, now), strings.TrimSuffix(failed.Message, "."))
	case in.Workload.AtStep != "": // on purpose
	case restarted != "" && !in.Workload.Rollout.IsWhole() && !in.Workload.Rollout.ByPods:
		return fmt.Sprintf("%s is rolling, or cannot: it was restarted at %s, and not all of its pods run.", in.name(), ago(restarted, now))
	}
	return ""
}

// hasFailed returns the Event that says that the last restart has failed, nil if there is none, or all pods run.
func (in *Input) hasFailed() *facts.Event {
	restarted, _ := in.Workload.Restarted()
	since, err := time.Parse(time.RFC3339Nano, restarted)
	failed := in.lastOf(facts.RestartNotDelivered)
	if failed == nil || err != nil || failed.At.Before(since.Truncate(time.Second)) || in.Workload.Rollout.IsWhole() {
		return nil
	}
	return failed
}

// lastOf returns the last Event of a reason, nil if there is none.
func (in *Input) lastOf(reason string) *facts.Event {
	for i := range in.Events { // the latest first
		if in.Events[i].Reason == reason {
			return &in.Events[i]
		}
	}
	return nil
}

// editedSecret returns a Secret of which a key that the workload reads was edited after the record was made, nil if none was.
func (in *Input) editedSecret() *content.Config {
	for _, config := range in.Configs {
		if config.Ref.Kind.IsSecret() && !in.Workload.EditedAfterRecord(config).IsZero() {
			return config
		}
	}
	return nil
}

func (in *Input) reservation() string {
	reads := func(isSecret bool) bool {
		return slices.ContainsFunc(in.Workload.References, func(r template.Reference) bool { return r.Config.Kind.IsSecret() == isSecret })
	}
	switch {
	case !reads(true):
		return ""
	case !reads(false):
		return " as far as the times of edits of its Secrets show"
	}
	return " as far as its ConfigMaps show"
}

// lacks says which config does not exist that new pods need to start, empty if all exist or it is not known.
func (in *Input) lacks() string {
	lacks := in.Workload.Lacks(func(ref names.ConfigRef) bool { return in.config(ref) == nil && !slices.Contains(in.Unreadable, ref) })
	if lacks == "" {
		return ""
	}
	return status.CreateConfig.After(lacks)
}

// besides says what else is wrong if a restart waits for people: a config that is missing, and why the last attempt failed.
func (in *Input) besides() (besides string) {
	if lacks := in.lacks(); lacks != "" {
		besides = ". Besides, " + lacks
	}
	if failed := in.lastFailure(); failed != "" {
		besides += ". Besides, the last Event about an attempt says: " + failed
	}
	return besides
}

// waits says what a restart that is due waits for.
func (in *Input) waits(configs []*content.Config) string {
	w := &in.Workload
	var halt *gate.Halt
	for _, active := range in.halts() {
		if slices.ContainsFunc(configs, func(c *content.Config) bool { return facts.Concerns(&active, c.Ref) }) {
			halt = &active
			break
		}
	}
	switch answer := w.Admit(configs, in.Halts.Hold, halt, in.lacks(), in.Now); {
	case answer.Reason == gate.Hold:
		return strings.TrimSuffix(answer.Text, ".") + in.besides()
	case answer.Reason == gate.Halted:
		return "it is halted (see Halts): " + facts.SumUpHalt(halt) + in.besides()
	case answer.Reason == gate.Missing:
		return answer.Text
	case w.Hold.HoldsAll():
		return facts.ByHand(w.Hold) + in.besides()
	case answer.Reason == gate.Window:
		return facts.Opening(answer.Text, answer.Until) + in.besides()
	}
	if in.Leads != nil && !*in.Leads {
		return "it waits, probably because no replica of the controller leads" + in.besides()
	}
	if failed := in.lastFailure(); failed != "" {
		return "the last Event about that says: " + failed
	}
	grace := "its grace period"
	if own, isOwn := w.GracePeriod.Own(); isOwn {
		grace += " of " + own.String()
	}
	return "nothing that you can see holds it back; it waits for " + grace +
		", or its turn, or the controller does not run, or lacks a permission: look at its /readyz or log"
}
