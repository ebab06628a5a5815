package workload

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
)

// Method returns how the workload restarts. While pods of an earlier release run, only evicted ones read their configs again.
func (o *Object) Method() policy.Method {
	switch {
	case o.AwaitsRelease():
		return policy.ByEviction
	case o.Policy == nil:
		return policy.ByTemplate
	}
	return o.Policy.Method
}

// IsFallenBack reports whether a Deployment runs pods of an earlier release, since the present one has failed.
func (o *Object) IsFallenBack() bool {
	return o.Rollout.Course.isFallenBack() && o.Ref.Kind == names.Deployment
}

// AwaitsRelease reports whether only the end of the present release restarts the workload by its pod template, or, if it has failed,
// another one or another attempt at it.
func (o *Object) AwaitsRelease() bool {
	return (o.IsFallenBack() || o.Rollout.Course == ReleaseTakesSteps) && (o.Policy == nil || o.Policy.Method == policy.ByTemplate)
}

// MethodHold returns why the restarts of a workload are held because of its method, empty if they are not.
// Only a controller with the flag --evict can evict, but any can leave it to the workload's own controller.
func (o *Object) MethodHold(canEvict bool) string {
	switch {
	case o.Method() == policy.NoMethod:
		return "the annotation " + annotation.MethodAnnotation + " cannot be read: " + o.Policy.Unread
	case o.RestartsItself() && o.AwaitsRollout():
		return "it is paused: Argo Rollouts replaces no pods before it is resumed"
	case o.RestartsItself():
		return ""
	case o.Method() == policy.ByEviction && o.Ref.Kind.IsCustom():
		return "workloads of its kind do not restart by eviction"
	case o.AwaitsRelease() && !canEvict:
		return o.releaseHold()
	case o.Method() == policy.ByEviction && !canEvict:
		return "it restarts by eviction, for which the controller needs the flag --evict"
	case !o.AwaitsRollout():
		return ""
	case o.TemplateHold == Paused:
		return "it is paused, and its pod template has changed: evicted pods would come back from an earlier template"
	}
	return "its pod template has changed and is not rolled out everywhere, and an eviction would roll it out"
}

// releaseHold is the MethodHold of a workload that awaits a release.
func (o *Object) releaseHold() string {
	why := "its release takes steps"
	if o.IsFallenBack() {
		why = "its release has failed"
	}
	return why + ", and pods of an earlier one run, which only evictions restart, for which the controller needs the flag --evict"
}

// AwaitsRollout reports whether the workload's owner has yet to roll out its present pod template, so that an
// evicted pod would come back from that template. It is false for workloads that do not restart by eviction. A workload
// that restarts by its own controller waits only while that does nothing: it replaces each pod by one of the same template.
func (o *Object) AwaitsRollout() bool {
	if o.RestartsItself() {
		return o.Rollout.OwnRestart == ReplacesNothing
	}
	return o.TemplateHold != NoHold && (!o.Rollout.Observed || o.Rollout.Outdated > 0)
}

// keepTemplate notes that the pod template is left alone. Whatever keeps a workload from rolling out another template
// does not keep it from replacing a pod.
func (o *Object) keepTemplate() {
	if o.Method() == policy.ByEviction {
		o.TemplateHold, o.Hold = o.Hold, NoHold
	}
}

// EvictionDelay is how long after the record nothing may be evicted: until the clock that dates the records is
// so far ahead that [record.LastRestart.IsEarlierPod] reports false for a new pod, even if the clock that dates the pod is
// behind by as much as clocks may differ, and shows whole seconds.
const EvictionDelay = 2*names.ClockTolerance + time.Second
