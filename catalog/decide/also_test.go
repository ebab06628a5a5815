package decide

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

func TestWhatIsReadThroughTheAPIIsReferencedBesidesWhatTheTemplateSays(t *testing.T) {
	byAPI := func(name string, rules bool, keys ...string) template.Reference {
		return template.Reference{Config: objecttest.ConfigMapRef(name), Keys: template.Selection{Names: keys, ByRules: rules}, Channel: template.API, Optional: true}
	}
	web := template.Reference{Config: objecttest.ConfigMapRef("web"), Keys: template.Selection{DataOnly: true}, Container: "app", Channel: template.Environment}
	for name, test := range map[string]struct {
		filter template.Filter
		want   []template.Reference
	}{
		"nothing":                      {template.Filter{}, []template.Reference{web}},
		"a config":                     {template.Filter{Also: "configmap/flags"}, []template.Reference{byAPI("flags", false), web}},
		"by its namespace":             {template.Filter{Also: "configmap/ns/flags"}, []template.Reference{byAPI("flags", false), web}},
		"of another namespace":         {template.Filter{Also: "configmap/shop/flags"}, []template.Reference{byAPI("shop/flags", false), web}},
		"keys":                         {template.Filter{Also: "configmap/flags:b,configmap/ns/flags:a"}, []template.Reference{byAPI("flags", false, "a", "b"), web}},
		"keys by a glob":               {template.Filter{Also: "configmap/flags:a*"}, []template.Reference{byAPI("flags", true, "*a*"), web}},
		"keys and all":                 {template.Filter{Also: "configmap/flags,configmap/flags:a"}, []template.Reference{byAPI("flags", false), web}},
		"whatever only says":           {template.Filter{Also: "configmap/flags", Only: "configmap/web"}, []template.Reference{byAPI("flags", false), web}},
		"and what only leaves out":     {template.Filter{Also: "configmap/web", Only: "configmap/flags"}, []template.Reference{byAPI("web", false)}},
		"one in the template":          {template.Filter{Also: "configmap/web"}, []template.Reference{web, byAPI("web", false)}},
		"ignored":                      {template.Filter{Also: "configmap/flags,configmap/shop/flags", Ignore: "configmap/f*"}, []template.Reference{byAPI("shop/flags", false), web}},
		"a key ignored":                {template.Filter{Also: "configmap/flags", Ignore: "configmap/flags:a"}, []template.Reference{byAPI("flags", true, "-a"), web}},
		"ignored in another namespace": {template.Filter{Also: "configmap/shop/flags", Ignore: "configmap/shop/flags"}, []template.Reference{web}},
	} {
		d := objecttest.Deployment(objecttest.ReadsAll("web", false))
		references, _ := template.ReferencesOf("ns", &d.Spec.Template.Spec, test.filter)
		if diff := cmp.Diff(test.want, references); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTheWaysInWhichAConfigIsReadAreNamed(t *testing.T) {
	container := objecttest.ReadsAll("web", false)
	container.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/etc/v"}}
	d := objecttest.Deployment(container)
	d.Spec.Template.Spec.Volumes = []corev1.Volume{objecttest.VolumeOf("files", false)}
	d.Annotations[annotation.AlsoAnnotation] = "configmap/web,configmap/others/flags"
	w := catalogtest.MustWorkload(d)
	for name, want := range map[string]string{"web": "environment, API", "files": "files", "others/flags": "API", "none": ""} {
		if got := w.ReadAs(objecttest.ConfigMapRef(name)); got != want {
			t.Errorf("%s is read as %q, want %q", name, got, want)
		}
	}
}

// flagged is a story in which a Deployment reads the ConfigMap web, and the ConfigMap flags through the
// API. The record covers both.
func flagged() *story {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.deployment.Annotations[annotation.AlsoAnnotation] = "configmap/flags"
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"key": "1"}), objecttest.ConfigMap("flags", objecttest.Data{"key": "1"}))
	s.recorded(10)
	return s
}

func TestNamingAConfigAndTheEndOfThatAreOnlyRecorded(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"key": "1"}), objecttest.ConfigMap("flags", objecttest.Data{"key": "1"}))
	s.recorded(10)
	s.config("flags", objecttest.Data{"key": "2"}, 20)
	for _, also := range []string{"configmap/flags", "configmap/flags:other", ""} {
		s.deployment.Annotations[annotation.AlsoAnnotation] = also
		if !s.catalog.ObserveWorkload(s.reduced()) {
			t.Errorf("%q is no news", also)
		}
		if got := s.decide(t, startedAt(objecttest.NoonPlus(5))); got.Outcome != RecordOnly {
			t.Errorf("%q: %+v", also, got)
		}
		s.recorded(30)
		if got := s.decide(t, startedAt(objecttest.NoonPlus(5))); got.Outcome != Keep {
			t.Errorf("%q, then: %+v", also, got)
		}
	}
}

// A template may show one key of a config, and a program may read another one through the API. Then only
// the edits of the latter depend on when the workload named it.
func TestEachKeyCountsSinceTheTemplateOrAnAnnotationSaysSo(t *testing.T) {
	for key, want := range map[string]Outcome{"shown": Restart, "read": RecordOnly} {
		s := begin(objecttest.Deployment(objecttest.ReadsKey("web", "shown", false)))
		s.listed(objecttest.ConfigMap("web", objecttest.Data{"shown": "1", "read": "1"}))
		s.recorded(10)
		content := objecttest.Data{"shown": "1", "read": "1"}
		content[key] = "2"
		s.config("web", content, 20)
		s.deployment.Annotations[annotation.AlsoAnnotation] = "configmap/web:read"
		s.catalog.ObserveWorkload(s.reduced())
		if got := s.decide(t, startedAt(objecttest.NoonPlus(5))); got.Outcome != want {
			t.Errorf("an edit of %q before: %+v", key, got)
		}
		content["read"] = "3"
		s.config("web", content, 30)
		if got := s.decide(t, startedAt(objecttest.NoonPlus(5))); got.Outcome != Restart {
			t.Errorf("an edit after that of %q: %+v", key, got)
		}
	}
}

func TestProgramsMayReadThroughTheAPIWheneverAnyContainerStarts(t *testing.T) {
	started := func(name string, at float64) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: *objecttest.Stamp(objecttest.NoonPlus(at))}}}
	}
	w := workload.Workload{Object: workload.Object{References: []template.Reference{{Container: "c5", Channel: template.Environment}, {Channel: template.API}}}}
	pod := corev1.Pod{Status: corev1.PodStatus{StartTime: objecttest.Stamp(objecttest.Noon), ContainerStatuses: []corev1.ContainerStatus{started("c5", 20), started("c7", 30), started("c9", 10)}}}
	got, _ := NewPod(&pod, w.Readers())
	want := Pod{Mounted: objecttest.Noon, Started: []Start{{"c5", objecttest.NoonPlus(20)}, {names.EveryContainer, objecttest.NoonPlus(30)}, {names.EveryContainer, objecttest.NoonPlus(10)}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	all := newReads([]Pod{got}, true)
	if at := all.of(w.References[1:]).first; !at.Equal(objecttest.NoonPlus(10)) {
		t.Errorf("first read at %s", at)
	}
	if at := all.of(w.References[:1]).first; !at.Equal(objecttest.NoonPlus(20)) {
		t.Errorf("the environment was first read at %s", at)
	}
	var read []float64
	for _, second := range []float64{0, 10, 15, 20, 30} {
		if all.isAnyIn(names.Interval{From: objecttest.NoonPlus(second), Until: objecttest.NoonPlus(second)}, &w.References[1]) {
			read = append(read, second)
		}
	}
	if !slices.Equal(read, []float64{10, 20, 30}) {
		t.Errorf("read at %v", read)
	}
	for i := range maxStarts {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, started(fmt.Sprint("more", i), 25))
	}
	got, _ = NewPod(&pod, w.Readers())
	if at := newReads([]Pod{got}, false).of(w.References[1:]).first; len(got.Started) != 2 || !at.Equal(objecttest.NoonPlus(10)) {
		t.Errorf("with many containers: %+v", got)
	}
	if !newReads([]Pod{got}, true).isAnyIn(names.Interval{From: objecttest.NoonPlus(28), Until: objecttest.NoonPlus(28)}, &w.References[1]) {
		t.Error("one of many containers may have started at any time in between")
	}
}

func TestAPodThatStartsAgainIsExposedToWhatItReadsThroughTheAPI(t *testing.T) {
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"before the edit":        {podSince(5, 5), false},
		"after it":               {podSince(5, 50), true},
		"after it, and crashing": {crashLooping(5, 50), true},
	} {
		s := flagged()
		s.config("flags", objecttest.Data{"key": "2"}, 20)
		if got := s.isExposed(t, test.pod); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
