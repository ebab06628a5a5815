package controller

import (
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/custom"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// eventRate limits the Events. They come in bursts with the patches that they report, and may
// be late so that they do not delay the patches.
var eventRate = apiclient.Rate{QPS: 50, Burst: 100}

// followRate limits the requests that follow restarts, apart from all others: they are many if many
// restarts go wrong, and must not hold up the next restarts.
var followRate = apiclient.Rate{QPS: 100, Burst: 200}

// Options configure what a controller works on and how.
type Options struct {
	// API is how to reach the API server. The controller sets its own rate limits.
	API *rest.Config
	// QPS and Burst limit the requests for workloads and pods. Events have a limit
	// of their own.
	QPS   float32
	Burst int
	// Namespaces are the namespaces to watch; empty means all.
	Namespaces []string
	// OptIns say which workloads count besides those that opt in themselves.
	OptIns optin.Rules
	// Configs are the kinds of configs to watch; empty means all. Configs of other kinds are
	// neither listed nor recorded, and their edits cause no restart.
	Configs []names.ConfigKind
	// CSI makes files that the Secrets Store CSI driver rotates count; see [content.Mount].
	CSI bool
	// Workloads are the kinds of workloads to watch besides those that are part of Kubernetes.
	Workloads []custom.Kind
	// OwnNamespace is where the key of the checksums of Secrets and the halts are kept; if it is
	// empty, each process makes its own key, and halts end with the process.
	OwnNamespace string
	// KeySecret is the name of the Secret in OwnNamespace that holds the key, and HaltsConfigMap
	// is the name of the ConfigMap that holds the halts.
	KeySecret, HaltsConfigMap string
	// GracePeriod is how long a change is held back. CheckPeriod is how long a due change can
	// be overlooked at most.
	GracePeriod, CheckPeriod time.Duration
	// BackoffLimit is the longest time between two restarts of a workload whose configs keep
	// changing; with 0 it restarts as often as they change.
	BackoffLimit time.Duration
	// RestartSoak is how long all pods must run after a restart until it counts as delivered, and
	// RestartDeadline is how long a rollout may make no progress until its restart counts as failed.
	RestartSoak, RestartDeadline time.Duration
	// Evict lets workloads restart by eviction that ask for it.
	Evict bool
	// FanOut determines how restarts that are due are held back.
	FanOut FanOutOptions
	// DryRun reports what would be restarted, and writes nothing to workloads.
	DryRun bool
	// ExitOnError ends [Controller.Lead] at the first permanent failure whose error contains
	// none of IgnoredErrors.
	ExitOnError   bool
	IgnoredErrors []string
	// GarbagePercent is how much garbage may accumulate in the process, in percent of the
	// memory in use, once the first decisions are made; 0 changes nothing. Until then, much
	// data passes through memory; afterwards, little.
	GarbagePercent int
	Log            *slog.Logger
}

// Controller is the restart controller. It implements prometheus.Collector.
type Controller struct {
	options Options
	log     *slog.Logger
	catalog *catalog.Catalog
	kinds   []*workloadKind // of workloads: those of Kubernetes first
	custom  customKinds
	optIns  *optIns
	// unusable are the workloads that are enabled but cannot be restarted, with their problems. Nearly all are of custom
	// kinds, since the API server checks the others.
	unusable noted[names.WorkloadRef, problem]
	// mistakes are what people got wrong, by objects without resource versions. A Namespace is in itself.
	mistakes noted[quarantine.Object, mistake]
	// unsettled are the enabled workloads that are left alone, or not all of whose pods run, whatever else they wait for.
	unsettled  noted[names.WorkloadRef, unsettled]
	changes    *changeQueue
	restarter  *restarter
	deliveries *deliveries
	gate       *gatekeeper
	evictor    *evictor
	halts      *haltKeeper
	reports    *fanOutReports
	exposures  *exposures
	watches    watches
	metrics    *metrics
	staleness  *staleness
	absences   *absences
	quarantine *quarantine.Set
	events     record.EventBroadcaster
	recorder   record.EventRecorder // writes through events
	keys       keyKeeper
	refused    lackSignal
	leading    atomic.Bool
}

// New returns a controller that does nothing until [Controller.Watch] and [Controller.Lead]
// are called.
//
// Its parts refer to each other, so the order matters. Those that the watches need come first: what an object is
// reduced with, and the gate. Those that follow restarts come next. Each of them gets the ones before it in its
// constructor; what it needs of later ones is set as soon as they exist: the keeper of halts gets the deliveries, these
// the evictor, and the gate the way to ask the restarter, which is last. The watches run only after New has returned.
func New(options Options) (*Controller, error) {
	clients, err := apiclient.Connect(options.API, apiclient.Rate{QPS: options.QPS, Burst: options.Burst}, eventRate)
	if err != nil {
		return nil, err
	}
	c := &Controller{
		options:   options,
		log:       options.Log,
		catalog:   catalog.New(options.countingKinds()...),
		optIns:    newOptIns(options.OptIns, options.Namespaces),
		changes:   newChangeQueue(),
		unusable:  noted[names.WorkloadRef, problem]{countsAll: true},
		unsettled: noted[names.WorkloadRef, unsettled]{countsAll: true},
		metrics:   newMetrics(),
		events:    apiclient.NewBroadcaster(),
		refused:   make(lackSignal, 1),
	}
	if c.custom, err = newCustomKinds(options.Workloads, clients); err != nil {
		return nil, err
	}
	c.kinds = append(slices.Clone(workloadKinds), c.custom...)
	c.metrics.startKindsAtZero(c.custom)
	c.recorder = spelledRecorder{clients.Recorder(c.events, annotation.FieldManager, lastingReasons...), c.custom}
	c.keys = keyKeeper{core: clients.Core, namespace: options.OwnNamespace, secret: options.KeySecret, readOnly: options.DryRun, log: options.Log}
	c.quarantine = quarantine.New(quarantine.Options{Log: options.Log, Panicked: c.panicked})
	c.staleness = newStaleness(c.catalog, c.tryToJudge)
	c.absences = &absences{of: noted[names.WorkloadRef, absence]{countsAll: true}, catalog: c.catalog, log: c.log, began: time.Now(), leads: c.leading.Load, report: func(w *workload.Workload, eventType, reason, message string) {
		c.recorder.Event(objectReference(w), eventType, reason, message)
	}}
	c.gate = newGatekeeper(options.FanOut, c.catalog, c.log)
	c.gate.evicts = options.Evict
	for _, kind := range options.configKinds() {
		for _, namespace := range apiclient.NamespacesOrAll(options.Namespaces) {
			c.watchConfigs(kind, namespace, clients)
		}
	}
	if options.CSI {
		if err := c.watchMounts(clients); err != nil {
			return nil, err
		}
	}
	for _, namespace := range apiclient.NamespacesOrAll(options.Namespaces) {
		if options.OptIns.NeedNamespaces() { // before workloads, so that it is known which of them count
			c.watchNamespaces(namespace, clients)
		}
	}
	for _, kind := range c.kinds {
		for _, namespace := range apiclient.NamespacesOrAll(options.Namespaces) {
			c.watchWorkloads(kind, namespace, clients)
		}
	}
	following, err := apiclient.Connect(options.API, followRate, eventRate)
	if err != nil {
		return nil, err
	}
	c.reports = newFanOutReports(c.gate, configEvents{metadata: following.Metadata, events: c.recorder, log: c.log}, c.quarantine, c.log)
	c.reports.isUndecided = func(ref names.WorkloadRef) bool {
		isDue, waits := c.restarter.State(ref)
		return waits && !isDue || c.changes.HoldsAny(ref) || c.deliveries.mayRecover(ref)
	}
	c.reports.shown = c.shown
	c.halts = c.newHaltKeeper(following)
	c.deliveries = c.newDeliveries(following)
	c.halts.deliveries = c.deliveries
	c.evictor = c.newEvictor(following)
	c.deliveries.evictor = c.evictor
	c.restarter = c.newRestarter(clients)
	c.evictor.restarter = c.restarter
	c.exposures = &exposures{
		catalog: c.catalog, pods: c.deliveries.pods, backlogs: c.restarter.backlogs, quarantine: c.quarantine, log: c.log,
	}
	c.gate.knowsWorkloads, c.gate.knowsWhatExists = c.watches.knowWorkloads, c.watches.knowWhatExists
	c.gate.wake = func(ref names.WorkloadRef) { c.restarter.queue.Add(ref, names.ConfigRef{}) }
	return c, nil
}

func (c *Controller) newHaltKeeper(clients *apiclient.Clients) *haltKeeper {
	return &haltKeeper{
		store:        &haltStore{core: clients.Core, namespace: c.options.OwnNamespace, name: c.options.HaltsConfigMap},
		optIns:       c.optIns,
		gate:         c.gate,
		reports:      c.reports,
		events:       c.recorder,
		log:          c.log,
		knowsConfigs: c.watches.knowConfigs,
		knowsMounts:  c.watches.knowMounts,
		watches:      c.options.watchesNamespace,
		hasGroups:    len(c.options.FanOut.Groups) > 0,

		knowsAllConfigs: c.watches.knowAllConfigs,
		judgeResumes:    c.judgeResumes,
		askAgain:        func() { c.restarter.askAgainAll("") },
		changed:         make(chan struct{}, 1),
		refused:         c.refused,
	}
}

func (c *Controller) newDeliveries(clients *apiclient.Clients) *deliveries {
	return &deliveries{
		catalog:    c.catalog,
		pods:       podReader{apps: clients.Apps.RESTClient(), core: clients.Core.RESTClient(), kinds: c.custom, events: c.recorder},
		gate:       c.gate,
		halts:      c.halts,
		reports:    c.reports,
		events:     c.recorder,
		metrics:    c.metrics,
		quarantine: c.quarantine,
		log:        c.log,
		policy:     delivery.Policy{Soak: c.options.RestartSoak, Deadline: c.options.RestartDeadline},
		queue:      newDeliveryQueue(),
		rolling:    make(map[names.WorkloadRef]*rollingRestart),
		unmended:   make(map[names.WorkloadRef]struct{}),
		dating:     make(map[string]time.Duration),
	}
}

func (c *Controller) newRestarter(clients *apiclient.Clients) *restarter {
	return &restarter{
		catalog:      c.catalog,
		optIns:       c.optIns,
		changes:      c.changes,
		knowsConfigs: c.watches.knowConfigs,
		watches: func(namespace string) bool {
			return c.options.watchesNamespace(namespace) && !c.optIns.rules.Ignores(namespace)
		},
		pods:          podReader{apps: clients.Apps.RESTClient(), core: clients.Core.RESTClient(), kinds: c.custom, events: c.recorder},
		configs:       configReader{core: clients.Core},
		workloads:     workloadWriter{apps: clients.Apps.RESTClient(), kinds: c.custom, rules: &c.optIns.rules},
		events:        c.recorder,
		metrics:       c.metrics,
		quarantine:    c.quarantine,
		log:           c.log,
		queue:         newQueue(),
		grace:         c.options.GracePeriod,
		backoffLimit:  c.options.BackoffLimit,
		dryRun:        c.options.DryRun,
		exitOnError:   c.options.ExitOnError,
		ignoredErrors: c.options.IgnoredErrors,
		failure:       make(chan error, 1),
		refused:       c.refused,
		deliveries:    c.deliveries,
		gate:          c.gate,
		evictor:       c.evictor,
		keyObject:     &c.keys.object,
		backlogs:      newBacklogs(),
		journal:       newJournal(),
	}
}

// Watch keeps the catalog up to date until the context ends. It lists one resource after
// another, which needs less memory than listing all at once.
func (c *Controller) Watch(ctx context.Context) {
	start := time.Now()
	c.learnOptIns(ctx, start)
	var group sync.WaitGroup
	group.Go(func() { c.staleness.run(ctx) })
	group.Go(func() { c.goOnOnceListed(ctx) })
	for _, w := range c.watches {
		if w.workload != nil {
			c.limitGarbage(percentAtStart)
		}
		group.Go(func() { w.Run(ctx) })
		w.Settled(ctx)
	}
	if c.watches.awaitLists(ctx) {
		configs, workloads := c.catalog.Size()
		c.log.Info("caches are synced", "configs", configs, "workloads", workloads, "after", time.Since(start).Round(time.Millisecond).String())
		debug.FreeOSMemory()         // the memory that the lists used
		c.staleness.noteEverything() // now it is known which configs are missing
		group.Go(func() { passTime(ctx, c.catalog) })
		c.releaseGarbageOnceDecided(ctx)
	}
	group.Wait()
	c.events.Shutdown()
}

// learnOptIns finds out since when the rules have applied which workloads count. As long as the API server gives no
// answer, nothing could be watched either.
func (c *Controller) learnOptIns(ctx context.Context, start time.Time) {
	for {
		err := c.optIns.learnSince(ctx, c.halts.store)
		switch {
		case err == nil || ctx.Err() != nil:
			return
		case isPermanent(err) || time.Since(start) > haltsPatience:
			c.log.Warn("cannot find out since when workloads are enabled that have no annotation, taking it to be since now", "error", err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// releaseGarbageOnceDecided releases the memory that the first decisions used, which all come
// at once when the grace period is over. Little garbage accumulates after that.
func (c *Controller) releaseGarbageOnceDecided(ctx context.Context) {
	timer := time.NewTimer(c.options.GracePeriod + 5*time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
		c.limitGarbage(c.options.GarbagePercent)
		debug.FreeOSMemory()
	case <-ctx.Done():
	}
}

// tryToJudge returns the verdict of judge, or fresh if judge panics.
func (c *Controller) tryToJudge(ref names.WorkloadRef) verdict {
	v := fresh
	c.quarantine.Try(quarantine.Metrics, nameOfWorkload(ref), func() { v = c.judge(ref) })
	return v
}

// judge decides whether a workload is stale: its record differs from the catalog, or its pods
// need a restart that has not been possible yet.
func (c *Controller) judge(ref names.WorkloadRef) verdict {
	view, found := c.catalog.View(ref)
	if !found {
		c.absences.put(ref, "", time.Now())
		c.unsettled.drop(ref.Namespace, ref)
		return fresh
	}
	c.judgeRest(view.Workload, time.Now())
	if c.restarter.knowsConfigs(ref.Namespace) {
		c.absences.put(ref, describeMissing(&view, anyConfig), time.Now())
	}
	held := c.changes.HoldsAny(ref) // before the change moves on to the backlogs
	due, waits := c.restarter.State(ref)
	switch {
	case !due && decide.Decide(view).Outcome != decide.Restart:
		return fresh
	case c.restarter.backlogs.isHeld(ref):
		return fresh // deliberately; see the metric of held workloads
	case held || waits || !c.acts():
		return stale
	}
	return forgotten
}

// Lead acts on changes until the context ends, or until a failure that ends it; see
// [Options.ExitOnError]. Only one process may lead at a time. It first acts on the changes
// that it observed earlier as a standby.
func (c *Controller) Lead(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c.relearnOptIns(ctx) // before anything is decided
	c.beginToLead()
	defer c.leading.Store(false)
	var group sync.WaitGroup
	if c.options.watchesSecrets() {
		group.Go(func() {
			if key, found := c.keys.find(ctx); found {
				c.useKey(key)
			}
		})
	}
	if !c.options.DryRun {
		group.Go(func() { c.deliveries.run(ctx) })
		group.Go(func() { c.evictor.run(ctx) })
		group.Go(func() { c.gate.run(ctx) })
		group.Go(func() { c.halts.run(ctx) })
		group.Go(func() { c.reports.run(ctx) })
		group.Go(func() { c.exposures.run(ctx) })
	}
	group.Go(func() { c.absences.run(ctx) })
	group.Go(func() { c.changes.Run(ctx, c.options.CheckPeriod, c.due) })
	err := c.restarter.Run(ctx, c.staleness.noteWorkload)
	stop()
	group.Wait()
	return err
}

func (c *Controller) due(change observedChange) {
	if !c.quarantine.Try(quarantine.Queue, nameOfWorkload(change.Workload), func() { c.restarter.Enqueue(change) }) {
		c.gate.settle(change.Workload) // so that no other restart waits for it
	}
	c.staleness.noteWaiting(change.Workload)
}

// beginToLead takes over from a former leader: what is known about its restarts must be in the ledger
// before the gate is asked.
func (c *Controller) beginToLead() {
	c.gate.reset() // before anything else can be noted
	c.restarter.backlogs.begin(time.Now())
	c.leading.Store(true)
	if c.acts() {
		c.evictor.observeAll() // before, so that it is known whose pods may be left
		c.deliveries.resumeAll(time.Now())
		c.gate.findWaves(c.isUndecided)
	}
	c.reportUnusable()
	c.reportMistakes()
	c.staleness.noteLeading()
}

func (o *Options) watchesNamespace(namespace string) bool {
	return len(o.Namespaces) == 0 || slices.Contains(o.Namespaces, namespace)
}

// acts reports whether this process writes to workloads.
func (c *Controller) acts() bool { return c.leading.Load() && !c.options.DryRun }

// isUndecided reports whether a change of a workload, or of a config that it reads, has not been decided
// about.
func (c *Controller) isUndecided(ref names.WorkloadRef) bool {
	_, waits := c.restarter.State(ref)
	return waits || c.changes.HoldsAny(ref)
}

func (c *Controller) useKey(key content.ChecksumKey) {
	c.catalog.SetKey(key)
	c.staleness.noteEverything()
}
