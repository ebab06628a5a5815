package controller

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/window"
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

// gatekeeperOptions are what a gatekeeper is made of.
type gatekeeperOptions struct {
	options FanOutOptions
	evicts  bool // whether workloads may restart by eviction
	catalog *catalog.Catalog
	// wake makes a workload ask again.
	wake func(names.WorkloadRef)
	// knowsWorkloads reports whether all workloads of a namespace have been listed.
	knowsWorkloads func(namespace string) bool
	// knowsWhatExists reports whether it is known which configs of a kind exist in a namespace.
	knowsWhatExists func(kind names.ConfigKind, namespace string) bool
	notices         *notices
	log             *slog.Logger
}

// gatekeeper asks the gate when a restart may begin, and tells it what becomes of the restarts. Its
// methods may be called by several goroutines at once.
type gatekeeper struct {
	gatekeeperOptions
	windows windowCache

	mu     sync.Mutex
	ledger *gate.Ledger
	began  time.Time // when this process began to lead
	// everything is why all restarts are held, empty if they are not.
	everything string
	// hasTried means that it was tried to read what is kept for all leaders, and knowsHalts that the halts of
	// former leaders were read, or cannot be; hasReadHalts, that they were.
	hasTried, knowsHalts, hasReadHalts bool
	// haltsObject is the ConfigMap of halts; it needs no lock.
	haltsObject ownObject
	// unread are the entries of the ConfigMap of halts that cannot be read, and why; unreadSince is since when there are any.
	unread      map[string]string
	unreadSince time.Time
	// usesWaves holds the namespaces in which workloads have waves of their own.
	usesWaves map[string]struct{}
	// whyOver says why the last halt of a config is over, of at most maxReports configs.
	whyOver map[names.ConfigRef]string
}

// newGatekeeper returns a gatekeeper that knows of no restarts; see [gatekeeper.reset].
func newGatekeeper(options gatekeeperOptions) *gatekeeper {
	g := &gatekeeper{gatekeeperOptions: options, usesWaves: make(map[string]struct{}), whyOver: make(map[names.ConfigRef]string)}
	g.reset()
	return g
}

// reset forgets all restarts, as at the start of a leader.
func (g *gatekeeper) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	policy := gate.Policy{Gradual: g.options.Gradual, Limit: g.options.Limit, Failures: g.options.Failures}
	g.ledger = gate.New(policy, func(ref names.WorkloadRef) { g.wake(ref) })
	g.began = time.Now()
	g.everything, g.hasTried, g.knowsHalts, g.hasReadHalts = "", false, false, false
	g.unread, g.unreadSince = nil, time.Time{}
	clear(g.usesWaves)
	clear(g.whyOver)
}

// ask asks whether a restart may begin.
func (g *gatekeeper) ask(r *gate.Request, now time.Time) gate.Answer {
	answer, uncounted := g.askOnce(r, now)
	if !uncounted {
		return answer
	}
	g.countRunning(answer.FanOut)
	answer, _ = g.askOnce(r, now)
	return answer
}

// countRunning counts who runs with the content of a fan-out already. That takes time, so the lock is free meanwhile.
func (g *gatekeeper) countRunning(id gate.FanOut) {
	running, failed := g.catalog.Running(id.Config, id.Moment)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ledger.CountRunning(id, running, failed...)
}

// knowsReaders reports whether it can be known which workloads run with a content of a config.
func (g *gatekeeper) knowsReaders(config names.ConfigRef) bool {
	_, knowsHalts := g.knowsOfHalts()
	return knowsHalts && g.knowsWorkloads(config.Namespace) && (!config.Kind.IsSecret() || g.catalog.ContentKey(config) != "")
}

// countedProgress returns how far a fan-out has come, with those who have its content already. It is the given progress if the
// fan-out is over.
func (g *gatekeeper) countedProgress(p gate.Progress) gate.Progress {
	g.mu.Lock()
	needsCount := g.ledger.NeedsCount(p.FanOut)
	g.mu.Unlock()
	if !needsCount {
		return p
	}
	g.countRunning(p.FanOut)
	g.mu.Lock()
	defer g.mu.Unlock()
	for known := range g.ledger.ProgressOf(p.FanOut.Config) {
		if known.FanOut == p.FanOut {
			return known
		}
	}
	return p
}

// askOnce also reports whether the answer may change once it is known who runs with the content
// already. That takes time, so it is found out without the lock.
func (g *gatekeeper) askOnce(r *gate.Request, now time.Time) (answer gate.Answer, uncounted bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	answer = detached(g.ledger.Ask(r, now))
	return answer, answer.Reason == gate.SlowStart && g.ledger.NeedsCount(answer.FanOut)
}

// detached returns an answer that does not change any more once the lock is released.
func detached(answer gate.Answer) gate.Answer {
	if answer.Halt != nil {
		halt := *answer.Halt
		answer.Halt = &halt
	}
	return answer
}

// request describes a restart that is due to the gate: how long the budget of the workload makes it wait, and
// how the workload is before it. It does not say what is missing; see [gatekeeper.missing].
func (g *gatekeeper) request(w *workload.Workload, decision *decide.Decision, wait time.Duration, standing gate.Standing, now time.Time) *gate.Request {
	r := &gate.Request{
		Workload: w.Ref, Wave: waveOf(w), Wait: wait, Standing: standing,
		CannotRoll: w.Hold != workload.NoHold && w.Hold.Prevents() == "" || w.Idle,
		Causes:     g.causes(w, decision),
	}
	wishes := g.wishes(w, r.Causes)
	r.Hold = cmp.Or(w.Hold.Prevents(), wishes.Held(), w.MethodHold(g.evicts))
	r.Closed, r.Opens = wishes.Closed(func(window policy.Wish) (bool, time.Time, error) { return g.isClosed(window, now) })
	return r
}

// missing says which config does not exist that new pods of a workload need to start. It is empty if all do, or if that is
// not known.
func (g *gatekeeper) missing(view *catalog.View) string {
	type kind struct {
		names.ConfigKind
		namespace string
	}
	known := make(map[kind]bool) // there may be very many configs, and many watches
	return describeMissing(view, func(config names.ConfigRef) bool {
		k := kind{config.Kind, config.Namespace}
		isKnown, wasAsked := known[k]
		if !wasAsked {
			isKnown = g.knowsWhatExists(config.Kind, config.Namespace)
			known[k] = isKnown
		}
		return isKnown && !view.MayBeUnwatched(config)
	})
}

// knowsContent reports whether the content of a config is known, or that it does not exist. Nothing tells which content of a
// class of the CSI driver is the newest before the next rotation.
func (g *gatekeeper) knowsContent(config names.ConfigRef) bool {
	return config.Kind.IsPerPod() || g.knowsWhatExists(config.Kind, config.Namespace) && (!g.catalog.HasConfig(config) || g.hasContent(config))
}

// causes returns the configs that a restart delivers. If it has further causes than the decision names,
// or none that it can name, it may deliver any of the configs that the workload reads.
func (g *gatekeeper) causes(w *workload.Workload, decision *decide.Decision) []gate.Cause {
	causes := make([]gate.Cause, 0, len(decision.Causes))
	for i := range decision.Causes {
		causes = append(causes, g.cause(&decision.Causes[i]))
	}
	if len(decision.Causes) > 0 && decision.MoreCauses == 0 {
		return causes
	}
	named := make(map[names.ConfigRef]struct{}, len(causes))
	for i := range causes {
		named[causes[i].Config] = struct{}{}
	}
	for _, config := range w.Configs() {
		_, isNamed := named[config]
		if policy := g.catalog.PolicyOf(config); !isNamed && !w.IgnoresBy(config, &policy) {
			causes = append(causes, g.inGroup(gate.Cause{Config: config, IsGradual: g.isGradual(policy)}))
		}
	}
	return causes
}

func (g *gatekeeper) cause(cause *decide.Cause) gate.Cause {
	policy := g.catalog.PolicyOf(cause.Config)
	c := gate.Cause{Config: cause.Config, Keys: cause.AllKeys(), Moments: cause.Moments, IsGradual: g.isGradual(policy)}
	c.Moments = c.Moments[max(0, len(c.Moments)-maxFanOuts):]
	if policy.Urgent != "" {
		c.IsUrgent = policy.Urgent == g.catalog.ContentID(cause.Config, nil)
	}
	return g.inGroup(c)
}

// maxFanOuts is in how many fan-outs of one config a restart takes part at most: in those of the last edits.
const maxFanOuts = 4

// inGroup completes a cause whose config has copies in other namespaces.
func (g *gatekeeper) inGroup(c gate.Cause) gate.Cause {
	group := gate.GroupOf(c.Config.Kind, c.Config.Name)
	if c.IsGradual && slices.Contains(g.options.Groups, group) {
		c.Group, c.Content = group, g.catalog.ContentID(c.Config, nil)
	}
	return c
}

func (g *gatekeeper) isGradual(rules policy.ConfigPolicy) bool {
	switch rules.FanOut {
	case policy.Gradual:
		return true
	case policy.AllAtOnce:
		return false
	}
	return g.options.Gradual
}

func waveOf(w *workload.Workload) int16 {
	if w.Policy == nil {
		return 0
	}
	return w.Policy.Wave
}

// wishes returns what people ask of a restart for these causes. Those without a moment may not have changed.
func (g *gatekeeper) wishes(w *workload.Workload, causes []gate.Cause) policy.Wishes {
	return policy.Wishes{Everything: g.everythingHeld(), Workload: w.Policy, Delivered: func(yield func(policy.Delivery) bool) {
		for i := range causes {
			c := &causes[i]
			if !yield(policy.Delivery{Config: c.Config, Policy: g.catalog.PolicyOf(c.Config), IsUrgent: c.IsUrgent, IsUncertain: len(c.Moments) == 0}) {
				return
			}
		}
	}}
}

// release says how to release the hold that keeps a restart from beginning, empty if no person has set it.
func (g *gatekeeper) release(w *workload.Workload, decision *decide.Decision) string {
	if w.Hold.Prevents() != "" {
		return ""
	}
	for hold := range g.wishes(w, g.causes(w, decision)).Holds() {
		switch hold.By {
		case policy.ByWorkload:
			return ". Release it with: " + releaseCommand(w.Ref)
		case policy.ByConfig:
			return ". Release it with: " + releaseCommand(hold.Config)
		case policy.ByController:
		}
		return ". Release it by removing the entry " + gate.HoldEntry + " from the ConfigMap of halts"
	}
	return ""
}

func (g *gatekeeper) everythingHeld() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.everything
}

// isClosed reports whether a window is closed, when it opens, zero if that is not known, and why it cannot be read.
func (g *gatekeeper) isClosed(window policy.Wish, now time.Time) (isClosed bool, opens time.Time, err error) {
	if window.By != policy.ByController {
		return g.windows.closedBy(window.Text, now)
	}
	isOpen, opens := g.options.Window.At(now)
	return !isOpen, opens, nil
}

// begun notes that a restart has begun.
func (g *gatekeeper) begun(r *gate.Request, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ledger.Begin(r, now)
}

// failed notes that an attempt at a workload failed and will be repeated.
func (g *gatekeeper) failed(ref names.WorkloadRef, isPending, isUncertain, isRefused bool, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ledger.Release(ref, isPending, isUncertain, now)
	g.ledger.Refuse(ref, isRefused)
}

// forgetRefusals notes that what refused the restarts of workloads is over.
func (g *gatekeeper) forgetRefusals(workloads []names.WorkloadRef) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, ref := range workloads {
		g.ledger.Refuse(ref, false)
	}
}

// settle notes that no restart of a workload is due.
func (g *gatekeeper) settle(ref names.WorkloadRef) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ledger.Settle(ref)
}

// forget forgets a workload that is gone or no longer opted in.
func (g *gatekeeper) forget(ref names.WorkloadRef) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ledger.Forget(ref)
	if !g.catalog.HasWorkloads(ref.Namespace) {
		delete(g.usesWaves, ref.Namespace)
	}
}

// isBeginning reports whether this process may just have restarted a workload; see [gate.Ledger.IsBeginning].
func (g *gatekeeper) isBeginning(ref names.WorkloadRef) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ledger.IsBeginning(ref)
}

// resumed notes a restart that another process began.
func (g *gatekeeper) resumed(r *gate.Request, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ledger.BeginFormer(r, now)
}

// rolled notes that all pods of a workload run after a restart.
func (g *gatekeeper) rolled(ref names.WorkloadRef, id string) {
	g.ofCurrent(ref, id, func() { g.ledger.Rolled(ref) })
}

// stalled notes that a restart makes no progress, or takes too long.
func (g *gatekeeper) stalled(ref names.WorkloadRef, id string) {
	g.ofCurrent(ref, id, func() { g.ledger.FreePlace(ref) })
}

// ended notes that a restart is over.
func (g *gatekeeper) ended(ref names.WorkloadRef, id string, isDelivered bool) {
	g.ofCurrent(ref, id, func() { g.ledger.End(ref, isDelivered) })
}

// ofCurrent does something about a restart under the lock, unless another one has begun since.
func (g *gatekeeper) ofCurrent(ref names.WorkloadRef, id string, do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if current, found := g.ledger.Current(ref); found && current == id {
		do()
	}
}

// tickPeriod is how often the ledger learns that time has passed.
const tickPeriod = 5 * time.Second

// run tells the ledger that time passes, until the context ends.
func (g *gatekeeper) run(ctx context.Context) {
	every(ctx, tickPeriod, g.tick)
}

// every calls a function again and again with the time, until the context ends.
func every(ctx context.Context, period time.Duration, do func(now time.Time)) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			do(now)
		}
	}
}

func (g *gatekeeper) tick(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ledger.Tick(now)
}

// progress returns how far the fan-outs have come, and which ones have ended since the last call.
func (g *gatekeeper) progress() (underWay, finished []gate.Progress) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(g.ledger.Progress()), g.ledger.TakeFinished()
}

// collect computes the metrics of what the gate holds back.
func (g *gatekeeper) collect(gauge func(desc *prometheus.Desc, value float64, labels ...string)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for reason, held := range g.ledger.Waiting() {
		gauge(heldDesc, float64(held), string(reason))
	}
	gauge(fanOutsDesc, float64(g.ledger.FanOuts()), "rolling")
	gauge(fanOutsDesc, float64(g.ledger.ActiveHalts()), "halted")
	gauge(undeliveredDesc, float64(g.ledger.UnderWay()))
	gauge(unreadDesc, float64(len(g.unread)))
}

// These errors put a restart off until enough is known to hold it back.
var (
	errHaltsUnknown     = errors.New("the halts of former leaders have not been read yet")
	errWorkloadsUnknown = errors.New("the workloads of the namespace have not all been listed yet")
)

// knowsEnough returns nil if all is known that may hold a restart back.
func (g *gatekeeper) knowsEnough(r *gate.Request) error {
	hasTried, knowsHalts := g.knowsOfHalts()
	isGradual := slices.ContainsFunc(r.Causes, func(c gate.Cause) bool { return c.IsGradual })
	switch {
	case !hasTried:
		return g.haltsObject.waits(errHaltsUnknown) // everything may be held
	case !isGradual && !g.options.Gradual && !g.usesWavesIn(r.Workload.Namespace):
		return nil
	case !knowsHalts:
		return g.haltsObject.waits(errHaltsUnknown)
	case !g.knowsWorkloads(r.Workload.Namespace):
		return errWorkloadsUnknown
	}
	return nil
}
