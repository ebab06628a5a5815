package differential

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsdefaults "k8s.io/kubernetes/pkg/apis/apps/v1"

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// The annotations that the controllers agree on.
const (
	prefix             = "deployment.kubernetes.io/"
	revision           = prefix + "revision"
	desiredReplicas    = prefix + "desired-replicas"
	maxReplicas        = prefix + "max-replicas"
	rollbackTo         = appsv1.DeprecatedRollbackTo
	configChecksums    = "com.xing.deployment-restart.applied-config-checksums"
	configBasis        = "com.xing.deployment-restart.applied-config-basis"
	podsRetried        = "com.xing.deployment-restart.pods-retried-at"
	origin             = "com.xing.deployment-restart.origin"
	note               = "note"
	changeCause        = "kubernetes.io/change-cause"
	unreasonablyLargeN = "99999999999"
)

// act is what somebody does, in both worlds alike.
type act struct {
	what string
	do   func(w *world)
}

// randomly makes acts, reading in one of the worlds, which are alike.
type randomly struct {
	*history
	w *world
}

func pick[T any](r randomly, choices ...T) T { return choices[r.random.IntN(len(choices))] }

func (r randomly) chance(p float64) bool { return r.random.Float64() < p }

func (r randomly) upTo(n int) int32 { return int32(r.random.IntN(n + 1)) }

// act returns a random act, or none if it does not suit.
func (r randomly) act() *act {
	if r.w.deployment() == nil {
		return r.create()
	}
	choices := []func() *act{
		r.changeTemplate, r.changeTemplate, r.changeTemplate, r.changeTemplate, r.scale, r.scale, r.scale,
		r.changeStrategy, r.pauseOrResume, r.pauseOrResume, r.changeSettings, r.changeAnnotations, r.rollBack, r.undo,
		r.harmPods, r.harmPods, r.limitPods, r.limitSets, r.collide,
	}
	if r.isWild {
		choices = append(choices, r.meddle, r.meddle, r.meddle, r.adopt, r.delete)
	}
	return pick(r, choices...)()
}

// onDeployment is an act on the Deployment.
func onDeployment(what string, change func(*appsv1.Deployment)) *act {
	return &act{what, func(w *world) {
		edit(w.server, name, func(d *appsv1.Deployment) {
			if d.Annotations == nil {
				d.Annotations = map[string]string{}
			}
			change(d)
			appsdefaults.SetObjectDefaults_Deployment(d)
		})
	}}
}

func (r randomly) image() string {
	if r.chance(.7) {
		return fmt.Sprintf("v%d", r.random.IntN(6))
	}
	return pick(r, "slow1", "slow2", "late", "bad1", "bad2")
}

// template is one of a few that differ in their images, and in what makes no difference.
func (r randomly) template() corev1.PodTemplateSpec {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: r.image()}}},
	}
	container := &template.Spec.Containers[0]
	switch r.random.IntN(8) {
	case 0:
		container.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(pick(r, "1Gi", "1024Mi", "1073741824"))}
	case 1:
		container.Env = []corev1.EnvVar{{Name: "A", Value: pick(r, "1", "2")}}
	case 2:
		container.Command, template.Annotations = []string{}, map[string]string{}
	case 3:
		template.Labels["tier"] = pick(r, "a", "b")
	}
	return template
}

func (r randomly) strategy() appsv1.DeploymentStrategy {
	if r.chance(.2) {
		return appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	surge, unavailable := pick(r, "0", "1", "2", "10", "1%", "25%", "100%", ""), pick(r, "0", "1", "3", "10", "1%", "25%", "50%", "100%", "")
	if (surge == "0" || surge == "0%") && unavailable == "0" { // refused by the API server
		surge = "1"
	}
	return appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: limit(surge), MaxUnavailable: limit(unavailable)},
	}
}

// limit leaves it to the API server's default if it is empty.
func limit(text string) *intstr.IntOrString {
	if text == "" {
		return nil
	}
	value := intstr.Parse(text)
	return &value
}

func (r randomly) create() *act {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 1, Annotations: map[string]string{}},
		Spec: appsv1.DeploymentSpec{
			Replicas:                new(r.upTo(8)),
			Selector:                &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template:                r.template(),
			Strategy:                r.strategy(),
			MinReadySeconds:         pick(r, int32(0), 0, 0, 8),
			Paused:                  r.chance(.05),
			RevisionHistoryLimit:    r.historyLimit(),
			ProgressDeadlineSeconds: r.deadline(),
		},
	}
	appsdefaults.SetObjectDefaults_Deployment(d)
	return &act{fmt.Sprintf("creates the deployment: %s, %s", imageOf(&d.Spec.Template), d.Spec.String()), func(w *world) { w.server.put(d.DeepCopy()) }}
}

func (r randomly) historyLimit() *int32 {
	return pick(r, nil, new(int32(0)), new(int32(1)), new(int32(2)), new(int32(10)), new(int32(2147483647)))
}

// deadline is far from the times in which pods become ready: what lies within a second of it is a matter of
// milliseconds.
func (r randomly) deadline() *int32 {
	return pick(r, nil, new(int32(30)), new(int32(100)), new(int32(600)), new(int32(2147483647)))
}

func (r randomly) changeTemplate() *act {
	template := r.template()
	return onDeployment(fmt.Sprintf("changes the template to %s", describeTemplate(&template)), func(d *appsv1.Deployment) { template.DeepCopyInto(&d.Spec.Template) })
}

func describeTemplate(template *corev1.PodTemplateSpec) string {
	c := &template.Spec.Containers[0]
	return fmt.Sprintf("%s, labels %v, limits %v, env %v, command %v", c.Image, template.Labels, c.Resources.Limits, c.Env, c.Command)
}

// undo brings back the template of an earlier ReplicaSet, as kubectl does.
func (r randomly) undo() *act {
	sets := r.w.owned()
	if len(sets) == 0 {
		return nil
	}
	rs := pick(r, sets...)
	template := rs.Spec.Template.DeepCopy()
	delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return onDeployment("undoes to "+rs.Name, func(d *appsv1.Deployment) { template.DeepCopyInto(&d.Spec.Template) })
}

func (r randomly) scale() *act {
	replicas := r.upTo(10)
	return onDeployment(fmt.Sprintf("scales to %d", replicas), func(d *appsv1.Deployment) { d.Spec.Replicas = &replicas })
}

func (r randomly) changeStrategy() *act {
	strategy := r.strategy()
	return onDeployment("changes the strategy to "+strategy.String(), func(d *appsv1.Deployment) { strategy.DeepCopyInto(&d.Spec.Strategy) })
}

func (r randomly) pauseOrResume() *act {
	paused := !r.w.deployment().Spec.Paused && r.chance(.5)
	return onDeployment(fmt.Sprintf("pauses: %t", paused), func(d *appsv1.Deployment) { d.Spec.Paused = paused })
}

func (r randomly) changeSettings() *act {
	switch r.random.IntN(3) {
	case 0:
		value := r.historyLimit()
		return onDeployment("changes the history limit to "+shown(value), func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = value })
	case 1:
		value := r.deadline()
		return onDeployment("changes the deadline to "+shown(value), func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = value })
	}
	value := pick(r, int32(0), 0, 3, 20)
	return onDeployment(fmt.Sprintf("changes minReadySeconds to %d", value), func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = value })
}

func shown(n *int32) string {
	if n == nil {
		return "none"
	}
	return strconv.Itoa(int(*n))
}

func (r randomly) changeAnnotations() *act {
	key := pick(r, note, note, changeCause, corev1.LastAppliedConfigAnnotation, configChecksums, configBasis)
	value := pick(r, "a", "b", "")
	if r.chance(.2) {
		return onDeployment("removes the annotation "+key, func(d *appsv1.Deployment) { delete(d.Annotations, key) })
	}
	return onDeployment(fmt.Sprintf("annotates %s=%s", key, value), func(d *appsv1.Deployment) { d.Annotations[key] = value })
}

// rollBack asks for a rollback as old clients do.
func (r randomly) rollBack() *act {
	if r.w.isOutOfSets {
		return nil
	}
	to := pick(r, "0", "0", "1", "2", "3", "4", "5", "x")
	return onDeployment("rolls back to "+to, func(d *appsv1.Deployment) { d.Annotations[rollbackTo] = to })
}

// harmPods makes pods of a ReplicaSet ill or well, ends them, or keeps them from ending.
func (r randomly) harmPods() *act {
	sets := r.w.owned()
	if len(sets) == 0 {
		return nil
	}
	rs, count := pick(r, sets...).Name, 1+r.random.IntN(4)
	type harm struct {
		what string
		do   func(*world, *corev1.Pod, *podState)
	}
	harms := []harm{
		{"makes ill", func(_ *world, _ *corev1.Pod, p *podState) { p.isSick = true }},
		{"makes well", func(w *world, _ *corev1.Pod, p *podState) {
			if p.isSick {
				p.isSick, p.readySince = false, w.now
			}
		}},
		{"fails", func(w *world, pod *corev1.Pod, _ *podState) { w.failPod(pod.Name) }},
		{"removes", func(w *world, pod *corev1.Pod, _ *podState) { w.removePod(pod.Name) }},
		{"deletes", func(w *world, pod *corev1.Pod, _ *podState) { w.terminate(pod.Name) }},
		{"lets end", func(_ *world, _ *corev1.Pod, p *podState) { p.isStuck = false }},
	}
	if !r.w.isShuffled { // otherwise which of them end depends on which controller is faster
		harms = append(harms, harm{"keeps from ending", func(_ *world, _ *corev1.Pod, p *podState) { p.isStuck = true }})
	}
	h := pick(r, harms...)
	return &act{fmt.Sprintf("%s %d pods of %s", h.what, count, rs), func(w *world) {
		set := get[*appsv1.ReplicaSet](w.server, rs)
		if set == nil {
			return
		}
		all := w.podsOf(set)
		for _, pod := range all[:min(count, len(all))] {
			h.do(w, pod, w.pods[pod.Name])
		}
	}}
}

func (r randomly) limitPods() *act {
	isOut := !r.w.isOutOfPods && r.chance(.5)
	return &act{fmt.Sprintf("out of pods: %t", isOut), func(w *world) { w.isOutOfPods = isOut }}
}

func (r randomly) limitSets() *act {
	isOut := !r.w.isOutOfSets && r.chance(.4)
	return &act{fmt.Sprintf("out of replicasets: %t", isOut), func(w *world) { w.isOutOfSets = isOut }}
}

// collide takes the name that the ReplicaSet of some template would get.
func (r randomly) collide() *act {
	d := r.w.deployment().DeepCopy()
	template := r.template()
	template.DeepCopyInto(&d.Spec.Template)
	appsdefaults.SetObjectDefaults_Deployment(d)
	taken := name + "-" + rollout.TemplateHash(&d.Spec.Template, d.Status.CollisionCount)
	stranger := r.replicaSet(taken)
	if r.chance(.5) {
		stranger.Labels = map[string]string{"app": "other"}
	}
	what := fmt.Sprintf("takes the name %s of %s with labels %v", taken, imageOf(&d.Spec.Template), stranger.Labels)
	if r.chance(.3) {
		template.DeepCopyInto(&d.Spec.Template)
		return &act{what + " and changes the template to that", func(w *world) {
			w.add(stranger)
			onDeployment("", func(d *appsv1.Deployment) { template.DeepCopyInto(&d.Spec.Template) }).do(w)
		}}
	}
	return &act{what, func(w *world) { w.add(stranger) }}
}

// replicaSet is one that no Deployment has made.
func (r randomly) replicaSet(called string) *appsv1.ReplicaSet {
	d := r.w.deployment().DeepCopy()
	d.Spec.Template = r.template()
	appsdefaults.SetObjectDefaults_Deployment(d)
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: called, Generation: 1, Labels: maps.Clone(d.Spec.Template.Labels), Annotations: map[string]string{}},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(pick(r, int32(0), 0, r.upTo(4))), MinReadySeconds: pick(r, int32(0), 3),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web", "by": "hand"}}, Template: d.Spec.Template,
		},
	}
	rs.Spec.Template.Labels["by"] = "hand"
	if r.chance(.5) {
		delete(rs.Spec.Template.Labels, "by") // so that the Deployment may have it
		rs.Spec.Selector.MatchLabels = map[string]string{"app": "web"}
	}
	for _, key := range []string{revision, desiredReplicas, maxReplicas} {
		if r.chance(.4) {
			rs.Annotations[key] = pick(r, "1", "2", "7", "0", "x")
		}
	}
	return rs
}

func (w *world) add(rs *appsv1.ReplicaSet) {
	if get[*appsv1.ReplicaSet](w.server, rs.Name) == nil {
		w.server.put(rs.DeepCopy())
	}
}

// adopt brings a ReplicaSet that the Deployment selects and nobody controls.
func (r randomly) adopt() *act {
	rs := r.replicaSet(fmt.Sprintf("orphan-%d", r.random.IntN(4)))
	return &act{fmt.Sprintf("adds the orphan %s", describe(rs)), func(w *world) { w.add(rs) }}
}

// meddle does to a ReplicaSet what users had better not do.
func (r randomly) meddle() *act {
	sets := slices.DeleteFunc(r.w.replicaSets(), func(rs *appsv1.ReplicaSet) bool { return rs.DeletionTimestamp != nil })
	if len(sets) == 0 {
		return nil
	}
	rs := pick(r, sets...).Name
	on := func(what string, change func(*appsv1.ReplicaSet)) *act {
		return &act{what + ": " + rs, func(w *world) { edit(w.server, rs, change) }}
	}
	switch n := r.random.IntN(8); {
	case n == 0 && r.isHasty && !r.w.isShuffled: // otherwise which pods it costs depends on which controller is faster
		replicas := r.upTo(8)
		return on(fmt.Sprintf("scales by hand to %d", replicas), func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = &replicas })
	case n <= 1:
		return &act{"deletes " + rs, func(w *world) { w.server.remove(ref{replicaSets, rs}) }}
	case n == 2:
		return &act{"deletes slowly " + rs, func(w *world) { w.deleteSlowly(rs) }}
	case n == 3:
		return on("takes away its controller", disown)
	case n == 4:
		label := pick(r, "web", "other")
		return on("labels it app="+label, func(rs *appsv1.ReplicaSet) { rs.Labels = map[string]string{"app": label} })
	case n <= 6:
		key, value := pick(r, desiredReplicas, maxReplicas, revision, prefix+"revision-history", note), pick(r, "x", "0", "7", "-1", "", unreasonablyLargeN)
		return on(fmt.Sprintf("annotates %s=%s", key, value), func(rs *appsv1.ReplicaSet) {
			if rs.Annotations == nil {
				rs.Annotations = map[string]string{}
			}
			rs.Annotations[key] = value
		})
	}
	key := pick(r, desiredReplicas, maxReplicas, revision, note)
	return on("removes the annotation "+key, func(rs *appsv1.ReplicaSet) { delete(rs.Annotations, key) })
}

// delete deletes the Deployment, with its ReplicaSets, after them, or without them.
func (r randomly) delete() *act {
	if r.chance(.4) {
		return &act{"deletes the deployment", func(w *world) { w.server.remove(ref{deployments, name}) }}
	}
	finalizer := pick(r, metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents)
	return &act{"deletes the deployment: " + finalizer, func(w *world) {
		edit(w.server, name, func(d *appsv1.Deployment) {
			if d.DeletionTimestamp == nil {
				d.DeletionTimestamp, d.Finalizers = &metav1.Time{Time: w.now}, []string{finalizer}
			}
		})
	}}
}
