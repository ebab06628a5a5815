package controller

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/fairqueue"
	"kubernetes-deployment-restart-controller/quarantine"
)

// deliveryWorkers is how many workloads are judged at once. Most judgements take no request.
const deliveryWorkers = 2

// deliveries follows restarts until it is known what became of them, and reports that. Only the
// process that leads follows restarts. Nothing is decided here, and nothing is written but Events.
// Its methods may be called by several goroutines at once.
type deliveries struct {
	catalog    *catalog.Catalog
	pods       podReader
	metadata   metadata.Interface
	events     record.EventRecorder
	metrics    *metrics
	quarantine *quarantine.Set
	log        *slog.Logger
	policy     delivery.Policy
	queue      *fairqueue.Queue[catalog.WorkloadRef, struct{}]

	mu      sync.Mutex
	rolling map[catalog.WorkloadRef]*rollingRestart
}

// rollingRestart is a restart that is being followed.
type rollingRestart struct {
	*delivery.Restart
	began time.Time
	// decision explains the restart; it is empty if another process decided it.
	decision catalog.Decision
}

func newDeliveryQueue() *fairqueue.Queue[catalog.WorkloadRef, struct{}] {
	return queueOf[struct{}](deliveryWorkers, time.Second)
}

// wasWholeAfter returns whether all pods ran before the last restart, which may be this one. If the
// pods are still being replaced for a restart before, they did if they ran before that.
func (d *deliveries) wasWholeAfter(w *catalog.Workload, outcome catalog.Outcome) bool {
	if outcome != catalog.Restart {
		return w.Applied.WasWhole && w.Applied.Trusted
	}
	rolling := d.of(w.Ref)
	return w.Rollout.IsWhole() || rolling != nil && rolling.WasWhole
}

// begin follows a restart that has just been made, instead of an earlier one.
func (d *deliveries) begin(ref catalog.WorkloadRef, decision catalog.Decision, now time.Time) {
	decision.Checksums = nil // of which there may be very many
	if w := d.catalog.Workload(ref); w != nil {
		d.follow(w, decision, now)
	}
}

func (d *deliveries) follow(w *catalog.Workload, decision catalog.Decision, began time.Time) {
	d.mu.Lock()
	d.rolling[w.Ref] = &rollingRestart{delivery.Begin(w, w.Applied.WasWhole, began), began, decision}
	d.mu.Unlock()
	d.queue.Add(w.Ref, struct{}{})
}

// resume follows the restart of a workload that another process made a short while ago, if it may
// not be complete.
func (d *deliveries) resume(ref catalog.WorkloadRef, now time.Time) {
	w, known := d.catalog.Workload(ref), d.of(ref)
	if w == nil || known != nil && known.Timestamp == w.Timestamp {
		return
	}
	if began, isRolling := delivery.Resumes(w, d.policy, now); isRolling {
		d.follow(w, catalog.Decision{}, began)
	}
}

// observe takes in that a workload has changed, or its status.
func (d *deliveries) observe(ref catalog.WorkloadRef) {
	if d.of(ref) != nil {
		d.queue.Add(ref, struct{}{})
	}
}

// forget stops following the restart of a workload that is gone or no longer opted in.
func (d *deliveries) forget(ref catalog.WorkloadRef) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.rolling, ref)
}

func (d *deliveries) of(ref catalog.WorkloadRef) *rollingRestart {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rolling[ref]
}

// finish stops following a restart, unless another one has begun.
func (d *deliveries) finish(ref catalog.WorkloadRef, restart *rollingRestart) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rolling[ref] == restart {
		delete(d.rolling, ref)
	}
}

// run follows restarts until the context ends.
func (d *deliveries) run(ctx context.Context) {
	now := time.Now()
	for _, ref := range d.catalog.Workloads() {
		d.resume(ref, now)
	}
	d.queue.Run(ctx, func(ctx context.Context, ref catalog.WorkloadRef) {
		d.quarantine.Try(quarantine.Delivery, nameOfWorkload(ref), func() { d.look(ctx, ref) })
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.rolling)
}

// look judges the restart of a workload, and again later if it is not over.
func (d *deliveries) look(ctx context.Context, ref catalog.WorkloadRef) {
	restart, w := d.of(ref), d.catalog.Workload(ref)
	switch {
	case restart == nil:
		return
	case w == nil:
		d.finish(ref, restart)
		return
	}
	judgement, err := d.judge(ctx, restart, w)
	if err != nil {
		if ctx.Err() == nil {
			d.queue.Retry(ref, failureOf(err))
		}
		return
	}
	d.queue.Forget(ref)
	if judgement.Again > 0 {
		d.queue.AddAfter(ref, judgement.Again)
		return
	}
	d.finish(ref, restart)
	d.report(ctx, w, restart, judgement)
}

// judge judges the restart of a workload, with its pods if necessary. If they cannot be read again and
// again, the status alone decides.
func (d *deliveries) judge(ctx context.Context, restart *rollingRestart, w *catalog.Workload) (delivery.Judgement, error) {
	judgement := restart.Look(w, d.policy, time.Now())
	if judgement.Verdict != delivery.AskPods {
		return judgement, nil
	}
	worst, why, err := d.pods.worst(ctx, w)
	if err != nil && (ctx.Err() != nil || d.queue.Failures(w.Ref) < passingFailures) {
		return delivery.Judgement{}, err
	}
	if err != nil {
		d.log.Warn("cannot read the pods of a workload that restarts, judging it by its status", "workload", w.Ref, "error", err)
	}
	return restart.LookAtPods(w, d.policy, worst, why, time.Now()), nil
}

// report reports what became of a restart.
func (d *deliveries) report(ctx context.Context, w *catalog.Workload, restart *rollingRestart, judgement delivery.Judgement) {
	took := time.Since(restart.began).Round(time.Second)
	switch judgement.Verdict {
	case delivery.Delivered:
		d.metrics.delivered.WithLabelValues(string(w.Ref.Kind)).Inc()
		d.metrics.deliveryTime.Observe(took.Seconds())
		d.log.Info("restart is delivered", "workload", w.Ref, "after", took.String())
	case delivery.Failed:
		d.metrics.failed.WithLabelValues(string(w.Ref.Kind)).Inc()
		causes := describeFailed(restart.decision)
		d.log.Warn("restart failed", "workload", w.Ref, "after", took.String(), "reason", judgement.Reason, "causes", causes)
		if causes != "" {
			causes = " for " + causes
		}
		d.events.Eventf(objectReference(w), corev1.EventTypeWarning, reasonNotDelivered, "failed %s after it restarted%s: %s", took, causes, judgement.Reason)
		d.reportOnConfigs(ctx, w, restart.decision, took, judgement.Reason)
	default:
		d.log.Info("restart is not followed any further", "workload", w.Ref, "after", took.String(), "reason", judgement.Reason)
	}
}

// reportOnConfigs reports a failed restart to the owners of the configs that it was for, who may not
// be those of the workload.
func (d *deliveries) reportOnConfigs(ctx context.Context, w *catalog.Workload, decision catalog.Decision, took time.Duration, reason string) {
	for _, cause := range decision.Causes {
		config, err := d.reference(ctx, cause.Config)
		if err != nil {
			d.log.Warn("cannot report a failed restart on a config", "config", cause.Config, "workload", w.Ref, "error", err)
			continue
		}
		if config != nil {
			d.events.Eventf(config, corev1.EventTypeWarning, reasonNotDelivered, "%s/%s failed %s after it restarted for this change (%s): %s",
				strings.ToLower(string(w.Ref.Kind)), w.Ref.Name, took, describeEdit(cause), reason)
		}
	}
}

// reference names a config as the object of an Event, with the UID by which kubectl describe finds
// it; nil if the config is gone. It reads no data, and needs no permission beyond those of the watches.
func (d *deliveries) reference(ctx context.Context, ref catalog.ConfigRef) (*corev1.ObjectReference, error) {
	kind := kindOfConfig(ref.Kind)
	list, err := d.metadata.Resource(corev1.SchemeGroupVersion.WithResource(kind.resource)).Namespace(ref.Namespace).
		List(ctx, onlyNamed(ref.Name))
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	object := &list.Items[0]
	return &corev1.ObjectReference{
		APIVersion: "v1", Kind: kind.name, Namespace: ref.Namespace, Name: ref.Name, UID: object.UID, ResourceVersion: object.ResourceVersion,
	}, nil
}
