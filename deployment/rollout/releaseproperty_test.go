package rollout

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/dump"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/internal/podsight"
)

// restartOf returns a template as a restart changes it.
func restartOf(template *corev1.PodTemplateSpec, at string) *corev1.PodTemplateSpec {
	restarted := template.DeepCopy()
	restarted.Annotations = map[string]string{"com.xing.deployment-restart.timestamp": at, "com.xing.deployment-restart.cause": "configmap settings"}
	return restarted
}

// templates draws those of the ReplicaSets: each has an image of its own, or restarts the one before.
func (d drawn) templates() map[string]*corev1.PodTemplateSpec {
	templates := map[string]*corev1.PodTemplateSpec{}
	for i, image := range []string{"v1", "v2", "v3", "v4"} {
		template := templateOf(image)
		templates[image] = &template
		if i > 0 && d.chance(image+" is a restart", 4) {
			templates[image] = restartOf(templates[fmt.Sprint("v", i)], image)
		}
	}
	return templates
}

// sights are what a pod may show of its release.
var sights = map[string]podsight.Sight{
	"crash":     {Condition: podsight.Broken, Reason: "CrashLoopBackOff", Pod: "web-1", Container: "app"},
	"config":    {Condition: podsight.Broken, Reason: "CreateContainerConfigError", Pod: "web-1", Container: "app"},
	"image":     {Condition: podsight.Blocked, Reason: "ImagePullBackOff", Pod: "web-1", Container: "app"},
	"hanging":   {Condition: podsight.Hanging, Reason: "it has started and is not ready", Pod: "web-1", Container: "app"},
	"unstarted": {Condition: podsight.Unstarted, Reason: "it has not started", Pod: "web-1", Container: "app"},
	"no node":   {Condition: podsight.Blocked, Reason: "Unschedulable", Pod: "web-1"},
	"fine":      {},
}

// finding is what the worst pod shows, as a look keeps it.
func finding(of string, since time.Time) Finding {
	seen := sights[of]
	seen.Since = since
	look := Look{}
	look.Add(seen)
	return look.Worst
}

// releases draws what is known of releases: how they ended, whether another attempt is asked for, and what was seen.
func (d drawn) releases(s *State) {
	orders := rapid.Permutation([]int64{1, 2, 3, 4}).Draw(d.T, "orders")
	for i, rs := range s.ReplicaSets {
		switch {
		case d.wild && d.chance("odd outcome", 6):
			rs.Annotations[outcomeAnnotation] = d.oddOutcome(rs)
		case d.chance("has an outcome", 2):
			noted(rs, d.outcome(rs, orders[i]))
		}
	}
	if d.chance("has failed after another", 3) {
		d.failedAfterAnother(s)
	}
	if d.chance("retry", 4) {
		s.Deployment.Annotations[retryAnnotation] = d.pick("asked", "web-v1/2", "web-v2/1", "web-v2/2", "web-v2/3", "web-v3/2", "web-v3/9", "web-v2/x", "web-v2", "web-v2/99999999999")
	}
	if d.chance("trial", 2) {
		s.Trial = d.trial(s)
	}
	s.IsBackup = d.outsideSteps("backup", 16)
}

// failedAfterAnother notes that the present release has failed, and another one completed before.
func (d drawn) failedAfterAnother(s *State) {
	present := s.Deployment.NewReplicaSet(s.ReplicaSets)
	others := slices.DeleteFunc(slices.Clone(s.ReplicaSets), func(rs *ReplicaSet) bool { return rs == present || rs.Bare == s.Deployment.Bare })
	if present == nil || len(others) == 0 {
		return
	}
	back := rapid.SampledFrom(others).Draw(d.T, "way back")
	noted(back, outcome{UID: back.UID, Ended: completed, Order: 5})
	noted(present, outcome{UID: present.UID, Ended: failed, Order: 6, Attempt: rapid.Int64Range(1, 3).Draw(d.T, "attempts"), Cause: FailedByCrash, Why: "it was so"})
}

func (d drawn) outcome(rs *ReplicaSet, order int64) outcome {
	o := outcome{UID: rs.UID, Order: order, Ended: rapid.SampledFrom([]ending{completed, completed, failed, failed, ""}).Draw(d.T, "ended")}
	if d.chance("copied", 6) {
		o.UID = "another"
	}
	if o.Ended != completed || d.chance("at second attempt", 4) {
		o.Attempt = rapid.Int64Range(1, 3).Draw(d.T, "attempt")
	}
	if o.Ended == failed {
		o.Cause, o.Why = rapid.SampledFrom(FailureCauses).Draw(d.T, "cause"), "it was so"
	}
	if o.Ended == "" && d.chance("at a step", 2) {
		d.step(&o)
	}
	return o
}

func (d drawn) oddOutcome(rs *ReplicaSet) string {
	return d.pick("odd", "x", "{}", "[]", "null", fmt.Sprintf(`{"uid":%q,"ended":"completed","order":-1}`, rs.UID), fmt.Sprintf(`{"uid":%q,"ended":"failed","order":9223372036854775807}`, rs.UID),
		fmt.Sprintf(`{"uid":%q,"ended":"other","order":7}`, rs.UID), fmt.Sprintf(`{"uid":%q,"ended":"failed","order":7,"attempt":2147483647}`, rs.UID),
		fmt.Sprintf(`{"uid":%q,"ended":"completed","order":7,"why":%q}`, rs.UID, strings.Repeat("x", longestOutcome)),
		fmt.Sprintf(`{"uid":%q,"order":7,"attempt":1,"step":%q}`, rs.UID, strings.Repeat("1", longestStep+1)), fmt.Sprintf(`{"uid":%q,"ended":"failed","order":7,"step":"1"}`, rs.UID))
}

func (d drawn) trial(s *State) *Trial {
	t := &Trial{
		Of: "gone", Attempt: rapid.Int64Range(1, 3).Draw(d.T, "tried"), IsKnown: d.chance("known", 2), IsIdle: d.chance("idle", 6),
		Most: d.number("most", 0, 8), Fewest: d.number("fewest", 0, 8),
	}
	if present := s.Deployment.NewReplicaSet(s.ReplicaSets); present != nil && !d.chance("of another", 6) {
		t.Of = present.UID
	}
	if d.chance("has failed", 12) {
		t.Failed = rapid.SampledFrom(FailureCauses).Draw(d.T, "failed by")
	}
	if d.chance("unseen", 3) {
		return t
	}
	ago := func(name string) time.Time {
		return s.Now.Add(-time.Duration(rapid.SampledFrom([]int{0, 1, 20, 700}).Draw(d.T, name)) * time.Second)
	}
	t.Look = Look{At: ago("looked"), Took: time.Second, IsLast: d.chance("last", 2), Ready: d.number("seen ready", 0, 12)}
	t.Worst = finding(d.pick("worst", slices.Sorted(maps.Keys(sights))...), ago("seen since"))
	return t
}

// noted notes how a ReplicaSet ended.
func noted(rs *ReplicaSet, o outcome) {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	rs.Annotations[outcomeAnnotation] = string(text)
}

// outcomeOf reads how a ReplicaSet ended. A note that was copied from another one says nothing.
func outcomeOf(rs *ReplicaSet) outcome {
	if o := (&member{ReplicaSet: rs}).outcome(); o.UID == rs.UID {
		return o
	}
	return outcome{}
}

// wayBack is the ReplicaSet that completed last, by the notes; nil if none did, or nobody asks for notes.
func wayBack(s *State) *ReplicaSet {
	if !remembers(s) {
		return nil
	}
	return latestCompleted(s)
}

func latestCompleted(s *State) *ReplicaSet { return latestCompletedBut(s, nil) }

// latestCompletedBut leaves out the ReplicaSets of one release, if there is one.
func latestCompletedBut(s *State, release *ReplicaSet) (last *ReplicaSet) {
	for _, rs := range oldestFirst(s.ReplicaSets) {
		isOther := release == nil || rs.Bare != release.Bare
		if o := outcomeOf(rs); o.Ended == completed && !rs.Deleting && isOther && (last == nil || o.Order > outcomeOf(last).Order) {
			last = rs
		}
	}
	return last
}

// releaseBefore is the ReplicaSet that completed last before those of the last release did; nil if none is known.
func releaseBefore(s *State) *ReplicaSet {
	last := wayBack(s)
	if last == nil {
		return nil
	}
	return latestCompletedBut(s, last)
}

// lastEnd is how the present release ended, by the latest note on one of its ReplicaSets. A failure is over if the status calls
// that ReplicaSet complete, and it wants pods: another controller has tried it again.
func lastEnd(s *State) (last outcome) {
	said := newConditions(s.Now, s.Deployment.Status.Conditions).get(appsv1.DeploymentProgressing)
	present := s.Deployment.NewReplicaSet(s.ReplicaSets)
	sets := slices.DeleteFunc(oldestFirst(s.ReplicaSets), func(rs *ReplicaSet) bool { return rs == present })
	if present != nil { // which counts if another one has the same order
		sets = append(sets, present)
	}
	for _, rs := range sets {
		if said != nil && said.Reason == reasonComplete && strings.Contains(said.Message, strconv.Quote(rs.Name)) && rs.Replicas > 0 && outcomeOf(rs).Ended == failed {
			continue
		}
		if o := outcomeOf(rs); isOfRelease(s, rs) && o != (outcome{}) && o.Order >= last.Order {
			last = o
		}
	}
	return last
}

// isWayBackTaken reports whether the release has failed and the ReplicaSet that completed last has all the pods.
func isWayBackTaken(s *State) bool {
	back, end := wayBack(s), lastEnd(s)
	if !isFailed(s) {
		return false
	}
	for _, rs := range s.ReplicaSets {
		if want := s.Deployment.Replicas; rs == back && rs.Replicas != want || rs != back && rs.Replicas != 0 {
			return false
		}
	}
	conditions := newConditions(s.Now, s.Deployment.Status.Conditions)
	fallen, said := conditions.get(conditionFallenBack), conditions.get(appsv1.DeploymentProgressing)
	return fallen != nil && fallen.Status == corev1.ConditionTrue && fallen.Reason == end.Cause.reason() &&
		said != nil && said.Status == corev1.ConditionFalse && said.Reason == ReasonTimedOut && said.Message == fallen.Message
}

// setOf is the ReplicaSet of a write.
func setOf(s *State, target Meta) *ReplicaSet {
	for _, rs := range s.ReplicaSets {
		if rs.UID == target.UID {
			return rs
		}
	}
	return nil
}

// checkReleases checks what must never happen to a release.
func checkReleases(t *rapid.T, s *State, actions []Action) {
	d := s.Deployment
	_, asksForRollback := rollbackRequest(d)
	present, known := copied(s), copied(named(s)) // that the plan has changed so far, and with what the last status names
	orders := map[int64]bool{}
	sizes, scaling := sizesOf(s), isScaling(s)
	for _, action := range actions {
		switch a := action.(type) {
		case RollBack, EndRollBack:
			if !asksForRollback {
				t.Fatalf("nobody has asked for it: %s", action)
			}
		case CreateReplicaSet:
			if isFailed(known) && a.Replicas > 0 {
				t.Fatalf("a release that has failed: %s", action)
			}
			checkSizeAtStep(t, known, &ReplicaSet{Sum: d.Sum}, 0, a.Replicas, scaling, action)
			sizes[a.Name] = a.Replicas
		case UpdateReplicaSet:
			rs := setOf(present, a.Target)
			if rs == nil {
				continue
			}
			before := outcomeOf(rs)
			maps.Copy(rs.Annotations, a.Annotations)
			after := outcomeOf(rs)
			if before != after && after != (outcome{}) {
				isBefore := func(rs *ReplicaSet) bool { return outcomeOf(rs).Order >= after.Order }
				if orders[after.Order] || slices.ContainsFunc(s.ReplicaSets, isBefore) {
					t.Fatalf("an outcome that is not the last one: %s", action)
				}
				orders[after.Order] = true
				checkStep(t, known, &a, after)
			}
			same := setOf(known, a.Target)
			maps.Copy(same.Annotations, a.Annotations)
			if before != after && after.Ended == failed { // the note must not be taken for one from before
				rs.Replicas, same.Replicas = 0, 0
			}
			sizes[rs.Name] = a.To
			if isRetried := before.Ended == completed && after.Ended == "" && after.Attempt > 0; !isRetried { // else it was a way back until now
				checkSizeAtStep(t, known, rs, a.From, a.To, scaling, action)
			}
			checkUpdate(t, known, rs, &a, before, after, scaling)
		case DeleteReplicaSet:
			for _, known := range []*State{named(s), present} {
				if back := wayBack(known); back != nil && back.UID == a.Target.UID {
					t.Fatalf("the last one that completed: %s", action)
				}
			}
		case RecordEvent:
			if a.Reason == reasonFellBack && (wayBack(present) == nil || !isFailed(present)) {
				t.Fatalf("nothing has failed, or there is no way back: %s", action)
			}
		case UpdateStatus:
			fallen := newConditions(s.Now, a.Status.Conditions).get(conditionFallenBack)
			if fallen != nil && !d.Paused && !d.Deleting && !isFailed(present) && remembers(s) {
				t.Fatalf("nothing has failed: %s", action)
			}
			after := copied(known)
			for _, rs := range after.ReplicaSets {
				rs.Replicas = sizes[rs.Name]
			}
			checkHeld(t, after, &a.Status)
		}
	}
}

// copied returns a state whose ReplicaSets and their annotations are copies.
func copied(s *State) *State {
	copied := *s
	copied.ReplicaSets = nil
	for _, rs := range s.ReplicaSets {
		rs = new(*rs)
		rs.Annotations = maps.Clone(rs.Annotations)
		copied.ReplicaSets = append(copied.ReplicaSets, rs)
	}
	return &copied
}

// isFailed reports whether the present release has failed, is not to be tried again, and can fall back.
func isFailed(s *State) bool {
	back, end := wayBack(s), lastEnd(s)
	goesBack := s.fallsBack() || end.Cause == FailedByAbort
	return back != nil && back.Bare != bareOf(s) && end.Ended == failed && goesBack && end.Order > outcomeOf(back).Order
}

// checkUpdate checks one write to a ReplicaSet, which is as after it.
func checkUpdate(t *rapid.T, s *State, rs *ReplicaSet, a *UpdateReplicaSet, before, after outcome, scaling bool) {
	d, st := s.Deployment, standOf(s)
	isNew := before != after
	isLast := st.isLimited() && rs.UID == st.last.UID // it has the pods that the new one may not have
	switch {
	case isNew && after.Ended == failed && wayBack(s) == nil:
		t.Fatalf("a first rollout has failed: %s", a)
	case isNew && after.Ended == failed && rs.Bare == wayBack(s).Bare:
		t.Fatalf("a restart has failed: %s", a)
	case isNew && after.Ended == "" && after.Step == "" && after.Cause == "" && after.Attempt > 0 && !strings.HasSuffix(d.Annotations[retryAnnotation], fmt.Sprint("/", after.Attempt)):
		t.Fatalf("nobody has asked for another attempt: %s", a)
	case isNew && after.Ended == completed && d.Status.AvailableReplicas == 0 && (rs.Available == 0 || d.Replicas == 0):
		t.Fatalf("no pods complete nothing: %s", a)
	case a.FailedBy != "" && (!isNew || after.Ended != failed || after.Cause != a.FailedBy):
		t.Fatalf("failed by %s, and it is noted %v", a.FailedBy, after)
	case scaling || d.Paused || !remembers(s):
	case a.To > a.From && isFailed(s) && isOfRelease(s, rs):
		t.Fatalf("a release that has failed: %s", a)
	case isLast && a.To <= max(a.From, d.Replicas-st.most):
	case a.To > a.From && rs.Sum != d.Sum && !isFailed(s):
		t.Fatalf("an old ReplicaSet, and nothing has failed: %s", a)
	case a.To > a.From && rs.Sum != d.Sum && rs.UID != wayBack(s).UID:
		t.Fatalf("one that was not the last to complete: %s", a)
	case total(sizesOf(s)) > d.maxReplicas() && a.To >= rs.Available: // a scaling has left too many
	case a.To < a.From && a.To < min(d.Replicas, st.most) && rs.Sum == d.Sum && !isFailed(s):
		t.Fatalf("the new one, and it is not noted that it has failed: %s", a)
	}
}

func TestNoPlanDoesWhatMustNeverHappenToARelease(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawn{T: t, wild: rapid.Bool().Draw(t, "wild")}.state()
		actions, _ := planned(t, s)
		checkReleases(t, s, actions)
	})
}

// A Deployment that asks neither to fall back nor for steps is driven as if nobody ever had. Only the notes go.
func TestWithoutTheAnnotationAPlanKnowsNothingOfReleases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawn{T: t, wild: rapid.Bool().Draw(t, "wild")}.state()
		if s.fallsBack() {
			delete(s.Deployment.Annotations, onFailureAnnotation)
		}
		delete(s.Deployment.Annotations, stepsAnnotation)
		for _, rs := range s.ReplicaSets {
			if o := outcomeOf(rs); o.Step != "" || o.Cause == FailedByAbort { // which would hold on
				o.Step, o.Cause = "", FailedByCrash
				noted(rs, o)
			}
		}
		plain := *copied(s)
		plain.Trial = nil
		plain.Deployment = new(*s.Deployment)
		plain.Deployment.Annotations = maps.Clone(s.Deployment.Annotations)
		for _, key := range []string{retryAnnotation, promoteAnnotation, abortAnnotation} {
			delete(plain.Deployment.Annotations, key)
		}
		marked := map[types.UID]bool{}
		for _, rs := range plain.ReplicaSets {
			marked[rs.UID] = rs.Annotations[outcomeAnnotation] != ""
			delete(rs.Annotations, outcomeAnnotation)
		}
		got, gotWake := planned(t, s)
		want, wantWake := planned(t, &plain)
		got, want = withoutNotes(got, marked), withoutNotes(want, marked)
		if dump.ForHash(got) != dump.ForHash(want) || !gotWake.Equal(wantWake) {
			t.Fatalf("with notes %v, wake %v\nwithout %v, wake %v", got, gotWake, want, wantWake)
		}
	})
}

// withoutNotes leaves out that notes are removed, and the deletions of the ReplicaSets that have them, which follow.
func withoutNotes(actions []Action, marked map[types.UID]bool) (rest []Action) {
	for _, action := range actions {
		switch a := action.(type) {
		case UpdateReplicaSet:
			if value, found := a.Annotations[outcomeAnnotation]; found && value == "" {
				a.Annotations = maps.Clone(a.Annotations)
				delete(a.Annotations, outcomeAnnotation)
				if a.From == a.To && len(a.Annotations) == 0 && a.MinReadySeconds == nil {
					continue
				}
			}
			if len(a.Annotations) == 0 {
				a.Annotations = nil
			}
			rest = append(rest, a)
		case DeleteReplicaSet:
			if !marked[a.Target.UID] {
				rest = append(rest, a)
			}
		default:
			rest = append(rest, action)
		}
	}
	return rest
}
