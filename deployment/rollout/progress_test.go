package rollout

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func withDeadline(seconds int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = &seconds }
}

// progressed is a condition Progressing of before, with a reason.
func progressed(status corev1.ConditionStatus, reason string) appsv1.DeploymentCondition {
	return condition(appsv1.DeploymentProgressing, status, reason, "as it was", 3000)
}

// counted is a status of pods that exist, are new, ready and available.
func counted(existing, updated, ready, available int32, conditions ...appsv1.DeploymentCondition) func(*appsv1.Deployment) {
	return withStatus(appsv1.DeploymentStatus{
		ObservedGeneration: 2, Replicas: existing, UpdatedReplicas: updated, ReadyReplicas: ready, AvailableReplicas: available,
		UnavailableReplicas: existing - available, TerminatingReplicas: new(int32(0)), Conditions: conditions,
	})
}

// A status about the creation that was refused or put off would leave the
// condition as it was for the ReplicaSet before, which has no deadline.
func TestARolloutHasStartedEvenIfItsStatusWasNeverWritten(t *testing.T) {
	complete := condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, reasonComplete, `ReplicaSet "web-v1" has successfully progressed.`, 10)
	of := func(revision string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { d.Annotations[RevisionAnnotation] = revision }
	}
	d := web(3, "v2", counted(3, 0, 3, 3, complete), of("1"))
	for name, test := range map[string]struct {
		current *ReplicaSet
		message string
	}{
		"no pods yet": {set("v2", 1, 0, func(rs *ReplicaSet) { rs.Existing = 0 }), `Created new replica set "web-v2"`},
		"complete":    {set("v2", 3, 3), `ReplicaSet "web-v2" has successfully progressed.`},
		"an old one again": {set("v2", 1, 0, func(rs *ReplicaSet) {
			rs.Existing = 0
			rs.Annotations[revisionHistoryAnnotation] = "1"
		}), complete.Message},
	} {
		t.Run(name, func(t *testing.T) {
			old := set("v1", 3-test.current.Available, 3-test.current.Available)
			expect(t, "message", test.message, progressing(stateOf(d, old, test.current)).Message)
		})
	}
}

// Under Recreate, all pods are new from the first moment on. That they are does not mean that
// the rollout was complete before.
func TestAnUndoIsARolloutEvenIfAllPodsAreNew(t *testing.T) {
	complete := condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, reasonComplete, `ReplicaSet "web-v2" has successfully progressed.`, 10)
	undone := func(d *appsv1.Deployment) { d.Annotations[RevisionAnnotation] = "3" }
	again := func(rs *ReplicaSet) {
		rs.Annotations[RevisionAnnotation], rs.Annotations[revisionHistoryAnnotation] = "3", "1"
	}
	s := stateOf(web(3, "v1", recreated, counted(0, 0, 0, 0, complete), undone), set("v2", 0, 0), set("v1", 3, 0, again))
	expect(t, "message", `ReplicaSet "web-v1" is progressing.`, progressing(s).Message)
	s = stateOf(web(3, "v2", recreated, counted(3, 3, 3, 3, complete)), set("v1", 0, 0), set("v2", 3, 2))
	expect(t, "message of what was complete", complete.Message, progressing(s).Message)
}

// Pods of the template before that end too late, or never, hold up a rollout like pods of the present one.
func TestOldPodsThatDoNotEndUnderRecreateExceedTheDeadline(t *testing.T) {
	for name, status := range map[string]func(*appsv1.Deployment){
		"the old ones run until then": counted(3, 0, 3, 3, progressed(corev1.ConditionTrue, reasonComplete)),
		"there were none":             counted(0, 0, 0, 0, progressed(corev1.ConditionTrue, reasonComplete)),
	} {
		t.Run(name, func(t *testing.T) {
			s := stateOf(web(3, "v2", recreated, status), set("v1", 0, 0))
			s.Pods["uid-of-web-v1"] = 1
			began := progressing(s)
			expect(t, "reason", reasonProgressed, began.Reason)
			expect(t, "message", `Deployment "web" is progressing.`, began.Message)

			s.Deployment = web(3, "v2", recreated, counted(0, 0, 0, 0, *began))
			s.Now = now.Add(601 * time.Second)
			expect(t, "message after the deadline", `Deployment "web" has timed out progressing.`, progressing(s).Message)
		})
	}
}

// The ReplicaSet of an undo exists already, and a Deployment that wants no pods is complete at once.
func TestOldPodsThatDoNotEndExceedTheDeadlineOfAnUndo(t *testing.T) {
	for _, first := range []int32{0, 3} {
		d := web(first, "v1", recreated, counted(0, 0, 0, 0, completeWith("web-v2")), annotated(map[string]string{RevisionAnnotation: "2"}))
		d.Status.TerminatingReplicas = new(int32(3))
		old := set("v2", 0, 0, terminating(3))
		s := stateOf(d, set("v1", 0, 0), old)
		s.Pods = map[types.UID]int{old.UID: 3}
		for range 4 {
			actions, _ := Plan(s)
			s = carryOut(s, actions)
			d := *s.Deployment
			d.Replicas = 3
			s.Deployment = &d
			s.Now = s.Now.Add(time.Hour)
		}
		expect(t, fmt.Sprintf("reason after the undo with %d replicas", first), ReasonTimedOut, progressing(s).Reason)
	}
}

// A ReplicaSet that takes the place of one that is gone, or was released, has the revision of
// that, and often its name. Only the process that created it knows.
func TestACreationIsReportedLaterIfItsStatusWasPutOff(t *testing.T) {
	complete := condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, reasonComplete, `ReplicaSet "web-v2" has successfully progressed.`, 10)
	timedOut := condition(appsv1.DeploymentProgressing, corev1.ConditionFalse, ReasonTimedOut, `ReplicaSet "web-v2" has timed out progressing.`, 10)
	for name, test := range map[string]struct {
		d       *Deployment
		created string
		want    string
	}{
		"complete before":      {web(3, "v2", counted(3, 3, 3, 3, complete)), "web-v2", `Created new replica set "web-v2"`},
		"timed out before":     {web(3, "v2", counted(3, 3, 3, 3, timedOut)), "web-v2", `Created new replica set "web-v2"`},
		"paused since":         {web(3, "v2", paused, counted(3, 3, 3, 3, complete)), "web-v2", "Deployment is paused"},
		"another was created":  {web(3, "v2", counted(3, 3, 3, 3, complete)), "web-v1", complete.Message},
		"created long ago":     {web(3, "v2", counted(3, 3, 3, 3, complete)), "", complete.Message},
		"nobody wants to know": {web(3, "v2", withDeadline(math.MaxInt32), counted(3, 3, 3, 3)), "web-v2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateOf(test.d, set("v2", 3, 0, func(rs *ReplicaSet) { rs.Existing = 0 }))
			s.Created = test.created
			got := progressing(s)
			if got == nil {
				got = &appsv1.DeploymentCondition{}
			}
			expect(t, "message", test.want, got.Message)
		})
	}
}

// The pods that the last status calls updated had the template before: a smaller
// number of new ones is progress, though the status that says zero was put off.
func TestTheFirstNewPodsAreProgressEvenIfNoStatusReportedTheirReplicaSet(t *testing.T) {
	complete := condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, reasonComplete, `ReplicaSet "web-v1" has successfully progressed.`, 10)
	d := web(3, "v2", counted(3, 3, 3, 3, complete), func(d *appsv1.Deployment) { d.Annotations[RevisionAnnotation] = "1" })
	state := stateOf(d, set("v1", 3, 3), set("v2", 1, 0, func(rs *ReplicaSet) { rs.Annotations[RevisionAnnotation] = "2" }))
	expect(t, "message", `ReplicaSet "web-v2" is progressing.`, progressing(state).Message)
}

// Removing or changing the revision does not start a rollout.
func TestARevisionThatSomebodyElseChangedStartsNoRollout(t *testing.T) {
	of := func(status corev1.ConditionStatus, reason, message string) *appsv1.DeploymentCondition {
		c := condition(appsv1.DeploymentProgressing, status, reason, message, 10)
		return &c
	}
	complete := of(corev1.ConditionTrue, reasonComplete, `ReplicaSet "web-v1" has successfully progressed.`)
	timedOut := of(corev1.ConditionFalse, ReasonTimedOut, `ReplicaSet "web-v1" has timed out progressing.`)
	for name, test := range map[string]struct {
		present   *appsv1.DeploymentCondition
		available int64
	}{
		"complete":                             {complete, 3},
		"complete, a pod is not available now": {complete, 2},
		"timed out":                            {timedOut, 2},
	} {
		for _, revision := range []string{"", "7"} {
			d := web(3, "v1", counted(3, 3, int32(test.available), int32(test.available), *test.present), func(d *appsv1.Deployment) {
				d.Annotations[RevisionAnnotation] = revision
			})
			expect(t, name+", revision "+revision, test.present, progressing(stateOf(d, set("v1", 3, test.available))))
		}
	}
}

func TestProgressingReportsTheStateOfARollout(t *testing.T) {
	at := func(status corev1.ConditionStatus, reason, message string, update, transition time.Time) *appsv1.DeploymentCondition {
		return &appsv1.DeploymentCondition{
			Type: appsv1.DeploymentProgressing, Status: status, Reason: reason, Message: message,
			LastUpdateTime: metav1.Time{Time: update}, LastTransitionTime: metav1.Time{Time: transition},
		}
	}
	before, is, is2 := noonPlus(3000), corev1.ConditionTrue, corev1.ConditionUnknown
	unchanged := func(status corev1.ConditionStatus, reason string) *appsv1.DeploymentCondition {
		return at(status, reason, "as it was", before, before)
	}
	for name, test := range map[string]struct {
		d    *Deployment
		sets []*ReplicaSet
		want *appsv1.DeploymentCondition
	}{
		"a new ReplicaSet": {web(3, "v1"), nil, at(is, reasonCreated, `Created new replica set "web-`+hashOf("v1")+`"`, now, now)},
		"a new ReplicaSet, after a complete rollout": {
			web(3, "v2", counted(3, 3, 3, 3, progressed(is, reasonComplete))), []*ReplicaSet{set("v1", 3, 3)},
			at(is, reasonCreated, `Created new replica set "web-`+hashOf("v2")+`"`, now, before),
		},
		"one that was there already": {
			web(3, "v1", counted(3, 3, 2, 2)), []*ReplicaSet{set("v1", 3, 2)}, at(is, reasonFound, `Found new replica set "web-v1"`, now, now),
		},
		"more new pods": {
			web(3, "v2", counted(3, 0, 3, 3, progressed(is, reasonCreated))), []*ReplicaSet{set("v1", 3, 3), set("v2", 1, 0)},
			at(is, reasonProgressed, `ReplicaSet "web-v2" is progressing.`, now, before),
		},
		"fewer old pods": {
			web(3, "v2", counted(4, 1, 3, 3, progressed(is, reasonProgressed))), []*ReplicaSet{set("v1", 2, 2), set("v2", 1, 0)},
			at(is, reasonProgressed, `ReplicaSet "web-v2" is progressing.`, now, before),
		},
		"more ready ones": {
			web(3, "v2", counted(4, 1, 2, 3, progressed(is, reasonProgressed))), []*ReplicaSet{set("v1", 3, 3), set("v2", 1, 0)},
			at(is, reasonProgressed, `ReplicaSet "web-v2" is progressing.`, now, before),
		},
		"more available ones": {
			web(3, "v2", counted(4, 1, 4, 3, progressed(is, reasonProgressed))), []*ReplicaSet{set("v1", 3, 3), set("v2", 1, 1)},
			at(is, reasonProgressed, `ReplicaSet "web-v2" is progressing.`, now, before),
		},
		"no progress": {
			web(3, "v2", counted(4, 1, 3, 3, progressed(is, reasonProgressed))), []*ReplicaSet{set("v1", 3, 3), set("v2", 1, 0)},
			unchanged(is, reasonProgressed),
		},
		"no progress, but fewer are ready": {
			web(3, "v2", counted(4, 1, 3, 3, progressed(is, reasonProgressed))), []*ReplicaSet{set("v1", 3, 2), set("v2", 1, 0)},
			unchanged(is, reasonProgressed),
		},
		"complete": {
			web(3, "v2", counted(3, 3, 3, 2, progressed(is, reasonProgressed))), []*ReplicaSet{set("v1", 0, 0), set("v2", 3, 3)},
			at(is, reasonComplete, `ReplicaSet "web-v2" has successfully progressed.`, now, before),
		},
		"complete, without pods": {
			web(0, "v1", counted(0, 0, 0, 0, progressed(is, reasonCreated))), []*ReplicaSet{set("v1", 0, 0)},
			at(is, reasonComplete, `ReplicaSet "web-v1" has successfully progressed.`, now, before),
		},
		"complete already": {
			web(3, "v2", counted(3, 3, 3, 3, condition(appsv1.DeploymentProgressing, is, reasonComplete, `ReplicaSet "web-v2" has successfully progressed.`, 3000))),
			[]*ReplicaSet{set("v2", 3, 3)},
			at(is, reasonComplete, `ReplicaSet "web-v2" has successfully progressed.`, before, before),
		},
		"complete at once, after another": {
			web(3, "v2", counted(3, 3, 3, 3, progressed(is, reasonComplete))), []*ReplicaSet{set("v2", 3, 3)},
			at(is, reasonComplete, `ReplicaSet "web-v2" has successfully progressed.`, now, before),
		},
		"complete, then a pod fails, which is no rollout": {
			web(3, "v2", counted(3, 3, 3, 3, progressed(is, reasonComplete))), []*ReplicaSet{set("v2", 3, 2)}, unchanged(is, reasonComplete),
		},
		"complete, then scaled, which is no rollout": {
			web(5, "v2", counted(3, 3, 3, 3, progressed(is, reasonComplete))), []*ReplicaSet{set("v2", 5, 3)}, unchanged(is, reasonComplete),
		},
		"Recreate stops the old pods, and there is no new one yet": {
			web(3, "v2", recreated, counted(3, 3, 3, 3, progressed(is, reasonComplete))), []*ReplicaSet{set("v1", 3, 3)}, unchanged(is, reasonComplete),
		},
		"Recreate sees the first of the old pods go": {
			web(3, "v2", recreated, counted(3, 0, 3, 3, progressed(is, reasonComplete))), []*ReplicaSet{set("v1", 0, 0, func(rs *ReplicaSet) { rs.Existing = 2 })},
			at(is, reasonProgressed, `Deployment "web" is progressing.`, now, before),
		},
		"Recreate sees all of the old pods go": {
			web(3, "v2", recreated, counted(3, 0, 3, 3, progressed(is, reasonComplete))), []*ReplicaSet{set("v1", 0, 0)},
			at(is, reasonProgressed, `ReplicaSet "web-`+hashOf("v2")+`" is progressing.`, now, before),
		},
		"paused": {
			web(3, "v2", paused, counted(3, 3, 3, 3, progressed(is, reasonComplete))), []*ReplicaSet{set("v2", 3, 3)},
			at(is2, reasonPaused, "Deployment is paused", now, now),
		},
		"paused already": {
			web(3, "v2", paused, counted(3, 3, 3, 3, progressed(is2, reasonPaused))), []*ReplicaSet{set("v2", 3, 3)}, unchanged(is2, reasonPaused),
		},
		"resumed, with nothing left to do": {
			web(3, "v2", counted(3, 3, 3, 3, progressed(is2, reasonPaused))), []*ReplicaSet{set("v2", 3, 3)},
			at(is, reasonComplete, `ReplicaSet "web-v2" has successfully progressed.`, now, now),
		},
		"resumed, in the middle": {
			web(3, "v2", counted(4, 1, 3, 3, progressed(is2, reasonPaused))), []*ReplicaSet{set("v1", 3, 3), set("v2", 1, 0)},
			at(is2, reasonResumed, "Deployment is resumed", now, before),
		},
		"paused after it timed out": {
			web(3, "v2", paused, counted(4, 1, 3, 3, progressed(corev1.ConditionFalse, ReasonTimedOut))), []*ReplicaSet{set("v1", 3, 3), set("v2", 1, 0)},
			unchanged(corev1.ConditionFalse, ReasonTimedOut),
		},
		"no deadline, no condition": {
			web(3, "v2", withDeadline(math.MaxInt32), counted(4, 1, 3, 3, progressed(is, reasonProgressed))), []*ReplicaSet{set("v1", 3, 3), set("v2", 1, 0)}, nil,
		},
		"no deadline, created": {web(3, "v1", func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = nil }), nil, nil},
		"no deadline, paused":  {web(3, "v1", withDeadline(math.MaxInt32), paused), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateOf(test.d, test.sets...)
			expect(t, "condition", test.want, progressing(s))
		})
	}
}

func TestARolloutThatMakesNoProgressExceedsItsDeadline(t *testing.T) {
	stuck := []*ReplicaSet{set("v1", 3, 3), set("v2", 1, 0)}
	// The last progress was at 3000 seconds.
	for name, test := range map[string]struct {
		d       *Deployment
		sets    []*ReplicaSet
		seconds float64 // after noon
		exceeds bool
		wake    time.Time
	}{
		"in time":              {web(3, "v2", counted(4, 1, 3, 3, progressed(corev1.ConditionTrue, reasonProgressed))), stuck, 3001, false, noonPlus(3601)},
		"just in time":         {web(3, "v2", counted(4, 1, 3, 3, progressed(corev1.ConditionTrue, reasonProgressed))), stuck, 3600, false, noonPlus(3601)},
		"too late":             {web(3, "v2", counted(4, 1, 3, 3, progressed(corev1.ConditionTrue, reasonProgressed))), stuck, 3601, true, time.Time{}},
		"much too late":        {web(3, "v2", counted(4, 1, 3, 3, progressed(corev1.ConditionTrue, reasonProgressed))), stuck, 1e6, true, time.Time{}},
		"exceeded already":     {web(3, "v2", counted(4, 1, 3, 3, progressed(corev1.ConditionFalse, ReasonTimedOut))), stuck, 5000, true, time.Time{}},
		"since it was created": {web(3, "v2", counted(4, 1, 3, 3, progressed(corev1.ConditionTrue, reasonCreated))), stuck, 3601, true, time.Time{}},
		"since it was resumed": {web(3, "v2", counted(4, 1, 3, 3, progressed(corev1.ConditionUnknown, reasonResumed))), stuck, 3601, true, time.Time{}},
		"since it was found":   {web(3, "v2", counted(4, 1, 3, 3, progressed(corev1.ConditionTrue, reasonFound))), stuck, 3300, false, noonPlus(3601)},
		"a shorter one":        {web(3, "v2", withDeadline(1), counted(4, 1, 3, 3, progressed(corev1.ConditionTrue, reasonProgressed))), stuck, 3002, true, time.Time{}},
		"one in the past":      {web(3, "v2", withDeadline(-5), counted(4, 1, 3, 3, progressed(corev1.ConditionTrue, reasonProgressed))), stuck, 3000, true, time.Time{}},
		"the longest":          {web(3, "v2", withDeadline(math.MaxInt32-1), counted(4, 1, 3, 3, progressed(corev1.ConditionTrue, reasonProgressed))), stuck, 1e6, false, noonPlus(3000 + math.MaxInt32)},
		"paused":               {web(3, "v2", paused, counted(4, 1, 3, 3, progressed(corev1.ConditionUnknown, reasonPaused))), stuck, 1e6, false, time.Time{}},
		"complete":             {web(3, "v2", counted(3, 3, 3, 3, progressed(corev1.ConditionTrue, reasonComplete))), []*ReplicaSet{set("v2", 3, 3)}, 1e6, false, time.Time{}},
		"one pod failed later": {web(3, "v2", counted(3, 3, 3, 3, progressed(corev1.ConditionTrue, reasonComplete))), []*ReplicaSet{set("v2", 3, 2)}, 1e6, false, time.Time{}},
		"being deleted": {web(3, "v2", func(d *appsv1.Deployment) { d.DeletionTimestamp = &metav1.Time{Time: noon} },
			counted(4, 1, 3, 3, progressed(corev1.ConditionTrue, reasonProgressed))), stuck, 1e6, false, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateOf(test.d, test.sets...)
			s.Now = noonPlus(test.seconds)
			_, wake := Plan(s)
			if !wake.Equal(test.wake) {
				t.Errorf("wake at %s, want %s", wake, test.wake)
			}
			got := progressing(s)
			if exceeds := got.Reason == ReasonTimedOut && got.Status == corev1.ConditionFalse; exceeds != test.exceeds {
				t.Errorf("condition %+v", got)
			}
		})
	}
}

func TestARolloutRecoversFromItsDeadlineByProgress(t *testing.T) {
	s := stateOf(web(3, "v2", counted(4, 1, 3, 3, progressed(corev1.ConditionFalse, ReasonTimedOut))), set("v1", 3, 3), set("v2", 1, 1))
	expect(t, "condition", &appsv1.DeploymentCondition{
		Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: reasonProgressed, Message: `ReplicaSet "web-v2" is progressing.`,
		LastUpdateTime: metav1.Time{Time: now}, LastTransitionTime: metav1.Time{Time: now},
	}, progressing(s))
}

func TestTheMessageOfATimeoutNamesTheReplicaSet(t *testing.T) {
	s := stateOf(web(3, "v2", counted(4, 1, 3, 3, progressed(corev1.ConditionTrue, reasonProgressed))), set("v1", 3, 3), set("v2", 1, 0))
	s.Now = noonPlus(4000)
	expect(t, "condition", &appsv1.DeploymentCondition{
		Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: ReasonTimedOut, Message: `ReplicaSet "web-v2" has timed out progressing.`,
		LastUpdateTime: metav1.Time{Time: s.Now}, LastTransitionTime: metav1.Time{Time: s.Now},
	}, progressing(s))
	s = stateOf(web(3, "v2", recreated, counted(1, 0, 0, 0, progressed(corev1.ConditionTrue, reasonProgressed))), set("v1", 0, 0, func(rs *ReplicaSet) { rs.Existing = 1 }))
	s.Now = noonPlus(4000)
	if got := progressing(s).Message; got != `Deployment "web" has timed out progressing.` {
		t.Errorf("message %s", got)
	}
}

func TestAFailureOfAReplicaSetIsPassedOn(t *testing.T) {
	failing := func(reason string) func(*ReplicaSet) {
		return func(rs *ReplicaSet) {
			rs.Failure = &appsv1.ReplicaSetCondition{
				Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: reason, Message: "exceeded quota",
				LastTransitionTime: metav1.Time{Time: noonPlus(3333)},
			}
		}
	}
	failure := func(reason string) *appsv1.DeploymentCondition {
		c := condition(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, reason, "exceeded quota", 3333)
		return &c
	}
	present := condition(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate", "exceeded quota", 3333)
	for name, test := range map[string]struct {
		d    *Deployment
		sets []*ReplicaSet
		want *appsv1.DeploymentCondition
	}{
		"none":                             {web(3, "v2"), []*ReplicaSet{set("v1", 3, 3), set("v2", 1, 0)}, nil},
		"of the new one":                   {web(3, "v2"), []*ReplicaSet{set("v1", 3, 3), set("v2", 1, 0, failing("FailedCreate"))}, failure("FailedCreate")},
		"of an old one":                    {web(3, "v2"), []*ReplicaSet{set("v1", 3, 3, failing("FailedDelete")), set("v2", 1, 0)}, failure("FailedDelete")},
		"of both, the new one is reported": {web(3, "v2"), []*ReplicaSet{set("v1", 3, 3, failing("FailedDelete")), set("v2", 1, 0, failing("FailedCreate"))}, failure("FailedCreate")},
		"of two old ones, the oldest":      {web(3, "v3"), []*ReplicaSet{set("v2", 3, 3, failing("FailedCreate")), set("v1", 3, 3, failing("FailedDelete"))}, failure("FailedDelete")},
		"it is over":                       {web(3, "v2", counted(4, 1, 3, 3, present)), []*ReplicaSet{set("v1", 3, 3), set("v2", 1, 0)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "condition", test.want, conditionOf(stateOf(test.d, test.sets...), appsv1.DeploymentReplicaFailure))
		})
	}
}

func TestConditionsKeepTheirOrder(t *testing.T) {
	reasons := func(s *State) (list []string) {
		for _, c := range statusOf(s).Conditions {
			list = append(list, c.Reason)
		}
		return list
	}
	unavailable := condition(appsv1.DeploymentAvailable, corev1.ConditionFalse, reasonUnavailable, "", 3000)
	created := progressed(corev1.ConditionTrue, reasonCreated)
	for name, test := range map[string]struct {
		s    *State
		want []string
	}{
		"created": {stateOf(web(3, "v1")), []string{reasonCreated, reasonUnavailable}},
		"only one changes": {
			stateOf(web(3, "v1", counted(0, 0, 0, 0, created, unavailable)), set("v1", 3, 0)), []string{reasonUnavailable, reasonProgressed},
		},
		"both change": {
			stateOf(web(3, "v1", counted(3, 3, 0, 0, unavailable, created)), set("v1", 3, 3)), []string{reasonAvailable, reasonComplete},
		},
		"neither changes": {
			stateOf(web(3, "v1", counted(9, 0, 0, 0, unavailable, progressed(corev1.ConditionTrue, reasonComplete))), set("v1", 9, 0), set("v2", 1, 0)),
			[]string{reasonUnavailable, reasonProgressed},
		},
		"a stranger's stays": {
			stateOf(web(3, "v1", counted(3, 3, 0, 0, condition("Strange", corev1.ConditionTrue, "Strange", "", 1))), set("v1", 3, 3)),
			[]string{"Strange", reasonAvailable, reasonComplete},
		},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "reasons", test.want, reasons(test.s))
		})
	}
}

func TestAvailabilityIsTheWantedMinimum(t *testing.T) {
	for name, test := range map[string]struct {
		d         *Deployment
		available int64
		want      corev1.ConditionStatus
	}{
		"all of 10":                        {web(10, "v1", withLimits("3", "2")), 10, corev1.ConditionTrue},
		"as many as may be unavailable":    {web(10, "v1", withLimits("3", "2")), 8, corev1.ConditionTrue},
		"one less":                         {web(10, "v1", withLimits("3", "2")), 7, corev1.ConditionFalse},
		"Recreate wants all":               {web(10, "v1", recreated), 9, corev1.ConditionFalse},
		"Recreate has all":                 {web(10, "v1", recreated), 10, corev1.ConditionTrue},
		"none wanted":                      {web(0, "v1"), 0, corev1.ConditionTrue},
		"all may be unavailable":           {web(3, "v1", withLimits("0", "100%")), 0, corev1.ConditionTrue},
		"more may be unavailable than are": {web(3, "v1", withLimits("0", "7")), 0, corev1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			got := conditionOf(stateOf(test.d, set("v1", test.d.Replicas, test.available)), appsv1.DeploymentAvailable)
			if got.Status != test.want {
				t.Errorf("status %s", got.Status)
			}
		})
	}
}

// What the API server stores must equal what was written, or it would be written
// again.
func TestConditionsAreStampedWithWholeSeconds(t *testing.T) {
	s := stateOf(web(3, "v1"))
	s.Now = now.Add(987654321)
	for _, c := range statusOf(s).Conditions {
		if diff := cmp.Diff(metav1.Time{Time: now}, c.LastUpdateTime); diff != "" {
			t.Error(diff)
		}
	}
}

func TestConditionsKeepTheTimeOfTheirLastTransition(t *testing.T) {
	first, second := noonPlus(10), noonPlus(20)
	c := newConditions(first, nil)
	c.set(appsv1.DeploymentProgressing, corev1.ConditionTrue, "A", "a")
	present := c.list
	c = newConditions(second, present)
	c.set(appsv1.DeploymentProgressing, corev1.ConditionTrue, "A", "another message")
	expect(t, "set again", present, c.list)
	c.renewProgress("A", "renewed")
	renewed := []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "A", Message: "renewed",
		LastUpdateTime: metav1.Time{Time: second}, LastTransitionTime: metav1.Time{Time: first},
	}}
	expect(t, "renewed", renewed, c.list)
	c.set(appsv1.DeploymentProgressing, corev1.ConditionFalse, "B", "b")
	renewed[0] = appsv1.DeploymentCondition{
		Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "B", Message: "b",
		LastUpdateTime: metav1.Time{Time: second}, LastTransitionTime: metav1.Time{Time: second},
	}
	expect(t, "another status", renewed, c.list)
	if present[0].Message != "a" || present[0].Reason != "A" {
		t.Error("the conditions that were there were modified")
	}
}

// A scaling writes the numbers of pods with which the next plan compares.
func TestAScalingHidesNoProgress(t *testing.T) {
	late := condition(appsv1.DeploymentProgressing, corev1.ConditionFalse, ReasonTimedOut, `ReplicaSet "web-v2" has timed out progressing.`, 10)
	s := stateOf(web(4, "v2", counted(8, 4, 4, 4, late)), set("v1", 2, 2, sized("6", "8")), set("v2", 4, 0, sized("6", "8")))
	expect(t, "message", `ReplicaSet "web-v2" is progressing.`, progressing(s).Message)
}

func TestALongDenialOfPodsIsCutInTheConditionOfTheDeployment(t *testing.T) {
	for denial, want := range map[string]string{
		"no quota":                              "no quota",
		"no quota" + strings.Repeat("x", 1<<20): "no quota" + strings.Repeat("x", 4082) + " [cut]",
	} {
		rs := NewReplicaSet(&appsv1.ReplicaSet{Status: appsv1.ReplicaSetStatus{Conditions: []appsv1.ReplicaSetCondition{{
			Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: denial,
		}}}})
		p := plan{newRS: &member{ReplicaSet: rs}, conditions: newConditions(noon, nil)}
		p.noteReplicaFailure()
		expect(t, "message", want, p.conditions.get(appsv1.DeploymentReplicaFailure).Message)
	}
}
