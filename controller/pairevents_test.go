//go:build !race

package controller

import (
	"maps"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/controller/gate"
)

// pairEvent is something that happens to a reader or a config, and how it is taken back in the end.
type pairEvent struct {
	name         string
	do, undo     func(r *readers, canary string)
	frees        bool // a person lets the content spread
	hides        bool // nothing shows afterwards what the restart has made of the pods
	loses        bool // the content is gone, at least for a moment
	leads        bool // another process does
	skips        bool // its record has the content afterwards, which it has not restarted for
	isOfAnother  bool // config
	isLong       bool // it lasts longer than the deadline of a restart
	needsStandby bool
}

func skipping(e pairEvent) pairEvent {
	e.skips = true
	return e
}

func ofAnother(e pairEvent) pairEvent {
	e.isOfAnother = true
	return e
}

func (e *pairEvent) takeBack(r *readers, canary string) {
	if e.undo != nil {
		e.undo(r, canary)
	}
}

// set sets or removes an annotation of a reader.
func (r *readers) set(name, annotation, value string) {
	r.ifThere(name, func(d *appsv1.Deployment) {
		if d.Annotations[annotation] = value; value == "" {
			delete(d.Annotations, annotation)
		}
	})
}

func (r *readers) ifThere(name string, change func(*appsv1.Deployment)) {
	if r.deployments[name] != nil {
		r.changed(name, change)
	}
}

// retemplate changes the pod template of a reader, whose pods somebody else replaces by that.
func (r *readers) retemplate(name string, change func(*corev1.PodTemplateSpec)) {
	r.spared[name] = true
	r.ifThere(name, func(d *appsv1.Deployment) {
		change(&d.Spec.Template)
		d.Generation++
	})
}

func (r *readers) scale(name string, replicas int32) {
	r.spared[name] = true
	r.ifThere(name, func(d *appsv1.Deployment) {
		d.Spec.Replicas = &replicas
		d.Generation++
	})
	r.pods[name].ready = replicas
}

// lackPod takes a pod that runs, which is not replaced for now.
func (r *readers) lackPod(name string) {
	r.pods[name].ready = 2
	if r.pods[name].remove(func(pod *playedPod) bool { return pod.state == running }) {
		r.spared[name] = true // another one comes in the end
	}
	r.report(name)
}

func (r *readers) annotateConfig(name, annotation, value string) {
	for _, name := range r.copies(name) {
		if r.configMaps[name] != nil {
			r.annotate(name, annotation, value)
			r.show("configmaps", r.configMaps[name])
		}
	}
}

// written is what the leader writes into the ConfigMap of halts.
func (r *readers) written() map[string]string {
	data := make(map[string]string)
	r.controller.halts.WriteTo(data, make(map[string]string))
	return data
}

// another leads from now on, which has just started.
func (r *readers) another() {
	next := r.newWorld()
	next.controller.halts.TakeIn(r.written())
	next.version = r.version
	list(next, "configmaps", next.configMaps)
	list(next, "deployments", next.deployments)
	r.isSucceededBy(next)
}

// standbyLeads lets the process lead that has seen everything, or one that has just started if that leads already.
func (r *readers) standbyLeads() {
	if r.standby == nil {
		r.another()
		return
	}
	r.standby.version = r.version
	r.isSucceededBy(r.standby)
}

// isSucceededBy lets another process lead, which knows what its predecessor has written.
func (r *readers) isSucceededBy(next *world) {
	data := r.written()
	r.world = next
	next.leads()
	next.controller.halts.TakeIn(data)
	next.controller.halts.FollowFailed()
	next.controller.halts.EndHalts()
}

// personResumes ends all halts: those of copies by removing their entries.
func personResumes(r *readers, _ string) {
	for _, h := range r.controller.gate.ActiveHalts() {
		if gate.IsGroup(h.Config) {
			r.controller.gate.ResumeByID(h.ID)
		} else {
			r.annotateConfig("a/"+strings.TrimPrefix(h.Config.Name, "s"), annotation.ResumeAnnotation, h.ID)
		}
	}
}

func unannotatesConfig(r *readers, _ string) { r.annotateConfig("a/c", "none", "") }

// annotated is the event that somebody annotates a reader.
func annotated(name, annotation, value string) pairEvent {
	return pairEvent{
		name: name,
		do:   func(r *readers, canary string) { r.set(canary, annotation, value) },
		undo: func(r *readers, canary string) { r.set(canary, annotation, "") },
	}
}

// lasting is an event that is taken back after a while.
func lasting(e pairEvent, name string, d time.Duration) pairEvent {
	return pairEvent{name: name, isLong: d > 10*time.Minute, do: func(r *readers, canary string) {
		e.do(r, canary)
		settle(r.world)
		r.pass(d)
		e.undo(r, canary)
	}}
}

// pairEvents are what is played in each setting, also by default.
func pairEvents() []pairEvent {
	edits := func(name, config, value string) pairEvent {
		return pairEvent{name: name, do: func(r *readers, _ string) { r.edited(config, value) }}
	}
	return []pairEvent{
		ofAnother(edits("another config is edited", "a/d", "2")),
		edits("it is edited badly again", "a/c", "bad too"),
		edits("it is reverted", "a/c", "1"),
		{name: "a person resumes it", frees: true, do: personResumes},
		annotated("it is held", annotation.HoldAnnotation, "an incident"),
		annotated("its window is closed", annotation.WindowAnnotation, "0 0 1 1 * 1m"),
		annotated("it comes in a later wave", annotation.WaveAnnotation, "1"),
		{name: "it is opted out", hides: true, do: func(r *readers, canary string) { r.set(canary, annotation.EnabledAnnotation, "") },
			undo: func(r *readers, canary string) { r.set(canary, annotation.EnabledAnnotation, annotation.Enabled) }},
		{name: "it is opted out and in", hides: true, do: func(r *readers, canary string) {
			r.set(canary, annotation.EnabledAnnotation, "")
			r.set(canary, annotation.EnabledAnnotation, annotation.Enabled)
		}},
		{name: "it is scaled to 0", hides: true, do: func(r *readers, canary string) { r.scale(canary, 0) }, undo: func(r *readers, canary string) { r.scale(canary, 3) }},
		{name: "it is scaled to 0 and back", hides: true, do: func(r *readers, canary string) {
			r.scale(canary, 0)
			r.kubelets()
			r.pass(20 * time.Second)
			r.scale(canary, 3)
		}},
		{name: "it is released", hides: true, do: func(r *readers, canary string) {
			r.retemplate(canary, func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image += "x" })
		}},
		{name: "its restart is undone", hides: true, do: func(r *readers, canary string) {
			r.retemplate(canary, func(t *corev1.PodTemplateSpec) { t.Annotations = nil })
		}},
		{name: "it is restarted by hand", hides: true, do: func(r *readers, canary string) {
			r.retemplate(canary, func(t *corev1.PodTemplateSpec) {
				t.Annotations = maps.Clone(t.Annotations)
				if t.Annotations == nil {
					t.Annotations = make(map[string]string)
				}
				t.Annotations["kubectl.kubernetes.io/restartedAt"] = time.Now().Format(time.RFC3339)
			})
		}},
		{name: "the next answer is lost", do: func(r *readers, _ string) { r.lost = 1 }},
		{name: "the config is deleted", loses: true, do: func(r *readers, _ string) { r.removeConfig("a/c") }, undo: func(r *readers, _ string) { r.createConfig("a/c", r.brought) }},
		{name: "the config is replaced", loses: true, do: func(r *readers, _ string) {
			if c := r.configMaps["a/c"]; c != nil {
				r.removeConfig("a/c")
				r.createConfig("a/c", c.Data["k"])
			}
		}},
		{name: "the config is ignored", frees: true, do: func(r *readers, _ string) { r.annotateConfig("a/c", annotation.IgnoreAnnotation, "true") },
			undo: unannotatesConfig},
		{name: "a pod is unready", do: func(r *readers, canary string) { r.lackPod(canary) },
			undo: func(r *readers, canary string) { r.pods[canary].ready = 3; r.report(canary) }},
		{name: "all others lack a pod", do: func(r *readers, canary string) {
			for name := range r.deployments {
				if name != canary {
					r.lackPod(name)
				}
			}
		}, undo: func(r *readers, _ string) {
			for _, p := range r.pods {
				if r.each && p.ready == 2 { // where they run as one, the next rollout brings it back
					p.ready = 3
				}
			}
		}},
		{name: "another process leads", leads: true, do: func(r *readers, _ string) { r.another() }},
		{name: "it is deleted and created", hides: true, do: func(r *readers, canary string) {
			gone := r.deployments[canary]
			delete(r.deployments, canary)
			r.hide("deployments", gone)
			r.create(canary)
		}},
	}
}

// furtherEvents are drawn less often.
func (s *setting) furtherEvents() []pairEvent {
	held := annotated("", annotation.HoldAnnotation, "an incident")
	configHeld := pairEvent{name: "the config is held", do: func(r *readers, _ string) { r.annotateConfig("a/c", annotation.HoldAnnotation, "an incident") }, undo: unannotatesConfig}
	ignores := annotated("it ignores the key", annotation.IgnoreAnnotation, s.keyName())
	return []pairEvent{
		configHeld, lasting(configHeld, "the config is held for a while", 20*time.Second),
		ignores, skipping(lasting(ignores, "it ignores the key for a while", 20*time.Second)),
		lasting(held, "it is held for 12 minutes", 12*time.Minute), lasting(held, "it is held until the deadline", 10*time.Minute+20*time.Second),
		{name: "two answers are lost in a row", do: func(r *readers, _ string) { r.lost = 2 }},
		{name: "the next patch does not arrive", do: func(r *readers, _ string) { r.dropsPatch = true }},
		{name: "a standby leads", leads: true, needsStandby: true, do: func(r *readers, _ string) { r.standbyLeads() }},
	}
}

// eventsOfEvictions happen only where readers restart by eviction.
func (s *setting) eventsOfEvictions() []pairEvent {
	refused := pairEvent{do: func(r *readers, _ string) { r.refusesEvictions = true }, undo: func(r *readers, _ string) { r.refusesEvictions = false }}
	events := []pairEvent{
		lasting(refused, "evictions are refused for a minute", time.Minute),
		lasting(refused, "evictions are refused for 45 minutes", 45*time.Minute),
	}
	if s.hangs {
		return events // without its method, it rolls out; once it has it again, no hanging pod of that rollout is evicted
	}
	return append(events, pairEvent{
		name: "its method is removed", do: func(r *readers, canary string) { r.set(canary, annotation.MethodAnnotation, "") },
		undo: func(r *readers, canary string) { r.set(canary, annotation.MethodAnnotation, "evict") },
	})
}
