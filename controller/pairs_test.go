//go:build !race

package controller

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/annotation"
)

// What is right alone may be wrong together: two things happen, one after the other, at each stage of a restart that brings a bad
// content. One workload is broken, and in the end all run the good content.

// readers are workloads that read the configs c and d, on nodes that start their pods at once.
type readers struct {
	*world
	setting
	t                *testing.T
	pods             map[string]*podsOf
	lost             int                 // so many answers to the next patches
	dropsPatch       bool                // the next patch does not arrive
	refusesEvictions bool                // a PodDisruptionBudget does
	evicted          []string            // the readers of which pods were evicted, as often as they were
	brought          string              // what the restart brings
	crashed          bool                // a pod has, whoever started it
	broken           map[string][]string // by the bad content, who crashed with it
	spared           map[string]bool     // those that an event has restarted
}

// podsOf are the pods of a reader.
type podsOf struct {
	runs    string    // the template of those that run
	crashes string    // that of the one that crashes, empty if none does
	with    string    // the content that it crashed with last
	since   time.Time // when those that run did start, and crashed when the other one did
	crashed time.Time
	ready   int32
	restart string // the last of ours
	shown   string // the version of the reader that the watch has shown
	each    []*playedPod
	made    int // so many of each
}

func newReaders(t *testing.T) *readers { return newReadersIn(t, plain, false) }

func newReadersIn(t *testing.T, of setting, hasStandby bool) *readers {
	r := &readers{setting: of, t: t, pods: make(map[string]*podsOf), broken: make(map[string][]string), spared: make(map[string]bool)}
	r.world = r.newWorld()
	r.leads()
	if hasStandby {
		r.standby = r.newWorld()
	}
	r.edited("a/c", "1")
	r.edited("a/d", "1")
	for _, name := range r.names() {
		r.create(name)
	}
	settle(r.world)
	r.pass(time.Minute)
	return r
}

func (r *readers) create(name string) {
	d := r.deployment(name, r.configName(), "d")
	if r.evicts {
		d.Annotations[annotation.MethodAnnotation] = "evict"
	}
	d.Spec.Replicas = new(int32(3))
	r.deployments[name] = d
	r.pods[name], r.spared[name] = &podsOf{since: time.Now(), ready: 3}, true
	r.kubelets()
}

func templateOf(d *appsv1.Deployment) string {
	text, err := json.Marshal(d.Spec.Template)
	if err != nil {
		panic(err) // a pod template has nothing that could fail
	}
	return string(text)
}

// readTemplate reads what templateOf has written.
func readTemplate(text string) (template corev1.PodTemplateSpec) {
	if err := json.Unmarshal([]byte(text), &template); err != nil {
		panic(err)
	}
	return template
}

// ignores reports whether the owner of a reader has said that the content does not matter to it.
func ignores(d *appsv1.Deployment) bool { return d.Annotations[annotation.IgnoreAnnotation] != "" }

// isBad reports whether the config is bad, and all its copies.
func (r *readers) isBad() bool {
	c := r.configMaps["a/c"]
	return c != nil && strings.HasPrefix(c.Data["k"], "bad")
}

// breaks notes that a reader crashes with the present content.
func (r *readers) breaks(name string) {
	content := r.configMaps["a/c"].Data["k"]
	if !slices.Contains(r.broken[content], name) {
		r.broken[content] = append(r.broken[content], name)
	}
}

// mostBroken returns who crashed with a content with which more did than may.
func (r *readers) mostBroken() (content string, names []string) {
	for content, names := range r.broken {
		if len(names) > r.mayBreak() {
			return content, names
		}
	}
	return "", nil
}

// kubelets start the pods that are missing, and report them.
func (r *readers) kubelets() {
	for _, name := range slices.Sorted(maps.Keys(r.deployments)) {
		d, p := r.deployments[name], r.pods[name]
		if at := d.Spec.Template.Annotations[annotation.TimestampAnnotation]; at > p.restart {
			p.restart, r.spared[name] = at, ignores(d)
		}
		if r.each {
			r.startEach(name)
		} else {
			r.startAll(name)
		}
		r.report(name)
	}
}

// startAll plays the pods of a reader that run as one.
func (r *readers) startAll(name string) {
	d, p := r.deployments[name], r.pods[name]
	template := templateOf(d)
	switch {
	case *d.Spec.Replicas == 0:
		p.runs, p.crashes, p.with = "", "", ""
	case template == p.runs:
		p.crashes = ""
	case r.isBad() && p.crashes != template:
		content := r.configMaps["a/c"].Data["k"]
		if !r.spared[name] && p.with != content {
			r.breaks(name)
		}
		p.crashes, p.with, p.crashed, r.crashed = template, content, time.Now(), true
	case !r.isBad() && r.configMaps["a/c"] != nil:
		p.runs, p.crashes, p.since, p.ready = template, "", time.Now(), 3
	}
}

// report writes the status of a reader, and shows what the watch has not shown.
func (r *readers) report(name string) {
	p := r.pods[name]
	if status := r.statusOf(name); !equality.Semantic.DeepEqual(r.deployments[name].Status, status) {
		r.changed(name, func(d *appsv1.Deployment) { d.Status = status })
	} else if p.shown != r.deployments[name].ResourceVersion {
		r.show("deployments", r.deployments[name])
	}
	p.shown = r.deployments[name].ResourceVersion
}

func (r *readers) statusOf(name string) appsv1.DeploymentStatus {
	d, p := r.deployments[name], r.pods[name]
	status := appsv1.DeploymentStatus{ObservedGeneration: d.Generation}
	if r.each {
		p.count(&status, templateOf(d))
		return status
	}
	if p.runs != "" {
		status.Replicas, status.AvailableReplicas = 3, p.ready
	}
	if p.runs == templateOf(d) {
		status.UpdatedReplicas = status.Replicas
	}
	if p.crashes != "" {
		status.Replicas++
		status.UpdatedReplicas = 1
	}
	return status
}

// answered lists the pods, and loses answers.
func (r *readers) answered(request *http.Request) (int, any) {
	switch parts := partsOf(request); parts[len(parts)-1] {
	case "secrets":
		return http.StatusOK, r.secretsIn(parts[len(parts)-2])
	case "pods":
		return http.StatusOK, r.listed(parts[len(parts)-2])
	case "eviction":
		return r.evict(parts[len(parts)-4], parts[len(parts)-2])
	case "replicasets", "controllerrevisions":
		if r.each {
			return http.StatusOK, r.revisions(request, parts[len(parts)-2])
		}
	}
	switch {
	case request.Method == http.MethodPatch && r.dropsPatch:
		r.dropsPatch = false
		return lostAnswer(http.StatusGatewayTimeout)
	case request.Method == http.MethodPatch && r.lost > 0:
		r.lost--
		r.carryOut(r.t, request)
		return lostAnswer(http.StatusGatewayTimeout)
	}
	return 0, nil
}

// listed are the pods of a namespace.
func (r *readers) listed(namespace string) corev1.PodList {
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	for _, name := range slices.Sorted(maps.Keys(r.deployments)) {
		d := r.deployments[name]
		switch {
		case d.Namespace != namespace:
		case r.each:
			list.Items = append(list.Items, r.listEach(d)...)
		default:
			list.Items = append(list.Items, r.listAll(d)...)
		}
	}
	return list
}

// listAll lists the pods of a reader that run as one.
func (r *readers) listAll(d *appsv1.Deployment) (pods []corev1.Pod) {
	p := r.pods[nameOf(d)]
	add := func(template, name string, since time.Time, state podState) {
		owner := "rs-" + d.UID
		if template != templateOf(d) {
			owner = "rs-old-" + d.UID
		}
		pods = append(pods, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: d.Name + "-" + name, Namespace: d.Namespace, UID: d.UID + types.UID(name), CreationTimestamp: metav1.NewTime(since), Annotations: readTemplate(template).Annotations,
				OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}},
			},
			Status: r.statusOfPod(state, since),
		})
	}
	if p.crashes != "" {
		add(p.crashes, "new", p.crashed, crashing)
	}
	for i := range p.ready {
		if p.runs != "" {
			add(p.runs, fmt.Sprint(i), p.since, running)
		}
	}
	return pods
}

// pass lets time pass.
func (r *readers) pass(d time.Duration) {
	var step time.Duration
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(step) {
		if step = 10 * time.Second; time.Until(end) > 20*time.Minute {
			step = 30 * time.Second
		}
		r.tick(0)
		r.kubelets()
		drain(r.controller.evictor.Queue, r.controller.evictor.Work, r.t)
		for _, name := range slices.Sorted(maps.Keys(r.deployments)) {
			r.controller.deliveries.Look(r.t.Context(), r.refOf(name))
		}
		r.controller.halts.EndHalts()
		settle(r.world)
		r.kubelets()
	}
}

// canary returns the reader that restarted first, or would.
func (r *readers) canary() string {
	for _, content := range slices.Sorted(maps.Keys(r.broken)) {
		return r.broken[content][0]
	}
	for _, name := range append(r.restarted(), r.evicted...) {
		return name
	}
	return slices.Sorted(maps.Keys(r.deployments))[0]
}

var allPairs = flag.Bool("pairs", false, "play each pair of events at each stage in each setting, which takes hours")

// scene is a pair of events in a setting.
type scene struct {
	setting
	content       string // what the restart brings
	first, second *pairEvent
	after, pause  time.Duration // between the edit and the first event, and between the two
}

func (s *scene) name() string {
	return fmt.Sprintf("after %s, then %s after %s, %s content", s.after, s.second.name, s.pause, s.content)
}

func TestOneBadContentBreaksOneWorkloadWhateverElseHappensTwice(t *testing.T) {
	for name, of := range settings {
		t.Run(name, func(t *testing.T) {
			for i, events := 0, of.events(); i < len(events); i++ {
				t.Run(events[i].name, func(t *testing.T) {
					t.Parallel()
					for s := range of.scenes(events, i) {
						t.Run(s.name(), func(t *testing.T) { s.play(t) })
					}
				})
			}
		})
	}
}

func (s *scene) play(t *testing.T) {
	synctest.Test(t, s.playHere)
	if t.Failed() {
		t.Logf("to play it again: go test ./controller -pairs -run '^%s$'", strings.ReplaceAll(t.Name(), "/", "$/^"))
	}
}

// playHere plays a scene in a bubble of synctest.
func (s *scene) playHere(t *testing.T) {
	r := newReadersIn(t, s.setting, s.first.needsStandby || s.second.needsStandby)
	r.brought = s.content
	r.edited("a/c", s.content)
	if s.after > 0 {
		settle(r.world)
		if s.after > 2*time.Second {
			r.kubelets()
		}
		r.pass(s.after)
	}
	one := r.canary()
	s.first.do(r, one)
	if s.pause > 0 {
		settle(r.world)
		r.pass(s.pause)
	}
	two := r.canary()
	s.second.do(r, two)
	settle(r.world)
	r.pass(s.longEnough(2 * time.Minute))
	s.requireFewBroken(r, "then")
	s.second.takeBack(r, two)
	s.first.takeBack(r, one)
	r.pass(s.longEnough(time.Minute))
	s.requireFewBroken(r, "once that is taken back")
	if halts := r.controller.gate.ActiveHalts(); len(halts) > 0 && !r.crashed {
		t.Errorf("%d contents are halted, and nobody is broken", len(halts))
	}
	r.requireGoodEnd()
}

func (s *scene) requireFewBroken(r *readers, when string) {
	if content, names := r.mostBroken(); len(names) > 0 && !s.first.frees && !s.second.frees {
		r.t.Errorf("%s, %q has broken %q", when, content, names)
	}
}

// requireGoodEnd requires that all readers run good content in the end, and that no halt is left.
func (r *readers) requireGoodEnd() {
	r.edited("a/c", "good again")
	edited := time.Now()
	time.Sleep(time.Second)
	settle(r.world)
	r.pass(time.Hour)
	personResumes(r, "") // after a release, nothing else ends the halt of what may be at fault, too
	r.pass(time.Hour)
	if halts := r.controller.gate.ActiveHalts(); len(halts) > 0 {
		r.t.Errorf("%d halts are left", len(halts))
	}
	for name, p := range r.pods {
		if p.since.Before(edited) || p.crashes != "" {
			r.t.Errorf("%s does not run the good content: its pods run since %s, edited at %s, restarted at %q, crashes: %t",
				name, p.since.Format(time.TimeOnly), edited.Format(time.TimeOnly), p.restart, p.crashes != "")
		}
	}
}

// The restart of r1 has given up its slot, because no pod could be evicted. While its first eviction is under way after all, another
// restart becomes possible.
func TestNoOtherRestartBeginsWhileAnEvictionInTurnIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadersIn(t, settings["evictions"], false)
		r.set("a/r4", annotation.HoldAnnotation, "an incident")
		r.pass(time.Minute)
		r.refusesEvictions = true
		r.brought = "bad"
		r.edited("a/c", "bad")
		settle(r.world)
		r.pass(65 * time.Minute)
		if len(r.broken) > 0 || len(r.evicted) > 0 {
			t.Fatalf("too early: %v, %v", r.broken, r.evicted)
		}
		r.refusesEvictions = false
		isReleased := false
		r.world.answer = func(request *http.Request) (int, any) {
			if strings.HasSuffix(request.URL.Path, "/eviction") && !isReleased {
				isReleased = true
				r.set("a/r4", annotation.HoldAnnotation, "")
				settle(r.world)
			}
			return r.answered(request)
		}
		r.pass(5 * time.Minute)
		if !isReleased || len(r.evicted) == 0 {
			t.Fatalf("released: %t, evicted %q", isReleased, r.evicted)
		}
		if content, names := r.mostBroken(); len(names) > 0 {
			t.Errorf("%q has broken %q", content, names)
		}
	})
}
