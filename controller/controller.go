package controller

import (
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
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

// Controller is the restart controller. It implements prometheus.Collector. It only puts the parts together, starts them and
// stops them.
type Controller struct {
	options    Options
	catalog    *catalog.Catalog
	role       *role
	optIns     *optIns
	keys       *keyKeeper
	events     record.EventBroadcaster
	watches    *watches
	changes    *changeQueue
	restarter  *restarter
	deliveries *deliveries
	gate       *gatekeeper
	evictor    *evictor
	halts      *haltKeeper
	reports    *fanOutReports
	exposures  *exposures
	absences   *absences
	staleness  *staleness
	intake     *intake
	board      *board
}

// New returns a controller that does nothing until [Controller.Watch] and [Controller.Lead]
// are called.
func New(options Options) (*Controller, error) {
	c, err := connect(&options)
	if err != nil {
		return nil, err
	}
	return assemble(options, c)
}

// connections are how a controller reaches the API server.
type connections struct {
	clients *apiclient.Clients
	// following is for requests that follow restarts; see [followRate].
	following *apiclient.Clients
	custom    customKinds
	events    record.EventBroadcaster
	recorder  record.EventRecorder // writes through events
}

func connect(options *Options) (*connections, error) {
	clients, err := apiclient.Connect(options.API, apiclient.Rate{QPS: options.QPS, Burst: options.Burst}, eventRate)
	if err != nil {
		return nil, err
	}
	following, err := apiclient.Connect(options.API, followRate, eventRate)
	if err != nil {
		return nil, err
	}
	rows, err := newCustomKinds(options.Workloads, clients)
	if err != nil {
		return nil, err
	}
	broadcaster := apiclient.NewBroadcaster()
	recorder := spelledRecorder{clients.Recorder(broadcaster, annotation.FieldManager, lastingReasons...), rows}
	return &connections{clients: clients, following: following, custom: rows, events: broadcaster, recorder: recorder}, nil
}

// assemble makes the parts of a controller. Each gets those that it needs, so these come first: what others only note something
// in, then the gate, then those that follow restarts, make them and evict pods, then what takes observations in, and last what
// shows all that. Who looks at the result of whom the other way round does so through what is noted.
func assemble(options Options, to *connections) (*Controller, error) {
	known, role, log := catalog.New(options.countingKinds()...), &role{dryRun: options.DryRun, began: time.Now()}, options.Log
	metrics, rows := newMetrics(), append(slices.Clone(workloadKinds), to.custom...)
	metrics.startKindsAtZero(to.custom)
	core, apps := to.clients.Core.RESTClient(), to.clients.Apps.RESTClient()
	watches, optIns := new(watches), newOptIns(options.OptIns, options.Namespaces)
	pods := podReader{apps: to.following.Apps.RESTClient(), core: to.following.Core.RESTClient(), kinds: to.custom, events: to.recorder}

	changes, backlogs, journal, queue := newChangeQueue(), newBacklogs(), newJournal(), newQueue()
	evictions, notices, unjudged, refused, haltsChanged := newEvictions(known), newNotices(log), newUnjudged(), newSignal(), newSignal()
	gate := newGatekeeper(gatekeeperOptions{
		options: options.FanOut, evicts: options.Evict, catalog: known, notices: notices, log: log,
		wake:           func(ref names.WorkloadRef) { queue.Add(ref, names.ConfigRef{}) },
		knowsWorkloads: watches.knowWorkloads, knowsWhatExists: watches.knowWhatExists,
	})
	panics := &panics{
		catalog: known, kinds: rows, changes: changes, backlogs: backlogs, journal: journal, gate: gate, unjudged: unjudged,
		metrics: metrics, events: to.recorder,
	}
	left := quarantine.New(quarantine.Options{Log: log, Panicked: panics.note})
	keys := &keyKeeper{core: to.clients.Core, namespace: options.OwnNamespace, secret: options.KeySecret, readOnly: options.DryRun, log: log}

	deliveries := newDeliveries(deliveriesParts{
		catalog: known, gate: gate, halted: haltsChanged, pods: pods, evictions: evictions, notices: notices, events: to.recorder,
		metrics: metrics, quarantine: left, log: log,
		policy: delivery.Policy{Soak: options.RestartSoak, Deadline: options.RestartDeadline},
	})
	restarter := newRestarter(restarterParts{
		catalog: known, optIns: optIns, changes: changes, knowsConfigs: watches.knowConfigs,
		watches: func(namespace string) bool {
			return options.watchesNamespace(namespace) && !optIns.rules.Ignores(namespace)
		},
		pods:      podReader{apps: apps, core: core, kinds: to.custom, events: to.recorder},
		workloads: workloadWriter{apps: apps, kinds: to.custom, rules: &optIns.rules},
		events:    to.recorder, metrics: metrics, quarantine: left, log: log, queue: queue, grace: options.GracePeriod,
		backoffLimit: options.BackoffLimit, dryRun: options.DryRun, exitOnError: options.ExitOnError, ignoredErrors: options.IgnoredErrors,
		refused: refused, deliveries: deliveries, gate: gate, evictions: evictions,
		keyObject: &keys.object, backlogs: backlogs, journal: journal,
	}, to.clients.Core)
	evictor := &evictor{
		evictions: evictions, catalog: known, gate: gate, deliveries: deliveries, restarter: restarter, pods: pods,
		workloads: workloadWriter{apps: to.following.Apps.RESTClient(), kinds: to.custom, rules: &optIns.rules},
		core:      to.following.Core.RESTClient(), events: to.recorder, metrics: metrics, quarantine: left, log: log, refused: refused,
	}
	reports := newFanOutReports(notices, gate, evictions, func(ref names.WorkloadRef) bool {
		isDue, waits := restarter.State(ref)
		return waits && !isDue || changes.HoldsAny(ref) || deliveries.mayRecover(ref)
	}, configEvents{metadata: to.following.Metadata, events: to.recorder, log: log}, left, log)
	mistakes := &mistakes{gate: gate, restarter: restarter, rules: &optIns.rules, role: role, events: to.recorder, log: log}
	halts := &haltKeeper{
		store:  &haltStore{core: to.following.Core, namespace: options.OwnNamespace, name: options.HaltsConfigMap},
		optIns: optIns, gate: gate, deliveries: deliveries, restarter: restarter, mistakes: mistakes, notices: notices, quarantine: left,
		events: to.recorder, log: log, knowsConfigs: watches.knowConfigs, knowsMounts: watches.knowMounts,
		watches: options.watchesNamespace, hasGroups: len(options.FanOut.Groups) > 0, knowsAllConfigs: watches.knowAllConfigs,
		changed: haltsChanged, refused: refused,
	}

	taking := &intake{
		catalog: known, optIns: optIns, mistakes: mistakes, unusable: newUnusable(optIns, role, to.recorder, log), changes: changes,
		gate: gate, restarter: restarter, deliveries: deliveries, evictions: evictions, unjudged: unjudged, haltsChanged: haltsChanged,
		quarantine: left, metrics: metrics, events: to.recorder, log: log, role: role, grace: options.GracePeriod,
	}
	open := &opener{clients: to.clients, intake: taking, watches: watches}
	if err := open.open(sources{
		configs: options.configKinds(), workloads: rows, needNamespaces: options.OptIns.NeedNamespaces(), csi: options.CSI,
		namespaces: options.Namespaces,
	}); err != nil {
		return nil, err
	}

	absences, resting := newAbsences(known, role, to.recorder, log), newResting(known, &deliveries.history, role)
	judging := &judge{catalog: known, changes: changes, restarter: restarter, absences: absences, resting: resting, role: role, quarantine: left}
	staleness := newStaleness(unjudged, known, judging.tryOne)
	board := &board{
		catalog: known, kinds: rows, custom: to.custom, optIns: optIns, watching: watches, mistakes: mistakes, unusable: taking.unusable,
		absences: absences, resting: resting, changes: changes, restarter: restarter, deliveries: deliveries, evictions: evictions, gate: gate,
		keyObject: &keys.object, staleness: staleness, quarantine: left, metrics: metrics, role: role,
	}
	return &Controller{
		board: board, options: options, catalog: known, role: role, optIns: optIns, keys: keys, events: to.events, watches: watches,
		changes: changes, restarter: restarter, deliveries: deliveries, gate: gate, evictor: evictor, halts: halts, reports: reports,
		exposures: &exposures{catalog: known, pods: pods, backlogs: backlogs, quarantine: left, log: log},
		absences:  absences, staleness: staleness, intake: taking,
	}, nil
}

// Watch keeps the catalog up to date until the context ends. It lists one resource after
// another, which needs less memory than listing all at once.
func (c *Controller) Watch(ctx context.Context) {
	start := time.Now()
	c.learnOptIns(ctx, start)
	var group sync.WaitGroup
	group.Go(func() { c.staleness.run(ctx) })
	group.Go(func() { c.watches.goOnOnceListed(ctx, c.restarter.askUnknown) })
	for _, w := range c.watches.all {
		if w.workload != nil {
			c.limitGarbage(percentAtStart)
		}
		group.Go(func() { w.Run(ctx) })
		w.Settled(ctx)
	}
	if c.watches.awaitLists(ctx) {
		configs, workloads := c.catalog.Size()
		c.options.Log.Info("caches are synced", "configs", configs, "workloads", workloads, "after", time.Since(start).Round(time.Millisecond).String())
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
			c.options.Log.Warn("cannot find out since when workloads are enabled that have no annotation, taking it to be since now", "error", err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// relearnOptIns takes over from a former leader that may have noted the rules only after this process began to
// watch, and since when they have applied to it, which was earlier.
func (c *Controller) relearnOptIns(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, haltsPeriod)
	defer stop()
	before := c.optIns.appliesSince()
	if err := c.optIns.learnSince(ctx, c.halts.store); err != nil {
		c.options.Log.Warn("cannot find out again since when workloads are enabled that have no annotation", "since", before, "error", err)
	}
	c.optIns.redate(before, c.catalog)
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

// Lead acts on changes until the context ends, or until a failure that ends it; see
// [Options.ExitOnError]. Only one process may lead at a time. It first acts on the changes
// that it observed earlier as a standby.
func (c *Controller) Lead(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c.relearnOptIns(ctx) // before anything is decided
	c.beginToLead()
	defer c.role.leading.Store(false)
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
	c.restarter.Take(change)
	c.staleness.noteWaiting(change.Workload)
}

// beginToLead takes over from a former leader: what is known about its restarts must be in the ledger
// before the gate is asked.
func (c *Controller) beginToLead() {
	c.gate.reset() // before anything else can be noted
	c.restarter.backlogs.begin(time.Now())
	c.role.leading.Store(true)
	if c.role.acts() {
		c.evictor.observeAll() // before, so that it is known whose pods may be left
		c.deliveries.resumeAll(time.Now())
		c.gate.findWaves(c.restarter.isUndecided)
	}
	c.intake.unusable.reportAll()
	c.intake.mistakes.reportAll()
	c.staleness.noteLeading()
}

func (o *Options) watchesNamespace(namespace string) bool {
	return len(o.Namespaces) == 0 || slices.Contains(o.Namespaces, namespace)
}

func (c *Controller) useKey(key content.ChecksumKey) {
	c.catalog.SetKey(key)
	c.staleness.noteEverything()
}

// holdPeriod is how exactly it is known since when annotations hold restarts, if no managedFields say so.
const holdPeriod = 5 * time.Second

// passTime lets the catalog know since when there are holds, until the context ends. Everything must have been listed.
func passTime(ctx context.Context, c *catalog.Catalog) {
	c.PassTime(time.Now())
	every(ctx, holdPeriod, c.PassTime)
}

// Refused returns a channel that has an element once a workload, or the ConfigMap of halts, has begun to be refused for lack of a
// permission, which may have been lost since it was checked. There is none for each attempt that is refused again.
func (c *Controller) Refused() <-chan struct{} { return c.restarter.refused }

// TryRefused makes everything be tried again that was refused for lack of a permission in the namespaces in which the given ones
// have been granted. Otherwise each would wait for its own turn to try again.
func (c *Controller) TryRefused(granted []apiclient.Permission) {
	if !c.role.leads() {
		return
	}
	namespaces := make(map[string]bool)
	for i := range granted {
		namespaces[granted[i].Namespace] = true
	}
	lacking, over := c.restarter.backlogs.takeLacking(granted)
	c.gate.forgetRefusals(over)
	for _, ref := range lacking {
		c.restarter.queue.Add(ref, names.ConfigRef{})
	}
	c.evictor.tryRefused(namespaces)
	c.halts.wakeUp() // the ConfigMap of halts may have been refused
}
