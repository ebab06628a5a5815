package dialect

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// What other tools write on workloads stays there when they are gone. Most of it does nothing.

const (
	reloaderPausedAt = "deployment.reloader.stakater.com/paused-at"
	reloaderLast     = "reloader.stakater.com/last-reloaded-from" // on the pod template
	reloaderVariable = "STAKATER_"                                // what the names of its variables begin with
	waveFinalizer    = "wave.pusher.com/finalizer"
	waveDisabled     = "wave.pusher.com/scheduling-disabled"
	waveScheduler    = "wave.pusher.com/"            // what the name of the scheduler begins with that does not exist
	waveHash         = "wave.pusher.com/config-hash" // on the pod template

)

// leftover is something that a tool may have left behind.
type leftover struct {
	by   optin.Dialect
	isOn func(*workload.Parts) bool
	// isHarmful means that pods do not start, or stay, until a person has removed it.
	isHarmful bool
	text      string
}

var leftovers = []leftover{
	{
		optin.Reloader, func(p *workload.Parts) bool {
			return p.Hold == workload.Paused && p.Meta.Annotations[reloaderPausedAt] != ""
		}, true,
		"this Deployment is paused, and has the annotation " + reloaderPausedAt + " by which Reloader marks its pause period. Unless Reloader still runs, run kubectl rollout resume, and remove the annotation",
	},
	{
		optin.Wave, func(p *workload.Parts) bool { return slices.Contains(p.Meta.Finalizers, waveFinalizer) }, true,
		"the workload has the finalizer " + waveFinalizer + ", so it cannot be deleted unless wave runs. Without wave, first remove the workload from metadata.ownerReferences of " +
			"the ConfigMaps and Secrets that it reads, or deleting it deletes them; then remove the finalizer from metadata.finalizers",
	},
	{
		optin.Wave, func(p *workload.Parts) bool {
			former, isDisabled := p.Meta.Annotations[waveDisabled]
			scheduler := p.Template.Spec.SchedulerName
			isOther := scheduler != "" && scheduler != former && scheduler != corev1.DefaultSchedulerName
			return isDisabled && isOther || strings.HasPrefix(scheduler, waveScheduler)
		}, true,
		"the pod template names a scheduler by which wave keeps pods pending. Without wave, restore spec.template.spec.schedulerName, whose former value is in the annotation " +
			waveDisabled + ", and remove that annotation",
	},
	{
		optin.Reloader, func(p *workload.Parts) bool {
			return p.Template.Annotations[reloaderLast] != "" || hasReloadersVariable(&p.Template.Spec)
		}, false,
		"Reloader has left variables " + reloaderVariable + "… or the annotation " + reloaderLast + " on the pod template. They have no effect. Remove them with the next release, since that restarts the pods",
	},
	{
		optin.Wave, func(p *workload.Parts) bool { return p.Template.Annotations[waveHash] != "" }, false,
		"wave has left the annotation " + waveHash + " on the pod template. It has no effect. Remove it with the next release, since that restarts the pods",
	},
}

func hasReloadersVariable(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(slices.Concat(spec.InitContainers, spec.Containers), func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return strings.HasPrefix(v.Name, reloaderVariable) })
	})
}

// left returns what the tools that the rules understand have left behind on a workload, and what to do about it, the
// harmful first.
func left(r *optin.Rules, parts *workload.Parts) (text string, isHarmful bool) {
	var all []string
	for i := range leftovers {
		if l := &leftovers[i]; slices.Contains(r.Dialects, l.by) && l.isOn(parts) {
			all, isHarmful = append(all, l.text), isHarmful || l.isHarmful
		}
	}
	return strings.Join(all, "; "), isHarmful // for one, no memory of its own
}
