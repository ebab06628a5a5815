package delivery_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	catalogpolicy "kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/internal/podsight"
)

// evicting is a workload whose restart by eviction was recorded at noon.
func evicting(status workload.Rollout) *workload.Workload {
	return &workload.Workload{Object: workload.Object{Rollout: status, Policy: &catalogpolicy.WorkloadPolicy{Method: catalogpolicy.ByEviction}}, Record: record.Record{Trusted: true, LastRestart: record.LastRestart{Evict: uint32(noon.Unix())}}}
}

// madeAt is a pod that was created some seconds after noon.
func madeAt(seconds float64, isReady bool) *corev1.Pod {
	name := fmt.Sprintf("web-%v", seconds)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid of " + name), CreationTimestamp: metav1.Time{Time: at(seconds).Truncate(time.Second)}}}
	condition := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse}
	if isReady {
		condition.Status = corev1.ConditionTrue
	}
	pod.Status.Conditions = []corev1.PodCondition{condition}
	return pod
}

func terminating(pod *corev1.Pod) *corev1.Pod {
	pod.DeletionTimestamp = &pod.CreationTimestamp
	return pod
}

func finished(pod *corev1.Pod) *corev1.Pod {
	pod.Status.Phase = corev1.PodFailed
	return pod
}

func nextOf(w *workload.Workload, pods ...*corev1.Pod) (delivery.Step, int32) {
	left := delivery.LeftOf(w)
	for _, pod := range pods {
		left.Add(pod)
	}
	return left.Next(), left.Earlier
}

func TestWhichPodIsEvictedNext(t *testing.T) {
	lacking := whole
	lacking.Available = 2
	rolling := whole
	rolling.Updated, rolling.Outdated = 2, 1
	unseen := whole
	unseen.Observed = false
	for name, test := range map[string]struct {
		status  workload.Rollout
		pods    []*corev1.Pod
		want    string // the pod, or what is waited for
		earlier int32
	}{
		"the oldest":                        {whole, []*corev1.Pod{madeAt(-50, true), madeAt(-60, true), madeAt(-40, true)}, "web--60", 3},
		"one that is not ready":             {lacking, []*corev1.Pod{madeAt(-60, true), madeAt(-50, false), madeAt(-40, true)}, "web--50", 3},
		"one within the doubt of the clock": {whole, []*corev1.Pod{madeAt(1, true), madeAt(10, true), madeAt(20, true)}, "web-1", 1},
		"none, all are younger":             {whole, []*corev1.Pod{madeAt(2, true), madeAt(10, true), madeAt(20, true)}, "", 0},
		"none, the others have finished":    {whole, []*corev1.Pod{finished(madeAt(-60, false)), madeAt(5, true), madeAt(10, true), madeAt(20, true)}, "", 0},
		"one terminates":                    {whole, []*corev1.Pod{terminating(madeAt(-60, true)), madeAt(-50, true), madeAt(-40, true), madeAt(-30, true)}, "a pod is terminating", 3},
		"one has not been replaced":         {whole, []*corev1.Pod{madeAt(-50, true), madeAt(-40, true)}, "a pod has not been replaced", 2},
		"a new one is not ready":            {lacking, []*corev1.Pod{madeAt(5, false), madeAt(-50, true), madeAt(-40, true)}, "a new pod is not ready", 2},
		"a new one is not ready, nor are the earlier ones": {
			lacking, []*corev1.Pod{madeAt(5, false), madeAt(-50, false), madeAt(-40, false)}, "a new pod is not ready", 2},
		"not all are available": {lacking, []*corev1.Pod{madeAt(5, true), madeAt(-50, true), madeAt(-40, true)}, "not all pods are available", 2},
		"a rollout is under way": {
			rolling, []*corev1.Pod{madeAt(5, true), madeAt(-50, false), madeAt(-40, true)}, "its pod template is being rolled out", 2},
		"its controller has not seen it": {unseen, []*corev1.Pod{madeAt(5, true), madeAt(-50, true), madeAt(-40, true)}, "its pod template is being rolled out", 2},
	} {
		t.Run(name, func(t *testing.T) {
			step, earlier := nextOf(evicting(test.status), test.pods...)
			got := step.Wait
			if step.Evict != nil {
				got += step.Evict.Name
			}
			if got != test.want || earlier != test.earlier {
				t.Errorf("%q with %d earlier pods, want %q with %d", got, earlier, test.want, test.earlier)
			}
			if step.Evict != nil && step.Evict.UID != types.UID("uid of "+step.Evict.Name) {
				t.Errorf("the uid is %q", step.Evict.UID)
			}
		})
	}
}

func TestAWorkloadThatWantsNoPodsIsLeftToItsController(t *testing.T) {
	w := evicting(workload.Rollout{Observed: true})
	w.Idle = true
	if step, _ := nextOf(w, madeAt(-60, false)); step.Wait != "it wants no pods" {
		t.Errorf("the next step is %+v", step)
	}
}

func TestARestartByEvictionIsWholeOnlyWithoutEarlierPods(t *testing.T) {
	if got := delivery.Evicting(evicting(whole), 1); got.IsWhole() || got.Updated != 2 || got.Outdated != 1 {
		t.Errorf("with an earlier pod: %+v", got)
	}
	if got := delivery.Evicting(evicting(whole), 0); !got.IsWhole() {
		t.Errorf("without earlier pods: %+v", got)
	}
}

// town has a workload, whose controller replaces pods, and our controller, which evicts them.
type town struct {
	now    float64
	wanted int
	pods   []*corev1.Pod
	made   int // pods so far
	status workload.Rollout
	seen   float64 // since when the present process knows the restart

	evicted map[types.UID]bool
}

func (w *town) make() {
	pod := madeAt(w.now, false)
	w.made++
	pod.UID = types.UID(fmt.Sprint(w.made))
	w.pods = append(w.pods, pod)
}

func isReady(pod *corev1.Pod) bool { return pod.Status.Conditions[0].Status == corev1.ConditionTrue }

func isAlive(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil }

// sync is what the workload's controller does: it makes pods that are missing, deletes those that are too many, and writes the status.
func (w *town) sync() {
	var alive []*corev1.Pod
	for _, pod := range w.pods {
		if isAlive(pod) {
			alive = append(alive, pod)
		}
	}
	for range w.wanted - len(alive) {
		w.make()
	}
	for _, pod := range alive[min(len(alive), w.wanted):] {
		terminating(pod)
	}
	w.status = workload.Rollout{Wanted: int32(w.wanted), Updated: int32(max(w.wanted, len(alive))), Observed: true} //nolint:gosec // few
	for _, pod := range w.pods {
		if isAlive(pod) && isReady(pod) {
			w.status.Available++
		}
	}
}

// settle lets pods become ready, and terminating ones disappear.
func (w *town) settle() {
	w.pods = slices.DeleteFunc(w.pods, func(pod *corev1.Pod) bool { return !isAlive(pod) })
	for _, pod := range w.pods {
		pod.Status.Conditions[0].Status = corev1.ConditionTrue
	}
}

// act is what our controller does, and reports whether the restart is over.
func (w *town) act(t *rapid.T) (isOver bool) {
	if at(w.now).Sub(at(w.seen)) < workload.EvictionDelay {
		return false
	}
	workload := evicting(w.status)
	step, earlier := nextOf(workload, w.pods...)
	if step.Evict == nil {
		return earlier == 0
	}
	for _, pod := range w.pods {
		switch {
		case pod.UID != step.Evict.UID && !workload.Record.IsEarlierPod(pod.CreationTimestamp.Time) && (!isReady(pod) || !isAlive(pod)):
			t.Fatalf("evicts another pod although %s is not ready", pod.Name)
		case pod.UID != step.Evict.UID:
		case w.evicted[pod.UID] || pod.CreationTimestamp.Sub(noon) > time.Second || !isAlive(pod):
			t.Fatalf("evicts %s at second %v (again: %t)", pod.Name, w.now, w.evicted[pod.UID])
		default:
			w.evicted[pod.UID] = true
			terminating(pod)
		}
	}
	return false
}

// Whatever happens meanwhile, and however often the process is replaced, each pod from before the restart is evicted
// at most once, no younger one ever, and the next one only when the last one has been replaced.
func TestARestartByEvictionReplacesEachPodOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &town{now: -10, wanted: rapid.IntRange(1, 5).Draw(t, "pods"), evicted: make(map[types.UID]bool)}
		w.sync()
		w.settle()
		w.sync()
		w.now = 0.999 * rapid.Float64Range(0, 1).Draw(t, "second of the record")
		w.seen = w.now
		t.Repeat(map[string]func(*rapid.T){
			"":              func(*rapid.T) {},
			"time passes":   func(t *rapid.T) { w.now += rapid.Float64Range(0, 3).Draw(t, "seconds") },
			"sync":          func(*rapid.T) { w.sync() },
			"pods settle":   func(*rapid.T) { w.settle() },
			"act":           func(t *rapid.T) { w.act(t) },
			"another act":   func(t *rapid.T) { w.act(t) },
			"new process":   func(*rapid.T) { w.seen = w.now },
			"scale":         func(t *rapid.T) { w.wanted = rapid.IntRange(1, 5).Draw(t, "wanted") },
			"a pod crashes": func(t *rapid.T) { w.crash(t) },
		})
		for range 100 {
			w.now += 5
			w.settle()
			w.sync()
			w.settle()
			w.sync()
			if w.act(t) {
				return
			}
		}
		t.Fatal("the restart is not over")
	})
}

func (w *town) crash(t *rapid.T) {
	if len(w.pods) > 0 {
		pod := w.pods[rapid.IntRange(0, len(w.pods)-1).Draw(t, "pod")]
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
	}
}

// evictionOf is a restart by eviction that began at noon.
func evictionOf(wasWhole bool) *story {
	s := &story{workload: *evicting(delivery.Evicting(evicting(whole), 3))}
	s.restart = delivery.Begin(&s.workload, ranIf(wasWhole), noon)
	return s
}

func TestARestartByEvictionIsDeliveredWhenNoEarlierPodIsLeft(t *testing.T) {
	s := evictionOf(true)
	for earlier := range int32(3) { // each replacement is progress
		s.workload.Rollout = delivery.Evicting(evicting(whole), 3-earlier)
		s.require(t, float64(earlier)*500, delivery.Rolling, "")
	}
	s.workload.Rollout = whole
	s.require(t, 1500, delivery.Rolling, "")
	s.require(t, 1530, delivery.Delivered, "")
}

func TestARestartWhosePodsMayNotBeEvictedSaysNothingAboutTheContent(t *testing.T) {
	s := evictionOf(true)
	s.require(t, 1, delivery.Rolling, "")
	s.restart.Held = "the budget refuses"
	s.require(t, 600, delivery.Rolling, "")
	s.require(t, 601, delivery.Neutral, "no pod may be evicted: the budget refuses")
	s = evictionOf(true)
	s.require(t, 1, delivery.Rolling, "")
	s.restart.Held, s.condition, s.why = "somebody holds it", podsight.Hanging, "it hangs" // as a pod does that was evicted before
	s.require(t, 600, delivery.Rolling, "")
	s.require(t, 601, delivery.Failed, "")
	s = evictionOf(true)
	s.require(t, 1, delivery.Rolling, "")
	s.condition, s.why = podsight.Hanging, "it hangs"
	s.require(t, 601, delivery.Failed, "no progress for 10m0s: it hangs")
}

func TestAnotherRecordHidesARestartByEviction(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*workload.Workload)
		want   delivery.Verdict
	}{
		"another restart":           {func(w *workload.Workload) { w.Record.Evict++ }, delivery.Away},
		"the record was undone":     {func(w *workload.Workload) { w.Record.Trusted = false }, delivery.Away},
		"a record without restarts": {func(w *workload.Workload) { w.Record.Evict = 0 }, delivery.Rolling},
	} {
		s := evictionOf(true)
		test.change(&s.workload)
		if got := s.look(1); got.Verdict != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAnotherProcessFollowsARestartByEvictionUntilAllPodsAreReplaced(t *testing.T) {
	for seconds, want := range map[float64]bool{20: true, 300: true, 661: false} {
		w := evicting(whole)
		if began, got := delivery.Resumes(w, policy, at(seconds)); got != want || got && !began.Equal(noon) {
			t.Errorf("after %v s: %t since %v", seconds, got, began)
		}
	}
	w := evicting(whole)
	w.Record.Evict = 0
	if _, got := delivery.Resumes(w, policy, at(300)); got {
		t.Error("a restart is followed whose pods were all replaced")
	}
}

// restartedByOwner is a workload whose restart was recorded at noon, and whose own controller replaces its pods. Its spec
// asks for that at some seconds after noon, or not if they are 0.
func restartedByOwner(status workload.Rollout, own workload.OwnRestart, seconds float64) *workload.Workload {
	status.OwnRestart = own
	w := evicting(status)
	if seconds > 0 {
		w.RestartAt = uint32(at(seconds).Unix()) //nolint:gosec // a time of this century
	}
	return w
}

func TestWhatAWorkloadIsAskedForWhoseOwnControllerReplacesThePods(t *testing.T) {
	old := []*corev1.Pod{madeAt(-60, true), madeAt(-50, true), madeAt(-40, true)}
	between, rolling, aborted, unseen, lacking := whole, whole, whole, whole, whole
	between.Updated, between.Outdated, between.Waits = 1, 2, true
	rolling.Updated, rolling.Outdated = 1, 2
	aborted.Updated, aborted.Outdated, aborted.GaveUp = 0, 3, true
	unseen.Observed = false
	lacking.Available = 2
	const replaces, ended = workload.ReplacesPods, workload.HasReplacedPods
	for name, test := range map[string]struct {
		workload *workload.Workload
		pods     []*corev1.Pod
		want     delivery.Step
	}{
		"nothing is asked for":           {restartedByOwner(whole, replaces, 0), old, delivery.Step{RestartAt: at(2)}},
		"a pod is broken":                {restartedByOwner(lacking, replaces, 0), []*corev1.Pod{madeAt(-60, false), madeAt(-50, true), madeAt(-40, true)}, delivery.Step{RestartAt: at(2)}},
		"it waits between two steps":     {restartedByOwner(between, replaces, 0), old, delivery.Step{RestartAt: at(2)}},
		"it was aborted":                 {restartedByOwner(aborted, replaces, 0), old, delivery.Step{RestartAt: at(2)}},
		"it ended too early":             {restartedByOwner(whole, ended, 2), old, delivery.Step{RestartAt: at(3)}},
		"it is rolling out":              {restartedByOwner(rolling, replaces, 0), old, delivery.Step{Wait: "its pod template is being rolled out"}},
		"its controller has not seen it": {restartedByOwner(unseen, replaces, 0), old, delivery.Step{Wait: "Argo Rollouts has yet to see its present spec"}},
		"its controller has yet to act":  {restartedByOwner(whole, replaces, 2), old, delivery.Step{Wait: "Argo Rollouts has yet to replace pods", ByOwner: true}},
		"one terminates":                 {restartedByOwner(whole, replaces, 2), append([]*corev1.Pod{terminating(madeAt(-70, true))}, old...), delivery.Step{Wait: "a pod is terminating"}},
		"one has not been replaced":      {restartedByOwner(whole, replaces, 2), old[1:], delivery.Step{Wait: "a pod has not been replaced"}},
		"a new one is not ready":         {restartedByOwner(lacking, replaces, 2), append([]*corev1.Pod{madeAt(5, false)}, old[1:]...), delivery.Step{Wait: "a new pod is not ready"}},
		"an earlier one is not ready":    {restartedByOwner(lacking, replaces, 2), append([]*corev1.Pod{madeAt(-70, false)}, old[1:]...), delivery.Step{Wait: "not all pods are available"}},
		"all are replaced":               {restartedByOwner(whole, ended, 2), []*corev1.Pod{madeAt(5, true), madeAt(6, true), madeAt(7, false)}, delivery.Step{}},
	} {
		if got, _ := nextOf(test.workload, test.pods...); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// Between two steps of a canary, pods of both templates are replaced.
func TestARestartByTheOwnControllerIsDeliveredBetweenTwoSteps(t *testing.T) {
	between := whole
	between.Updated, between.Outdated, between.Waits, between.GaveUp, between.OwnRestart = 1, 2, true, true, workload.ReplacesPods
	s := &story{workload: *evicting(delivery.Evicting(evicting(between), 3))}
	s.restart = delivery.Begin(&s.workload, record.AllRan, noon)
	for earlier := range int32(3) {
		s.workload.Rollout = delivery.Evicting(evicting(between), 3-earlier)
		s.require(t, float64(earlier)*500, delivery.Rolling, "")
	}
	s.workload.Rollout, s.workload.Record.Evict = between, 0 // as the status says when no pods are left
	s.require(t, 1500, delivery.Rolling, "")
	s.require(t, 1530, delivery.Delivered, "")
	if byTemplate := (&delivery.Restart{Timestamp: s.workload.Timestamp, Template: s.workload.Template}); byTemplate.Look(&s.workload, policy, at(1)).Verdict != delivery.AskPods || byTemplate.IsWhole() {
		t.Error("a restart by the template is whole between two steps")
	}
}
