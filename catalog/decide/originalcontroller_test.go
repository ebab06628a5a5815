package decide

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
)

func TestTheDigestOfTheOriginalIsThatOfTheDataInJSON(t *testing.T) {
	for name, test := range map[string]struct {
		object metav1.Object
		want   string // the first 8 bytes of what sha256sum prints for the JSON text
	}{
		`{"a":"1"}`:                          {objecttest.ConfigMap("c", objecttest.Data{"a": "1"}), "9afeb0f2b203f254"},
		`{"a":"1","b":"2"}, sorted`:          {objecttest.ConfigMap("c", objecttest.Data{"b": "2", "a": "1"}), "21f76dfbfe6dfe21"},
		`null, no data`:                      {objecttest.ConfigMap("c", nil), "74234e98afe7498f"},
		`{}, empty data`:                     {objecttest.ConfigMap("c", objecttest.Data{}), "44136fa355b3678a"},
		`{"a":""}`:                           {objecttest.ConfigMap("c", objecttest.Data{"a": ""}), "258555fe010df3da"},
		`{"ä":"ö"}`:                          {objecttest.ConfigMap("c", objecttest.Data{"ä": "ö"}), "713da92e0a02bd89"},
		`{"a":"\u003c\u0026\u003e"}`:         {objecttest.ConfigMap("c", objecttest.Data{"a": "<&>"}), "1fd2922c86d4c57a"},
		`{"a":"MQ=="}, of a Secret`:          {objecttest.Secret("s", objecttest.Data{"a": "1"}), "f7909bffe23df2f2"},
		`null, a Secret without data`:        {&corev1.Secret{}, "74234e98afe7498f"},
		`{"a":"1"}, without binaryData`:      {&corev1.ConfigMap{Data: objecttest.Data{"a": "1"}, BinaryData: map[string][]byte{"b": {1}}}, "9afeb0f2b203f254"},
		`null, with nothing but binary data`: {&corev1.ConfigMap{BinaryData: map[string][]byte{"b": {1}}}, "74234e98afe7498f"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := record.OriginalDigest(test.object)
			if err != nil || got.String() != test.want {
				t.Errorf("digest %s, %v, want %s", got, err, test.want)
			}
		})
	}
	if _, err := record.OriginalDigest(&corev1.Pod{}); err == nil {
		t.Error("a pod has a digest")
	}
}

// recordByOriginal does to a Deployment what the original controller does when it
// records configs as they are at the given time.
func recordByOriginal(d *appsv1.Deployment, seconds float64, objects ...metav1.Object) {
	entries := map[string]string{}
	for _, object := range objects {
		digest, err := record.OriginalDigest(object)
		if err != nil {
			panic(err)
		}
		kind := "configmap/ns/"
		if _, isSecret := object.(*corev1.Secret); isSecret {
			kind = "secret/ns/"
		}
		entries[kind+object.GetName()] = digest.String()
	}
	encoded, err := json.Marshal(entries)
	if err != nil {
		panic(err)
	}
	d.Annotations[annotation.ChecksumsAnnotation] = string(encoded)
	d.ManagedFields = append(d.ManagedFields, objecttest.Owns(annotation.FieldManager, objecttest.NoonPlus(seconds), objecttest.AnnotationField(annotation.ChecksumsAnnotation)))
}

// decideWithOriginals decides as the controller does that reads what the decision asks for.
func decideWithOriginals(t rapid.TB, d *appsv1.Deployment, objects []metav1.Object, pods ...Pod) (verdict, string) {
	t.Helper()
	c := catalog.New()
	c.SetKey(catalogtest.TestKey)
	digests := map[names.ConfigRef]names.Checksum{}
	for _, object := range objects {
		var config content.Config
		switch o := object.(type) {
		case *corev1.ConfigMap:
			config = content.NewConfigMap(o)
		case *corev1.Secret:
			config = content.NewSecret(o)
		}
		listConfigs(c, config.Ref.Kind, "none", objecttest.ListOf(config), objecttest.NoonPlus(500), true)
		digest, err := record.OriginalDigest(object)
		if err != nil {
			t.Fatal(err)
		}
		digests[config.Ref] = digest
	}
	listWorkloads(c, names.Deployment, "", objecttest.ListOf(catalogtest.MustWorkload(d)), 0)
	view, _ := c.View(objecttest.DeploymentRef("web"))
	decision := Decide(view)
	if asked := UnsettledByOriginal(&view); decision.Outcome == AskConfigs {
		view.Originals = map[names.ConfigRef]names.Checksum{}
		for _, ref := range asked {
			view.Originals[ref] = digests[ref]
		}
		decision = Decide(view)
	}
	if decision.Outcome == AskConfigs {
		t.Fatal("asks again for what it was given")
	}
	asked := decision.Outcome == AskPods
	if asked {
		decision = ByPods(view, pods)
	}
	return verdict{asked, decision.Outcome, withoutMoments(t, decision.Causes)}, decision.Reason
}

// editedAt is a ConfigMap whose keys were last written by an owner at the given time.
func editedAt(seconds float64, content objecttest.Data) *corev1.ConfigMap {
	cm := objecttest.ConfigMap("web", content)
	fields := []string{}
	for key := range content {
		fields = append(fields, "f:data/f:"+key)
	}
	cm.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(seconds), fields...)}
	return cm
}

// The original has recorded at 50; pods have started at 40 or 200, or as given.
func TestDecisionsOnAWorkloadThatTheOriginalRecorded(t *testing.T) {
	settled, askedRecord := verdict{Outcome: RecordOnly}, verdict{Asked: true, Outcome: RecordOnly}
	old, young := startedAt(objecttest.NoonPlus(40)), startedAt(objecttest.NoonPlus(200))
	before := objecttest.ConfigMap("web", objecttest.Data{"a": "1"})
	recreated := objecttest.ConfigMap("web", objecttest.Data{"a": "2"})
	recreated.CreationTimestamp.Time = objecttest.NoonPlus(100)
	byUndo := func(d *appsv1.Deployment) {
		last := &d.ManagedFields[len(d.ManagedFields)-1]
		last.Manager = "kubectl-rollout"
	}
	for name, test := range map[string]struct {
		now    *corev1.ConfigMap
		adjust func(*appsv1.Deployment)
		pods   []Pod
		want   verdict
	}{
		"recreated with other content":    {now: recreated, pods: []Pod{old}, want: askedRestartFor("web")},
		"an undo brought the record back": {now: editedAt(10, objecttest.Data{"a": "2"}), adjust: byUndo, pods: []Pod{young}, want: askedRecord},
		"an undo brought the record back, and the pods are older than the last edit": {
			now: editedAt(100, objecttest.Data{"a": "2"}), adjust: byUndo, pods: []Pod{old}, want: askedRestartFor("web"),
		},
		"a config that it does not contain, edited after the opt-in": {
			now: editedAt(100, objecttest.Data{"a": "1"}), pods: []Pod{old}, want: settled,
			adjust: func(d *appsv1.Deployment) {
				d.Annotations[annotation.ChecksumsAnnotation] = `{"configmap/ns/other":"0000000000000001"}`
			},
		},
		"entries that cannot be read": {
			now: editedAt(100, objecttest.Data{"a": "1"}), pods: []Pod{old}, want: settled,
			adjust: func(d *appsv1.Deployment) {
				d.Annotations[annotation.ChecksumsAnnotation] = `{"configmap/ns/web":"9afeb0f2b203f254","pod/x":"","configmap/ns/b":"-"}`
			},
		},
		"paused": {
			now: editedAt(100, objecttest.Data{"a": "2"}), pods: []Pod{old}, want: askedRestartFor("web"),
			adjust: func(d *appsv1.Deployment) { d.Spec.Paused = true },
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := objecttest.Deployment(objecttest.ReadsAll("web", false))
			recordByOriginal(d, 50, before)
			if test.adjust != nil {
				test.adjust(d)
			}
			got, reason := decideWithOriginals(t, d, []metav1.Object{test.now}, test.pods...)
			if diff := cmp.Diff(test.want, got); diff != "" || reason == "" {
				t.Errorf("reason %q, verdict (-want +got):\n%s", reason, diff)
			}
		})
	}
}

func TestASecretThatTheOriginalRecordedIsComparedLikeAConfigMap(t *testing.T) {
	for value, want := range map[string]Outcome{"1": RecordOnly, "2": Restart} {
		d := objecttest.Deployment(objecttest.ReadsSecret("tls"))
		recordByOriginal(d, 50, objecttest.Secret("tls", objecttest.Data{"a": "1"}))
		now := objecttest.Secret("tls", objecttest.Data{"a": value})
		now.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(100), "f:data/f:a")}
		got, _ := decideWithOriginals(t, d, []metav1.Object{now}, startedAt(objecttest.NoonPlus(40)))
		if got.Outcome != want {
			t.Errorf("content %s: %+v, want %s", value, got, want)
		}
	}
}

// A record of this controller that lost its basis looks like one of the original. It may be
// outdated, so the pods' start times decide, as without a record.
func TestOurRecordWithoutItsBasisCountsAsNoRecord(t *testing.T) {
	for name, test := range map[string]struct {
		container corev1.Container
		want      Outcome
	}{
		"edited since the opt-in":     {objecttest.ReadsAll("web", false), AskPods},
		"not edited since the opt-in": {objecttest.ReadsSecret("tls"), RecordOnly},
	} {
		t.Run(name, func(t *testing.T) {
			d := objecttest.Deployment(test.container)
			c := catalog.New()
			c.SetKey(catalogtest.TestKey)
			c.ObserveConfig(content.NewConfigMap(editedAt(100, objecttest.Data{"a": "1"})), objecttest.Noon)
			c.ObserveConfig(content.NewSecret(objecttest.Secret("tls", objecttest.Data{"a": "1"})), objecttest.Noon)
			c.ObserveWorkload(catalogtest.MustWorkload(d))
			view, _ := c.View(objecttest.DeploymentRef("web"))
			catalogtest.WriteRecord(d, Decide(view).Checksums, objecttest.NoonPlus(50))
			delete(d.Annotations, annotation.BasisAnnotation)
			d.ResourceVersion = "2"
			c.ObserveWorkload(catalogtest.MustWorkload(d))
			view, _ = c.View(objecttest.DeploymentRef("web"))
			if len(view.Workload.Record.Original) != 1 {
				t.Fatalf("record %+v", view.Workload.Record)
			}
			if asked := UnsettledByOriginal(&view); len(asked) > 0 {
				t.Errorf("configs are to be read needlessly: %v", asked)
			}
			if got := Decide(view); got.Outcome != test.want {
				t.Errorf("decision %+v", got)
			}
		})
	}
}

// The original has recorded what the pods run with, and is gone. Whatever happens until this
// controller starts, pods restart if they have not seen the content. They restart needlessly only
// if the content is another one.
func TestAnUpgradeLosesNoRestartAndCausesNoNeedlessOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cm := objecttest.ConfigMap("web", objecttest.Data{"key": "0"})
		d := objecttest.Deployment(objecttest.ReadsAll("web", false))
		recordByOriginal(d, 50, cm)
		now := 50.0
		pods := []simulatedPod{{started: 40, seen: "0"}, {started: 40, seen: "0"}}
		write := func(content objecttest.Data) {
			cm.Data = content
			cm.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(now), "f:data/f:key")}
		}
		start := func(pod *simulatedPod) { *pod = simulatedPod{started: now, seen: cm.Data["key"]} }
		actions := map[string]func(){
			"edit": func() { write(objecttest.Data{"key": strconv.FormatFloat(now, 'f', 0, 64)}) },
			"edit and back": func() {
				if len(cm.Data) > 0 {
					write(cm.Data)
				}
			},
			"remove the key": func() {
				cm.Data, cm.ManagedFields = objecttest.Data{}, nil
			},
			"delete and make": func() {
				cm.CreationTimestamp.Time, cm.ManagedFields = objecttest.NoonPlus(now), nil
			},
			"release":           func() { start(&pods[0]); start(&pods[1]) },
			"a pod is replaced": func() { start(&pods[1]) },
			"label":             func() { cm.Labels = objecttest.Data{"seen": "yes"} },
		}
		names := slices.Sorted(maps.Keys(actions))
		for range rapid.IntRange(0, 6).Draw(t, "steps") {
			now += 10
			actions[rapid.SampledFrom(names).Draw(t, "action")]()
		}
		due := slices.ContainsFunc(pods, func(pod simulatedPod) bool { return pod.seen != cm.Data["key"] })
		got, reason := decideWithOriginals(t, d, []metav1.Object{cm}, startedAt(objecttest.NoonPlus(pods[0].started)), startedAt(objecttest.NoonPlus(pods[1].started)))
		restarts := got.Outcome == Restart
		if due && !restarts {
			t.Fatalf("lost a restart: %s", reason)
		}
		if restarts && !due && cm.Data["key"] == "0" {
			t.Fatalf("a needless restart: %s", reason)
		}
	})
}

// The original knows neither the keys nor the basis. It restarts a workload for each config whose
// checksum is not the one that it computes, all at once, and records configs without a checksum.
func TestADowngradeToTheOriginalCostsOneRestartAtMost(t *testing.T) {
	settings := objecttest.ConfigMap("web", objecttest.Data{"a": "1"})
	restarts := func(d *appsv1.Deployment) bool {
		var recorded map[string]string
		if err := json.Unmarshal([]byte(d.Annotations[annotation.ChecksumsAnnotation]), &recorded); err != nil && d.Annotations[annotation.ChecksumsAnnotation] != "" {
			t.Fatalf("the original cannot read the record: %v", err)
		}
		digest, err := record.OriginalDigest(settings)
		if err != nil {
			t.Fatal(err)
		}
		checksum, found := recorded["configmap/ns/web"]
		return found && checksum != digest.String()
	}
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(settings)
	s.recorded(10)
	d := s.deployment
	if !restarts(d) {
		t.Error("the original takes our checksum for its own")
	}
	recordByOriginal(d, 20, settings)
	if restarts(d) {
		t.Error("it restarts a second time")
	}
	s.recorded(30)
	delete(d.Annotations, annotation.ChecksumsAnnotation)
	if restarts(d) {
		t.Error("it restarts without a record")
	}
}

// The original looks at fewer references. That something else was edited before the upgrade, such as a certificate that was
// renewed, is no reason to restart.
func TestWhatTheOriginalDidNotRecordIsOnlyRecordedAtTheUpgrade(t *testing.T) {
	for name, container := range map[string]corev1.Container{
		"valueFrom": objecttest.ReadsKey("web", "a", false), "envFrom": objecttest.ReadsAll("web", false), "optional": objecttest.ReadsAll("web", true), "a volume": objecttest.Mounts(corev1.VolumeMount{Name: "v"}),
	} {
		t.Run(name, func(t *testing.T) {
			d := objecttest.Deployment(objecttest.ReadsAll("known", false), objecttest.VolumeOf("web", false))
			container.Name = "app"
			d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, container)
			known, edited := objecttest.ConfigMap("known", objecttest.Data{"a": "1"}), editedAt(60, objecttest.Data{"a": "2"})
			recordByOriginal(d, 10, known)
			got, _ := decideWithOriginals(t, d, []metav1.Object{known, edited}, startedAt(objecttest.NoonPlus(50)))
			if diff := cmp.Diff(verdict{Outcome: RecordOnly}, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}
