package decide

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
		copied.Keys = names.NewKeys(slices.Collect(config.Keys.All()))
		want.Configs[ref] = &copied
	}
	Decide(view)
	ByPods(view, []Pod{startedAt(objecttest.NoonPlus(5))})
	if diff := cmp.Diff(want, view, exact); diff != "" {
		t.Errorf("view (-want +got):\n%s", diff)
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
