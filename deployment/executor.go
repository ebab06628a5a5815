package deployment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
	"kubernetes-deployment-restart-controller/internal/podtemplate"
)

// statusSubresource is the part of a Deployment that its controller writes.
const statusSubresource = "status"

// reasonScaling is the reason of Events about the sizes of ReplicaSets.
const reasonScaling = "ScalingReplicaSet"

// executor applies actions. It makes all writes, apart from those of the probe. The API
// server's answers go into the caches immediately.
type executor struct {
	apps    apiclient.Apps
	core    rest.Interface
	looks   fairqueue.TurnLock // at pods, of which anyone may make heavy ones
	caches  *caches
	events  record.EventRecorder
	metrics *metrics
	log     *slog.Logger
	// mayWrite reports whether the engine drives the Deployments of a namespace.
	mayWrite func(namespace string) bool
}

// creationError is why the new ReplicaSet could not be created.
type creationError struct {
	rollout.CreationFailure
	cause error
}

func (e *creationError) Error() string { return e.cause.Error() }
func (e *creationError) Unwrap() error { return e.cause }

// unsureError is why the state of a ReplicaSet is not known: a failed write of it may have
// succeeded, or it could not be read after it had changed.
type unsureError struct {
	name  string
	cause error
}

func (e *unsureError) Error() string { return e.cause.Error() }
func (e *unsureError) Unwrap() error { return e.cause }

// unsure returns an unsureError if a failed write of a ReplicaSet may have succeeded: no answer
// came, or the answer reports a failure of the server.
func unsure(name string, err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code < http.StatusInternalServerError {
		return err
	}
	return &unsureError{name, err}
}

// errMovedOn ends a plan that no longer fits what a live read has shown.
var errMovedOn = errors.New("it has changed since it was read")

// errNotDriving ends a plan because the engine stands by, or rests in the namespace.
var errNotDriving = errors.New("the engine does not drive this Deployment now")

// apply applies actions in order up to the first that fails, and returns how many were carried
// out. If a write was refused because its object has changed or is gone, apply reads the object
// again for the next plan.
func (x *executor) apply(ctx context.Context, d *rollout.Deployment, actions []rollout.Action) (done int, err error) {
	for done, action := range actions {
		if !x.mayWrite(d.Namespace) {
			return done, errNotDriving
		}
		if err := x.do(ctx, d, action); err != nil {
			x.metrics.writeErrors.WithLabelValues(reasonOf(err)).Inc()
			return done, fmt.Errorf("%s: %w", action, err)
		}
		x.metrics.actions.WithLabelValues(action.Kind()).Inc()
		if level := levelOf(action); x.log.Enabled(ctx, level) {
			x.log.Log(ctx, level, "carried out", "deployment", d.Key().String(), "action", action.String())
		}
	}
	return len(actions), nil
}

// levelOf keeps actions that occur many times in a rollout out of the log.
func levelOf(action rollout.Action) slog.Level {
	switch action.(type) {
	case rollout.UpdateStatus, rollout.LookAtPods, rollout.RecordEvent:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

func (x *executor) do(ctx context.Context, d *rollout.Deployment, action rollout.Action) error {
	switch a := action.(type) {
	case rollout.CreateReplicaSet:
		return x.create(ctx, d, &a)
	case rollout.UpdateReplicaSet:
		return x.update(ctx, d, &a)
	case rollout.DeleteReplicaSet:
		return x.remove(ctx, &a.Target)
	case rollout.AdoptReplicaSet:
		return x.adopt(ctx, d, &a.Target)
	case rollout.ReleaseReplicaSet:
		body, err := releasePatch(d, &a.Target)
		return x.patchReplicaSet(ctx, &a.Target, types.StrategicMergePatchType, body, err, func(after *rollout.ReplicaSet) string {
			return rollout.MissingOwner(d, false, after)
		})
	case rollout.RollBack:
		return x.rollBack(ctx, d, &a)
	case rollout.EndRollBack:
		body, err := endRollbackPatch(&d.Meta)
		return x.patchDeployment(ctx, d, types.JSONPatchType, body, err, a.MissingIn)
	case rollout.UpdateStatus:
		return x.updateStatus(ctx, d, &a)
	case rollout.LookAtPods:
		return x.lookAtPods(ctx, d, &a)
	case rollout.RecordEvent:
		x.events.Event(d.Reference(), a.Type, a.Reason, a.Message)
		return nil
	}
	return fmt.Errorf("unknown action %T", action)
}

func (x *executor) create(ctx context.Context, d *rollout.Deployment, a *rollout.CreateReplicaSet) error {
	live, before, err := x.confirm(ctx, d)
	switch {
	case err != nil:
		return err
	case !x.mayWrite(d.Namespace): // a rival was detected in the meantime
		return errNotDriving
	}
	created, err := x.apps.ReplicaSets(d.Namespace).Create(ctx, newReplicaSet(live, before, a), metav1.CreateOptions{FieldManager: rollout.FieldManager})
	switch {
	case apierrors.IsAlreadyExists(err):
		return x.resolveCollision(ctx, d, a, err)
	case err != nil && isRefusal(err):
		return &creationError{rollout.CreationFailure{Name: a.Name, Message: brief.Text(err.Error())}, unsure(a.Name, err)}
	case err != nil:
		return unsure(a.Name, err)
	}
	rs := rollout.NewReplicaSet(created)
	x.caches.replicaSets.answer(rs)
	if rs.Replicas > 0 {
		x.events.Eventf(d.Reference(), corev1.EventTypeNormal, reasonScaling, "Scaled up replica set %s from 0 to %d", a.Name, rs.Replicas)
	}
	if rs.Sum != d.Sum {
		return alteredError(a.Name)
	}
	return nil
}

// resolveCollision reads the ReplicaSet that has the name of the new one. It may be the wanted
// ReplicaSet itself, created without the knowledge of this process, or an orphan that will be
// adopted.
func (x *executor) resolveCollision(ctx context.Context, d *rollout.Deployment, a *rollout.CreateReplicaSet, cause error) error {
	holder, err := x.lookAtReplicaSet(ctx, types.NamespacedName{Namespace: d.Namespace, Name: a.Name})
	switch {
	case err != nil:
		return &unsureError{a.Name, err}
	case holder == nil, holder.Controller == d.UID && holder.Sum == d.Sum, holder.Controller == "" && !holder.Deleting && d.Selects(holder):
		return fmt.Errorf("%w: %w", errMovedOn, cause)
	}
	return &creationError{rollout.CreationFailure{Name: a.Name, Collided: true}, cause}
}

// isRefusal reports whether the API server has understood a request and refused it. A refusal
// because the namespace is terminating does not count, since it needs no report.
func isRefusal(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

func (x *executor) update(ctx context.Context, d *rollout.Deployment, a *rollout.UpdateReplicaSet) error {
	body, err := updatePatch(a)
	if err := x.patchReplicaSet(ctx, &a.Target, types.MergePatchType, body, err, a.MissingIn); err != nil {
		return err
	}
	if a.FailedBy != "" {
		x.metrics.fallBacks.WithLabelValues(string(a.FailedBy)).Inc()
	}
	switch {
	case a.To > a.From:
		x.events.Eventf(d.Reference(), corev1.EventTypeNormal, reasonScaling, "Scaled up replica set %s from %d to %d", a.Target.Name, a.From, a.To)
	case a.To < a.From:
		x.events.Eventf(d.Reference(), corev1.EventTypeNormal, reasonScaling, "Scaled down replica set %s from %d to %d", a.Target.Name, a.From, a.To)
	}
	return nil
}

func (x *executor) remove(ctx context.Context, target *rollout.Meta) error {
	err := x.apps.ReplicaSets(target.Namespace).Delete(ctx, target.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &target.UID, ResourceVersion: &target.ResourceVersion},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return x.lookAgain(ctx, target, err)
	}
	x.caches.replicaSets.answerGone(target)
	return nil
}

// adopt first checks that the Deployment still exists: the cache may not know yet that it is
// being deleted without its ReplicaSets.
func (x *executor) adopt(ctx context.Context, d *rollout.Deployment, target *rollout.Meta) error {
	live, err := x.lookAtDeployment(ctx, &d.Meta)
	if err != nil {
		return err
	}
	if live == nil || live.UID != d.UID || live.Deleting {
		return fmt.Errorf("%w: the deployment is gone or being deleted", errMovedOn)
	}
	body, err := adoptPatch(d, target)
	return x.patchReplicaSet(ctx, target, types.StrategicMergePatchType, body, err, func(after *rollout.ReplicaSet) string {
		return rollout.MissingOwner(d, true, after)
	})
}

func (x *executor) rollBack(ctx context.Context, d *rollout.Deployment, a *rollout.RollBack) error {
	source, err := x.readOriginal(ctx, a.Source.Key())
	switch {
	case err != nil:
		return x.lookAgain(ctx, &a.Source, err)
	case source.Metadata.UID != a.Source.UID:
		_, err := x.lookAtReplicaSet(ctx, a.Source.Key())
		return errors.Join(fmt.Errorf("%w: replicaset %s", errMovedOn, a.Source.Name), err)
	}
	body, err := rollbackPatch(&d.Meta, a, source.Spec.Template)
	return x.patchDeployment(ctx, d, types.JSONPatchType, body, err, func(after *rollout.Deployment) string { return a.MissingIn(d, after) })
}

func (x *executor) updateStatus(ctx context.Context, d *rollout.Deployment, a *rollout.UpdateStatus) error {
	reads, err := x.readsOf(ctx, a.Runs)
	if err != nil {
		return err
	}
	body, err := statusPatch(&d.Meta, a, reads)
	err = x.patchDeployment(ctx, d, types.MergePatchType, body, err, a.MissingIn, statusSubresource)
	if a.Runs == nil || !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
		return err
	}
	// An admission policy of an earlier version may forbid the annotation. The status must not wait for that.
	x.log.Warn("cannot say on a deployment which configs its pods read", "deployment", d.Key(), "error", err)
	*a.Refused = true
	if a.Revision == "" && apiequality.Semantic.DeepEqual(a.Status, d.Status) {
		return nil
	}
	alone := *a
	alone.Runs = nil
	body, err = statusPatch(&d.Meta, &alone, nil)
	return x.patchDeployment(ctx, d, types.MergePatchType, body, err, alone.MissingIn, statusSubresource)
}

// readsOf returns what the pods of a ReplicaSet read, encoded, or nil without one.
func (x *executor) readsOf(ctx context.Context, target *rollout.Meta) (*string, error) {
	if target == nil || target.UID == "" {
		return nil, nil
	}
	rs, err := x.apps.ReplicaSets(target.Namespace).Get(ctx, target.Name, metav1.GetOptions{})
	switch {
	case err != nil:
		return nil, x.lookAgain(ctx, target, err)
	case rs.UID != target.UID:
		return nil, fmt.Errorf("%w: replicaset %s", errMovedOn, target.Name)
	}
	return new(podtemplate.EncodeReads(string(target.UID), &rs.Spec.Template.Spec)), nil
}

// patchReplicaSet sends an encoded body, or returns err if the encoding failed. The function
// missing returns which of the patch's intended changes the answer lacks.
func (x *executor) patchReplicaSet(ctx context.Context, target *rollout.Meta, kind types.PatchType, body []byte, err error, missing func(*rollout.ReplicaSet) string) error {
	if err != nil {
		return err
	}
	answer, err := x.apps.ReplicaSets(target.Namespace).Patch(ctx, target.Name, kind, body, metav1.PatchOptions{FieldManager: rollout.FieldManager})
	if err != nil {
		return x.lookAgain(ctx, target, err)
	}
	after := rollout.NewReplicaSet(answer)
	x.caches.replicaSets.answer(after)
	return effectOf("replicaset "+target.Name, target, &after.Meta, missing(after))
}

// lookAgain brings the cache up to date after a write to a ReplicaSet was refused.
func (x *executor) lookAgain(ctx context.Context, target *rollout.Meta, cause error) error {
	if !apierrors.IsConflict(cause) && !apierrors.IsNotFound(cause) {
		return unsure(target.Name, cause)
	}
	live, err := x.lookAtReplicaSet(ctx, target.Key())
	switch {
	case err != nil:
		return &unsureError{target.Name, errors.Join(cause, err)}
	case live == nil:
		x.caches.replicaSets.answerGone(target)
	}
	return cause
}

// lookAtReplicaSet reads a ReplicaSet into the cache and returns it, or nil if it does not
// exist.
func (x *executor) lookAtReplicaSet(ctx context.Context, key types.NamespacedName) (*rollout.ReplicaSet, error) {
	object, err := x.apps.ReplicaSets(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get replicaset %s: %w", key, err)
	}
	rs := rollout.NewReplicaSet(object)
	x.caches.replicaSets.answer(rs)
	return rs, nil
}

// patchDeployment sends an encoded body, or returns err if the encoding failed. The function
// missing returns which of the patch's intended changes the answer lacks.
func (x *executor) patchDeployment(ctx context.Context, d *rollout.Deployment, kind types.PatchType, body []byte, err error,
	missing func(*rollout.Deployment) string, subresource ...string) error {
	if err != nil {
		return err
	}
	answer, err := x.apps.Deployments(d.Namespace).Patch(ctx, d.Name, kind, body, metav1.PatchOptions{FieldManager: rollout.FieldManager}, subresource...)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		_, lookErr := x.lookAtDeployment(ctx, &d.Meta)
		return errors.Join(err, lookErr)
	}
	if err != nil {
		return err
	}
	after := rollout.NewDeployment(answer)
	x.caches.deployments.answer(after)
	return effectOf("the deployment", &d.Meta, &after.Meta, missing(after))
}

// lookAtDeployment reads a Deployment into the cache and returns it, or nil if it does not
// exist.
func (x *executor) lookAtDeployment(ctx context.Context, known *rollout.Meta) (*rollout.Deployment, error) {
	object, err := x.apps.Deployments(known.Namespace).Get(ctx, known.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		x.caches.deployments.answerGone(known)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get deployment %s: %w", known.Key(), err)
	}
	d := rollout.NewDeployment(object)
	x.caches.deployments.answer(d)
	return d, nil
}
