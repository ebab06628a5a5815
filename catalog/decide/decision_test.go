package decide

import (
	"maps"
	"slices"
	"strconv"
	"strings"
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
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// story is what happens in a cluster, and what a catalog sees of it.
type story struct {
	catalog    *catalog.Catalog
	deployment *appsv1.Deployment
	version    int
	shown      names.Sequence // up to which the watch of workloads has shown everything
	// mountsListed is the catalog for which mounts have been listed.
	mountsListed *catalog.Catalog
}

func begin(d *appsv1.Deployment) *story {
	return &story{catalog: catalog.New(), deployment: d}
}

// listed shows what was there before the catalog watched.
func (s *story) listed(configs ...*corev1.ConfigMap) {
	var reduced []content.Config
	for _, cm := range configs {
		reduced = append(reduced, reducedConfigMap(cm))
	}
	listConfigs(s.catalog, names.ConfigMap, "", objecttest.ListOf(reduced...), objecttest.Noon, true)
	listWorkloads(s.catalog, names.Deployment, "", objecttest.ListOf(s.reduced()), 0)
}

// reduced is the Deployment after another write.
func (s *story) reduced() workload.Workload {
	s.version++
	s.deployment.ResourceVersion = strconv.Itoa(s.version)
	return catalogtest.MustWorkload(s.deployment)
}

// config shows a ConfigMap that is there since noon.
func (s *story) config(name string, data map[string]string, seconds float64) {
	s.catalog.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap(name, data)), objecttest.NoonPlus(seconds))
}

// created shows a ConfigMap that was just made.
func (s *story) created(name string, data map[string]string, seconds float64) {
	cm := objecttest.ConfigMap(name, data)
	cm.CreationTimestamp.Time = objecttest.NoonPlus(seconds)
	s.catalog.ObserveConfig(content.NewConfigMap(cm), objecttest.NoonPlus(seconds))
}

// deleted shows that a ConfigMap was deleted.
func (s *story) deleted(name string, seconds float64) {
	s.catalog.ForgetConfig(objecttest.ConfigMapRef(name), objecttest.NoonPlus(seconds))
}

// recorded does what the controller does after it decided to record.
func (s *story) recorded(seconds float64) {
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	decision := Decide(view)
	catalogtest.WriteRecordWithout(s.deployment, decision.Checksums, decision.Without, objecttest.NoonPlus(seconds))
	s.catalog.ObserveWritten(s.reduced(), view.Sequence)
}

// restartController forgets all that was seen.
func (s *story) restartController(configs ...*corev1.ConfigMap) {
	s.catalog = catalog.New()
	s.listed(configs...)
}

func (s *story) scale(replicas int32) {
	s.deployment.Spec.Replicas = &replicas
	s.catalog.ObserveWorkload(s.reduced())
}

func (s *story) release(image string) {
	s.deployment.Spec.Template.Spec.Containers[0].Image = image
	s.catalog.ObserveWorkload(s.reduced())
}

// crowded is a Deployment that reads the ConfigMaps b and z. Its annotations leave room
// for the checksum of one of them.
func crowded() *appsv1.Deployment {
	d := objecttest.Deployment(corev1.Container{Name: "app", EnvFrom: append(objecttest.ReadsAll("z", false).EnvFrom, objecttest.ReadsAll("b", false).EnvFrom...)})
	taken := len(annotation.EnabledAnnotation) + len(annotation.Enabled) + len("note") + record.EntrySize(objecttest.ConfigMapRef("b"))
	d.Annotations["note"] = strings.Repeat("x", record.AnnotationsLimit-record.AnnotationsReserve-taken)
	return d
}

// verdict is a decision in the end, and whether it took the pods.
type verdict struct {
	Asked   bool
	Outcome Outcome
	Causes  []Cause
}

func (s *story) decide(t *testing.T, pods ...Pod) verdict {
	t.Helper()
	view, found := s.catalog.View(objecttest.DeploymentRef("web"))
	if !found {
		t.Fatal("the workload is not in the catalog")
	}
	decision := Decide(view)
	asked := decision.Outcome == AskPods
	if asked {
		decision = ByPods(view, pods)
	}
	if decision.Reason == "" {
		t.Error("a decision without a reason")
	}
	if want := newDecision(&view, seenConfigs(&view)); !decision.Checksums.Equal(want.Checksums) || decision.Without != want.Without {
		t.Errorf("to be recorded: %v, want %v", decision.Checksums, want.Checksums)
	}
	return verdict{asked, decision.Outcome, withoutMoments(t, decision.Causes)}
}

// withoutMoments returns causes without their moments, which must have the form that is promised,
// and without the note that there were others than the named keys.
func withoutMoments(t rapid.TB, causes []Cause) []Cause {
	t.Helper()
	causes = slices.Clone(causes)
	for i := range causes {
		moments := causes[i].Moments
		if isSet := slices.IsSorted(moments) && len(slices.Compact(slices.Clone(moments))) == len(moments); !isSet || len(moments) == 0 || len(moments) > 16 {
			t.Errorf("%s: moments %v", causes[i].Config, moments)
		}
		causes[i].Moments, causes[i].Unnamed = nil, false
	}
	return causes
}

func restartFor(name string, keys ...string) verdict {
	return verdict{Outcome: Restart, Causes: []Cause{{Config: objecttest.ConfigMapRef(name), Keys: keys}}}
}

func askedRestartFor(name string, keys ...string) verdict {
	v := restartFor(name, keys...)
	v.Asked = true
	return v
}

func TestDecisionsOnAWorkloadWithATrustedRecord(t *testing.T) {
	keep, record, askedRecord := verdict{Outcome: Keep}, verdict{Outcome: RecordOnly}, verdict{Asked: true, Outcome: RecordOnly}
	allOfWeb := func() *appsv1.Deployment { return objecttest.Deployment(objecttest.ReadsAll("web", false)) }
	keyA := func() *appsv1.Deployment { return objecttest.Deployment(objecttest.ReadsKey("web", "a", false)) }
	optionalA := func() *appsv1.Deployment { return objecttest.Deployment(objecttest.ReadsKey("web", "a", true)) }
	optional := func() *appsv1.Deployment { return objecttest.Deployment(objecttest.ReadsAll("web", true)) }
	volume := func() *appsv1.Deployment {
		return objecttest.Deployment(objecttest.Mounts(corev1.VolumeMount{Name: "v"}), objecttest.VolumeOf("web", false))
	}
	withBinary := func(text, binary string) *corev1.ConfigMap {
		cm := objecttest.ConfigMap("web", objecttest.Data{"a": text})
		cm.BinaryData = map[string][]byte{"bin": []byte(binary)}
		return cm
	}
	for name, test := range map[string]struct {
		deployment *appsv1.Deployment
		happens    func(*story)
		pods       []Pod
		want       verdict
	}{
		"nothing happens": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
		}, nil, keep},
		"a key is edited": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1", "b": "1"}))
			s.recorded(10)
			s.config("web", objecttest.Data{"a": "2", "b": "1"}, 60)
		}, nil, restartFor("web", "a")},
		"a key is edited, the pods do not matter": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			s.config("web", objecttest.Data{"a": "2"}, 60)
		}, []Pod{startedAt(objecttest.NoonPlus(100))}, restartFor("web", "a")},
		"keys are edited, added and removed": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"c": "1", "a": "1", "d": "1"}))
			s.recorded(10)
			s.config("web", objecttest.Data{"b": "1", "c": "1", "d": "1"}, 60)
			s.config("web", objecttest.Data{"b": "1", "c": "1", "d": "2"}, 61)
		}, nil, restartFor("web", "a", "b", "d")},
		"keys that were edited before the record are not named": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1", "b": "1"}))
			s.config("web", objecttest.Data{"a": "2", "b": "1"}, 5)
			s.recorded(10)
			s.config("web", objecttest.Data{"a": "2", "b": "2"}, 60)
		}, nil, restartFor("web", "b")},
		"two configs are edited": {
			objecttest.Deployment(corev1.Container{Name: "app", EnvFrom: append(objecttest.ReadsAll("z", false).EnvFrom, objecttest.ReadsAll("b", false).EnvFrom...)}),
			func(s *story) {
				s.listed(objecttest.ConfigMap("b", objecttest.Data{"k": "1"}), objecttest.ConfigMap("z", objecttest.Data{"k": "1"}))
				s.recorded(10)
				s.config("z", objecttest.Data{"k": "2"}, 60)
				s.config("b", objecttest.Data{"l": "1"}, 61)
			}, nil,
			verdict{Outcome: Restart, Causes: []Cause{{Config: objecttest.ConfigMapRef("b"), Keys: []string{"k", "l"}}, {Config: objecttest.ConfigMapRef("z"), Keys: []string{"k"}}}},
		},
		"an edit of a config that there is room for": {crowded(), func(s *story) {
			s.listed(objecttest.ConfigMap("b", objecttest.Data{"k": "1"}), objecttest.ConfigMap("z", objecttest.Data{"k": "1"}))
			s.recorded(10)
			s.config("b", objecttest.Data{"k": "2"}, 60)
		}, nil, restartFor("b", "k")},
		"an edit of a config that there is no room for": {crowded(), func(s *story) {
			s.listed(objecttest.ConfigMap("b", objecttest.Data{"k": "1"}), objecttest.ConfigMap("z", objecttest.Data{"k": "1"}))
			s.recorded(10)
			s.config("z", objecttest.Data{"k": "2"}, 60)
		}, []Pod{startedAt(objecttest.NoonPlus(5))}, askedRestartFor("z", "k")},
		"the same, and the pods have seen it": {crowded(), func(s *story) {
			s.listed(objecttest.ConfigMap("b", objecttest.Data{"k": "1"}), objecttest.ConfigMap("z", objecttest.Data{"k": "1"}))
			s.recorded(10)
			s.config("z", objecttest.Data{"k": "2"}, 60)
		}, []Pod{startedAt(objecttest.NoonPlus(70))}, verdict{Asked: true, Outcome: Keep}},
		"nothing is edited of a config that there is no room for": {crowded(), func(s *story) {
			s.listed(objecttest.ConfigMap("b", objecttest.Data{"k": "1"}), objecttest.ConfigMap("z", objecttest.Data{"k": "1"}))
			s.recorded(10)
		}, nil, keep},
		"an edit while the workload wanted no pods, which started later": {allOfWeb(), func(s *story) {
			s.scale(0)
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			s.config("web", objecttest.Data{"a": "2"}, 60)
			s.scale(1)
		}, []Pod{startedAt(objecttest.NoonPlus(64))}, askedRecord},
		"an edit soon after the workload wanted pods again": {allOfWeb(), func(s *story) {
			s.scale(0)
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			s.scale(1)
			s.config("web", objecttest.Data{"a": "2"}, 60)
		}, []Pod{startedAt(objecttest.NoonPlus(55))}, askedRestartFor("web", "a")},
		"an edit that is taken back": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			s.config("web", objecttest.Data{"a": "2"}, 60)
			s.config("web", objecttest.Data{"a": "1"}, 61)
		}, nil, verdict{Asked: true, Outcome: Keep}},
		"a key that nobody reads is edited": {keyA(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1", "b": "1"}))
			s.recorded(10)
			s.config("web", objecttest.Data{"a": "1", "b": "2", "c": "3"}, 60)
		}, nil, keep},
		"only keys that the workload reads are named": {keyA(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1", "b": "1"}))
			s.recorded(10)
			s.config("web", objecttest.Data{"a": "2", "b": "2"}, 60)
		}, nil, restartFor("web", "a")},
		"binary data of an environment is edited": {allOfWeb(), func(s *story) {
			s.listed(withBinary("1", "1"))
			s.recorded(10)
			s.catalog.ObserveConfig(content.NewConfigMap(withBinary("1", "2")), objecttest.NoonPlus(60))
		}, nil, keep},
		"binary data of a volume is edited": {volume(), func(s *story) {
			s.listed(withBinary("1", "1"))
			s.recorded(10)
			s.catalog.ObserveConfig(content.NewConfigMap(withBinary("1", "2")), objecttest.NoonPlus(60))
		}, nil, restartFor("web", "bin")},
		"edited while nobody watched": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			cm := objecttest.ConfigMap("web", objecttest.Data{"a": "2"})
			cm.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(60), "f:data/f:a")}
			s.restartController(cm)
		}, nil, verdict{Outcome: Restart, Causes: []Cause{{Config: objecttest.ConfigMapRef("web"), Writers: []string{"kubectl"}}}}},
		"nothing changed while nobody watched": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			cm := objecttest.ConfigMap("web", objecttest.Data{"a": "1"})
			cm.Labels = objecttest.Data{"x": "y"}
			cm.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(60), "f:data/f:a", "f:metadata/f:labels/f:x")}
			s.restartController(cm)
		}, []Pod{startedAt(objecttest.NoonPlus(5))}, keep},
		"deleted": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			s.deleted("web", 55)
		}, nil, keep},
		"deleted and made again with the same content": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			s.deleted("web", 55)
			s.created("web", objecttest.Data{"a": "1"}, 60)
		}, nil, keep},
		"deleted and made again with other content": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1", "b": "1"}))
			s.recorded(10)
			s.deleted("web", 55)
			s.created("web", objecttest.Data{"a": "2", "b": "1"}, 60)
		}, nil, restartFor("web", "a")},
		"optional, deleted and made again with the same content": {optional(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			s.deleted("web", 55)
			s.created("web", objecttest.Data{"a": "1"}, 60)
		}, []Pod{startedAt(objecttest.NoonPlus(5))}, verdict{Asked: true, Outcome: Keep}},
		"optional, deleted and made again with the same content, and a pod started in between": {optional(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			s.deleted("web", 55)
			s.created("web", objecttest.Data{"a": "1"}, 60)
		}, []Pod{startedAt(objecttest.NoonPlus(57))}, askedRestartFor("web")},
		"deleted while nobody watched": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			s.restartController()
		}, nil, keep},
		"deleted while nobody watched, and made again with the same content": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			s.restartController()
			s.created("web", objecttest.Data{"a": "1"}, 60)
		}, nil, keep},
		"deleted while nobody watched, and made again with other content": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			s.restartController()
			s.created("web", objecttest.Data{"a": "2"}, 60)
		}, nil, restartFor("web")},
		"optional, appears after the containers started": {optional(), func(s *story) {
			s.listed()
			s.recorded(10)
			s.created("web", objecttest.Data{"a": "1"}, 60)
		}, []Pod{startedAt(objecttest.NoonPlus(5))}, askedRestartFor("web")},
		"optional, appears before the containers started": {optional(), func(s *story) {
			s.listed()
			s.recorded(10)
			s.created("web", objecttest.Data{"a": "1"}, 60)
		}, []Pod{startedAt(objecttest.NoonPlus(65))}, askedRecord},
		"optional, appears while nobody watched": {optional(), func(s *story) {
			s.listed()
			s.recorded(10)
			cm := objecttest.ConfigMap("web", objecttest.Data{"a": "1"})
			cm.CreationTimestamp.Time = objecttest.NoonPlus(60)
			s.restartController(cm)
		}, []Pod{startedAt(objecttest.NoonPlus(5))}, askedRestartFor("web")},
		"optional, appears while nobody watched, before the owner's next write": {optional(), func(s *story) {
			s.listed()
			s.recorded(10)
			s.deployment.ManagedFields[0].Time = objecttest.Stamp(objecttest.NoonPlus(90))
			cm := objecttest.ConfigMap("web", objecttest.Data{"a": "1"})
			cm.CreationTimestamp.Time = objecttest.NoonPlus(60)
			s.restartController(cm)
		}, []Pod{startedAt(objecttest.NoonPlus(5))}, askedRestartFor("web")},
		"optional, appears after a release without it, with the content of before": {optional(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			s.deleted("web", 55)
			s.release("web:2")
			s.recorded(30)
			s.created("web", objecttest.Data{"a": "1"}, 60)
		}, []Pod{startedAt(objecttest.NoonPlus(25))}, askedRestartFor("web")},
		"optional, appears without anything that the workload reads": {optionalA(), func(s *story) {
			s.listed()
			s.recorded(10)
			s.created("web", objecttest.Data{"b": "1"}, 60)
		}, []Pod{startedAt(objecttest.NoonPlus(5))}, record},
		"optional, appears without the key, which is added later": {optionalA(), func(s *story) {
			s.listed()
			s.recorded(10)
			s.created("web", objecttest.Data{"b": "1"}, 60)
			s.config("web", objecttest.Data{"a": "1", "b": "1"}, 65)
		}, []Pod{startedAt(objecttest.NoonPlus(5))}, askedRestartFor("web", "a")},
		"an optional key is added": {optionalA(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"b": "1"}))
			s.recorded(10)
			s.config("web", objecttest.Data{"a": "1", "b": "1"}, 65)
		}, nil, restartFor("web", "a")},
		"required, appears late": {allOfWeb(), func(s *story) {
			s.listed()
			s.recorded(10)
			s.created("web", objecttest.Data{"a": "1"}, 60)
		}, []Pod{{}}, record},
		"required, appears late and is edited before the containers start": {allOfWeb(), func(s *story) {
			s.listed()
			s.recorded(10)
			s.created("web", objecttest.Data{"a": "1"}, 60)
			s.config("web", objecttest.Data{"a": "2"}, 62)
		}, []Pod{{}, startedAt(objecttest.NoonPlus(65))}, askedRecord},
		"required, appears late and is edited after a container started": {allOfWeb(), func(s *story) {
			s.listed()
			s.recorded(10)
			s.created("web", objecttest.Data{"a": "1"}, 60)
			s.config("web", objecttest.Data{"a": "2"}, 64)
		}, []Pod{{}, startedAt(objecttest.NoonPlus(61))}, askedRestartFor("web", "a")},
		"an edit of a workload that wants no pods": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			s.scale(0)
			s.config("web", objecttest.Data{"a": "2"}, 60)
		}, nil, askedRecord},
		"an edit of a workload that wants no pods and still has one": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			s.scale(0)
			s.config("web", objecttest.Data{"a": "2"}, 60)
		}, []Pod{startedAt(objecttest.NoonPlus(5))}, askedRestartFor("web", "a")},
		"a key removed from it while nobody watched": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1", "b": "1"}))
			s.recorded(10)
			s.restartController(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.scale(0)
		}, []Pod{startedAt(objecttest.NoonPlus(5))}, askedRestartFor("web")},
		"a key removed from it while nobody watched, before its pods started": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1", "b": "1"}))
			s.recorded(10)
			s.restartController(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.scale(0)
		}, []Pod{startedAt(objecttest.NoonPlus(20))}, askedRecord},
		"an edit of a workload that is being deleted": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			s.deployment.DeletionTimestamp = objecttest.Stamp(objecttest.NoonPlus(20))
			s.scale(1)
			s.config("web", objecttest.Data{"a": "2"}, 60)
		}, []Pod{startedAt(objecttest.NoonPlus(5))}, keep},
		"a workload that wants no pods": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			s.scale(0)
		}, nil, keep},
		"a workload that wants pods again": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			s.scale(0)
			s.config("web", objecttest.Data{"a": "2"}, 60)
			s.recorded(65)
			s.scale(1)
		}, nil, keep},
		"our restart": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.config("web", objecttest.Data{"a": "2"}, 60)
			s.deployment.Spec.Template.Annotations = objecttest.Data{annotation.TimestampAnnotation: "now"}
			s.recorded(65)
		}, nil, keep},
		"an edit between our decision and the answer to the patch": {allOfWeb(), func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1", "b": "1"}))
			view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
			catalogtest.WriteRecord(s.deployment, Decide(view).Checksums, objecttest.NoonPlus(10))
			s.config("web", objecttest.Data{"a": "1", "b": "2"}, 10)
			s.catalog.ObserveWritten(s.reduced(), view.Sequence)
		}, nil, restartFor("web", "b")},
		"one of two required configs appears late": {
			objecttest.Deployment(corev1.Container{Name: "app", EnvFrom: append(objecttest.ReadsAll("web", false).EnvFrom, objecttest.ReadsAll("new", false).EnvFrom...)}),
			func(s *story) {
				s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
				s.recorded(10)
				s.created("new", objecttest.Data{"a": "1"}, 60)
			}, nil, record,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(test.deployment)
			test.happens(s)
			if diff := cmp.Diff(test.want, s.decide(t, test.pods...), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

// One config, one edit of it at second 100, one pod, and no record. What is to
// be done depends on when the workload opted in, on what of this the watches
// showed in which order, and on when the pod's container started: 5 or 2 seconds
// or 1 before the edit, with it, 1, 2 or 5 after it. R is a restart, a dot is not,
// and all is in lower case where the pods need not be asked.
func TestDecisionsOnAWorkloadWithoutARecord(t *testing.T) {
	const before, after = 50, 150 // opted in
	required, optional := objecttest.ReadsAll("web", false), objecttest.ReadsAll("web", true)
	for _, test := range []struct {
		container corev1.Container
		optIn     float64
		happens   string
		want      string
	}{
		// Nobody saw the edit: the times of the API alone must do.
		{required, before, "edited listed", "RRRRR.."},
		{required, 100, "edited listed", "RRRRR.."},
		{required, 101, "edited listed", "none"},
		{required, after, "edited listed", "none"},
		{required, before, "listed", "none"}, // no edit at all
		// The template was shown later than an edit that nobody saw, so it came later.
		{required, before, "edited listed, template", "RR....."},
		// The watch showed the edit.
		{required, before, "listed, edit", "RRRRR.."},
		{required, before, "config, deployment, edit", "RRRRR.."},
		{required, before, "listed, template, edit", "RRRRR.."},
		{required, before, "listed, edit, template", "RR....."},
		// The order of the watches counts where the clocks cannot decide.
		{required, 100, "config, deployment, edit", "RRRRR.."},
		{required, after, "config, deployment, edit", "RRRRR.."},
		// It is only now that the workload opts in.
		{required, after, "config, edit, deployment", "none"},
		{required, 101, "config, edit, deployment", "none"},
		{required, 99, "config, edit, deployment", "none"},
		// The workload's watch was late: the clocks show that it had opted in before.
		{required, before, "config, edit, deployment", "RR....."},
		{required, 98, "config, edit, deployment", "RR....."},
		// A list after a gap in the watch does not show when the workload opted in: the clocks do,
		{required, before, "config, edit, relisted", "RRRRR.."},
		{required, 101, "config, edit, relisted", "RRRRR.."},
		{required, 102, "config, edit, relisted", "none"},
		{required, after, "config, edit, relisted", "none"},
		// unless the watch has shown since the edit that it had not yet.
		{required, before, "config, edit, another, relisted", "RRRRR.."},
		{required, 98, "config, edit, another, relisted", "RRRRR.."},
		{required, 99, "config, edit, another, relisted", "none"},
		{required, after, "config, edit, another, relisted", "none"},
		{required, 101, "config, another, edit, relisted", "RRRRR.."},
		{required, 102, "config, another, edit, relisted", "none"},
		// A config that containers do not start without was there before them.
		{required, before, "created listed", "none"},
		{required, before, "deployment, created", "none"},
		// One that they start without may have come later.
		{optional, before, "created listed", "RR....."},
		{optional, before, "deployment, created", "RRRRR.."},
		{optional, before, "created, deployment", "RR....."},
		{optional, 100, "created, deployment", "none"},
		{optional, after, "created listed", "none"},
		{optional, after, "created, deployment", "none"},
		// One that comes back with other content has changed.
		{required, before, "listed, deleted, created", "RRRRR.."},
		{required, before, "listed, deleted", "none"},
	} {
		t.Run(test.happens, func(t *testing.T) {
			var got strings.Builder
			for _, start := range []float64{-5, -2, -1, 0, 1, 2, 5} {
				d := objecttest.Deployment(test.container)
				d.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(test.optIn), objecttest.AnnotationField(annotation.EnabledAnnotation))}
				s := begin(d)
				for event := range strings.SplitSeq(test.happens, ", ") {
					s.happensTo(t, event)
				}
				switch v := s.decide(t, startedAt(objecttest.NoonPlus(100+start))); {
				case v.Outcome == Restart && v.Asked:
					got.WriteString("R")
				case v.Outcome == RecordOnly && v.Asked:
					got.WriteString(".")
				case v.Outcome == RecordOnly:
					got.Reset()
					got.WriteString("none")
				default:
					t.Fatalf("verdict %+v", v)
				}
			}
			if got.String() != test.want {
				t.Errorf("opted in at %v: %s, want %s", test.optIn, got.String(), test.want)
			}
		})
	}
}

func (s *story) happensTo(t *testing.T, event string) {
	t.Helper()
	original := objecttest.ConfigMap("web", objecttest.Data{"a": "1"})
	edited := objecttest.ConfigMap("web", objecttest.Data{"a": "2"})
	edited.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(100), "f:data/f:a")}
	created := objecttest.ConfigMap("web", objecttest.Data{"a": "2"})
	created.CreationTimestamp.Time = objecttest.NoonPlus(100)
	switch event {
	case "listed":
		s.listed(original)
	case "edited listed":
		s.listed(edited)
	case "created listed":
		s.listed(created)
	case "relisted":
		listWorkloads(s.catalog, names.Deployment, "", objecttest.ListOf(s.reduced()), s.shown)
	case "another": // workload
		s.shown = s.catalog.Sequence()
	case "config":
		s.catalog.ObserveConfig(content.NewConfigMap(original), objecttest.NoonPlus(60))
	case "edit":
		s.catalog.ObserveConfig(content.NewConfigMap(edited), objecttest.NoonPlus(100))
	case "created":
		s.catalog.ObserveConfig(content.NewConfigMap(created), objecttest.NoonPlus(100))
	case "deleted":
		s.deleted("web", 55)
	case "deployment":
		s.catalog.ObserveWorkload(s.reduced())
	case "template":
		s.release("web:2")
	default:
		t.Fatalf("no such event: %s", event)
	}
}

func TestOnlyAReaderThatStartedBeforeTheEditCallsForARestart(t *testing.T) {
	// The edit is at second 100.
	pod := func(mounted float64, started map[string]float64) Pod {
		p := Pod{}
		if mounted > 0 {
			p.Mounted = objecttest.NoonPlus(mounted)
		}
		for _, name := range slices.Sorted(maps.Keys(started)) {
			p.Started = append(p.Started, Start{name, objecttest.NoonPlus(started[name])})
		}
		return p
	}
	environment := objecttest.Deployment(objecttest.ReadsAll("web", false))
	volume := objecttest.Deployment(objecttest.Mounts(corev1.VolumeMount{Name: "v"}), objecttest.VolumeOf("web", false))
	initOnly := objecttest.Deployment(corev1.Container{Name: "app"})
	initOnly.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "init", EnvFrom: objecttest.ReadsAll("web", false).EnvFrom}}
	type started = map[string]float64
	stale, fresh := askedRestartFor("web", "a"), verdict{Asked: true, Outcome: RecordOnly}
	for name, test := range map[string]struct {
		deployment *appsv1.Deployment
		pods       []Pod
		want       verdict
	}{
		"no pod":                               {environment, nil, fresh},
		"started before":                       {environment, []Pod{pod(40, started{"app": 50})}, stale},
		"started after":                        {environment, []Pod{pod(140, started{"app": 150})}, fresh},
		"one of several started before":        {environment, []Pod{pod(140, started{"app": 150}), pod(40, started{"app": 50})}, stale},
		"waits for its config":                 {environment, []Pod{pod(40, started{})}, fresh},
		"container started again after":        {environment, []Pod{pod(40, started{"app": 150})}, fresh},
		"only another container was before":    {environment, []Pod{pod(40, started{"app": 150, "other": 50})}, fresh},
		"init container ran before, does not":  {environment, []Pod{pod(40, started{"init": 50, "app": 150})}, fresh},
		"init container reads, ran before":     {initOnly, []Pod{pod(40, started{"init": 50, "app": 150})}, stale},
		"init container reads, ran after":      {initOnly, []Pod{pod(40, started{"init": 150, "app": 160})}, fresh},
		"volume mounted before":                {volume, []Pod{pod(40, started{"app": 50})}, stale},
		"volume mounted before, container new": {volume, []Pod{pod(40, started{"app": 150})}, stale},
		"volume mounted after":                 {volume, []Pod{pod(140, started{"app": 150})}, fresh},
		"volume not mounted yet":               {volume, []Pod{pod(0, nil)}, fresh},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(test.deployment.DeepCopy())
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.config("web", objecttest.Data{"a": "2"}, 100)
			if diff := cmp.Diff(test.want, s.decide(t, test.pods...), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestACauseNamesWhatIsKnownOfIt(t *testing.T) {
	both := corev1.Container{Name: "app", EnvFrom: append(objecttest.ReadsAll("z", false).EnvFrom, objecttest.ReadsAll("b", false).EnvFrom...), Env: objecttest.ReadsKey("b", "k", false).Env}
	edited := func(name string) *corev1.ConfigMap {
		cm := objecttest.ConfigMap(name, objecttest.Data{"k": "1", "l": "1"})
		cm.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(50), "f:data/f:k")}
		return cm
	}
	for name, test := range map[string]struct {
		happens func(*story)
		want    []Cause
	}{
		"edits that the watch showed": {func(s *story) {
			s.listed(objecttest.ConfigMap("z", objecttest.Data{"k": "1"}), objecttest.ConfigMap("b", objecttest.Data{"k": "1", "l": "1"}))
			s.config("z", objecttest.Data{"k": "2"}, 50)
			s.config("b", objecttest.Data{"k": "2", "m": "1"}, 60)
		}, []Cause{{Config: objecttest.ConfigMapRef("b"), Keys: []string{"k", "l", "m"}}, {Config: objecttest.ConfigMapRef("z"), Keys: []string{"k"}}}},
		"edits that nobody saw": {func(s *story) {
			s.listed(edited("b"), edited("z"))
		}, []Cause{{Config: objecttest.ConfigMapRef("b")}, {Config: objecttest.ConfigMapRef("z")}}},
		"one config of two": {func(s *story) {
			s.listed(objecttest.ConfigMap("b", objecttest.Data{"k": "1"}), edited("z"))
		}, []Cause{{Config: objecttest.ConfigMapRef("z")}}},
		"one is gone": {func(s *story) {
			s.listed(objecttest.ConfigMap("z", objecttest.Data{"k": "1"}), objecttest.ConfigMap("b", objecttest.Data{"k": "1"}))
			s.config("z", objecttest.Data{"k": "2"}, 50)
			s.config("b", objecttest.Data{"k": "2"}, 60)
			s.deleted("z", 55)
		}, []Cause{{Config: objecttest.ConfigMapRef("b"), Keys: []string{"k"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(objecttest.Deployment(both))
			test.happens(s)
			want := verdict{Asked: true, Outcome: Restart, Causes: test.want}
			if diff := cmp.Diff(want, s.decide(t, startedAt(objecttest.NoonPlus(5))), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

// A container reads what it reads at its own time: an edit of one key is no
// reason for a container that reads another.
func TestEachReferenceIsJudgedByItsOwnKeys(t *testing.T) {
	d := objecttest.Deployment(objecttest.ReadsKey("web", "a", false))
	other := objecttest.ReadsKey("web", "b", false)
	other.Name = "other"
	d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, other)
	s := begin(d)
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1", "b": "1"}))
	s.config("web", objecttest.Data{"a": "2", "b": "1"}, 100)
	restartedApp := Pod{Mounted: objecttest.NoonPlus(5), Started: []Start{{"app", objecttest.NoonPlus(150)}, {"other", objecttest.NoonPlus(5)}}}
	want := verdict{Asked: true, Outcome: RecordOnly}
	if diff := cmp.Diff(want, s.decide(t, restartedApp)); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}

func TestARecordIsMadeOfWhatIsKnown(t *testing.T) {
	d := objecttest.Deployment(corev1.Container{Name: "app", EnvFrom: append(objecttest.ReadsAll("here", false).EnvFrom,
		append(objecttest.ReadsAll("gone", false).EnvFrom, objecttest.ReadsAll("never", true).EnvFrom...)...)})
	here, gone := objecttest.ConfigMap("here", objecttest.Data{"a": "1"}), objecttest.ConfigMap("gone", objecttest.Data{"a": "1"})
	checksum := keysOnly(content.NewConfigMap(here))
	recorded := func(s *story) record.Checksums {
		view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
		return Decide(view).Checksums
	}

	s := begin(d)
	s.listed(here, gone)
	s.deleted("gone", 55)
	if diff := cmp.Diff(record.Checksums{objecttest.ConfigMapRef("here"): checksum}, recorded(s)); diff != "" {
		t.Errorf("without a record, what is gone is not recorded (-want +got):\n%s", diff)
	}
	s = begin(d.DeepCopy())
	s.listed(here, gone)
	s.recorded(10)
	s.deleted("gone", 55)
	both := record.Checksums{objecttest.ConfigMapRef("here"): checksum, objecttest.ConfigMapRef("gone"): checksum}
	if diff := cmp.Diff(both, recorded(s)); diff != "" {
		t.Errorf("what is gone keeps its entry in a trusted record (-want +got):\n%s", diff)
	}
	s.release("web:2")
	if diff := cmp.Diff(record.Checksums{objecttest.ConfigMapRef("here"): checksum}, recorded(s)); diff != "" {
		t.Errorf("and loses it in one that does not (-want +got):\n%s", diff)
	}
}

func keysOnly(config content.Config) names.Checksum {
	return config.Checksum([]template.Selection{{}}, catalogtest.TestKey)
}

// After a release the record is not trusted: the pods' start times show that they run with the
// present content, and nothing rolls a second time.
func TestOneReleaseThatChangesConfigAndImageDoesNotRestart(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
	s.recorded(10)
	s.config("web", objecttest.Data{"a": "2"}, 60)
	s.release("web:2")
	want := verdict{Asked: true, Outcome: RecordOnly}
	if diff := cmp.Diff(want, s.decide(t, startedAt(objecttest.NoonPlus(61)))); diff != "" {
		t.Errorf("config first (-want +got):\n%s", diff)
	}
	s.recorded(65)
	s.release("web:3")
	s.config("web", objecttest.Data{"a": "3"}, 80)
	if diff := cmp.Diff(want, s.decide(t, startedAt(objecttest.NoonPlus(82)))); diff != "" {
		t.Errorf("image first, pods later than the config (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(askedRestartFor("web", "a"), s.decide(t, startedAt(objecttest.NoonPlus(75)))); diff != "" {
		t.Errorf("image first, pods earlier than the config (-want +got):\n%s", diff)
	}
}

func TestDecidingModifiesNothing(t *testing.T) {
	s := begin(objecttest.Deployment(corev1.Container{Name: "app", EnvFrom: append(objecttest.ReadsAll("b", true).EnvFrom, objecttest.ReadsAll("a", true).EnvFrom...)}))
	s.listed(objecttest.ConfigMap("a", objecttest.Data{"k": "1"}))
	s.config("b", objecttest.Data{"k": "1"}, 10)
	s.config("a", objecttest.Data{"k": "2"}, 20)
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	exact := cmp.AllowUnexported(annotation.Edit{}, content.Past{})
	want := catalog.View{Workload: objecttest.Pointer(*view.Workload), Configs: map[names.ConfigRef]*content.Config{}, Sequence: view.Sequence, Complete: view.Complete}
	want.Workload.References = append([]template.Reference(nil), view.Workload.References...)
	for ref, config := range view.Configs {
		copied := *config
		copied.Edits = append([]annotation.Edit(nil), config.Edits...)
		copied.Keys = append([]names.Key(nil), config.Keys...)
		want.Configs[ref] = &copied
	}
	Decide(view)
	ByPods(view, []Pod{startedAt(objecttest.NoonPlus(5))})
	if diff := cmp.Diff(want, view, exact); diff != "" {
		t.Errorf("view (-want +got):\n%s", diff)
	}
}

// A config that appears makes the pods be asked about it, and about it only: the
// record is trusted for the others.
func TestPodsAreReadOnlyForWhatTheRecordDoesNotShow(t *testing.T) {
	d := objecttest.Deployment(objecttest.ReadsAll("web", false))
	other := objecttest.ReadsAll("new", true)
	other.Name = "other"
	d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, other)
	s := begin(d)
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
	s.recorded(10)
	s.config("web", objecttest.Data{"a": "2"}, 60)
	s.config("web", objecttest.Data{"a": "1"}, 61)
	s.created("new", objecttest.Data{"a": "1"}, 70)
	for name, test := range map[string]struct {
		other float64
		want  verdict
	}{
		"started later":   {80, verdict{Asked: true, Outcome: RecordOnly}},
		"started earlier": {5, askedRestartFor("new")},
	} {
		pod := Pod{Mounted: objecttest.NoonPlus(5), Started: []Start{{"app", objecttest.NoonPlus(5)}, {"other", objecttest.NoonPlus(test.other)}}}
		if diff := cmp.Diff(test.want, s.decide(t, pod), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: verdict (-want +got):\n%s", name, diff)
		}
	}
}

// What the process decided itself it knew. Another one may have known more.
func TestOnlyADifferenceFromTheRecordOfAnotherProcessIsToBeConfirmed(t *testing.T) {
	before, after := objecttest.ConfigMap("web", objecttest.Data{"a": "1"}), objecttest.ConfigMap("web", objecttest.Data{"a": "2"})
	writtenAgain := func(s *story, at float64) {
		view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
		catalogtest.WriteRecord(s.deployment, view.Workload.Record.Checksums, objecttest.NoonPlus(at))
		s.catalog.ObserveWorkload(s.reduced())
	}
	for name, test := range map[string]struct {
		happens func(s *story)
		want    []names.ConfigRef
	}{
		"own record": {func(s *story) {
			s.config("web", after.Data, 60)
		}, nil},
		"own record, the workload written by others since": {func(s *story) {
			s.scale(3)
			s.config("web", after.Data, 60)
		}, nil},
		"own record, written once more by another process": {func(s *story) {
			writtenAgain(s, 20)
			s.config("web", after.Data, 60)
		}, []names.ConfigRef{objecttest.ConfigMapRef("web")}},
		"record of another process": {func(s *story) {
			s.restartController(after)
		}, []names.ConfigRef{objecttest.ConfigMapRef("web")}},
		"record of another process, edited since": {func(s *story) {
			s.restartController(before)
			s.config("web", after.Data, 60)
		}, []names.ConfigRef{objecttest.ConfigMapRef("web")}},
		"record of another process, of the same content": {func(s *story) {
			s.restartController(before)
		}, nil},
		"record of another process, the config is gone": {func(s *story) {
			s.restartController(after)
			s.deleted("web", 55)
		}, nil},
		"record of another process, of another template": {func(s *story) {
			s.restartController(after)
			s.release("v2")
		}, nil},
		"record of another process, then one of its own": {func(s *story) {
			s.restartController(after)
			s.recorded(70)
			s.config("web", objecttest.Data{"a": "3"}, 80)
		}, nil},
	} {
		s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
		s.listed(before)
		s.recorded(10)
		test.happens(s)
		view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
		if diff := cmp.Diff(test.want, Unconfirmed(&view), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: to be confirmed (-want +got):\n%s", name, diff)
		}
	}
}

// The answer to the record was lost, and what the retry read shows both.
func TestAWorkloadThatWantsPodsAgainInTheSameLookAsItsRecordIsAskedForThem(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
	s.recorded(10)
	s.scale(0)
	s.config("web", objecttest.Data{"a": "2"}, 60)
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	catalogtest.WriteRecord(s.deployment, ByPods(view, nil).Checksums, objecttest.NoonPlus(66))
	s.deployment.Spec.Replicas = objecttest.Pointer[int32](1)
	s.catalog.ObserveRead(s.reduced())
	s.config("web", objecttest.Data{"a": "3"}, 67)
	want := verdict{Asked: true, Outcome: RecordOnly}
	if diff := cmp.Diff(want, s.decide(t, startedAt(objecttest.NoonPlus(70))), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}

func TestTheLastOfSeveralEditsCounts(t *testing.T) {
	for _, last := range []string{"a", "b", "c"} {
		cm := objecttest.ConfigMap("web", objecttest.Data{"a": "1", "b": "1", "c": "1"})
		for _, key := range []string{"a", "b", "c"} {
			at := objecttest.NoonPlus(50)
			if key == last {
				at = objecttest.NoonPlus(100)
			}
			cm.ManagedFields = append(cm.ManagedFields, objecttest.Owns("editor of "+key, at, "f:data/f:"+key))
		}
		s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
		s.listed(cm)
		if diff := cmp.Diff(askedRestartFor("web"), s.decide(t, startedAt(objecttest.NoonPlus(75))), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("key %s last: verdict (-want +got):\n%s", last, diff)
		}
	}
}
