package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/status"
)

// listens lets the workloads hear Events, and returns a function that takes those of a reason; it drops the others.
func (w *world) listens() func(reason string) []string {
	recorder := record.NewFakeRecorder(1000)
	w.controller.restarter.Events, w.controller.deliveries.Events = recorder, recorder
	return func(reason string) (messages []string) {
		for len(recorder.Events) > 0 {
			if _, message, isOne := strings.Cut(<-recorder.Events, " "+reason+" "); isOne {
				messages = append(messages, message)
			}
		}
		return messages
	}
}

// lacking returns a world in which Deployments read two ConfigMaps, of which one is deleted.
func lacking(t *testing.T, names ...string) *world {
	w := gradual(t)
	w.edited("a/b", "1")
	for _, name := range names {
		w.runs(name, nil, "b", "c")
	}
	settle(w)
	w.hide("configmaps", w.configMaps["a/b"])
	settle(w)
	return w
}

func TestNoRestartBeginsWhileARequiredConfigIsMissing(t *testing.T) {
	w := lacking(t, "a/one", "a/two")
	told := w.listens()
	w.edited("a/c", "2")
	settle(w)
	if got := w.restarted(); len(got) != 0 {
		t.Fatalf("restarted without the config: %v", got)
	}
	held := w.overview().Held
	if held.Total != 2 || held.Items[0].Reason != string(gate.Missing) || held.Items[0].Text != "configmap/b does not exist" || held.Items[0].State != status.Held {
		t.Errorf("held: %+v", held)
	}
	w.judged(t)
	if o := w.overview(); o.Held.Total != 0 || o.Lacking.Total != 2 {
		t.Errorf("after it was noticed: %d held and %d lacking, want each workload once", o.Held.Total, o.Lacking.Total)
	}
	explained := w.controller.ExplainWorkload("deployment/a/one", time.Now())
	if why := explained.Gate.Why; why != "configmap/b does not exist, which new pods need to start; create it, or make the reference optional" {
		t.Errorf("why: %q", why)
	}
	if events := told(events.Held); len(events) != 2 || !strings.Contains(events[0], "restart is held: configmap/b does not exist, which new pods need") {
		t.Errorf("events: %q", events)
	}

	w.show("configmaps", w.configMaps["a/b"])
	settle(w)
	if got := w.restarted(); len(got) != 1 { // the slow start lets one begin
		t.Errorf("restarted with the config: %v", got)
	}
}

func TestAConfigThatCannotBeSeenIsNotMissing(t *testing.T) {
	w := lacking(t, "a/one")
	w.controller.gate.KnowsWhatExists = func(kind names.ConfigKind, _ string) bool { return kind != names.ConfigMap }
	w.edited("a/c", "2")
	settle(w)
	if got := w.restarted(); !slices.Equal(got, []string{"a/one"}) {
		t.Errorf("restarted: %v", got)
	}
}

func TestAConfigThatNobodyNeedsKeepsNoRestartWaiting(t *testing.T) {
	w := gradual(t)
	d := w.deployment("a/one", "b", "c")
	for _, from := range d.Spec.Template.Spec.Containers[0].EnvFrom {
		if from.ConfigMapRef.Name == "b" {
			from.ConfigMapRef.Optional = new(true)
		}
	}
	wholeStatus(d)
	w.deployments["a/one"] = d
	w.show("deployments", d)
	settle(w)
	w.edited("a/c", "2")
	settle(w)
	if got := w.restarted(); !slices.Equal(got, []string{"a/one"}) {
		t.Errorf("restarted: %v", got)
	}
}

func TestAnEarlierWaveThatLacksAConfigHoldsLaterOnes(t *testing.T) {
	w := gradual(t)
	w.edited("a/b", "1")
	w.runs("a/first", nil, "b", "c")
	w.runs("a/second", map[string]string{annotation.WaveAnnotation: "1"}, "c")
	settle(w)
	w.hide("configmaps", w.configMaps["a/b"])
	settle(w)
	w.edited("a/c", "2")
	settle(w)
	if got := w.restarted(); len(got) != 0 {
		t.Fatalf("restarted: %v", got)
	}
	explained := w.controller.ExplainWorkload("deployment/a/second", time.Now())
	if why := explained.Gate.Why; why != "wave 0 is not over: deployment/first waits for its missing config" {
		t.Errorf("why: %q", why)
	}
}

func TestARestartThatLacksAConfigTakesNoSlotOfOthers(t *testing.T) {
	w := gradual(t)
	group := gate.GroupOf(names.ConfigMap, "c")
	w.controller.gate.FanOut.Groups = []names.ConfigRef{group}
	w.edited("a/b", "1")
	w.edited("b/c", "1")
	w.runs("a/one", nil, "b", "c")
	w.runs("b/other", nil, "c")
	settle(w)
	w.hide("configmaps", w.configMaps["a/b"])
	settle(w)
	w.edited("a/c", "2")
	settle(w)
	w.edited("b/c", "2")
	settle(w)
	if got := w.restarted(); !slices.Equal(got, []string{"b/other"}) {
		t.Errorf("restarted: %v", got)
	}
}

func TestAConfigIsMissingAlsoWhileConfigsOfAnotherKindCannotBeSeen(t *testing.T) {
	w := lacking(t, "a/one")
	w.controller.gate.KnowsWhatExists = func(kind names.ConfigKind, _ string) bool { return kind == names.ConfigMap }
	w.edited("a/c", "2")
	settle(w)
	if got := w.restarted(); len(got) > 0 {
		t.Errorf("restarted without the config: %v", got)
	}
}

func TestNoFurtherPodIsEvictedWhileARequiredConfigIsMissing(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.controller.gate.KnowsWhatExists = func(names.ConfigKind, string) bool { return true }
		w.edited("a/c", "2")
		w.pass(5)
		w.requireEvicted("web-1")
		w.hide("configmaps", w.configMaps["a/c"])
		w.pass(100)
		w.requireEvicted("web-1")
		w.show("configmaps", w.configMaps["a/c"])
		w.pass(100)
		w.requireEvicted("web-1", "web-2", "web-3")
	})
}

// A Secret of the type helm.sh/release.v1 looks so: the watch never shows it.
func TestASecretThatWasNeverSeenKeepsNoRestartWaiting(t *testing.T) {
	w := gradual(t)
	w.controller.useKey(content.NewChecksumKey([content.ChecksumKeySize]byte{1}))
	w.runs("a/one", nil, "c", "s")
	settle(w)
	w.edited("a/c", "2")
	settle(w)
	if got := w.restarted(); !slices.Equal(got, []string{"a/one"}) {
		t.Errorf("restarted: %v, held: %+v", got, w.overview().Held)
	}
	w.judged(t)
	if o := w.overview(); o.Lacking.Total != 1 || o.Lacking.Items[0].Text != "no secret/s is watched: it does not exist, or is of type helm.sh/release.v1" {
		t.Errorf("lacking: %+v", o.Lacking)
	}
	const want = "no secret/s is watched: it does not exist, or is of type helm.sh/release.v1"
	if e := w.controller.ExplainWorkload("deployment/a/one", time.Now()); e.State != status.Lacking || e.Text != want {
		t.Errorf("explained: %+v", e.Entry)
	}
}

func TestNoRestartBeginsWhileASecretIsGone(t *testing.T) {
	w := gradual(t)
	w.controller.useKey(content.NewChecksumKey([content.ChecksumKeySize]byte{1}))
	w.secrets["a/s"] = &corev1.Secret{ObjectMeta: w.meta("a/s"), Data: map[string][]byte{"k": []byte("1")}}
	w.show("secrets", w.secrets["a/s"])
	w.runs("a/one", nil, "c", "s")
	settle(w)
	w.hide("secrets", w.secrets["a/s"])
	settle(w)
	w.edited("a/c", "2")
	settle(w)
	if got := w.restarted(); len(got) > 0 {
		t.Errorf("restarted without the Secret: %v", got)
	}
	if held := w.overview().Held; held.Total != 1 || held.Items[0].Text != "secret/s does not exist" {
		t.Errorf("held: %+v", held)
	}
}

// keysMissing lets a Deployment need the key "k" of a config, and removes it.
func keysMissing(t *testing.T, need func(*corev1.PodSpec)) *world {
	w := gradual(t)
	w.controller.useKey(content.NewChecksumKey([content.ChecksumKeySize]byte{1}))
	w.secrets["a/s"] = &corev1.Secret{ObjectMeta: w.meta("a/s"), Data: map[string][]byte{"k": []byte("1")}}
	w.show("secrets", w.secrets["a/s"])
	d := w.deployment("a/one")
	need(&d.Spec.Template.Spec)
	for _, volume := range d.Spec.Template.Spec.Volumes {
		d.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: volume.Name, MountPath: "/etc/app"}}
	}
	wholeStatus(d)
	w.deployments["a/one"] = d
	w.show("deployments", d)
	settle(w)
	config := w.configMaps["a/c"].DeepCopy()
	config.Data = map[string]string{"other": "1"}
	w.show("configmaps", config)
	secret := w.secrets["a/s"].DeepCopy()
	secret.Data = map[string][]byte{"other": []byte("1")}
	w.show("secrets", secret)
	settle(w)
	return w
}

func TestNoRestartBeginsWhileARequiredKeyIsMissing(t *testing.T) {
	config, secret := corev1.LocalObjectReference{Name: "c"}, corev1.LocalObjectReference{Name: "s"}
	items := []corev1.KeyToPath{{Key: "k", Path: "file"}}
	variable := func(spec *corev1.PodSpec, from corev1.EnvVarSource) {
		spec.Containers[0].Env = []corev1.EnvVar{{Name: "K", ValueFrom: &from}}
	}
	volume := func(spec *corev1.PodSpec, source corev1.VolumeSource) {
		spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: source}}
	}
	projected := func(source corev1.VolumeProjection) corev1.VolumeSource {
		return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{source}}}
	}
	for name, test := range map[string]struct {
		need func(*corev1.PodSpec)
		want string // empty if nothing keeps the pods from starting
	}{
		"a variable": {func(s *corev1.PodSpec) {
			variable(s, corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: config, Key: "k"}})
		}, "configmap/c has no key k"},
		"an optional variable": {func(s *corev1.PodSpec) {
			variable(s, corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: config, Key: "k", Optional: new(true)}})
		}, ""},
		"a variable of a Secret": {func(s *corev1.PodSpec) {
			variable(s, corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: secret, Key: "k"}})
		}, "secret/s lacks a key"},
		"a file": {func(s *corev1.PodSpec) {
			volume(s, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: config, Items: items}})
		}, "configmap/c has no key k"},
		"an optional file": {func(s *corev1.PodSpec) {
			volume(s, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: config, Items: items, Optional: new(true)}})
		}, ""},
		"a file of a Secret": {func(s *corev1.PodSpec) {
			volume(s, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s", Items: items}})
		}, "secret/s lacks a key"},
		"a projected file": {func(s *corev1.PodSpec) {
			volume(s, projected(corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: config, Items: items}}))
		}, "configmap/c has no key k"},
		"a projected file of a Secret": {func(s *corev1.PodSpec) {
			volume(s, projected(corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: secret, Items: items}}))
		}, "secret/s lacks a key"},
		"all files": {func(s *corev1.PodSpec) {
			volume(s, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: config}})
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := keysMissing(t, test.need)
			if got := w.restarted(); test.want != "" && len(got) > 0 || test.want == "" && len(got) == 0 {
				t.Errorf("restarted: %v", got)
			}
			held := w.overview().Held
			if (held.Total == 1) != (test.want != "") || held.Total == 1 && held.Items[0].Text != test.want {
				t.Errorf("held: %+v", held)
			}
		})
	}
}

func TestTheRestartThatIsDueIsInTheRowOfTheConfigThatIsMissing(t *testing.T) {
	w := lacking(t, "a/one")
	w.judged(t)
	if o := w.overview(); o.Lacking.Total != 1 || o.Lacking.Items[0].Due != "" {
		t.Fatalf("before an edit: %+v", o.Lacking)
	}
	w.edited("a/c", "2")
	settle(w)
	o := w.overview()
	if o.Lacking.Total != 1 {
		t.Fatalf("lacking: %+v", o.Lacking)
	}
	row := o.Lacking.Items[0]
	if row.Text != "configmap/b does not exist" || !strings.HasPrefix(row.Due, "a restart is due since ") || !strings.HasSuffix(row.Due, "Z and waits for it, because configmap c changed (keys: k)") {
		t.Errorf("the row says %q and %q", row.Text, row.Due)
	}
	if e := w.controller.ExplainWorkload("deployment/a/one", time.Now()); e.State != status.Lacking || e.Text != row.Text || e.Due != row.Due || !e.Since.Equal(row.Since) || e.Gate.Reason != string(gate.Missing) {
		t.Errorf("explained: %+v, gate %+v; the row: %+v", e.Entry, e.Gate, row)
	}
}
