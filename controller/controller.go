package controller

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/evict"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/fanout"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/halts"
	"kubernetes-deployment-restart-controller/controller/intake"
	"kubernetes-deployment-restart-controller/controller/judge"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/metrics"
	"kubernetes-deployment-restart-controller/controller/optedin"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/controller/show"
	"kubernetes-deployment-restart-controller/controller/store"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// Controller is the restart controller. It implements prometheus.Collector. It only puts the parts together, starts them and
// stops them.
type Controller struct {
	*show.Board // what it shows

	options    Options
	catalog    *catalog.Catalog
	role       *run.Role
	optIns     *optedin.OptIns
	keys       *store.Keys
	events     record.EventBroadcaster
	watches    *intake.Watches
	changes    *pending.ChangeQueue
	restarter  *restart.Restarter
	deliveries *follow.Deliveries
	gate       *gatekeeper.Gatekeeper
	evictor    *evict.Evictor
	halts      *halts.Keeper
	reports    *fanout.Reports
	exposures  *judge.Exposures
	absences   *judge.Absences
	staleness  *judge.Staleness
	intake     *intake.Intake
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
	custom    kinds.Custom
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
	rows, err := kinds.NewCustom(options.Workloads, clients)
	if err != nil {
		return nil, err
	}
	broadcaster := apiclient.NewBroadcaster()
	recorder := kinds.SpelledRecorder{EventRecorder: clients.Recorder(broadcaster, annotation.FieldManager, events.Lasting...), Kinds: rows}
	return &connections{clients: clients, following: following, custom: rows, events: broadcaster, recorder: recorder}, nil
}

// assemble makes the parts of a controller. Each gets those that it needs, so these come first: what others only note something
// in, then the gate, then those that follow restarts, make them and evict pods, then what takes observations in, and last what
// shows all that. Who looks at the result of whom the other way round does so through what is noted.
func assemble(options Options, to *connections) (*Controller, error) {
	known, role, log := catalog.New(options.countingKinds()...), &run.Role{DryRun: options.DryRun, Began: time.Now()}, options.Log
	metrics, rows := metrics.New(), append(slices.Clone(kinds.WorkloadKinds), to.custom...)
	metrics.StartKindsAtZero(to.custom)
	core, apps := to.clients.Core.RESTClient(), to.clients.Apps.RESTClient()
	watches, optIns := new(intake.Watches), optedin.NewOptIns(options.OptIns, options.Namespaces)
	pods := kinds.PodReader{Apps: to.following.Apps.RESTClient(), Core: to.following.Core.RESTClient(), Kinds: to.custom, Events: to.recorder}

	table, queue := tracker.New(), restart.NewQueue()
	changes := pending.NewChangeQueue(table.Changes())
	evictions, notices, unjudged, refused, haltsChanged := follow.NewEvictions(known, table), gatekeeper.NewNotices(log), pending.NewUnjudged(), run.NewSignal(), run.NewSignal()
	gate := gatekeeper.New(gatekeeper.Options{
		FanOut: options.FanOut, Evicts: options.Evict, Deadline: options.RestartDeadline, Catalog: known, Notices: notices, Members: table.Members(), Exposures: table.Exposures(), Undecided: table.Undecided, Log: log,
		Wake:           func(ref names.WorkloadRef) { queue.Add(ref, names.ConfigRef{}) },
		KnowsWorkloads: watches.KnowWorkloads, KnowsWhatExists: watches.KnowWhatExists,
	})
	panics := &panics{
		catalog: known, kinds: rows, changes: changes, table: table, gate: gate, unjudged: unjudged,
		metrics: metrics, events: to.recorder,
	}
	left := quarantine.New(quarantine.Options{Log: log, Panicked: panics.note})
	keys := &store.Keys{Core: to.clients.Core, Namespace: options.OwnNamespace, Secret: options.KeySecret, ReadOnly: options.DryRun, Log: log}

	deliveries := follow.NewDeliveries(follow.Parts{
		Catalog: known, Table: table, Gate: gate, Halted: haltsChanged, Pods: pods, Evictions: evictions, Notices: notices, Events: to.recorder,
		Metrics: metrics, Quarantine: left, Log: log,
		Policy: delivery.Policy{Soak: options.RestartSoak, Deadline: options.RestartDeadline},
	})
	restarter := restart.NewRestarter(restart.Parts{
		Catalog: known, OptIns: optIns, Changes: changes, KnowsConfigs: watches.KnowConfigs,
		Watches: func(namespace string) bool {
			return options.watchesNamespace(namespace) && !optIns.Rules.Ignores(namespace)
		},
		Pods:      kinds.PodReader{Apps: apps, Core: core, Kinds: to.custom, Events: to.recorder},
		Workloads: restart.WorkloadWriter{Apps: apps, Kinds: to.custom, Rules: &optIns.Rules},
		Events:    to.recorder, Metrics: metrics, Quarantine: left, Log: log, Queue: queue, Grace: options.GracePeriod,
		BackoffLimit: options.BackoffLimit, DryRun: options.DryRun, ExitOnError: options.ExitOnError, IgnoredErrors: options.IgnoredErrors,
		Refused: refused, Deliveries: deliveries, Gate: gate, Evictions: evictions,
		KeyObject: &keys.Object, Table: table,
	}, to.clients.Core)
	evictor := &evict.Evictor{
		Evictions: evictions, Catalog: known, Gate: gate, Deliveries: deliveries, Restarter: restarter, Pods: pods,
		Workloads: restart.WorkloadWriter{Apps: to.following.Apps.RESTClient(), Kinds: to.custom, Rules: &optIns.Rules},
		Core:      to.following.Core.RESTClient(), Events: to.recorder, Metrics: metrics, Quarantine: left, Log: log, Refused: refused,
	}
	reports := fanout.NewReports(notices, gate, evictions, func(ref names.WorkloadRef) bool {
		isDue, waits := restarter.Backlogs.State(ref)
		return waits && !isDue || changes.HoldsAny(ref) || deliveries.MayRecover(ref)
	}, fanout.ConfigEvents{Metadata: to.following.Metadata, Events: to.recorder, Log: log}, left, log)
	mistakes := &intake.Mistakes{Gate: gate, Restarter: restarter, Rules: &optIns.Rules, Role: role, Events: to.recorder, Log: log}
	halts := &halts.Keeper{
		Store:  &store.Halts{Core: to.following.Core, Namespace: options.OwnNamespace, Name: options.HaltsConfigMap},
		OptIns: optIns, Gate: gate, Deliveries: deliveries, Restarter: restarter, Mistakes: mistakes, Notices: notices, Quarantine: left,
		Events: to.recorder, Log: log,
		Scope: halts.Scope{
			KnowsConfigs: watches.KnowConfigs, KnowsMounts: watches.KnowMounts, KnowsAllConfigs: watches.KnowAllConfigs,
			Watches: options.watchesNamespace, HasGroups: len(options.FanOut.Groups) > 0,
		},
		Changed: haltsChanged, Refused: refused,
	}

	taking := &intake.Intake{
		Catalog: known, OptIns: optIns, Mistakes: mistakes, Unusable: optedin.NewUnusable(optIns, role, to.recorder, log), Changes: changes,
		Gate: gate, Restarter: restarter, Deliveries: deliveries, Evictions: evictions, Unjudged: unjudged, HaltsChanged: haltsChanged,
		Quarantine: left, Metrics: metrics, Events: to.recorder, Log: log, Role: role, Grace: options.GracePeriod,
	}
	open := &intake.Opener{Clients: to.clients, Intake: taking, Watches: watches}
	if err := open.Open(intake.Sources{
		Configs: options.configKinds(), Workloads: rows, NeedNamespaces: options.OptIns.NeedNamespaces(), CSI: options.CSI,
		Namespaces: options.Namespaces,
	}); err != nil {
		return nil, err
	}

	absences, resting := judge.NewAbsences(known, role, to.recorder, log), judge.NewResting(known, &deliveries.History, role)
	judging := &judge.Judge{Catalog: known, Changes: changes, Restarter: restarter, Absences: absences, Resting: resting, Role: role, Quarantine: left}
	staleness := judge.NewStaleness(unjudged, known, judging.Judge)
	board := &show.Board{
		Catalog: known, Kinds: rows, Custom: to.custom, OptIns: optIns, Watching: watches, Mistakes: mistakes, Unusable: taking.Unusable,
		Absences: absences, Resting: resting, Changes: changes, Restarter: restarter, Deliveries: deliveries, Evictions: evictions, Table: table, Gate: gate,
		KeyObject: &keys.Object, Staleness: staleness, Quarantine: left, Metrics: metrics, Role: role,
	}
	return &Controller{
		Board: board, options: options, catalog: known, role: role, optIns: optIns, keys: keys, events: to.events, watches: watches,
		changes: changes, restarter: restarter, deliveries: deliveries, gate: gate, evictor: evictor, halts: halts, reports: reports,
		exposures: &judge.Exposures{Catalog: known, Pods: pods, Backlogs: restarter.Backlogs, Quarantine: left, Log: log},
		absences:  absences, staleness: staleness, intake: taking,
	}, nil
}

// Watch keeps the catalog up to date until the context ends. It lists one resource after
// another, which needs less memory than listing all at once.
func (c *Controller) Watch(ctx context.Context) {
	start := time.Now()
	c.learnOptIns(ctx, start)
	var group sync.WaitGroup
	group.Go(func() { c.staleness.Run(ctx) })
	group.Go(func() { c.watches.GoOnOnceListed(ctx, c.restarter.AskUnknown) })
	for _, w := range c.watches.All {
		if w.Workload != nil {
			c.limitGarbage(percentAtStart)
		}
		group.Go(func() { w.Run(ctx) })
		w.Settled(ctx)
	}
	if c.watches.AwaitLists(ctx) {
		configs, workloads := c.catalog.Size()
		c.options.Log.Info("caches are synced", "configs", configs, "workloads", workloads, "after", time.Since(start).Round(time.Millisecond).String())
		debug.FreeOSMemory()         // the memory that the lists used
		c.staleness.NoteEverything() // now it is known which configs are missing
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
		err := c.optIns.LearnSince(ctx, c.halts.Store)
		switch {
		case err == nil || ctx.Err() != nil:
			return
		case failures.IsPermanent(err) || time.Since(start) > halts.Patience:
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
	ctx, stop := context.WithTimeout(ctx, halts.Period)
	defer stop()
	before := c.optIns.AppliesSince()
	if err := c.optIns.LearnSince(ctx, c.halts.Store); err != nil {
		c.options.Log.Warn("cannot find out again since when workloads are enabled that have no annotation", "since", before, "error", err)
	}
	c.optIns.Redate(before, c.catalog)
}

// Lead acts on changes until the context ends, or until a failure that ends it; see
// [Options.ExitOnError]. Only one process may lead at a time. It first acts on the changes
// that it observed earlier as a standby.
func (c *Controller) Lead(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c.relearnOptIns(ctx) // before anything is decided
	c.beginToLead()
	defer c.role.Leading.Store(false)
	var group sync.WaitGroup
	if c.options.watchesSecrets() {
		group.Go(func() {
			if key, found := c.keys.Find(ctx); found {
				c.useKey(key)
			}
		})
	}
	if !c.options.DryRun {
		group.Go(func() { c.deliveries.Run(ctx) })
		group.Go(func() { c.evictor.Run(ctx) })
		group.Go(func() { c.gate.Run(ctx) })
		group.Go(func() { c.halts.Run(ctx) })
		group.Go(func() { c.reports.Run(ctx) })
		group.Go(func() { c.exposures.Run(ctx) })
	}
	group.Go(func() { c.absences.Run(ctx) })
	group.Go(func() { c.changes.Run(ctx, c.options.CheckPeriod, c.due) })
	err := c.restarter.Run(ctx, c.staleness.NoteWorkload)
	stop()
	group.Wait()
	return err
}

func (c *Controller) due(change pending.ObservedChange) {
	c.restarter.Take(change)
	c.staleness.NoteWaiting(change.Workload)
}

// beginToLead takes over from a former leader: what is known about its restarts must be in the ledger
// before the gate is asked.
func (c *Controller) beginToLead() {
	c.gate.Reset() // before anything else can be noted
	c.restarter.Backlogs.Begin(time.Now())
	c.role.Leading.Store(true)
	if c.role.Acts() {
		c.evictor.ObserveAll() // before, so that it is known whose pods may be left
		c.deliveries.ResumeAll(time.Now())
		c.gate.FindWaves()
	}
	c.intake.Unusable.ReportAll()
	c.intake.Mistakes.ReportAll()
	c.staleness.NoteLeading()
}

func (c *Controller) useKey(key content.ChecksumKey) {
	c.catalog.SetKey(key)
	c.staleness.NoteEverything()
}

// holdPeriod is how exactly it is known since when annotations hold restarts, if no managedFields say so.
const holdPeriod = 5 * time.Second

// passTime lets the catalog know since when there are holds, until the context ends. Everything must have been listed.
func passTime(ctx context.Context, c *catalog.Catalog) {
	c.PassTime(time.Now())
	run.Every(ctx, holdPeriod, c.PassTime)
}

// Refused returns a channel that has an element once a workload, or the ConfigMap of halts, has begun to be refused for lack of a
// permission, which may have been lost since it was checked. There is none for each attempt that is refused again.
func (c *Controller) Refused() <-chan struct{} { return c.restarter.Refused }

// TryRefused makes everything be tried again that was refused for lack of a permission in the namespaces in which the given ones
// have been granted. Otherwise each would wait for its own turn to try again.
func (c *Controller) TryRefused(granted []apiclient.Permission) {
	if !c.role.Leads() {
		return
	}
	namespaces := make(map[string]bool)
	for i := range granted {
		namespaces[granted[i].Namespace] = true
	}
	lacking, over := c.restarter.Backlogs.TakeLacking(granted)
	c.gate.ForgetRefusals(over)
	for _, ref := range lacking {
		c.restarter.Queue.Add(ref, names.ConfigRef{})
	}
	c.evictor.TryRefused(namespaces)
	c.halts.WakeUp() // the ConfigMap of halts may have been refused
}
