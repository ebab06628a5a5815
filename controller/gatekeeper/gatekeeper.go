package gatekeeper

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/rows"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/controller/store"
	"kubernetes-deployment-restart-controller/controller/window"
	"kubernetes-deployment-restart-controller/controller/wording"
	"kubernetes-deployment-restart-controller/internal/status"
)

// FanOutOptions determine how restarts that are due are held back.
type FanOutOptions struct {
	// Gradual means that the restarts for a content of a config start slowly, unless the config says
	// otherwise, and that all restarts count for the limit.
	Gradual bool
	// Limit is how many restarts may be under way at the same time. Failures is how many may fail for
	// one content before nobody else is restarted for it.
	Limit, Failures int
	// Groups name ConfigMaps that are copied into many namespaces; see [gate.GroupOf].
	Groups []names.ConfigRef
	// Window is when restarts may begin if neither their workloads nor their configs say so. The zero
	// value means at any time.
	Window window.Window
}

// Options are what a gatekeeper is made of.
type Options struct {
	FanOut FanOutOptions
	Evicts bool // whether workloads may restart by eviction
	// Deadline is how long a restart keeps its slots that is not judged.
	Deadline time.Duration
	Catalog  *catalog.Catalog
	// Wake makes a workload ask again.
	Wake func(names.WorkloadRef)
	// KnowsWorkloads reports whether all workloads of a namespace have been listed.
	KnowsWorkloads func(namespace string) bool
	// KnowsWhatExists reports whether it is known which configs of a kind exist in a namespace.
	KnowsWhatExists func(kind names.ConfigKind, namespace string) bool
	Notices         *Notices
	Members         rows.Column[gate.Member]
	Exposures       rows.Column[gate.Exposures]
	// Undecided yields the workloads of a namespace of which it is not known yet whether a restart is due, while the table of
	// members is locked.
	Undecided func(namespace string) iter.Seq[names.WorkloadRef]
	Log       *slog.Logger
}

// Gatekeeper asks the gate when a restart may begin, and tells it what becomes of the restarts. Its
// methods may be called by several goroutines at once.
type Gatekeeper struct {
	Options
	windows windowCache

	Mu     sync.Locker // of the table that the ledger keeps its members in
	Ledger *gate.Ledger
	Began  time.Time // when this process began to lead
	// everything is why all restarts are held, empty if they are not.
	everything string
	// hasTried means that it was tried to read what is kept for all leaders, and knowsHalts that the halts of
	// former leaders were read, or cannot be; hasReadHalts, that they were.
	hasTried, knowsHalts, hasReadHalts bool
	// HaltsObject is the ConfigMap of halts; it needs no lock.
	HaltsObject store.OwnObject
	// unread are the entries of the ConfigMap of halts that cannot be read, and why; unreadSince is since when there are any.
	unread      map[string]string
	unreadSince time.Time
	// UsesWaves holds the namespaces in which workloads have waves of their own.
	UsesWaves map[string]struct{}
	exposed   exposedTo
	// whyOver says why the last halt of a config is over, of at most MaxReports configs.
	whyOver map[names.ConfigRef]string
}

// New returns a gatekeeper that knows of no restarts; see [Gatekeeper.Reset].
func New(options Options) *Gatekeeper {
	g := &Gatekeeper{Options: options, Mu: options.Members}
	g.Reset()
	return g
}

// Reset forgets all restarts, as at the start of a leader.
func (g *Gatekeeper) Reset() {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	policy := gate.Policy{Gradual: g.FanOut.Gradual, Limit: g.FanOut.Limit, Failures: g.FanOut.Failures, Deadline: g.Deadline}
	g.Ledger = gate.New(policy, g.Members, func(ref names.WorkloadRef) { g.Wake(ref) })
	g.Began = time.Now()
	g.everything, g.hasTried, g.knowsHalts, g.hasReadHalts = "", false, false, false
	g.unread, g.unreadSince = nil, time.Time{}
	g.exposed, g.UsesWaves, g.whyOver = make(exposedTo), make(map[string]struct{}), make(map[names.ConfigRef]string)
	for ref := range g.Exposures.All() {
		g.Exposures.Set(ref, nil)
	}
}

// Ask asks whether a restart may begin.
func (g *Gatekeeper) Ask(r *gate.Request, now time.Time) gate.Answer {
	g.exposeOthers(r, now)
	answer, uncounted := g.askOnce(r, now)
	if uncounted {
		g.countRunning(answer.FanOut)
		answer, _ = g.askOnce(r, now)
	}
	return answer
}

// countRunning counts who runs with the content of a fan-out already. That takes time, so the lock is free meanwhile.
func (g *Gatekeeper) countRunning(id gate.FanOut) {
	running, failed := g.Catalog.Running(id.Config, id.Moment)
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.Ledger.CountRunning(id, running, failed...)
}

// KnowsReaders reports whether it can be known which workloads run with a content of a config.
func (g *Gatekeeper) KnowsReaders(config names.ConfigRef) bool {
	_, knowsHalts := g.KnowsOfHalts()
	return knowsHalts && g.KnowsWorkloads(config.Namespace) && (!config.Kind.IsSecret() || g.Catalog.ContentKey(config) != "")
}

// CountedProgress returns how far a fan-out has come, with those who have its content already. It is the given progress if the
// fan-out is over.
func (g *Gatekeeper) CountedProgress(p gate.Progress) gate.Progress {
	g.Mu.Lock()
	needsCount := g.Ledger.NeedsCount(p.FanOut)
	g.Mu.Unlock()
	if !needsCount {
		return p
	}
	g.countRunning(p.FanOut)
	g.Mu.Lock()
	defer g.Mu.Unlock()
	for known := range g.Ledger.ProgressOf(p.FanOut.Config) {
		if known.FanOut == p.FanOut {
			return known
		}
	}
	return p
}

// askOnce also reports whether the answer may change once it is known who runs with the content
// already. That takes time, so it is found out without the lock.
func (g *Gatekeeper) askOnce(r *gate.Request, now time.Time) (answer gate.Answer, uncounted bool) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	answer = detached(g.Ledger.Ask(r, now))
	return answer, answer.Reason == gate.SlowStart && g.Ledger.NeedsCount(answer.FanOut)
}

// detached returns an answer that does not change any more once the lock is released.
func detached(answer gate.Answer) gate.Answer {
	if answer.Halt != nil {
		halt := *answer.Halt
		answer.Halt = &halt
	}
	return answer
}

// Missing says which config does not exist that new pods of a workload need to start. It is empty if all do, or if that is
// not known.
func (g *Gatekeeper) Missing(view *catalog.View) string {
	type kind struct {
		names.ConfigKind
		namespace string
	}
	known := make(map[kind]bool) // there may be very many configs, and many watches
	return wording.Missing(view, func(config names.ConfigRef) bool {
		k := kind{config.Kind, config.Namespace}
		isKnown, wasAsked := known[k]
		if !wasAsked {
			isKnown = g.KnowsWhatExists(config.Kind, config.Namespace)
			known[k] = isKnown
		}
		return isKnown && !view.MayBeUnwatched(config)
	})
}

// KnowsContent reports whether the content of a config is known, or that it does not exist. Nothing tells which content of a
// class of the CSI driver is the newest before the next rotation.
func (g *Gatekeeper) KnowsContent(config names.ConfigRef) bool {
	return config.Kind.IsPerPod() || g.KnowsWhatExists(config.Kind, config.Namespace) && (!g.Catalog.HasConfig(config) || g.hasContent(config))
}

// Release says how to release the hold that keeps a restart from beginning, empty if no person has set it.
func (g *Gatekeeper) Release(w *workload.Workload, decision *decide.Decision) string {
	if w.Hold.Prevents() != "" {
		return ""
	}
	for hold := range g.wishes(w, g.causes(w, decision)).Holds() {
		switch hold.By {
		case policy.ByWorkload:
			return ". Release it with: " + wording.ReleaseCommand(w.Ref)
		case policy.ByConfig:
			return ". Release it with: " + wording.ReleaseCommand(hold.Config)
		case policy.ByController:
		}
		return ". Release it with: " + status.ReleaseAllCommand + ", or remove the entry " + gate.HoldEntry + " from the ConfigMap of halts"
	}
	return ""
}

// EverythingHeld says why all restarts are held, empty if they are not.
func (g *Gatekeeper) EverythingHeld() string {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	return g.everything
}

// Begun notes that a restart has begun.
func (g *Gatekeeper) Begun(r *gate.Request, now time.Time) {
	r.Continues = g.presentExposures(r.Workload)
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.Ledger.Begin(r, now)
}

// presentExposures returns the fan-outs that restarts have left unjudged of a workload, and whose content is present.
func (g *Gatekeeper) presentExposures(ref names.WorkloadRef) []gate.FanOut {
	g.Mu.Lock()
	exposed := g.Ledger.ExposedTo(ref)
	g.Mu.Unlock()
	return slices.DeleteFunc(exposed, func(id gate.FanOut) bool {
		if gate.IsGroup(id.Config) {
			return gate.FanOutOfGroup(id.Config, g.Catalog.ContentID(gate.CopyOf(id.Config, ref.Namespace), nil)) != id
		}
		return !g.Catalog.Config(id.Config).HasContentOf(id.Moment)
	})
}

// Failed notes that an attempt at a workload failed and will be repeated.
func (g *Gatekeeper) Failed(ref names.WorkloadRef, isPending, isUncertain, isRefused bool, now time.Time) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.Ledger.Release(ref, isPending, isUncertain, now)
	g.Ledger.Refuse(ref, isRefused)
}

// NotCarriedOut notes that an attempt at a workload was not carried out whose answer was lost, and never will be.
func (g *Gatekeeper) NotCarriedOut(ref names.WorkloadRef) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.Ledger.Resolve(ref)
}

// ForgetRefusals notes that what refused the restarts of workloads is over.
func (g *Gatekeeper) ForgetRefusals(workloads []names.WorkloadRef) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	for _, ref := range workloads {
		g.Ledger.Refuse(ref, false)
	}
}

// Settle notes that no restart of a workload is due.
func (g *Gatekeeper) Settle(ref names.WorkloadRef) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.Ledger.Settle(ref)
}

// Forget forgets a workload that is gone or no longer opted in.
func (g *Gatekeeper) Forget(ref names.WorkloadRef) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.Ledger.Forget(ref)
	if !g.Catalog.HasWorkloads(ref.Namespace) {
		delete(g.UsesWaves, ref.Namespace)
	}
}

// IsBeginning reports whether this process may just have restarted a workload; see [gate.Ledger.IsBeginning].
func (g *Gatekeeper) IsBeginning(ref names.WorkloadRef) bool {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	return g.Ledger.IsBeginning(ref)
}

// Resumed notes a restart that another process began.
func (g *Gatekeeper) Resumed(r *gate.Request, now time.Time) {
	r.Continues = g.presentExposures(r.Workload)
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.Ledger.BeginFormer(r, now)
}

// Rolled notes that all pods of a workload run after a restart.
func (g *Gatekeeper) Rolled(ref names.WorkloadRef, id string) {
	g.ofCurrent(ref, id, func() { g.Ledger.Rolled(ref) })
}

// Seen notes that something is to be seen again of a restart. The gate may not know it, because its pods did not restart before.
func (g *Gatekeeper) Seen(r *gate.Request, now time.Time) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	switch current, found := g.Ledger.Current(r.Workload); {
	case !found:
		g.Ledger.BeginFormer(r, now)
	case current == r.ID: // otherwise another one has begun since
		g.Ledger.See(r.Workload)
	}
}

// IsPartOf is [gate.Ledger.IsPartOf].
func (g *Gatekeeper) IsPartOf(ref names.WorkloadRef, config names.ConfigRef) bool {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	return g.Ledger.IsPartOf(ref, config)
}

// Stalled notes that a restart makes no progress, or takes too long.
func (g *Gatekeeper) Stalled(ref names.WorkloadRef, id string) {
	g.ofCurrent(ref, id, func() { g.Ledger.FreePlace(ref) })
}

// Delivered notes that a restart is over, and was delivered.
func (g *Gatekeeper) Delivered(ref names.WorkloadRef, id string) {
	g.ofCurrent(ref, id, func() { g.Ledger.Deliver(ref) })
}

// Ended notes that a restart is over, and was not delivered. It keeps its slots until the given time.
func (g *Gatekeeper) Ended(ref names.WorkloadRef, id string, until time.Time) {
	g.ofCurrent(ref, id, func() { g.Ledger.End(ref, until, time.Now()) })
}

// ofCurrent does something about a restart under the lock, unless another one has begun since.
func (g *Gatekeeper) ofCurrent(ref names.WorkloadRef, id string, do func()) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if current, found := g.Ledger.Current(ref); found && current == id {
		do()
	}
}

// tickPeriod is how often the ledger learns that time has passed.
const tickPeriod = 5 * time.Second

// Run tells the ledger that time passes, until the context ends.
func (g *Gatekeeper) Run(ctx context.Context) {
	run.Every(ctx, tickPeriod, g.tick)
}

func (g *Gatekeeper) tick(now time.Time) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.Ledger.Tick(now)
}

// Progress returns how far the fan-outs have come, and which ones have ended since the last call.
func (g *Gatekeeper) Progress() (underWay, finished []gate.Progress) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	return slices.Collect(g.Ledger.Progress()), g.Ledger.TakeFinished()
}

// KnowsEnough returns nil if all is known that may hold a restart back.
func (g *Gatekeeper) KnowsEnough(r *gate.Request) error {
	hasTried, knowsHalts := g.KnowsOfHalts()
	isGradual := slices.ContainsFunc(r.Causes, func(c gate.Cause) bool { return c.IsGradual })
	switch {
	case !hasTried:
		return g.HaltsObject.Waits(failures.ErrHaltsUnknown) // everything may be held
	case !isGradual && !g.FanOut.Gradual && !g.UsesWavesIn(r.Workload.Namespace):
		return nil
	case !knowsHalts:
		return g.HaltsObject.Waits(failures.ErrHaltsUnknown)
	case !g.KnowsWorkloads(r.Workload.Namespace):
		return failures.ErrWorkloadsUnknown
	}
	return nil
}

// ListPatience is how long workloads that cannot be listed keep others from restarting. Those of a kind that
// the controller may not list never can.
const ListPatience = time.Minute
