package rollout

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/dump"
	"pgregory.net/rapid"
)

// drawn generates states. A wild one has extreme numbers, and annotations that
// nobody would write. With inSteps, most Deployments take steps.
type drawn struct {
	*rapid.T
	wild, inSteps bool
}

func (d drawn) number(name string, least, most int64) int64 {
	if d.wild && d.chance(name+" is extreme", 4) {
		return rapid.SampledFrom([]int64{0, 1, 50_000, 60_000, math.MaxInt32 - 1, math.MaxInt32}).Draw(d.T, name)
	}
	return rapid.Int64Range(least, most).Draw(d.T, name)
}

// chance is true once in so many times.
func (d drawn) chance(name string, of int) bool { return rapid.IntRange(1, of).Draw(d.T, name) == of }

// outsideSteps is chance for what rules steps out.
func (d drawn) outsideSteps(name string, of int) bool {
	if d.inSteps {
		of *= 10
	}
	return d.chance(name, of)
}

func (d drawn) pick(name string, choices ...string) string {
	return rapid.SampledFrom(choices).Draw(d.T, name)
}

func (d drawn) state() *State {
	templates := d.templates()
	web := d.deployment(templates)
	var sets []*ReplicaSet
	total := int64(0)
	for _, image := range []string{"v1", "v2", "v3", "v4"} {
		if rs := d.replicaSet(image, templates[image]); rs != nil {
			sets = append(sets, rs)
			total += rs.Replicas
		}
	}
	scaled := d.chance("scaled", 3)
	for _, rs := range sets {
		d.annotate(web, rs, scaled, total)
	}
	s := stateOf(web, sets...)
	for _, rs := range sets {
		if pods := d.number("pods", 0, 2); pods > 0 && d.chance("has pods", 4) {
			s.Pods = map[types.UID]int{rs.UID: int(pods)}
		}
	}
	if d.outsideSteps("orphan", 6) {
		s.Orphans = []*ReplicaSet{set("v9", d.number("orphan's size", 0, 3), 0)}
	}
	ago := func(name string) time.Time {
		if d.chance(name, 3) {
			return now.Add(-time.Duration(rapid.Int64Range(0, 200).Draw(d.T, name+" ago")) * time.Millisecond)
		}
		return time.Time{}
	}
	s.StatusWritten, s.StepTaken = ago("status written"), ago("step taken")
	if d.chance("failed", 6) {
		s.Creation = CreationFailure{Name: "web-" + hashOf("v2"), Collided: d.chance("collided", 2), Message: "no"}
	}
	if d.chance("created", 6) {
		s.Created = "web-v2"
	}
	d.releases(s)
	for _, rs := range sets {
		if rs.Annotations[outcomeAnnotation] == "" && !d.inSteps && d.chance("made before it asked", 8) {
			rs.Bare = rs.Sum
		}
	}
	return s
}

func (d drawn) deployment(templates map[string]*corev1.PodTemplateSpec) *Deployment {
	limits := []string{"0", "1", "2", "25%", "50%", "100%"}
	conditions := []appsv1.DeploymentCondition{}
	for _, c := range []appsv1.DeploymentCondition{
		condition(appsv1.DeploymentAvailable, corev1.ConditionTrue, reasonAvailable, "", 10),
		condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, d.pick("reason", reasonComplete, reasonProgressed, ReasonTimedOut, reasonPaused, ReasonCreateFailed),
			d.pick("message", "", `ReplicaSet "web-v1"`, `ReplicaSet "web-v2"`, `ReplicaSet "web-v3"`), rapid.SampledFrom([]float64{2000, 3000, 3590}).Draw(d.T, "since")),
		condition(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate", "", 10),
		condition(conditionFallenBack, corev1.ConditionTrue, FailedByCrash.reason(), "", 3000),
		condition(conditionAtStep, corev1.ConditionTrue, reasonRelease, "", 3000),
	} {
		if d.chance("condition", 2) {
			conditions = append(conditions, c)
		}
	}
	return web(int32(d.number("replicas", 0, 12)), d.pick("image", "v1", "v2", "v3"), withLimits(d.pick("surge", limits...), d.pick("unavailable", limits...)),
		func(object *appsv1.Deployment) {
			if d.chance("asks to fall back", 2) {
				object.Annotations[onFailureAnnotation] = d.pick("on failure", fallBack, fallBack, fallBack, fallBack, "x")
			}
			if !d.outsideSteps("asks for no steps", 2) {
				d.askForSteps(object.Annotations)
			}
			object.Spec.Template = *templates[object.Spec.Template.Spec.Containers[0].Image]
			if d.outsideSteps("restarted", 8) {
				object.Spec.Template = *restartOf(&object.Spec.Template, "later")
			}
			if d.outsideSteps("other strategy", 4) {
				object.Spec.Strategy = appsv1.DeploymentStrategy{Type: d.otherStrategy()}
			}
			object.Spec.Paused = d.chance("paused", 8)
			if d.outsideSteps("deleting", 12) {
				object.DeletionTimestamp = &metav1.Time{Time: noon}
			}
			if d.chance("limited", 2) {
				withHistoryLimit(int32(rapid.IntRange(0, 3).Draw(d.T, "limit")))(object)
			}
			if d.outsideSteps("no deadline", 4) {
				object.Spec.ProgressDeadlineSeconds = nil
			}
			if d.chance("replacement", 3) {
				object.Annotations[replacementAnnotation] = d.pick("policy", whenTerminating, whenTerminated, "x")
			}
			if d.outsideSteps("rollback", 10) {
				object.Annotations[RollbackAnnotation] = d.pick("to", "0", "1", "7", "x")
			}
			if d.wild && d.chance("revision", 3) {
				object.Annotations[RevisionAnnotation] = d.pick("deployment's revision", "x", "1", "-7", "99999999999999999999")
			}
			n := func(name string) int32 { return int32(d.number(name, 0, 12)) }
			object.Status = appsv1.DeploymentStatus{
				ObservedGeneration: 2, Replicas: n("replicas"), UpdatedReplicas: n("updated"), ReadyReplicas: n("ready"), AvailableReplicas: n("available"), Conditions: conditions,
			}
		})
}

// otherStrategy returns one of the strategies that are not RollingUpdate.
func (d drawn) otherStrategy() appsv1.DeploymentStrategyType {
	others := slices.Sorted(maps.Keys(strategies))
	others = slices.DeleteFunc(others, func(kind appsv1.DeploymentStrategyType) bool {
		return kind == appsv1.RollingUpdateDeploymentStrategyType
	})
	return rapid.SampledFrom(others).Draw(d.T, "strategy")
}

func (d drawn) replicaSet(image string, template *corev1.PodTemplateSpec) *ReplicaSet {
	if d.outsideSteps("does not exist", 2) {
		return nil
	}
	size := d.number("size", 0, 8)
	if d.chance("empty", 3) {
		size = 0
	}
	return set(image, size, 0, func(rs *ReplicaSet) {
		rs.Sum, rs.Bare = sumsOf(template, true)
		rs.Observed = !d.chance("unobserved", 4)
		if rs.Existing = size; !rs.Observed || d.chance("differs", 3) {
			rs.Existing = d.number("existing", 0, 10)
		}
		rs.Ready = min(d.number("ready", 0, 10), rs.Existing)
		rs.Available = min(d.number("available", 0, 10), rs.Ready)
		if d.chance("all available", 2) {
			rs.Ready, rs.Available = rs.Existing, rs.Existing
		}
		if d.chance("ending", 4) {
			rs.Terminating = new(int32(d.number("terminating", 0, 4)))
		}
		if d.chance("unreported", 5) {
			rs.Terminating = nil
		}
		rs.Deleting = d.chance("dying", 10)
		if d.outsideSteps("stranger", 30) {
			rs.SetLabels(map[string]string{"app": "other"})
		}
		if d.chance("failing", 10) {
			rs.Failure = &appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate"}
		}
		if d.wild && d.chance("odd revision", 3) {
			revised(rs, d.pick("its revision", "x", "0", "-1", "9223372036854775807", "99999999999999999999"))
		}
	})
}

// annotate records what a size was computed from: the Deployment as it is or, if it was
// scaled, as it was.
func (d drawn) annotate(web *Deployment, rs *ReplicaSet, scaled bool, total int64) {
	switch {
	case d.wild && d.chance("odd sizes", 2):
		odd := []string{"", "x", "0", "-1", "1", "7", "2147483647", "99999999999999999999"}
		sized(d.pick("desired", odd...), d.pick("max", odd...))(rs)
	case scaled:
		sized(strconv.FormatInt(web.Replicas+1, 10), strconv.FormatInt(total+rapid.Int64Range(1, 3).Draw(d.T, "spare"), 10))(rs)
	}
}

// isScaling reports whether a plan brings the ReplicaSets to another size of the Deployment,
// which is not for a rollout to limit. While a release is fallen back or waits at a step, the strategy does that.
func isScaling(s *State) bool {
	p := newPlan(s)
	if s.Deployment.Paused {
		return true
	}
	p.judge()
	cannotBegin := p.newRS == nil && s.Creation.Name != ""
	return p.isRescaled() && !p.isFallenBack() && (!p.isLimited() || cannotBegin)
}

// sizesOf are the sizes that ReplicaSets have before a plan.
func sizesOf(s *State) map[string]int64 {
	sizes := map[string]int64{}
	for _, rs := range s.ReplicaSets {
		sizes[rs.Name] = rs.Replicas
	}
	return sizes
}

func total(sizes map[string]int64) (sum int64) {
	for _, size := range sizes {
		sum += size
	}
	return sum
}

// occupiedBy is how many pods there are with these sizes, with those that terminate or are still to be deleted.
func occupiedBy(s *State, sizes map[string]int64) (sum int64) {
	left := maps.Clone(sizes)
	for _, rs := range s.ReplicaSets {
		sum += max(sizes[rs.Name], rs.Existing)
		if rs.Terminating != nil {
			sum += int64(*rs.Terminating)
		}
		delete(left, rs.Name)
	}
	return sum + total(left)
}

// staysAvailable is how many pods are sure to be available with these sizes.
func staysAvailable(s *State, sizes map[string]int64) (sum int64) {
	for _, rs := range s.ReplicaSets {
		if rs.Observed {
			sum += min(rs.Available, sizes[rs.Name])
		}
	}
	return sum
}

// checkLimits checks each step of a plan, in its order:
//   - No step raises the total above the wanted replicas and the surge.
//   - No step of a rolling update brings the pods that are sure to be available
//     below the wanted minimum, or takes any if there are fewer already.
//   - Recreate starts no pods while others are wanted, exist or terminate.
//   - By the policy TerminationComplete, no step adds pods beyond the surge while others exist or terminate, and by
//     TerminationStarted, those that terminate do not count for Recreate.
func checkLimits(t *rapid.T, s *State, actions []Action) {
	d, sizes := s.Deployment, sizesOf(s)
	scaling, before := isScaling(s), staysAvailable(s, sizes)
	for _, action := range actions {
		name, from, to := "", int64(0), int64(0)
		switch a := action.(type) {
		case CreateReplicaSet:
			name, to = a.Name, a.Replicas
		case UpdateReplicaSet:
			name, from, to = a.Target.Name, a.From, a.To
		default:
			continue
		}
		if to < 0 {
			t.Fatalf("a size below 0: %s", action)
		}
		sizes[name] = to
		if to > from && d.countsTerminating() && occupiedBy(s, sizes) > d.maxReplicas() {
			t.Fatalf("%d pods with those that terminate, of at most %d, by: %s", occupiedBy(s, sizes), d.maxReplicas(), action)
		}
		if to > from && total(sizes) > d.maxReplicas() {
			t.Fatalf("%d pods of at most %d by: %s", total(sizes), d.maxReplicas(), action)
		}
		if after := staysAvailable(s, sizes); !scaling && d.Strategy == appsv1.RollingUpdateDeploymentStrategyType && after < min(before, d.minAvailable()) {
			t.Fatalf("%d available of at least %d by: %s", after, d.minAvailable(), action)
		}
		if to > from && !scaling && d.Strategy == appsv1.RecreateDeploymentStrategyType {
			for _, rs := range s.ReplicaSets {
				ending := int64(s.Pods[rs.UID])
				if d.Annotations[replacementAnnotation] == whenTerminating {
					ending = 0
				}
				if rs.Name != name && rs.Existing+ending > 0 {
					t.Fatalf("%s still has pods: %s", rs.Name, action)
				}
			}
		}
	}
}

func TestNoPlanGoesBeyondTheLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawn{T: t}.state()
		actions, _ := Plan(s)
		checkLimits(t, s, actions)
	})
}

// planned plans, and checks what every plan has to keep.
func planned(t *rapid.T, s *State) (actions []Action, wake time.Time) {
	before := dump.ForHash(s)
	actions, wake = Plan(s)
	if dump.ForHash(s) != before {
		t.Fatal("the state was modified")
	}
	again, wakeAgain := Plan(s)
	if dump.ForHash(again) != dump.ForHash(actions) || !wake.Equal(wakeAgain) {
		t.Fatalf("two plans of one state: %v and %v", actions, again)
	}
	statuses := 0
	for i, action := range actions {
		if _, isLook := action.(LookAtPods); isLook && i < len(actions)-1 {
			t.Fatalf("a look that is not the last action: %v", actions)
		}
		if _, isStatus := action.(UpdateStatus); isStatus {
			statuses++
			for _, later := range actions[i+1:] {
				switch later.(type) {
				case DeleteReplicaSet, LookAtPods, RecordEvent: // tidying up, and that of a rejection
				default:
					t.Fatalf("the status comes before other actions: %v", actions)
				}
			}
		}
		if action.Kind() == "" || action.String() == "" {
			t.Fatalf("%T has no words", action)
		}
	}
	requireKept(t, actions)
	if statuses > 1 {
		t.Fatalf("%d statuses", statuses)
	}
	return actions, wake
}

// requireKept fails if a plan deletes what it changes.
func requireKept(t *rapid.T, actions []Action) {
	changed := map[types.UID]bool{}
	for _, action := range actions {
		switch a := action.(type) {
		case UpdateReplicaSet:
			changed[a.Target.UID] = true
		case DeleteReplicaSet:
			if changed[a.Target.UID] {
				t.Fatalf("%s is changed and deleted: %v", a.Target.Name, actions)
			}
		}
	}
}

func TestAPlanIsAFunctionOfItsState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawn{T: t, wild: rapid.Bool().Draw(t, "wild")}.state()
		actions, wake := planned(t, s)
		reversed := *s
		reversed.ReplicaSets = slices.Clone(s.ReplicaSets)
		slices.Reverse(reversed.ReplicaSets)
		again, wakeAgain := Plan(&reversed)
		if len(claim(s)) == 0 && (dump.ForHash(again) != dump.ForHash(actions) || !wake.Equal(wakeAgain)) {
			t.Fatalf("the order of the replicasets matters: %v and %v", actions, again)
		}
	})
}

// createdAfter is which ReplicaSet was created since the status was written last, after some
// actions.
func createdAfter(created string, actions []Action) string {
	for _, action := range actions {
		switch a := action.(type) {
		case UpdateStatus:
			created = ""
		case CreateReplicaSet:
			created = a.Name
		}
	}
	return created
}

// carryOut returns the state in which a plan was carried out, a while later.
func carryOut(s *State, actions []Action) *State {
	next := *s
	d := *s.Deployment
	d.Annotations = maps.Clone(d.Annotations)
	next.Deployment, next.Creation = &d, CreationFailure{}
	next.StatusWritten, next.StepTaken, next.Created = time.Time{}, time.Time{}, createdAfter(s.Created, actions)
	sets := map[types.UID]*ReplicaSet{}
	for _, rs := range s.ReplicaSets {
		sets[rs.UID] = new(*rs)
	}
	for _, action := range actions {
		switch a := action.(type) {
		case CreateReplicaSet:
			uid := types.UID("uid-of-" + a.Name)
			sets[uid] = &ReplicaSet{
				Meta: Meta{Namespace: "ns", Name: a.Name, UID: uid, ResourceVersion: "1"}, Created: s.Now, Controller: d.UID, ControllerName: d.Name, Sum: d.Sum, Bare: d.Bare, Replicas: a.Replicas, Terminating: new(int32(0)),
			}
			sets[uid].SetLabels(map[string]string{"app": "web"})
			sets[uid].SetAnnotations(a.Annotations)
		case UpdateReplicaSet:
			rs := sets[a.Target.UID]
			all := rs.allAnnotations()
			maps.Copy(all, a.Annotations)
			rs.SetAnnotations(all)
			if a.MinReadySeconds != nil {
				rs.MinReadySeconds = *a.MinReadySeconds
			}
			if rs.Sum == d.Sum {
				rs.Bare = d.Bare // it has got the annotation that asks for it
			}
			rs.Observed = rs.Observed && rs.Replicas == int64(ToInt32(a.To))
			rs.Replicas = int64(ToInt32(a.To))
		case DeleteReplicaSet:
			delete(sets, a.Target.UID)
		case ReleaseReplicaSet:
			delete(sets, a.Target.UID)
		case AdoptReplicaSet:
			for _, rs := range s.Orphans {
				if rs.UID == a.Target.UID {
					sets[rs.UID] = rs
				}
			}
			next.Orphans = nil
		case RollBack, EndRollBack:
			delete(d.Annotations, RollbackAnnotation)
			if back, isBack := a.(RollBack); isBack {
				d.Sum, d.Bare = sets[back.Source.UID].Sum, sets[back.Source.UID].Bare
				d.Generation++
			}
		case LookAtPods:
			*a.Found = Look{At: a.At, IsLast: a.IsLast, Ready: sets[a.Target.UID].Ready}
			next.Trial = next.Trial.With(&a)
		case UpdateStatus:
			d.Status, next.Trial = a.Status, a.Trial
			if a.Runs != nil {
				d.Runs = a.Runs.UID
			}
			if a.Revision != "" {
				d.Annotations[RevisionAnnotation] = a.Revision
			}
		}
	}
	next.ReplicaSets = slices.SortedFunc(maps.Values(sets), byAge)
	return &next
}

// A status that was written is not written again.
func TestAWrittenStatusIsCorrect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawn{T: t, wild: rapid.Bool().Draw(t, "wild")}.state()
		actions, _ := Plan(s)
		if len(actions) != 1 || actions[0].Kind() != "status" {
			return
		}
		if again, _ := Plan(carryOut(s, actions)); len(again) > 0 && s.Creation == (CreationFailure{}) && s.StepTaken.IsZero() {
			t.Fatalf("after %v: %v", actions, again)
		}
	})
}

// obey lets the ReplicaSet controller and the pods do all that is asked of them.
func obey(s *State) {
	for _, rs := range s.ReplicaSets {
		rs.Observed, rs.Existing, rs.Ready, rs.Available = true, rs.Replicas, rs.Replicas, rs.Replicas
		rs.Terminating, rs.Failure = new(int32(0)), nil
	}
	s.Pods = map[types.UID]int{}
}

// waitsFor names what a state without orders waits for. It is empty if that is
// nothing.
func waitsFor(s *State) string {
	d := s.Deployment
	switch {
	case d.Invalid != nil, d.Paused, d.Deleting:
		return "the user"
	case s.Creation.Name != "":
		return "room for a replicaset"
	}
	for _, rs := range s.ReplicaSets {
		switch {
		case !rs.Observed, rs.Existing != rs.Replicas:
			return "the replicaset controller"
		case rs.Available < rs.Replicas, s.Pods[rs.UID] > 0:
			return "pods"
		}
	}
	return ""
}

func TestEveryPlanMakesProgressOrWaitsForSomething(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawn{T: t}.state()
		actions, wake := planned(t, s)
		if len(actions) == 0 && wake.IsZero() && waitsFor(s) == "" && !newPlan(s).isComplete() && !isWayBackTaken(s) && !isHeldRightly(s) {
			t.Fatal("it waits needlessly")
		}
	})
}

// If all obey, a rollout is complete after a bounded number of plans, or has come as far as its step allows, and then
// there is nothing left to do.
func TestPlansLeadToTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := obeyed(t, drawn{T: t}.state())
		p := newPlan(s)
		if s.Deployment.Paused || s.Deployment.Deleting {
			return
		}
		if isWayBackTaken(s) || isHeldRightly(s) {
			return
		}
		if !p.isComplete() || sum(p.oldRSs, size) > 0 {
			t.Fatalf("it ends with sizes %v of %d", sizesOf(s), s.Deployment.Replicas)
		}
		most := s.Deployment.HistoryLimit
		if most == nil {
			return
		}
		kept := int64(*most)
		if back := wayBack(s); back != nil && back.Sum != s.Deployment.Sum { // no pods have completed since
			kept++
		}
		if before := releaseBefore(s); before != nil && before.Sum != s.Deployment.Sum && kept > 0 {
			kept++
		}
		if old := len(slices.DeleteFunc(slices.Clone(p.oldRSs), func(m *member) bool { return m.Deleting })); int64(old) > kept {
			t.Fatalf("%d old replicasets of at most %d", old, kept)
		}
	})
}

func checkAnyPlan(t *rapid.T) {
	s := drawn{T: t, wild: true}.state()
	actions, _ := planned(t, s)
	for _, action := range actions {
		if a, isUpdate := action.(UpdateReplicaSet); isUpdate && a.To < 0 {
			t.Fatal(a)
		}
	}
}

func TestNothingThatAnObjectMayHoldBreaksAPlan(t *testing.T) { rapid.Check(t, checkAnyPlan) }
