package decide

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// evicts is the story of a Deployment that restarts by eviction and reads the ConfigMap web.
func evicts() *story {
	d := objecttest.Deployment(objecttest.ReadsAll("web", false))
	d.Annotations[annotation.MethodAnnotation] = string(policy.ByEviction)
	s := begin(d)
	s.config("web", objecttest.Data{"a": "1"}, 0)
	s.catalog.ObserveWorkload(s.reduced())
	return s
}

// write does what the controller does to carry out a decision with the given outcome, which the API server dates
// by its own clock.
func (s *story) write(t rapid.TB, outcome Outcome, seconds, dated float64) {
	t.Helper()
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	w, d := view.Workload, s.deployment
	restartedFor := w.Record.RestartedFor
	if outcome == Restart {
		restartedFor = []record.Restarted{{Config: objecttest.ConfigMapRef("web"), Keys: []string{"a"}}}
	}
	annotations, err := currentChecksums(&view, seenConfigs(&view), false).Annotations(record.Basis{
		Template: w.Template, Key: catalogtest.TestKey, Written: objecttest.NoonPlus(seconds), Timestamp: w.Timestamp, RestartedFor: restartedFor, Evict: EvictAfter(w, outcome),
	})
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(d.Annotations, annotations)
	s.dateRecord(dated)
	s.catalog.ObserveWritten(s.reduced(), view.Sequence)
}

// dateRecord makes the controller the owner of the record since the given time.
func (s *story) dateRecord(seconds float64) {
	d := s.deployment
	d.ManagedFields = append(slices.DeleteFunc(d.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == annotation.FieldManager }),
		objecttest.Owns(annotation.FieldManager, objecttest.NoonPlus(seconds).Truncate(time.Second), objecttest.AnnotationField(annotation.ChecksumsAnnotation), objecttest.AnnotationField(annotation.BasisAnnotation)))
}

func (s *story) present() *workload.Workload {
	return s.catalog.Workload(objecttest.DeploymentRef("web"))
}

func (s *story) requireEvictedAt(t *testing.T, seconds float64) {
	t.Helper()
	if at, evicts := s.present().Record.EvictedAt(); !evicts || !at.Equal(objecttest.NoonPlus(seconds)) {
		t.Errorf("restarted by eviction at %v (%t), want %v", at, evicts, objecttest.NoonPlus(seconds))
	}
}

func TestTheAPIServerDatesARestartByEvictionOnce(t *testing.T) {
	s := evicts()
	s.write(t, Restart, 59, 60.7) // the controller's clock is behind
	s.requireEvictedAt(t, 60)
	s.config("web", objecttest.Data{"a": "2"}, 65)
	s.marked(t, objecttest.NoonPlus(70), false)
	s.dateRecord(70)
	s.catalog.ObserveWorkload(s.reduced())
	s.requireEvictedAt(t, 60)
	s.write(t, RecordOnly, 79, 80)
	s.requireEvictedAt(t, 60)
	s.restartController(objecttest.ConfigMap("web", objecttest.Data{"a": "2"}))
	s.requireEvictedAt(t, 60)
	s.write(t, Restart, 89, 90)
	s.requireEvictedAt(t, 90)
}

func TestWhichPodsAreFromBeforeARestartByEviction(t *testing.T) {
	s := evicts()
	if s.present().Record.IsEarlierPod(objecttest.Noon) {
		t.Error("a pod is earlier than a restart that was not made")
	}
	s.write(t, Restart, 60, 60)
	for seconds, want := range map[float64]bool{0: true, 59: true, 60: true, 61: true, 62: false, 63: false} {
		if got := s.present().Record.IsEarlierPod(objecttest.NoonPlus(seconds)); got != want {
			t.Errorf("a pod of second %v is earlier: %t", seconds, got)
		}
	}
	dated := 60.0 // by a clock that is ahead, so that a pod that replaces another may seem to be older by a second
	if first := objecttest.NoonPlus(dated).Add(workload.EvictionDelay - names.ClockTolerance).Truncate(time.Second); s.present().Record.IsEarlierPod(first) {
		t.Error("the first pod that replaces another is earlier itself")
	}
}

func TestARecordWithoutTrustEvictsNothing(t *testing.T) {
	for name, change := range map[string]func(d *appsv1.Deployment){
		"another client wrote it":  func(d *appsv1.Deployment) { d.ManagedFields[len(d.ManagedFields)-1].Manager = "kubectl" },
		"the template changed":     func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "v2" },
		"the member was forged":    func(d *appsv1.Deployment) { replaceInBasis(d, `"now"`, `"soon"`) },
		"the year was forged":      func(d *appsv1.Deployment) { replaceInBasis(d, `"now"`, `"9999-01-01T00:00:00Z"`) },
		"the eviction was removed": func(d *appsv1.Deployment) { replaceInBasis(d, `"evict":"now"`, `"evict":""`) },
	} {
		s := evicts()
		s.write(t, Restart, 60, 60)
		change(s.deployment)
		w := s.reduced()
		if at, evicts := w.Record.EvictedAt(); evicts || w.Record.IsEarlierPod(objecttest.Noon) {
			t.Errorf("%s: pods from before %v are evicted", name, at)
		}
	}
}

func replaceInBasis(d *appsv1.Deployment, old, with string) {
	d.Annotations[annotation.BasisAnnotation] = strings.Replace(d.Annotations[annotation.BasisAnnotation], old, with, 1)
}

func TestARecordNoLongerNamesAnEvictionThatHasReplacedAllPods(t *testing.T) {
	s := evicts()
	s.write(t, Restart, 60, 60)
	s.catalog.ObserveReplaced(s.present())
	s.write(t, RecordOnly, 70, 70)
	if basis := s.deployment.Annotations[annotation.BasisAnnotation]; strings.Contains(basis, "evict") || !s.present().Record.Trusted {
		t.Errorf("the basis is %s after all pods were replaced", basis)
	}
}

func TestARestartByEvictionThatIsNotOverWhenTheMethodChanges(t *testing.T) {
	for name, test := range map[string]struct {
		replaced bool
		pod      float64
		want     Outcome
	}{
		"a pod is left":                 {pod: 10, want: Restart},
		"all pods are younger":          {pod: 70, want: RecordOnly},
		"all pods were known to be new": {replaced: true, pod: 10, want: Keep},
	} {
		t.Run(name, func(t *testing.T) {
			s := evicts()
			s.write(t, Restart, 60, 60)
			if test.replaced {
				s.catalog.ObserveReplaced(s.present())
			}
			delete(s.deployment.Annotations, annotation.MethodAnnotation)
			if !s.catalog.ObserveWorkload(s.reduced()) {
				t.Fatal("a change of the method needs no decision")
			}
			pod := startedAt(objecttest.NoonPlus(test.pod))
			pod.Created = objecttest.NoonPlus(test.pod)
			got := s.decide(t, pod)
			if got.Outcome != test.want || test.want == Restart && (len(got.Causes) != 1 || !slices.Equal(got.Causes[0].Keys, []string{"a"})) {
				t.Errorf("the decision is %+v", got)
			}
			if s.write(t, got.Outcome, 80, 80); got.Outcome != Keep && s.present().Record.Evict > 0 {
				t.Error("the record still names a restart by eviction")
			}
		})
	}
}

func TestAllPodsAreReplacedUntilTheNextRestartByEviction(t *testing.T) {
	s := evicts()
	s.write(t, Restart, 60, 60)
	s.catalog.ObserveReplaced(s.present())
	s.scale(5)
	if s.present().Record.Evict > 0 {
		t.Error("pods are left after another write to the workload")
	}
	before := s.present()
	s.write(t, Restart, 90, 90)
	s.catalog.ObserveReplaced(before) // about the former restart, and late
	if s.present().Record.Evict == 0 {
		t.Error("no pods are left after another restart")
	}
}

func TestAWorkloadWithPodsToEvictDoesNotRunWithTheContent(t *testing.T) {
	s := evicts()
	s.config("web", objecttest.Data{"a": "2"}, 30)
	moment := s.momentOf("a")
	s.write(t, Restart, 60, 60)
	w := s.reduced()
	w.Rollout = whole
	s.catalog.ObserveWorkload(w)
	if running, _ := s.catalog.Running(objecttest.ConfigMapRef("web"), moment); len(running) != 0 {
		t.Errorf("%v run with the content", running)
	}
	s.catalog.ObserveReplaced(s.present())
	if running, _ := s.catalog.Running(objecttest.ConfigMapRef("web"), moment); len(running) != 1 {
		t.Errorf("%v run with the content after all pods were replaced", running)
	}
}

func TestAMethodThatCannotBeCarriedOutHoldsTheRestart(t *testing.T) {
	for method, wants := range map[policy.Method][2]bool{policy.ByTemplate: {false, false}, policy.ByEviction: {false, true}, policy.NoMethod: {true, true}} {
		w := workload.Workload{Object: workload.Object{Policy: &policy.WorkloadPolicy{Method: method}}}
		w.Ref.Kind = "rollouts.argoproj.io"
		if method == policy.ByEviction && w.MethodHold(true) == "" {
			t.Error("a workload of a custom kind may restart by eviction")
		}
		w.Ref.Kind = names.Deployment
		if got := [2]bool{w.MethodHold(true) != "", w.MethodHold(false) != ""}; got != wants {
			t.Errorf("%q is held: %v with --evict and without, want %v", method, got, wants)
		}
	}
}

func TestADeploymentThatRestartsByEvictionMayTakeAsLongAsItsPodsTakeToTerminate(t *testing.T) {
	for method, wants := range map[string]map[int32]int32{"evict": {0: 3750, 600: 3750, 5000: 5000}, "": {0: 0, 600: 600, 5000: 5000}} {
		for deadline, want := range wants {
			d := objecttest.Deployment(objecttest.ReadsAll("web", false))
			if d.Spec.ProgressDeadlineSeconds, d.Spec.MinReadySeconds = new(deadline), 30; method != "" {
				d.Annotations[annotation.MethodAnnotation] = method
			}
			d.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(3600))
			parts := workload.PartsOfDeployment(d)
			w, err := workload.NewWorkload(names.Deployment, &parts)
			if got := w.Rollout.Deadline; err != nil || got != want {
				t.Errorf("with the method %q and a deadline of %d s, it has %d s, want %d s", method, deadline, got, want)
			}
		}
	}
}

func TestARestartAfterAChangeOfTheMethodIsForTheKeysOfTheEviction(t *testing.T) {
	s := evicts()
	s.config("web", objecttest.Data{"a": "2"}, 50)
	s.write(t, Restart, 60, 60)
	delete(s.deployment.Annotations, annotation.MethodAnnotation)
	s.catalog.ObserveWorkload(s.reduced())
	pod := startedAt(objecttest.NoonPlus(10))
	pod.Created = objecttest.NoonPlus(10)
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	got := ByPods(view, []Pod{pod})
	if next := got.RestartedFor(); len(got.Causes) != 1 || !slices.Equal(got.Causes[0].AllKeys(), []string{"a"}) || !slices.Equal(next[0].Keys, []string{"a"}) {
		t.Errorf("for %+v, and the next record says %+v", got.Causes, next)
	}
}
