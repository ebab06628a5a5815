package controller

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/status"
)

// haltNews describes a halt of the restarts for a config, for the report of it.
type haltNews struct {
	id     string
	config names.ConfigRef
	// on is the config that the failed restart was for. It may be a copy of the one that is halted, and while a
	// namespace has too many halts, no single config is halted.
	on   names.ConfigRef
	held int // how many restarts wait
	// begins means that the halt begins with this failure.
	begins bool
}

// failedRestart is a restart that failed, and what it was for.
type failedRestart struct {
	id       string // by which the gate knows it
	began    time.Time
	causes   []decide.Cause
	recorded names.Sequence // the moment of its record
}

// evidenceOf returns what a pod showed.
func evidenceOf(seen *delivery.Sight) gate.Evidence {
	return gate.Evidence{Pod: seen.Pod, Container: seen.Container, HasRestarted: seen.HasRestarted}
}

// halt notes a restart that failed, and returns the halts that begin or go on because of that, and whether
// the failure counts at all: only configs count whose restarts are gradual, and whose content is still what the
// restart delivered.
func (g *gatekeeper) halt(w *workload.Workload, restart *failedRestart, seen gate.Evidence, now time.Time) (halts []haltNews, counts bool) {
	for i := range restart.causes {
		cause := &restart.causes[i]
		failure, isDelivered := g.failureOf(w, restart, cause)
		if !isDelivered {
			continue
		}
		failure.Began, failure.Evidence, counts = restart.began, seen, true
		if local := g.fail(failure, now); local != nil {
			local.on = cause.Config
			halts = append(halts, *local)
		}
		c := g.inGroup(gate.Cause{Config: cause.Config, IsGradual: true})
		if !gate.IsGroup(c.Group) {
			continue
		}
		ofGroup := &gate.Failure{Workload: w.Ref, Config: c.Group, Content: c.Content, Began: restart.began}
		if h := g.fail(ofGroup, now); h != nil {
			h.on = cause.Config
			halts = append(halts, *h)
		}
	}
	return halts, counts
}

// fail notes a failure, and returns the halt that follows; nil if there is none.
func (g *gatekeeper) fail(failure *gate.Failure, now time.Time) *haltNews {
	g.mu.Lock()
	defer g.mu.Unlock()
	id := newHaltID()
	h := g.ledger.Fail(failure, id, now)
	if h == nil {
		return nil
	}
	return &haltNews{id: h.ID, config: h.Config, held: g.ledger.Due(h.Config), begins: h.ID == id}
}

// failureOf describes what failed, and reports whether the restart was part of a gradual fan-out of the config,
// which still has the content that was delivered.
func (g *gatekeeper) failureOf(w *workload.Workload, restart *failedRestart, cause *decide.Cause) (failure *gate.Failure, isDelivered bool) {
	keys := haltedKeys(cause)
	content := g.catalog.ContentID(cause.Config, keys)
	g.ofCurrent(w.Ref, restart.id, func() { isDelivered = g.ledger.IsPartOf(w.Ref, cause.Config) })
	isDelivered = isDelivered && content != "" && !g.catalog.MissedEdit(w, cause.Config) &&
		!g.catalog.EditedSince(cause.Config, cause.AllKeys(), restart.recorded) && // which comes last, like the next
		(len(keys) > 0 || !g.catalog.ShowedEditTo(w, cause.Config, restart.recorded)) // the whole content would be halted
	return &gate.Failure{Workload: w.Ref, Config: cause.Config, Keys: keys, Content: content, Key: g.catalog.ContentKey(cause.Config)}, isDelivered
}

// haltedKeys returns the keys for which a cause halts restarts; none means all. The keys of Secrets are
// not named outside of this process, and neither are very long names.
func haltedKeys(cause *decide.Cause) []string {
	keys, size := cause.AllKeys(), 0
	for _, key := range keys {
		size += len(key)
	}
	if cause.Config.Kind.IsSecret() || size > longestHaltKeys {
		return nil
	}
	return keys
}

// firstPatience is how long the others wait for it to be known whether workloads restart that a former
// content has broken. Their grace period may be much longer.
const firstPatience = time.Minute

// hasContent reports whether the content of a config that exists has an id, without making it, which takes long for a large one.
func (g *gatekeeper) hasContent(config names.ConfigRef) bool {
	if config.Kind.IsPerPod() {
		return g.catalog.ContentID(config, nil) != ""
	}
	return !config.Kind.IsSecret() || g.catalog.ContentKey(config) != ""
}

// contentChanged ends the halts of a config for keys that have changed. The workloads that the former
// content has broken go first. The contents are compared without the lock, because that takes time.
func (g *gatekeeper) contentChanged(config names.ConfigRef, now time.Time) {
	if gate.IsGroup(config) {
		g.dropGroupHalts(config)
		return
	}
	contents := g.haltedContents(config)
	if len(contents) == 0 || g.catalog.HasConfig(config) && !g.hasContent(config) {
		return // there are no halts, or the key of Secrets is not known yet
	}
	isOver, key := make(map[string]bool), g.catalog.ContentKey(config)
	for content, failed := range contents {
		if failed.Key != "" && failed.Key != key { // the same content has another id now
			isOver[content] = g.catalog.ShowedEdit(config, failed.Keys, failed.Since)
		} else {
			isOver[content] = g.catalog.ContentID(config, failed.Keys) != content
		}
	}
	why := "its content has changed"
	if !g.catalog.HasConfig(config) {
		why = "it is gone"
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var broken []names.WorkloadRef
	for _, h := range g.ledger.EndHalts(config, func(content string) bool { return isOver[content] }) {
		g.over(h, why)
		for _, ref := range h.Failed {
			if w := g.catalog.Workload(ref); w != nil && slices.Contains(w.Configs(), config) {
				broken = append(broken, ref)
			}
		}
	}
	if len(broken) > 0 {
		g.ledger.GoFirst(config, broken, now.Add(firstPatience))
	}
}

// haltedContents returns the contents for which a config has halts, or failures.
func (g *gatekeeper) haltedContents(config names.ConfigRef) map[string]gate.FailedContent {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ledger.Contents(config)
}

// dropGroupHalts ends the halts of a group for content that no copy has any more. Looking for the copies takes
// time, so that happens without the lock.
func (g *gatekeeper) dropGroupHalts(group names.ConfigRef) {
	for content := range g.haltedContents(group) {
		if !g.catalog.IsContentOf(group.Kind, group.Name, content) {
			g.contentGone(group, content)
		}
	}
}

func (g *gatekeeper) contentGone(group names.ConfigRef, gone string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, h := range g.ledger.EndHalts(group, func(content string) bool { return content == gone }) {
		g.over(h, "no copy has the content any more")
	}
}

// recovered ends the halts of configs because a workload that failed runs with them after all, and reports whether there was one.
func (g *gatekeeper) recovered(w *workload.Workload) (hasEnded bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, config := range w.Configs() {
		for _, halted := range []names.ConfigRef{config, gate.GroupOf(config.Kind, config.Name)} {
			reads := func(h *gate.Halt) bool { // other copies of a group may have other content than this one by now
				return w.Selects(config, h.Keys) && (halted == config || h.Content == g.catalog.ContentID(config, nil))
			}
			for _, h := range g.ledger.Recovered(w.Ref, halted, reads) {
				g.over(h, recovery(w.Ref, halted))
				hasEnded = true
			}
		}
	}
	return hasEnded
}

// resume ends a halt of a config if its owner has asked for that with the id of the halt, and reports
// whether it did.
func (g *gatekeeper) resume(config names.ConfigRef, now time.Time) bool {
	id := g.catalog.PolicyOf(config).Resume
	if id == "" {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.ledger.Resume(config, id, now)
	if h == nil {
		return false
	}
	g.over(h, "a person has set "+annotation.ResumeAnnotation+"="+id)
	return true
}

// resumeByID ends a halt that a person has removed from the record of halts.
func (g *gatekeeper) resumeByID(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, config := range g.ledger.Halted() {
		if h := g.ledger.Resume(config, id, time.Now()); h != nil {
			g.over(h, "a person has removed it from the ConfigMap of halts")
		}
	}
}

// over reports that a halt is over, and why. It must be called with the lock held.
func (g *gatekeeper) over(h *gate.Halt, why string) {
	g.log.Info("restarts for a config are resumed", "config", h.Config, "halt", h.ID, "because", why)
	if len(g.whyOver) >= maxReports {
		clear(g.whyOver)
	}
	g.whyOver[h.Config] = why
	on, where := reportedOn(h)
	g.notices.note(on, corev1.EventTypeNormal, reasonResumed, "resumed"+where+": "+why)
}

// whyResumed returns why the last halt of a config is over, empty if that is not known any more.
func (g *gatekeeper) whyResumed(config names.ConfigRef) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.whyOver[config]
}

// recovery names a workload that runs after all, unless whoever reads it may not see its namespace.
func recovery(ref names.WorkloadRef, halted names.ConfigRef) string {
	name := workloadName(ref)
	if gate.IsGroup(halted) {
		name = "a workload that failed"
	}
	return name + " runs after all"
}

// restore takes in a halt of a former leader.
func (g *gatekeeper) restore(h gate.Halt) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ledger.Restore(h, time.Now())
}

// halted returns the configs with halts.
func (g *gatekeeper) halted() []names.ConfigRef {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ledger.Halted()
}

// records returns what to write down of the halts of each config, sorted.
func (g *gatekeeper) records() [][]gate.HaltRecord {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all [][]gate.HaltRecord
	for _, config := range g.ledger.Halted() {
		var ofOne []gate.HaltRecord
		for _, h := range g.ledger.HaltsOf(config) {
			ofOne = append(ofOne, h.Record())
		}
		if len(ofOne) > 0 {
			all = append(all, ofOne)
		}
	}
	slices.SortFunc(all, func(a, b []gate.HaltRecord) int { return cmp.Compare(a[0].Config, b[0].Config) })
	return all
}

// holdEverything takes in why all restarts are held, empty if they are not, and reports whether that has begun or is over.
func (g *gatekeeper) holdEverything(why string) (hasChanged bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case why != "" && why != g.everything:
		g.log.Warn("all restarts are held", "why", why)
	case why == "" && g.everything != "":
		g.log.Info("the hold of all restarts is over", "was", g.everything)
	}
	hasChanged = (g.everything == "") != (why == "")
	g.everything = why
	return hasChanged
}

// setHaltsKnown notes that the halts of former leaders were read, or that restarts go on without them.
func (g *gatekeeper) setHaltsKnown(wereRead bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.knowsHalts, g.hasReadHalts = true, g.hasReadHalts || wereRead
}

// haltsGap says what follows if the ConfigMap of halts cannot be used.
func (g *gatekeeper) haltsGap() (gap status.Gap, found bool) {
	g.mu.Lock()
	text := "The next leader will not know of new halts, because this one cannot read or update the ConfigMap of halts"
	switch {
	case !g.knowsHalts:
		text = "Restarts wait for a minute, and then begin without the halts of former leaders, because the controller cannot read or update the ConfigMap of halts"
	case !g.hasReadHalts:
		text = "Halts of former leaders are ignored, if there are any, because the controller cannot read the ConfigMap of halts"
	}
	g.mu.Unlock()
	return g.haltsObject.gap(text)
}

// setHaltsTried notes that it was tried to read what is kept for all leaders.
func (g *gatekeeper) setHaltsTried() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hasTried = true
}

// activeHalts returns copies of the halts that stop restarts.
func (g *gatekeeper) activeHalts() []gate.Halt {
	g.mu.Lock()
	defer g.mu.Unlock()
	var active []gate.Halt
	for _, config := range g.ledger.Halted() {
		for _, h := range g.ledger.HaltsOf(config) {
			if h.IsActive() {
				active = append(active, *h)
			}
		}
	}
	return active
}

// knowsOfHalts reports whether it was tried to read what is kept for all leaders, and whether the halts of
// former leaders are known.
func (g *gatekeeper) knowsOfHalts() (hasTried, knowsHalts bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.hasTried, g.knowsHalts
}
