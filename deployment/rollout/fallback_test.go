package rollout

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/internal/origin"
	"kubernetes-deployment-restart-controller/internal/podsight"
)

// The golden scripts play whole releases. The tests here are about what they do not reach.

// asking makes the Deployment ask to fall back. It keeps other annotations.
func asking(d *appsv1.Deployment) { d.Annotations[onFailureAnnotation] = fallBack }

// retrying sets the annotation that asks for another attempt.
func retrying(value string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Annotations[retryAnnotation] = value }
}

// ended notes how a ReplicaSet ended. Without a UID, that of the ReplicaSet is meant.
func ended(rs *ReplicaSet, o outcome) *ReplicaSet {
	if o.UID == "" {
		o.UID = rs.UID
	}
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	rs.Annotations[outcomeAnnotation] = string(text)
	return rs
}

func complete(rs *ReplicaSet, order int64) *ReplicaSet {
	return ended(rs, outcome{Ended: completed, Order: order})
}

func broken(rs *ReplicaSet, order int64) *ReplicaSet {
	return ended(rs, outcome{Ended: failed, Order: order, Attempt: 1, Cause: FailedByCrash, Why: "it crashes"})
}

// since sets the last status: the ReplicaSet of the image has made progress for the last time some seconds before now.
func since(image string, seconds float64) func(*appsv1.Deployment) {
	return progressedBy(reasonProgressed, image, seconds)
}

func progressedBy(reason, image string, seconds float64) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Annotations[RevisionAnnotation] = strings.TrimPrefix(image, "v")
		d.Status.Conditions = []appsv1.DeploymentCondition{
			condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, reason, fmt.Sprintf("ReplicaSet %q is progressing.", "web-"+image), 3600-seconds),
		}
	}
}

// tried is a release of v2 amid its rollout, of which something was seen.
func tried(t Trial, changes ...func(*appsv1.Deployment)) *State {
	s := stateOf(web(3, "v2", append([]func(*appsv1.Deployment){asking, since("v2", 20)}, changes...)...), complete(set("v1", 2, 2), 1), set("v2", 2, 1))
	t.Of = s.ReplicaSets[1].UID
	if t.Attempt == 0 {
		t.Attempt = 1
	}
	s.Trial = &t
	return s
}

// sight is what one pod shows.
func sight(condition podsight.Condition, reason string, seconds float64) Finding {
	return Finding{podsight.Sight{Condition: condition, Reason: reason, Pod: "web-v2-0", Container: "app", Since: now.Add(-time.Duration(seconds * float64(time.Second)))}}
}

// seen is a look some seconds ago.
func seen(worst Finding, seconds float64) Trial {
	return Trial{Look: Look{At: now.Add(-time.Duration(seconds * float64(time.Second))), Worst: worst}}
}

// failureOf returns why a plan says that a release has failed, empty if it does not.
func failureOf(s *State) FailureCause {
	actions, _ := Plan(s)
	for _, action := range actions {
		if update, isUpdate := action.(UpdateReplicaSet); isUpdate && update.FailedBy != "" {
			return update.FailedBy
		}
	}
	return ""
}

func TestWhatARecentLookShowsDecidesWhetherAReleaseHasFailed(t *testing.T) {
	crash := sight(podsight.Broken, "CrashLoopBackOff", 0)
	config := sight(podsight.Broken, "CreateContainerConfigError", 0)
	hanging, image := sight(podsight.Hanging, "it hangs", 700), sight(podsight.Blocked, "ImagePullBackOff", 700)
	overdue, timedOut := since("v2", 620), progressedBy(ReasonTimedOut, "v2", 20)
	for name, test := range map[string]struct {
		trial   Trial
		changes []func(*appsv1.Deployment)
		want    FailureCause
	}{
		"no look":                                  {Trial{}, nil, ""},
		"a crash":                                  {seen(crash, 0), nil, FailedByCrash},
		"a crash, seen as long ago as counts":      {seen(crash, 15), nil, FailedByCrash},
		"a crash, seen too long ago":               {seen(crash, 15.1), nil, ""},
		"a crash, seen in a look that took long":   {Trial{Look: Look{At: now.Add(-time.Minute), Took: time.Minute, Worst: crash}}, nil, FailedByCrash},
		"a crash in another attempt":               {Trial{Attempt: 2, Look: Look{At: now, Worst: crash}}, nil, ""},
		"a config is missing":                      {seen(config, 0), nil, FailedByConfig},
		"the config of a pod that cannot start":    {seen(sight(podsight.Blocked, "CreateContainerConfigError", 0), 0), []func(*appsv1.Deployment){overdue}, ""},
		"not ready in time":                        {seen(hanging, 0), nil, ""},
		"not ready past the deadline":              {seen(hanging, 0), []func(*appsv1.Deployment){overdue}, FailedUnready},
		"not ready past the deadline, reported":    {seen(hanging, 0), []func(*appsv1.Deployment){timedOut}, FailedUnready},
		"not ready, seen before the deadline":      {Trial{Look: Look{At: now.Add(-21 * time.Second), Took: time.Minute, Worst: hanging}}, []func(*appsv1.Deployment){timedOut}, ""},
		"not ready, but the report is of another":  {seen(hanging, 0), []func(*appsv1.Deployment){progressedBy(ReasonTimedOut, "v1", 20)}, ""},
		"not ready, and has not had its time":      {seen(sight(podsight.Hanging, "it hangs", 599), 0), []func(*appsv1.Deployment){overdue}, ""},
		"not ready, and has just had its time":     {seen(sight(podsight.Hanging, "it hangs", 600), 0), []func(*appsv1.Deployment){overdue}, FailedUnready},
		"no image in time":                         {seen(image, 0), nil, ""},
		"no image past the deadline":               {seen(image, 0), []func(*appsv1.Deployment){overdue}, FailedByImage},
		"no node past the deadline":                {seen(sight(podsight.Blocked, "Unschedulable", 700), 0), []func(*appsv1.Deployment){overdue}, ""},
		"not started past the deadline":            {seen(sight(podsight.Unstarted, "it waits", 700), 0), []func(*appsv1.Deployment){overdue}, ""},
		"fine past the deadline":                   {seen(Finding{}, 0), []func(*appsv1.Deployment){overdue}, ""},
		"it has failed, and no note of it is left": {Trial{Failed: FailedByImage}, nil, FailedByImage},
	} {
		if got := failureOf(tried(test.trial, test.changes...)); got != test.want {
			t.Errorf("%s: failed by %q, want %q", name, got, test.want)
		}
	}
}

func TestOnlyAReleaseThatMayFallBackFails(t *testing.T) {
	crash := seen(sight(podsight.Broken, "CrashLoopBackOff", 0), 0)
	for name, change := range map[string]func(*State){
		"another value": func(s *State) {
			s.Deployment = web(3, "v2", annotated(map[string]string{onFailureAnnotation: "Fall-back"}))
		},
		"no deadline":          func(s *State) { s.Deployment.ProgressDeadline = nil },
		"a backup":             func(s *State) { s.IsBackup = true },
		"nothing to run":       func(s *State) { delete(s.ReplicaSets[0].Annotations, outcomeAnnotation) },
		"it is being deleted":  func(s *State) { s.Deployment.Deleting = true },
		"it is paused":         func(s *State) { s.Deployment.Paused = true },
		"what would run goes":  func(s *State) { s.ReplicaSets[0].Deleting = true },
		"another one was seen": func(s *State) { s.Trial.Of = "uid-of-another" },
		"a copy of an outcome": func(s *State) {
			ended(s.ReplicaSets[0], outcome{UID: "uid-of-another", Ended: completed, Order: 1})
		},
	} {
		s := tried(crash)
		change(s)
		if got := failureOf(s); got != "" {
			t.Errorf("%s: failed by %s", name, got)
		}
	}
	if got := failureOf(tried(crash)); got != FailedByCrash {
		t.Errorf("failed by %q: the cases above prove nothing", got)
	}
}

func TestAnOutcomeThatTheEngineDidNotWriteSaysNothing(t *testing.T) {
	rs := set("v1", 0, 0)
	long := strings.Repeat("x", longestWhy)
	for name, test := range map[string]struct {
		text string
		want outcome
	}{
		"whole":                      {`{"uid":"uid-of-web-v1","ended":"failed","order":3,"attempt":2,"cause":"image","why":"a\nb"}`, outcome{UID: rs.UID, Ended: failed, Order: 3, Attempt: 2, Cause: FailedByImage, Why: "a b"}},
		"none":                       {"", outcome{}},
		"of another ReplicaSet":      {`{"uid":"uid-of-web-v2","ended":"completed","order":3}`, outcome{}},
		"of none":                    {`{"ended":"completed","order":3}`, outcome{}},
		"a negative order":           {`{"uid":"uid-of-web-v1","ended":"completed","order":-1}`, outcome{}},
		"a negative attempt":         {`{"uid":"uid-of-web-v1","ended":"failed","order":3,"attempt":-1}`, outcome{}},
		"an order that may run over": {`{"uid":"uid-of-web-v1","ended":"completed","order":2147483647}`, outcome{}},
		"an attempt that may":        {`{"uid":"uid-of-web-v1","ended":"failed","attempt":2147483647}`, outcome{}},
		"the longest reason":         {`{"uid":"uid-of-web-v1","order":1,"why":"` + long + `"}`, outcome{UID: rs.UID, Order: 1, Why: long}},
		"too long a reason":          {`{"uid":"uid-of-web-v1","order":1,"why":"` + long + `x"}`, outcome{}},
		"too long":                   {`{"uid":"uid-of-web-v1","order":1}` + strings.Repeat(" ", longestOutcome), outcome{}},
		"no JSON":                    {`completed`, outcome{}},
		"JSON of another kind":       {`["completed"]`, outcome{}},
	} {
		rs.Annotations[outcomeAnnotation] = test.text
		m := &member{ReplicaSet: rs}
		expect(t, name, test.want, m.outcome())
	}
}

// Whoever may write the status of a pod decides what it shows.
func TestWhatIsNotedOfAFailureCanBeRead(t *testing.T) {
	s := tried(seen(sight(podsight.Broken, strings.Repeat("long", 1000), 0), 0))
	p := newPlan(s)
	p.judge()
	if got := p.newRS.outcome(); got.Ended != failed || !strings.HasPrefix(got.Why, "container app of pod web-v2-0: long") || len(got.Why) > longestWhy {
		t.Errorf("noted %+v, which reads %+v", p.newRS.changes, got)
	}
}

func TestTheLatestOutcomeOfATemplateCounts(t *testing.T) {
	for name, test := range map[string]struct {
		v1, v2 *ReplicaSet
		want   bool
	}{
		"v1 completed, then v2 failed": {complete(set("v1", 3, 3), 1), broken(set("v2", 0, 0), 2), true},
		"v2 failed, then v1 completed": {complete(set("v1", 3, 3), 3), broken(set("v2", 0, 0), 2), false},
		"v2 is tried again":            {complete(set("v1", 3, 3), 1), ended(set("v2", 0, 0), outcome{Order: 3, Attempt: 2}), false},
		"v1 failed, too":               {broken(set("v1", 3, 3), 1), broken(set("v2", 0, 0), 2), false},
		"v1 is being deleted":          {complete(set("v1", 3, 3, func(rs *ReplicaSet) { rs.Deleting = true }), 1), broken(set("v2", 0, 0), 2), false},
	} {
		p := newPlan(stateOf(web(3, "v2", asking), test.v1, test.v2))
		if p.isFallenBack() != test.want {
			t.Errorf("%s: fallen back: %t", name, p.isFallenBack())
		}
		if test.want && (p.target.Name != "web-v1" || len(p.others) != 1 || p.others[0].Name != "web-v2") {
			t.Errorf("%s: %s is to have all the pods, and %d others go", name, p.target.Name, len(p.others))
		}
	}
	// The status says that v2 completed after it had failed, whatever became of its pods and of a note.
	if newPlan(stateOf(web(3, "v2", asking, progressedBy(reasonComplete, "v2", 20)), complete(set("v1", 0, 0), 1), broken(set("v2", 3, 0), 2))).isFallenBack() {
		t.Error("what completed since is fallen back")
	}
	// A restart of what completed last does not fall back, although its template failed later: what completed in between is gone.
	restarted := broken(set("v3", 0, 0), 5)
	restarted.Bare = web(3, "v2").Bare
	d := new(*web(3, "v3", asking))
	d.Bare = restarted.Bare
	if newPlan(stateOf(d, complete(set("v2", 3, 3), 3), restarted)).isFallenBack() {
		t.Error("a restart of what completed last is fallen back")
	}
	// Of all that completed, the last one runs.
	p := newPlan(stateOf(web(3, "v3", asking), complete(set("v1", 0, 0), 5), complete(set("v2", 3, 3), 2), broken(set("v3", 0, 0), 6)))
	if p.target.Name != "web-v1" {
		t.Errorf("%s runs", p.target.Name)
	}
}

func TestTheStatusNamesWhatCompletedBeforeAnybodyAsked(t *testing.T) {
	status := func(existing, updated, available int32, reason, image string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			progressedBy(reason, image, 20)(d)
			d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas = existing, updated, available
		}
	}
	for name, test := range map[string]struct {
		last func(*appsv1.Deployment)
		want string
	}{
		"complete":                           {status(3, 3, 3, reasonComplete, "v1"), "web-v1"},
		"complete, and one was missing":      {status(3, 3, 2, reasonComplete, "v1"), "web-v1"},
		"complete with no pods":              {status(0, 0, 0, reasonComplete, "v1"), ""},
		"complete, and none was available":   {status(3, 3, 0, reasonComplete, "v1"), ""},
		"another rollout has begun since":    {status(4, 1, 3, reasonComplete, "v1"), ""},
		"not complete":                       {status(3, 3, 3, reasonProgressed, "v1"), ""},
		"complete, but of one that was lost": {status(3, 3, 3, reasonComplete, "v7"), ""},
	} {
		p := newPlan(stateOf(web(3, "v2", asking, test.last), set("v1", 3, 3)))
		got := ""
		if p.release.last != nil {
			got = p.release.last.Name
		}
		if got != test.want {
			t.Errorf("%s: %q completed, want %q", name, got, test.want)
		}
	}
}

func TestWhatCompletedBeforeIsNotedOnce(t *testing.T) {
	d := web(3, "v1", asking, progressedBy(reasonComplete, "v1", 20), func(d *appsv1.Deployment) {
		d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas = 3, 3, 3
	})
	for name, test := range map[string]struct {
		noted outcome
		want  int64
	}{
		"nothing is":    {outcome{}, 3},
		"it is":         {outcome{Ended: completed, Order: 3}, 3},
		"another is":    {outcome{Ended: completed, Order: 1}, 3},
		"it had failed": {outcome{Ended: failed, Order: 3, Attempt: 1}, 4},
	} {
		p := newPlan(stateOf(d, ended(set("v1", 3, 3), test.noted), broken(set("v2", 0, 0), 2)))
		if got := p.newRS.outcome(); got.Ended != completed || got.Order != test.want {
			t.Errorf("%s: %+v, want the order %d", name, got, test.want)
		}
	}
}

func TestADeploymentThatIsBeingDeletedNotesNothing(t *testing.T) {
	for name, isDeleted := range map[string]bool{"deleted": true, "not deleted": false} {
		d := web(3, "v1", asking, progressedBy(reasonComplete, "v1", 20), func(d *appsv1.Deployment) {
			d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas = 3, 3, 3
		})
		d.Deleting = isDeleted
		isNoted := slices.ContainsFunc(orders(stateOf(d, set("v1", 3, 3))), func(order string) bool { return strings.Contains(order, "outcome") })
		if isNoted == isDeleted {
			t.Errorf("%s: noted: %t", name, isNoted)
		}
	}
}

func TestARetryNamesAReplicaSetOfTheReleaseAndAnAttempt(t *testing.T) {
	for value, want := range map[string]int64{
		"":                        0,
		"web-v2":                  0,
		"web-v2/":                 0,
		"web-v2/0":                0,
		"web-v2/2":                2,
		"web-v2/007":              7,
		"web-v2/1073741823":       1073741823,
		"web-v2/1073741824":       0,
		"web-v2/-2":               0,
		"web-v2/2/3":              0,
		"web-v2/ 2":               0,
		"web-v1/2":                0,
		"web-v9/2":                0,
		"web-v2-12-00/2":          2,
		"/2":                      0,
		"ns/web-v2/2":             0,
		"web-v2/two":              0,
		"web-v2/9999999999999999": 0,
	} {
		restarted := set("v2", 0, 0)
		restarted.Name, restarted.UID, restarted.Sum[0] = "web-v2-12-00", "uid-of-web-v2-12-00", 7
		p := newPlan(stateOf(web(3, "v2", asking, retrying(value)), complete(set("v1", 3, 3), 1), broken(set("v2", 0, 0), 2), restarted))
		if got := p.asked(); got != want {
			t.Errorf("%s asks for attempt %d, want %d", value, got, want)
		}
		if want > 1 == p.isFallenBack() {
			t.Errorf("%s: fallen back: %t", value, p.isFallenBack())
		}
	}
}

func TestARetryIsKeptInTheWriteThatGrowsTheRelease(t *testing.T) {
	s := stateOf(web(3, "v2", asking, retrying("web-v2/2"), progressedBy(ReasonTimedOut, "v2", 20)), complete(set("v1", 3, 3), 1), broken(set("v2", 0, 0), 2))
	expect(t, "orders", []string{`scale replicaset web-v2 from 0 to 1, annotation com.xing.deployment-restart.on-failure, com.xing.deployment-restart.outcome {"uid":"uid-of-web-v2","order":3,"attempt":2}`}, orders(s))
}

// What is noted needs a ReplicaSet, so one of a restart comes first, without pods.
func TestARetryWaitsForTheReplicaSetOfItsRestart(t *testing.T) {
	restarted := func(d *appsv1.Deployment) {
		d.Spec.Template.Annotations = map[string]string{origin.RestartedAt: "now"}
	}
	s := stateOf(web(3, "v2", asking, restarted, retrying("web-v2/2"), since("v2", 5)), complete(set("v1", 3, 3), 1), broken(set("v2", 0, 0), 2))
	if first := orders(s)[0]; !strings.HasPrefix(first, "create replicaset web-") || !strings.Contains(first, " with 0,") {
		t.Error(first)
	}
}

// Nothing but the annotation remains of a ReplicaSet that somebody deleted.
func TestAnAttemptThatWasAskedForIsNotAskedForAgain(t *testing.T) {
	for name, test := range map[string]struct {
		noted outcome
		retry string
		want  int64
	}{
		"the first":                              {outcome{}, "", 1},
		"the second, asked for":                  {outcome{Order: 3, Attempt: 2}, "web-v2/2", 2},
		"the third, since another completed":     {outcome{Ended: failed, Order: 0, Attempt: 2}, "web-v2/2", 3},
		"it was asked for, and nothing is noted": {outcome{}, "web-v2/2", 2},
		"it had completed in the third":          {outcome{Ended: completed, Order: 0, Attempt: 3}, "", 3},
		"an earlier one was asked for":           {outcome{Ended: failed, Order: 0, Attempt: 4}, "web-v2/2", 5},
	} {
		p := newPlan(stateOf(web(3, "v2", asking, retrying(test.retry)), complete(set("v1", 3, 3), 1), ended(set("v2", 1, 0), test.noted)))
		if got := p.attempt(); got != test.want {
			t.Errorf("%s: attempt %d, want %d", name, got, test.want)
		}
	}
}

func TestAReleaseIsCompleteOnceALookProvesIt(t *testing.T) {
	ready := Look{At: now, IsLast: true, Ready: 3}
	changed := func(change func(*Look)) Look {
		look := ready
		change(&look)
		return look
	}
	for name, test := range map[string]struct {
		look Look
		want bool
	}{
		"all are ready":                   {ready, true},
		"more are":                        {changed(func(l *Look) { l.Ready = 4 }), true},
		"one is missing":                  {changed(func(l *Look) { l.Ready = 2 }), false},
		"it was just before":              {changed(func(l *Look) { l.IsLast = false }), false},
		"it was long before":              {changed(func(l *Look) { l.At = now.Add(-16 * time.Second) }), false},
		"there was none":                  {Look{}, false},
		"one hangs, and enough are ready": {changed(func(l *Look) { l.Worst = sight(podsight.Hanging, "it hangs", 0) }), true},
	} {
		s := stateOf(web(3, "v2", asking, since("v2", 5)), complete(set("v1", 0, 0), 1), set("v2", 3, 3))
		s.Trial = &Trial{Of: s.ReplicaSets[1].UID, Attempt: 1, Look: test.look}
		isComplete := progressing(s).Reason == reasonComplete
		isNoted := slices.ContainsFunc(orders(s), func(order string) bool {
			return strings.HasPrefix(order, "update replicaset web-v2") && strings.Contains(order, `"ended":"completed","order":2`)
		})
		isLookedAt := slices.Contains(orders(s), "look at the pods of replicaset web-v2")
		if isComplete != test.want || isNoted != test.want {
			t.Errorf("%s: complete: %t, noted: %t, want %t", name, isComplete, isNoted, test.want)
		}
		if isLookedAt && test.want {
			t.Errorf("%s: it is looked at again", name)
		}
	}
}

func TestTheLookBeforeCompletionIsTheLastAction(t *testing.T) {
	s := stateOf(web(3, "v2", asking, since("v2", 5), withHistoryLimit(0)), complete(set("v1", 0, 0), 1), set("v2", 3, 3), set("v3", 0, 0))
	actions, _ := Plan(s)
	look, isLook := actions[len(actions)-1].(LookAtPods)
	if !isLook || look.Target.UID != "uid-of-web-v2" || look.Attempt != 1 || !look.IsLast || look.At != now || look.Found == nil {
		t.Errorf("%+v is the last action of %v", look, actions)
	}
	for _, action := range actions {
		if deletion, isDeletion := action.(DeleteReplicaSet); isDeletion && deletion.Target.Name == "web-v1" {
			t.Error("the way back is deleted")
		}
	}
}

func TestTheConditionSaysWhyAReleaseFailed(t *testing.T) {
	for _, test := range []struct {
		cause  FailureCause
		reason string
	}{
		{FailedByCrash, "ReleaseCrashed"}, {FailedByConfig, "ReleaseLacksConfig"}, {FailedByImage, "ReleaseLacksImage"}, {FailedUnready, "ReleaseNotReady"},
		{"of a later version", "ReleaseCrashed"},
	} {
		s := stateOf(web(3, "v2", asking, since("v2", 5)), complete(set("v1", 3, 3), 1), ended(set("v2", 0, 0), outcome{Ended: failed, Order: 2, Attempt: 4, Cause: test.cause, Why: "of that"}))
		message := `The release of ReplicaSet "web-v2" has failed: of that. ReplicaSet web-v1, which was complete before, runs instead; ` +
			"to keep it, roll back to its revision 1. To try the failed release again, set the annotation com.xing.deployment-restart.retry to web-v2/5."
		fallen, failing := conditionOf(s, conditionFallenBack), progressing(s)
		if fallen == nil || fallen.Status != corev1.ConditionTrue || fallen.Reason != test.reason || fallen.Message != message {
			t.Errorf("%s: %+v", test.cause, fallen)
		}
		if failing.Status != corev1.ConditionFalse || failing.Reason != ReasonTimedOut || failing.Message != message {
			t.Errorf("%s: %+v", test.cause, failing)
		}
	}
}

func TestTheEventSaysThatAConfigDoesNotComeBack(t *testing.T) {
	const sentence = " Within this release, its pods were restarted for the ConfigMap app, whose earlier content does not come back with the earlier release."
	restartedAt := func(at time.Time) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			d.Spec.Template.Annotations = map[string]string{origin.TimestampAnnotation: at.Format(time.RFC3339Nano), origin.CauseAnnotation: "the ConfigMap\napp"}
		}
	}
	earlier := set("v2", 1, 0)
	for name, test := range map[string]struct {
		v1, v2 *ReplicaSet
		at     time.Time
		want   bool
	}{
		"restarted within the release": {complete(set("v1", 2, 2), 1), earlier, earlier.Created.Add(time.Second), true},
		"released with the cause":      {complete(set("v1", 2, 2), 1), set("v4", 0, 0), earlier.Created.Add(time.Second), false},
		"restarted in another release": {complete(set("v4", 2, 2), 1), set("v2", 0, 0), earlier.Created.Add(time.Second), false},
		"restarted before the release": {complete(set("v1", 2, 2), 1), earlier, earlier.Created.Add(-time.Hour), false},
	} {
		d := web(3, "v2", asking, since("v2", 20), restartedAt(test.at))
		latest := set("v3", 1, 0)
		latest.Sum, latest.Bare = d.Sum, d.Bare
		s := stateOf(d, test.v1, test.v2, latest)
		trial := seen(sight(podsight.Broken, "CrashLoopBackOff", 0), 0)
		trial.Of, trial.Attempt = latest.UID, 1
		s.Trial = &trial
		isSaid := slices.ContainsFunc(orders(s), func(order string) bool {
			return strings.HasPrefix(order, "event Warning FellBack: ") && strings.HasSuffix(order, sentence)
		})
		if isSaid != test.want {
			t.Errorf("%s: %t in %q", name, isSaid, orders(s))
		}
	}
}

func TestWhoDoesNotFallBackForgetsHowReleasesEnded(t *testing.T) {
	plain := web(3, "v2")
	for name, test := range map[string]struct {
		change func(*State)
		want   bool
	}{
		"nobody asks":                          {func(*State) {}, true},
		"nobody asks, and it is being deleted": {func(s *State) { s.Deployment.Deleting = true }, false},
		"a backup":                             {func(s *State) { s.Deployment, s.IsBackup = web(3, "v2", asking), true }, true},
		"somebody asks":                        {func(s *State) { s.Deployment = web(3, "v2", asking) }, false},
	} {
		s := stateOf(new(*plain), complete(set("v1", 3, 3), 1), broken(set("v2", 0, 0), 2))
		test.change(s)
		p := newPlan(s)
		for _, m := range p.all() {
			if isForgotten := m.annotation(outcomeAnnotation) == ""; isForgotten != test.want {
				t.Errorf("%s: the outcome of %s is forgotten: %t", name, m.Name, isForgotten)
			}
		}
	}
	s := stateOf(plain, set("v1", 0, 0), set("v2", 3, 3))
	expect(t, "orders where nothing is noted", []string{}, orders(s))
}

func TestTheWayBackIsNeverPruned(t *testing.T) {
	for name, test := range map[string]struct {
		d    *Deployment
		sets []*ReplicaSet
		want []string
	}{
		"complete":             {web(3, "v3", asking, since("v3", 5), withHistoryLimit(0)), []*ReplicaSet{complete(set("v1", 0, 0), 1), set("v2", 0, 0), set("v3", 3, 3)}, []string{"web-v2"}},
		"paused":               {web(3, "v3", asking, since("v3", 5), withHistoryLimit(0), paused), []*ReplicaSet{complete(set("v1", 0, 0), 1), set("v2", 0, 0), set("v3", 3, 3)}, []string{"web-v2"}},
		"nobody asks":          {web(3, "v3", since("v3", 5), withHistoryLimit(0)), []*ReplicaSet{set("v1", 0, 0), set("v2", 0, 0), set("v3", 3, 3)}, []string{"web-v1", "web-v2"}},
		"nobody asks any more": {web(3, "v3", since("v3", 5), withHistoryLimit(0)), []*ReplicaSet{complete(set("v1", 0, 0), 1), set("v2", 0, 0), set("v3", 3, 3)}, []string{"web-v2"}},
		"far too many":         {web(3, "v99", asking, since("v99", 5), withHistoryLimit(0)), append(bad(40), complete(set("v35", 0, 0), 1), set("v99", 1, 0)), nil},
		"after a failure":      {web(3, "v99", asking, since("v99", 5), withHistoryLimit(0)), append(bad(40), complete(set("v35", 3, 3), 1), broken(set("v99", 0, 0), 2)), nil},
	} {
		actions, _ := Plan(stateOf(test.d, test.sets...))
		var deleted []string
		for _, action := range actions {
			if deletion, isDeletion := action.(DeleteReplicaSet); isDeletion {
				deleted = append(deleted, deletion.Target.Name)
			}
		}
		if test.want != nil {
			expect(t, name, test.want, deleted)
		} else if len(deleted) == 0 || slices.Contains(deleted, "web-v35") {
			t.Errorf("%s: %q are deleted", name, deleted)
		}
	}
}

func TestWhatHasFailedIsNotCompleteWhateverPodsItHas(t *testing.T) {
	s := stateOf(web(3, "v3", asking, since("v3", 5), withHistoryLimit(0)), complete(set("v1", 0, 0), 1), set("v2", 0, 0), broken(set("v3", 3, 3), 2))
	for _, order := range orders(s) {
		if strings.HasPrefix(order, "delete") {
			t.Error(order)
		}
	}
}

func TestADeploymentWithoutADeadlineIsNotFallenBack(t *testing.T) {
	fallen := func(d *appsv1.Deployment) {
		d.Spec.ProgressDeadlineSeconds = nil
		d.Status.Conditions = append(d.Status.Conditions, condition(conditionFallenBack, corev1.ConditionTrue, "ReleaseCrashed", "it was", 3000))
	}
	if c := conditionOf(stateOf(web(3, "v2", asking, since("v2", 5), fallen), complete(set("v1", 3, 3), 1), broken(set("v2", 0, 0), 2)), conditionFallenBack); c != nil {
		t.Errorf("%+v", c)
	}
}

// bad returns finished ReplicaSets of templates that never completed, apart from v35.
func bad(n int) (sets []*ReplicaSet) {
	for i := range n {
		if i != 34 {
			sets = append(sets, set(fmt.Sprintf("v%d", i+1), 0, 0))
		}
	}
	return sets
}

func TestTheReplicaSetOfARestartComesAfterWhatRuns(t *testing.T) {
	d := web(5, "v2", asking, since("v2", 5), func(d *appsv1.Deployment) {
		d.Spec.Template.Annotations = map[string]string{origin.RestartedAt: "now"}
	})
	s := stateOf(d, complete(set("v1", 3, 3), 1), broken(set("v2", 0, 0), 2))
	got := orders(s)
	if len(got) < 2 || got[0] != "scale replicaset web-v1 from 3 to 5" || !strings.HasPrefix(got[1], "create replicaset web-") || !strings.Contains(got[1], " with 0,") {
		t.Errorf("orders %q", got)
	}
	s.Creation = CreationFailure{Name: replicaSetNameOf(d), Message: "no quota", IsReported: true}
	expect(t, "orders if it cannot be created", []string{"scale replicaset web-v1 from 3 to 5"}, orders(s))
	if c := progressing(s); c.Reason == ReasonCreateFailed {
		t.Errorf("the status is about the restart: %+v", c)
	}
}

func TestWhatRunsComesBackUnderRecreateAlthoughARestartCannotBeMade(t *testing.T) {
	d := web(3, "v2", asking, recreated, since("v2", 5), func(d *appsv1.Deployment) {
		d.Spec.Template.Annotations = map[string]string{origin.RestartedAt: "now"}
	})
	s := stateOf(d, complete(set("v1", 0, 0), 1), broken(set("v2", 0, 0), 2))
	s.Creation = CreationFailure{Name: replicaSetNameOf(d), Message: "no quota", IsReported: true}
	expect(t, "orders", []string{"scale replicaset web-v1 from 0 to 3"}, orders(s))
}

func TestAReleaseThatHasFailedDoesNotGrow(t *testing.T) {
	outdated := func(replicas string) func(*ReplicaSet) { return sized(replicas, "4") }
	s := stateOf(web(6, "v2", asking, since("v2", 5)), complete(set("v1", 1, 1, outdated("3")), 1), broken(set("v2", 2, 2, outdated("3")), 2))
	for _, order := range orders(s) {
		if strings.HasPrefix(order, "scale replicaset web-v2") {
			t.Error(order)
		}
	}
}
