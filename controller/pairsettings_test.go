//go:build !race

package controller

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"iter"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
)

// What the pairs of events are played with.

// setting is what is different from Deployments of one namespace that read a ConfigMap.
type setting struct {
	kind     names.WorkloadKind // empty for Deployments
	each     bool               // their pods are played one by one
	evicts   bool
	isSecret bool
	isGroup  bool // the configs have copies in another namespace
	failures int  // --fan-out-failures
	hangs    bool // bad content does not crash: its pods do not become ready
}

var plain = setting{}

var settings = map[string]setting{
	"plain":                      plain,
	"each pod":                   {each: true},
	"one failure":                {failures: 1},
	"Secret":                     {isSecret: true},
	"group":                      {isGroup: true},
	"StatefulSets":               {kind: names.StatefulSet, each: true},
	"DaemonSets":                 {kind: names.DaemonSet, each: true},
	"evictions":                  {evicts: true, each: true},
	"evictions of StatefulSets":  {kind: names.StatefulSet, evicts: true, each: true},
	"pods hang":                  {hangs: true},
	"each pod hangs":             {hangs: true, each: true},
	"pods hang with evictions":   {hangs: true, evicts: true, each: true},
	"pods of StatefulSets hang":  {kind: names.StatefulSet, hangs: true, each: true},
	"pods of DaemonSets hang":    {kind: names.DaemonSet, hangs: true, each: true},
	"pods hang with one failure": {hangs: true, failures: 1},
	"pods hang in a group":       {hangs: true, isGroup: true},
}

func (s *setting) events() []pairEvent {
	events := append(pairEvents(), s.furtherEvents()...)
	if s.evicts {
		events = append(events, s.eventsOfEvictions()...)
	}
	return events
}

// stages are the times of the first event: before the restart, while it rolls, when it crashes and when it is halted; of
// pods that hang, around the deadline.
func (s *setting) stages() []time.Duration {
	if s.hangs {
		return []time.Duration{2 * time.Second, 5 * time.Minute, 10*time.Minute - 10*time.Second, 10 * time.Minute, 10*time.Minute + 10*time.Second}
	}
	return []time.Duration{0, 2 * time.Second, 10 * time.Second, 2 * time.Minute}
}

// pauses are the times between the events.
func (s *setting) pauses() []time.Duration {
	if s.hangs {
		return []time.Duration{0, 15 * time.Second, 10*time.Minute - 10*time.Second, 10 * time.Minute, 25 * time.Minute}
	}
	return []time.Duration{0, 15 * time.Second, 4 * time.Minute}
}

// longEnough is how long the readers are left alone until what they do is judged.
func (s *setting) longEnough(usual time.Duration) time.Duration {
	if s.hangs {
		return usual + 25*time.Minute
	}
	return usual
}

// scenes are those to be played that begin with an event.
func (s *setting) scenes(events []pairEvent, first int) iter.Seq[*scene] {
	return func(yield func(*scene) bool) {
		for second := range events {
			for i, stage := range s.stages() {
				for j, pause := range s.pauses() {
					for _, content := range []string{"bad", "good"} {
						scene := &scene{setting: *s, content: content, first: &events[first], second: &events[second], after: stage, pause: pause}
						isUsual := *s == plain && max(first, second) < len(pairEvents())
						isDrawn := isUsual && i == (first+2*second)%len(s.stages()) && j == (2*first+second)%len(s.pauses()) || !isUsual && scene.isInSample()
						if (isDrawn || *allPairs) && !scene.isExcused() && !yield(scene) {
							return
						}
					}
				}
			}
		}
	}
}

// isInSample draws one of so many scenes, always the same ones.
func (s *scene) isInSample() bool {
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, s.setting, s.first.name, s.name())
	return h.Sum32()%8000 == 0
}

// isExcused reports whether more workloads may break, as docs/fan-out.md says.
func (s *scene) isExcused() bool {
	isHidden, loses, leads := s.first.hides || s.second.hides, s.first.loses || s.second.loses, s.first.leads || s.second.leads
	isLong := s.hangs || s.first.isLong || s.second.isLong
	return isHidden && isLong || // of what nothing shows, it waits until the deadline
		s.hangs && s.second.leads && s.after+s.pause > 11*time.Minute || // a new leader does not look for restarts that are older than that
		s.hangs && loses && leads || // at the deadline, who leads has not seen the content that is gone
		s.after == 0 && s.first.skips && s.second.isOfAnother || // whose restart brings what the record has already
		s.isGroup && isHidden && leads || // for whom a fan-out of copies begins anew
		s.failures > 0 && (loses || leads) // failures that were too few for a halt are known to one leader, and as long as the content
}

func (s *setting) configName() string {
	if s.isSecret {
		return "sc"
	}
	return "c"
}

// keyName is how an annotation names the key of the config.
func (s *setting) keyName() string {
	if s.isSecret {
		return "secret/sc:k"
	}
	return "configmap/c:k"
}

func (s *setting) names() []string {
	if s.isGroup {
		return []string{"a/r1", "b/r2", "a/r3", "b/r4"}
	}
	return []string{"a/r1", "a/r2", "a/r3", "a/r4"}
}

// mayBreak is how many readers one content may break: in a group, one of each namespace.
func (s *setting) mayBreak() int {
	if s.isGroup {
		return 2
	}
	return 1 + s.failures
}

func (s *setting) refOf(name string) names.WorkloadRef {
	namespace, name, _ := strings.Cut(name, "/")
	return names.WorkloadRef{Kind: cmp.Or(s.kind, names.Deployment), Namespace: namespace, Name: name}
}

// copies are the names of a config in all namespaces.
func (s *setting) copies(name string) []string {
	if _, of, _ := strings.Cut(name, "/"); s.isGroup {
		return []string{"a/" + of, "b/" + of}
	}
	return []string{name}
}

func (r *readers) edited(name, value string) {
	for _, name := range r.copies(name) {
		r.world.edited(name, value)
	}
}

func (r *readers) removeConfig(name string) {
	for _, name := range r.copies(name) {
		r.world.removeConfig(name)
	}
}

func (r *readers) createConfig(name, value string) {
	for _, name := range r.copies(name) {
		r.world.createConfig(name, value)
	}
}

// newWorld is one with the same objects, whose controller does not lead yet.
func (r *readers) newWorld() *world {
	w := newWorld(r.t)
	w.beGradual()
	if r.world != nil {
		w.configMaps, w.deployments = r.configMaps, r.deployments
	}
	w.converted, w.answer = r.inTheAPI, r.answered
	c := w.controller
	c.gate.FanOut.Failures, c.gate.Evicts = r.failures, r.evicts
	if r.isSecret {
		c.useKey(catalogtest.TestKey)
	}
	if r.isGroup {
		c.gate.FanOut.Groups = []names.ConfigRef{gate.GroupOf(names.ConfigMap, "c")}
		c.halts.HasGroups, c.halts.KnowsAllConfigs = true, func() bool { return true }
	}
	return w
}

// inTheAPI returns an object as the setting has it.
func (r *readers) inTheAPI(object any) (string, any) {
	switch o := object.(type) {
	case *corev1.ConfigMap:
		if r.isSecret && o.Name == "c" {
			return "secrets", secretLike(o)
		}
		return "configmaps", o
	case *appsv1.Deployment:
		switch r.kind {
		case names.StatefulSet:
			return "statefulsets", statefulSetLike(o)
		case names.DaemonSet:
			return "daemonsets", daemonSetLike(o)
		}
	}
	return "deployments", object
}

func secretLike(c *corev1.ConfigMap) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: *c.ObjectMeta.DeepCopy(), Data: make(map[string][]byte)}
	secret.Name = "s" + c.Name
	for key, value := range c.Data {
		secret.Data[key] = []byte(value)
	}
	return secret
}

// secretsIn lists the Secret of a namespace, if it is there.
func (r *readers) secretsIn(namespace string) corev1.SecretList {
	list := corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
	if c := r.configMaps[namespace+"/c"]; c != nil {
		list.Items = append(list.Items, *secretLike(c))
	}
	return list
}

func statefulSetLike(d *appsv1.Deployment) *appsv1.StatefulSet {
	update := revision{d, templateOf(d)}.name()
	current := "former"
	if d.Status.UpdatedReplicas == *d.Spec.Replicas && d.Status.AvailableReplicas == *d.Spec.Replicas {
		current = update
	}
	return &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: *d.ObjectMeta.DeepCopy(),
		Spec:       appsv1.StatefulSetSpec{Replicas: d.Spec.Replicas, Selector: d.Spec.Selector, Template: *d.Spec.Template.DeepCopy()},
		Status: appsv1.StatefulSetStatus{
			ObservedGeneration: d.Status.ObservedGeneration, Replicas: d.Status.Replicas, UpdatedReplicas: d.Status.UpdatedReplicas,
			AvailableReplicas: d.Status.AvailableReplicas, ReadyReplicas: d.Status.AvailableReplicas, UpdateRevision: update, CurrentRevision: current,
		},
	}
}

func daemonSetLike(d *appsv1.Deployment) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: *d.ObjectMeta.DeepCopy(),
		Spec:       appsv1.DaemonSetSpec{Selector: d.Spec.Selector, Template: *d.Spec.Template.DeepCopy()},
		Status: appsv1.DaemonSetStatus{
			ObservedGeneration: d.Status.ObservedGeneration, DesiredNumberScheduled: *d.Spec.Replicas, CurrentNumberScheduled: d.Status.Replicas,
			UpdatedNumberScheduled: d.Status.UpdatedReplicas, NumberAvailable: d.Status.AvailableReplicas, NumberReady: d.Status.AvailableReplicas,
		},
	}
}
