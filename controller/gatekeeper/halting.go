package gatekeeper

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/wording"
)

// HaltNews describes a halt of the restarts for a config, for the report of it.
type HaltNews struct {
	ID     string
	Config names.ConfigRef
	// On is the config that the failed restart was for. It may be a copy of the one that is halted, and while a
	// namespace has too many halts, no single config is halted.
	On   names.ConfigRef
	Held int // how many restarts wait
	// Begins means that the halt begins with this failure.
	Begins bool
}

// FailedRestart is a restart that failed, and what it has brought.
type FailedRestart struct {
	ID        string // by which the gate knows it
	Began     time.Time
	Templates string // [delivery.Restart.Templates]
	Brought   []Brought
}

// Brought is a content that a restart has brought.
type Brought struct {
	Cause decide.Cause
	// Keys, Content and Key are those of the halt that would follow. The content is empty if it is not known, and OfGroup, that of the
	// whole copy, if the config has no copies.
	Keys                  []string
	Content, Key, OfGroup string
	recorded              names.Sequence // the moment of the record of the restart
}

// Brought returns what a restart has brought that was just made. Later, the configs may have other contents.
func (g *Gatekeeper) Brought(w *workload.Workload, causes []decide.Cause) []Brought {
	all := make([]Brought, 0, len(causes))
	for i := range causes {
		b := Brought{Cause: causes[i], recorded: w.RecordSeen}
		g.identify(&b, w)
		all = append(all, b)
	}
	return all
}

// BroughtAgain takes in that a later restart has brought contents, too, that an earlier one has.
func (g *Gatekeeper) BroughtAgain(w *workload.Workload, contents []Brought) {
	for i := range contents {
		contents[i].recorded = w.RecordSeen
		g.identify(&contents[i], w)
	}
}

// identify completes what a restart has brought to a workload, if the config still has it.
func (g *Gatekeeper) identify(b *Brought, w *workload.Workload) {
	cause, keys := &b.Cause, haltedKeys(&b.Cause)
	isPresent := !g.Catalog.MissedEdit(w, cause.Config) && !g.Catalog.EditedSince(cause.Config, cause.AllKeys(), b.recorded) && // which comes last, like the next
		(len(keys) > 0 || !g.Catalog.ShowedEditTo(w, cause.Config, b.recorded)) // the whole content would be halted
	if isPresent {
		b.Keys, b.Key, b.Content = keys, g.Catalog.ContentKey(cause.Config), g.Catalog.ContentID(cause.Config, keys)
		b.OfGroup = g.inGroup(gate.Cause{Config: cause.Config, IsGradual: true}).Content
	}
}

// Halt notes a restart that failed, and returns the halts that begin or go on because of that, and whether
// the failure counts at all: only configs count whose restarts are gradual. What a config does not contain any more is remembered.
func (g *Gatekeeper) Halt(w *workload.Workload, restart *FailedRestart, seen gate.Evidence, now time.Time) (halts []HaltNews, counts bool) {
	type content struct {
		config names.ConfigRef
		id     string
	}
	failed := make(map[content]bool) // each content counts once, whatever its keys
	fail := func(failure gate.Failure, on names.ConfigRef) {
		c := content{failure.Config, failure.Content}
		if c.id == "" || failed[c] {
			return
		}
		failed[c], failure.IsGone = true, g.isGone(failure.Config, failure.Keys, failure.Content)
		if h := g.Fail(&failure, now); h != nil {
			h.On = on
			halts = append(halts, *h)
		}
	}
	brought := restart.Brought
	for _, of := range g.exposuresOf(w.Ref) { // which may know more, if another process made the restart
		brought = append(brought, Brought{Cause: decide.Cause{Config: of.Config}, Keys: of.Keys, Content: of.Content, Key: g.Catalog.ContentKey(of.Config)})
	}
	for i := range brought {
		b := brought[i]
		if i < len(restart.Brought) {
			g.identify(&b, w) // other keys of a Secret may have been edited since
		}
		config, isPart := b.Cause.Config, false
		g.ofCurrent(w.Ref, restart.ID, func() { isPart = g.Ledger.IsPartOf(w.Ref, config) })
		if !isPart || b.Content == "" {
			continue
		}
		counts = true
		failure := gate.Failure{
			Workload: w.Ref, Config: config, Keys: b.Keys, Content: b.Content, Key: b.Key, Began: restart.Began, Evidence: seen, Template: restart.Templates,
		}
		fail(failure, config)
		failure.Config, failure.Keys, failure.Content, failure.Key, failure.Evidence = gate.GroupOf(config.Kind, config.Name), nil, b.OfGroup, "", gate.Evidence{}
		fail(failure, config)
	}
	return halts, counts
}

// isGone reports whether a config has another content by now.
func (g *Gatekeeper) isGone(config names.ConfigRef, keys []string, content string) bool {
	if gate.IsGroup(config) {
		return !g.Catalog.IsContentOf(config.Kind, config.Name, content)
	}
	return g.Catalog.ContentID(config, keys) != content
}

// Fail notes a failure, and returns the halt that follows; nil if there is none.
func (g *Gatekeeper) Fail(failure *gate.Failure, now time.Time) *HaltNews {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	id := NewHaltID()
	h := g.Ledger.Fail(failure, id, now)
	for _, forgotten := range g.Ledger.TakeForgotten() {
		g.Log.Warn("forgot a halt, because there are too many", "config", forgotten.Config, "halt", forgotten.ID)
	}
	if h == nil {
		return nil
	}
	return &HaltNews{ID: h.ID, Config: h.Config, Held: g.Ledger.Due(h.Config), Begins: h.ID == id}
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
func (g *Gatekeeper) hasContent(config names.ConfigRef) bool {
	if config.Kind.IsPerPod() {
		return g.Catalog.ContentID(config, nil) != ""
	}
	return !config.Kind.IsSecret() || g.Catalog.ContentKey(config) != ""
}

// ContentChanged ends the halts of a config for keys that have changed, and lets those hold again whose content is back. The workloads
// that the former content has broken go first. The contents are compared without the lock, because that takes time.
func (g *Gatekeeper) ContentChanged(config names.ConfigRef, now time.Time) {
	switch group := gate.GroupOf(config.Kind, config.Name); {
	case config == group:
		g.groupChanged(group)
	case slices.Contains(g.FanOut.Groups, group):
		g.copyChanged(config, group)
	}
	contents := g.HaltedContents(config)
	if gate.IsGroup(config) || len(contents) == 0 || g.Catalog.HasConfig(config) && !g.hasContent(config) {
		return // there are no halts, or the key of Secrets is not known yet
	}
	presence, why := g.presenceOf(config, contents), "its content has changed"
	if !g.Catalog.HasConfig(config) {
		why = "it is gone"
	}
	g.Mu.Lock()
	defer g.Mu.Unlock()
	var broken []names.WorkloadRef
	for _, h := range g.noteContent(config, func(content string) gate.Presence { return presence[content] }, why) {
		broken = append(broken, g.readersAmong(h.Failed, config)...)
	}
	g.Ledger.GoFirst(config, broken, now.Add(firstPatience))
}

// presenceOf returns which of the halted contents a config does not have. The others are present.
func (g *Gatekeeper) presenceOf(config names.ConfigRef, contents map[string]gate.FailedContent) map[string]gate.Presence {
	presence, key := make(map[string]gate.Presence), g.Catalog.ContentKey(config)
	for content, failed := range contents {
		switch {
		case failed.Key != "" && failed.Key != key: // the same content has another id now
			if failed.IsGone || g.Catalog.ShowedEdit(config, failed.Keys, failed.Since) {
				presence[content] = gate.Lost
			}
		case g.Catalog.ContentID(config, failed.Keys) != content:
			presence[content] = gate.Gone
		}
	}
	return presence
}

// readersAmong returns those of the workloads that read a config.
func (g *Gatekeeper) readersAmong(workloads []names.WorkloadRef, config names.ConfigRef) (readers []names.WorkloadRef) {
	for _, ref := range workloads {
		if w := g.Catalog.Workload(ref); w != nil && slices.Contains(w.Configs(), config) {
			readers = append(readers, ref)
		}
	}
	return readers
}

// Edited makes workloads go first in the fan-outs of a config that has just been edited if an earlier content of it may have
// broken them: they have the least to lose, and the others wait until it is known whether a restart of them is due.
func (g *Gatekeeper) Edited(config names.ConfigRef, now time.Time) {
	g.Mu.Lock()
	exposed := append(g.Ledger.Exposed(config), g.Ledger.Exposed(gate.GroupOf(config.Kind, config.Name))...)
	g.Mu.Unlock()
	exposed = g.readersAmong(exposed, config)
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.Ledger.GoFirst(config, exposed, now.Add(firstPatience))
}

// HaltedContents returns the contents for which a config has halts, or failures.
func (g *Gatekeeper) HaltedContents(config names.ConfigRef) map[string]gate.FailedContent {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	return g.Ledger.Contents(config)
}

// groupChanged ends the halts of a group for content that no copy has any more. Looking for the copies takes time, so that happens without
// the lock, and not at each edit of a copy.
func (g *Gatekeeper) groupChanged(group names.ConfigRef) {
	presence := make(map[string]gate.Presence)
	for content := range g.HaltedContents(group) {
		if !g.Catalog.IsContentOf(group.Kind, group.Name, content) {
			presence[content] = gate.Gone
		}
	}
	g.noteGroup(group, func(content string) gate.Presence { return presence[content] })
}

// copyChanged lets a halt of a group hold again whose content a copy has got.
func (g *Gatekeeper) copyChanged(config, group names.ConfigRef) {
	contents := g.HaltedContents(group)
	if len(contents) == 0 {
		return
	}
	present := g.Catalog.ContentID(config, nil)
	if _, isHalted := contents[present]; !isHalted {
		return
	}
	g.noteGroup(group, func(content string) gate.Presence {
		if content == present {
			return gate.Present
		}
		return gate.Unknown
	})
}

func (g *Gatekeeper) noteGroup(group names.ConfigRef, presence func(content string) gate.Presence) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.noteContent(group, presence, "no copy has the content any more")
}

// noteContent takes in which contents a config or a group has, reports which halts end because of that, and why, and which hold
// again, and returns those that end. It must be called with the lock held.
func (g *Gatekeeper) noteContent(config names.ConfigRef, presence func(content string) gate.Presence, why string) (ended []*gate.Halt) {
	ended, begun := g.Ledger.NoteContent(config, presence)
	for _, h := range begun {
		if !h.IsReportedAgain() {
			continue
		}
		on, where := ReportedOn(h)
		g.Log.Warn("restarts for a config are halted again", "config", h.Config, "halt", h.ID, "failed", wording.WorkloadNames(h.Failed))
		g.Notices.Note(on, corev1.EventTypeWarning, events.Halted, fmt.Sprintf("halted%s again: the content is back with which %s failed; revert the change, or resume with: %s",
			where, wording.BrokenBy(h), gate.ResumeCommand(h.Config, h.ID)))
	}
	for _, h := range ended {
		if h.IsReportedAgain() {
			g.over(h, why)
		}
	}
	return ended
}

// Recovered ends the halts of configs because a workload that failed runs with them after all, and reports whether there was one. What
// it runs was recorded at the given moment, and its template must be the one that failed: another one may run with anything.
func (g *Gatekeeper) Recovered(w *workload.Workload, recorded names.Sequence) (hasEnded bool) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	for _, config := range w.Configs() {
		for _, halted := range []names.ConfigRef{config, gate.GroupOf(config.Kind, config.Name)} {
			reads := func(h *gate.Halt) bool { // other copies of a group may have other content than this one by now
				isSame := func() bool { return h.Content == g.Catalog.ContentID(config, h.Keys) }
				return w.Selects(config, h.Keys) && (halted == config || isSame()) && h.FailedWith(w.Ref, w.Bare.String()) &&
					(!g.Catalog.EditedSince(config, h.Keys, recorded) || g.Catalog.IsBackSince(w, config, h.Keys, recorded) && isSame())
			}
			for _, h := range g.Ledger.Recovered(w.Ref, halted, reads) {
				g.over(h, recovery(w.Ref, halted))
				hasEnded = true
			}
		}
	}
	return hasEnded
}

// Resume ends a halt of a config if its owner has asked for that with the id of the halt, and reports
// whether it did.
func (g *Gatekeeper) Resume(config names.ConfigRef, now time.Time) bool {
	id := g.Catalog.PolicyOf(config).Resume
	if id == "" {
		return false
	}
	g.Mu.Lock()
	defer g.Mu.Unlock()
	h := g.Ledger.Resume(config, id, now)
	if h == nil {
		return false
	}
	g.over(h, "a person has set "+annotation.ResumeAnnotation+"="+id)
	return true
}

// ResumeByID ends a halt that a person has removed from the record of halts.
func (g *Gatekeeper) ResumeByID(id string) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	for _, config := range g.Ledger.Halted() {
		if h := g.Ledger.Resume(config, id, time.Now()); h != nil {
			g.over(h, "a person has removed it from the ConfigMap of halts")
		}
	}
}

// over reports that a halt is over, and why. It must be called with the lock held.
func (g *Gatekeeper) over(h *gate.Halt, why string) {
	g.Log.Info("restarts for a config are resumed", "config", h.Config, "halt", h.ID, "because", why)
	if len(g.whyOver) >= MaxReports {
		clear(g.whyOver)
	}
	g.whyOver[h.Config] = why
	on, where := ReportedOn(h)
	g.Notices.Note(on, corev1.EventTypeNormal, events.Resumed, "resumed"+where+": "+why)
}

// WhyResumed returns why the last halt of a config is over, empty if that is not known any more.
func (g *Gatekeeper) WhyResumed(config names.ConfigRef) string {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	return g.whyOver[config]
}

// recovery names a workload that runs after all, unless whoever reads it may not see its namespace.
func recovery(ref names.WorkloadRef, halted names.ConfigRef) string {
	name := wording.WorkloadName(ref)
	if gate.IsGroup(halted) {
		name = "a workload that failed"
	}
	return name + " runs after all"
}

// Restore takes in a halt of a former leader.
func (g *Gatekeeper) Restore(h gate.Halt) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.Ledger.Restore(h, time.Now())
}

// Halted returns the configs with halts.
func (g *Gatekeeper) Halted() []names.ConfigRef {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	return g.Ledger.Halted()
}

// Records returns what to write down of the halts of each config, sorted.
func (g *Gatekeeper) Records() [][]gate.HaltRecord {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	var all [][]gate.HaltRecord
	for _, config := range g.Ledger.Halted() {
		var ofOne []gate.HaltRecord
		for _, h := range g.Ledger.HaltsOf(config) {
			ofOne = append(ofOne, h.Record())
		}
		if len(ofOne) > 0 {
			all = append(all, ofOne)
		}
	}
	slices.SortFunc(all, func(a, b []gate.HaltRecord) int { return cmp.Compare(a[0].Config, b[0].Config) })
	return all
}

// HoldEverything takes in why all restarts are held, empty if they are not, and reports whether that has begun or is over.
func (g *Gatekeeper) HoldEverything(why string) (hasChanged bool) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	switch {
	case why != "" && why != g.everything:
		g.Log.Warn("all restarts are held", "why", why)
	case why == "" && g.everything != "":
		g.Log.Info("the hold of all restarts is over", "was", g.everything)
	}
	hasChanged = (g.everything == "") != (why == "")
	g.everything = why
	return hasChanged
}

// ActiveHalts returns copies of the halts that stop restarts.
func (g *Gatekeeper) ActiveHalts() []gate.Halt {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	var active []gate.Halt
	for _, config := range g.Ledger.Halted() {
		for _, h := range g.Ledger.HaltsOf(config) {
			if h.IsActive() {
				active = append(active, *h)
			}
		}
	}
	return active
}

// ReportedOn returns on which config an Event reports a halt, and where restarts are halted. A group is no object, so
// that is one of the copies with which a workload has failed.
func ReportedOn(h *gate.Halt) (on names.ConfigRef, where string) {
	if !gate.IsGroup(h.Config) || len(h.Failed) == 0 {
		return h.Config, ""
	}
	return names.ConfigRef{Kind: h.Config.Kind, Namespace: h.Failed[0].Namespace, Name: h.Config.Name}, " in all namespaces"
}

// longestHaltKeys is how many bytes the names of the keys of a halt may have together.
const longestHaltKeys = 512

// NewHaltID returns an id that a person can type.
func NewHaltID() string { return strings.ToLower(rand.Text()[:8]) }
