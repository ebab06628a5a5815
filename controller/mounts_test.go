package controller

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/intake"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/custom"
)

// mountingWorld is a world whose Deployments mount the class db: a/web in its pods web-1 and web-2, and a/api likewise.
type mountingWorld struct {
	*world
	log    *bytes.Buffer
	events *record.FakeRecorder
}

func newMountingWorld(t *testing.T, options Options) *mountingWorld {
	w := &mountingWorld{log: &bytes.Buffer{}, events: record.NewFakeRecorder(100)}
	options.Log = slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.world = newWorldOf(t, options)
	w.controller.recordOwn(w.events)
	w.controller.restarter.Events = w.events
	w.pods = make(map[string][]corev1.Pod)
	statuses := make(map[string]*custom.Object)
	for _, name := range []string{"web", "api"} {
		w.deployments["a/"+name] = w.mounting(name)
		for _, pod := range []types.UID{types.UID(name + "-1"), types.UID(name + "-2")} {
			w.pods["a/app="+name] = append(w.pods["a/app="+name], startedPod(pod, types.UID("rs-"+name)))
			statuses[string(pod)] = w.mountIn(pod, "version-1")
		}
	}
	if options.CSI {
		list(w.world, custom.MountResource, statuses)
	}
	w.answer = w.replicaSets()
	for _, d := range w.deployments {
		w.show("deployments", d)
	}
	settle(w.world)
	time.Sleep(time.Minute)
	return w
}

// mounting is a Deployment that mounts the class db.
func (w *mountingWorld) mounting(name string) *appsv1.Deployment {
	d := w.deployment("a/" + name)
	d.Spec.Selector.MatchLabels = map[string]string{"app": name}
	pod := &d.Spec.Template.Spec
	pod.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v"}}
	pod.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
		Driver: "secrets-store.csi.k8s.io", VolumeAttributes: map[string]string{"secretProviderClass": "db"},
	}}}}
	wholeStatus(d)
	return d
}

// replicaSets answers requests for ReplicaSets with those of the first pod templates.
func (w *mountingWorld) replicaSets() func(*http.Request) (int, any) {
	sets := appsv1.ReplicaSetList{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSetList"}}
	for _, d := range w.deployments {
		owner := []metav1.OwnerReference{{UID: d.UID, Controller: new(true)}}
		sets.Items = append(sets.Items, appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: d.Name, UID: types.UID("rs-" + d.Name), OwnerReferences: owner},
			Spec:       appsv1.ReplicaSetSpec{Template: *d.Spec.Template.DeepCopy()},
		})
	}
	return func(r *http.Request) (int, any) {
		if !strings.HasSuffix(r.URL.Path, "/replicasets") {
			return 0, nil
		}
		all := sets
		all.Items = append(slices.Clip(sets.Items), w.presentReplicaSets("a")...)
		return http.StatusOK, all
	}
}

func startedPod(name, controller types.UID) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: string(name), UID: name, OwnerReferences: []metav1.OwnerReference{{UID: controller, Controller: new(true)}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "app", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		}}},
	}
}

// mountIn is the status of a pod that mounts the class db in a version.
func (w *mountingWorld) mountIn(pod types.UID, version string) *custom.Object {
	meta := w.meta("a/" + string(pod) + "-a-db")
	meta.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", UID: pod}}
	return &custom.Object{ObjectMeta: meta, Status: fmt.Appendf(nil,
		`{"mounted":true,"podName":%q,"secretProviderClassName":"db","objects":[{"id":"secret/password","version":%q}]}`, pod, version)}
}

// rotate lets the driver rotate the files of a pod.
func (w *mountingWorld) rotate(pod types.UID, version string) {
	w.show(custom.MountResource, w.mountIn(pod, version))
	settle(w.world)
}

func (w *mountingWorld) restarts() string {
	return w.deployments["a/web"].Spec.Template.Annotations[annotation.TimestampAnnotation]
}

// inMountingWorld runs a test with a clock of its own.
func inMountingWorld(t *testing.T, options Options, test func(*testing.T, *mountingWorld)) {
	synctest.Test(t, func(t *testing.T) { test(t, newMountingWorld(t, options)) })
}

func TestARotationRestartsTheWorkloadWhosePodsHaveTheFiles(t *testing.T) {
	inMountingWorld(t, Options{CSI: true}, func(t *testing.T, w *mountingWorld) {
		recorded := w.deployments["a/web"].Annotations[annotation.ChecksumsAnnotation]
		if !strings.HasPrefix(recorded, `{"secretproviderclass/a/db":"`) || w.restarts() != "" {
			t.Errorf("the record is %s, and the pods restarted at %q", recorded, w.restarts())
		}
		w.rotate("job-1", "version-1")
		w.rotate("job-1", "version-2")
		if w.restarts() != "" {
			t.Error("the pod of somebody else restarts it")
		}
		w.rotate("web-1", "version-2")
		if w.restarts() == "" {
			t.Fatalf("it did not restart\n%s", w.log)
		}
		event := ""
		for len(w.events.Events) > 0 {
			event += <-w.events.Events + "\n"
		}
		if !strings.Contains(event, "restarting: secretproviderclass db was rotated in running pods") {
			t.Errorf("the Events are\n%s", event)
		}
		first := w.restarts()
		time.Sleep(time.Minute)
		w.rotate("web-2", "version-2") // its turn comes while it is being replaced
		if w.restarts() != first {
			t.Error("it restarted again")
		}
		for _, text := range []string{w.log.String(), event, fmt.Sprint(w.deployments["a/web"])} {
			for _, hidden := range []string{"secret/password", "version-2", "version-1"} {
				if strings.Contains(text, hidden) {
					t.Errorf("%q is in\n%s", hidden, text)
				}
			}
		}
	})
}

func TestWithoutTheFlagNoMountsAreWatched(t *testing.T) {
	inMountingWorld(t, Options{}, func(t *testing.T, w *mountingWorld) {
		if w.watches[custom.MountResource] != nil {
			t.Error("they are watched")
		}
		if recorded := w.deployments["a/web"].Annotations[annotation.ChecksumsAnnotation]; recorded != "{}" {
			t.Errorf("the record is %s", recorded)
		}
		if refs := w.controller.catalog.Workload(names.WorkloadRef{Kind: names.Deployment, Namespace: "a", Name: "web"}).References; len(refs) > 0 {
			t.Errorf("the class counts: %v", refs)
		}
	})
}

func TestADryRunReportsEachRotation(t *testing.T) {
	inMountingWorld(t, Options{CSI: true, DryRun: true}, func(t *testing.T, w *mountingWorld) {
		for i, version := range []string{"version-2", "version-2", "version-3"} {
			w.rotate(types.UID(fmt.Sprintf("web-%d", i%2+1)), version)
			time.Sleep(time.Minute)
		}
		if got := strings.Count(w.log.String(), `msg="would restart"`); got != 2 {
			t.Errorf("%d restarts are reported, want 2:\n%s", got, w.log)
		}
	})
}

// Versions that break one workload do not reach the others until something else is rotated.
func TestARotationThatBreaksAWorkloadHaltsTheOthers(t *testing.T) {
	inMountingWorld(t, Options{CSI: true}, func(t *testing.T, w *mountingWorld) {
		c := w.controller
		c.intake.Grace, c.restarter.Grace, c.restarter.BackoffLimit = time.Millisecond, time.Millisecond, 0
		c.deliveries.Policy = delivery.Policy{Soak: 30 * time.Second, Deadline: 10 * time.Minute}
		c.gate.FanOut = gatekeeper.FanOutOptions{Gradual: true, Limit: 50}
		c.gate.KnowsWorkloads = func(string) bool { return true }
		c.beginToLead()
		c.gate.SetHaltsTried()
		c.gate.SetHaltsKnown(true)
		c.useKey(content.NewChecksumKey([content.ChecksumKeySize]byte{1}))
		for _, pod := range []types.UID{"web-1", "api-1"} {
			w.show(custom.MountResource, w.mountIn(pod, "version-2"))
		}
		settle(w.world)
		first := w.restarted()
		if len(first) != 1 {
			t.Fatalf("%q restarted, want one of them first", first)
		}
		w.fails(t, first[0])
		settle(w.world)
		class := names.ConfigRef{Kind: names.SecretProviderClass, Namespace: "a", Name: "db"}
		if halted := c.gate.Halted(); len(w.restarted()) != 1 || !slices.Equal(halted, []names.ConfigRef{class}) {
			t.Errorf("%q restarted, and %v are halted", w.restarted(), halted)
		}
		if resume := gate.ResumeCommand(class, "id"); !strings.Contains(resume, "removing its entry secretproviderclass.a.db ") {
			t.Errorf("the halt ends by %s", resume)
		}
		other := types.UID("api-2")
		if first[0] == "a/api" {
			other = "web-2"
		}
		w.rotate(other, "version-3")
		if restarted := w.restarted(); len(restarted) != 2 || len(c.gate.ActiveHalts()) != 0 {
			t.Errorf("%q restarted after the next rotation, and %v are halted", restarted, c.gate.Halted())
		}
	})
}

// Another process finds new pods with versions that nothing shows as rotated.
func TestAHaltOfAClassOutlastsATakeover(t *testing.T) {
	inMountingWorld(t, Options{CSI: true}, func(t *testing.T, w *mountingWorld) {
		class := names.ConfigRef{Kind: names.SecretProviderClass, Namespace: "a", Name: "db"}
		key := content.NewChecksumKey([content.ChecksumKeySize]byte{1})
		w.controller.useKey(key)
		w.rotate("web-1", "version-2")
		halt := gate.Halt{
			ID: "former", Config: class, Content: w.controller.catalog.ContentID(class, nil), Since: time.Now(),
			Failed: []names.WorkloadRef{{Kind: names.Deployment, Namespace: "a", Name: "web"}},
		}
		next := &mountingWorld{world: newWorldOf(t, Options{CSI: true})}
		next.version = w.version
		next.controller.useKey(key)
		list(next.world, custom.MountResource, map[string]*custom.Object{"new": next.mountIn("web-3", "version-2"), "old": next.mountIn("api-1", "version-1")})
		for _, d := range w.deployments {
			next.deployments[nameOf(d)] = d
			next.show("deployments", d)
		}
		next.controller.gate.Restore(halt)
		for _, rotation := range []struct {
			version  string
			isHalted bool
		}{{"version-1", true}, {"version-2", true}, {"version-3", false}} {
			next.show(custom.MountResource, next.mountIn("api-1", rotation.version))
			next.controller.halts.Gate.ContentChanged(class, time.Now())
			if isHalted := len(next.controller.gate.ActiveHalts()) > 0; isHalted != rotation.isHalted {
				t.Errorf("with %s, the class is halted: %t, want %t", rotation.version, isHalted, rotation.isHalted)
			}
		}
	})
}

// Which content is the newest, only the next rotation shows.
func TestARestartForARotationIsJudgedAtOnceAfterATakeover(t *testing.T) {
	inMountingWorld(t, Options{CSI: true}, func(t *testing.T, w *mountingWorld) {
		class := names.ConfigRef{Kind: names.SecretProviderClass, Namespace: "a", Name: "db"}
		w.controller.beginToLead()
		w.controller.gate.SetHaltsTried()
		w.controller.gate.SetHaltsKnown(true)
		if restart := (&tracker.RollingRestart{IsFormer: true, Decision: decide.Decision{Causes: []decide.Cause{{Config: class}}}}); !w.controller.deliveries.KnowsEnough(restart) {
			t.Error("it waits for the content of a class")
		}
	})
}

// Until the mounts are listed, a class seems to have lost the content for which it is halted.
func TestAHaltOfAClassWaitsForTheListOfMounts(t *testing.T) {
	inMountingWorld(t, Options{CSI: true}, func(t *testing.T, w *mountingWorld) {
		class := names.ConfigRef{Kind: names.SecretProviderClass, Namespace: "a", Name: "db"}
		halts := w.controller.halts
		halts.KnowsConfigs = func(string) bool { return true }
		if halts.Knows(class) {
			t.Error("it does not wait")
		}
		halts.KnowsMounts = (&intake.Watches{All: []*intake.ResourceWatch{}}).KnowMounts
		if !halts.Knows(class) {
			t.Error("it waits although no mounts are watched")
		}
		w.controller.reports.Configs.Event(t.Context(), class, corev1.EventTypeNormal, "Reason", "message")
		if len(w.controller.reports.Configs.Events.(*record.FakeRecorder).Events) > 0 || strings.Contains(w.log.String(), "cannot create an Event") {
			t.Errorf("an Event on the class is tried\n%s", w.log)
		}
	})
}

// The driver may be installed after the controller, or its permission be granted later.
func TestWorkloadsAreRecordedWhenTheMountsAreListedLate(t *testing.T) {
	inMountingWorld(t, Options{CSI: true}, func(t *testing.T, w *mountingWorld) {
		late := newWorldOf(t, Options{CSI: true})
		late.version = w.version
		for _, d := range w.deployments {
			d = d.DeepCopy()
			delete(d.Annotations, annotation.ChecksumsAnnotation)
			delete(d.Annotations, annotation.BasisAnnotation)
			late.deployments[nameOf(d)] = d
			late.show("deployments", d)
		}
		settle(late)
		if recorded := late.deployments["a/web"].Annotations[annotation.ChecksumsAnnotation]; recorded != "{}" {
			t.Errorf("before the list, the record is %s", recorded)
		}
		list(late, custom.MountResource, map[string]*custom.Object{"1": w.mountIn("web-1", "version-2")})
		settle(late)
		if recorded := late.deployments["a/web"].Annotations[annotation.ChecksumsAnnotation]; !strings.Contains(recorded, "secretproviderclass/a/db") {
			t.Errorf("after the list, the record is %s", recorded)
		}
	})
}

func TestAClassThatNoPodMountsIsSaidNotToExistOnceTheMountsAreListed(t *testing.T) {
	w := &mountingWorld{world: newWorldOf(t, Options{CSI: true})}
	w.show("deployments", w.mounting("web"))
	exists := func() *bool { return w.controller.ExplainConfig("secretproviderclass/a/db", time.Now()).Exists }
	if e := exists(); e != nil {
		t.Errorf("before the list: %t", *e)
	}
	w.controller.Watching = new(intake.Watches) // none that has not listed
	if e := exists(); e == nil || *e {
		t.Errorf("after the list: %v", e)
	}
}
