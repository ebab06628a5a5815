package rollout

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/internal/podsight"
)

func TestLooksBecomeRarer(t *testing.T) {
	ago := func(seconds float64) time.Time { return now.Add(-time.Duration(seconds * float64(time.Second))) }
	for name, test := range map[string]struct {
		progressed float64 // seconds ago
		trial      Trial
		want       time.Duration // from now; 0 means at once or earlier
	}{
		"never, and progress was just now":        {0, Trial{}, 15 * time.Second},
		"never, and no progress for a while":      {15, Trial{}, 0},
		"before the progress":                     {5, Trial{Look: Look{At: ago(10)}}, 10 * time.Second},
		"just now, for the first time":            {15, Trial{Look: Look{At: now}}, 15 * time.Second},
		"just now, after a minute":                {60, Trial{Look: Look{At: now}}, time.Minute},
		"just now, and the deadline is near":      {500, Trial{Look: Look{At: now}}, 101 * time.Second},
		"just now, after a look of a minute":      {30, Trial{Look: Look{At: now, Took: 20 * time.Second}}, 200 * time.Second},
		"just now, and the deadline has passed":   {7000, Trial{Look: Look{At: now}}, 10 * time.Minute},
		"just now, and a pod has its time left":   {900, Trial{Look: Look{At: now, Worst: sight(podsight.Hanging, "it hangs", 570)}}, 30 * time.Second},
		"just now, and a pod had its time before": {900, Trial{Look: Look{At: now, Worst: sight(podsight.Hanging, "it hangs", 600)}}, 10 * time.Minute},
	} {
		p := newPlan(tried(test.trial, since("v2", test.progressed)))
		next := p.nextLook()
		if got := max(next.Sub(now), 0); next.IsZero() || got != test.want {
			t.Errorf("%s: next in %s, want %s", name, next.Sub(now), test.want)
		}
	}
	// Without pods, there is nothing to look at.
	s := tried(Trial{}, since("v2", 3000))
	s.ReplicaSets[1] = set("v2", 2, 0, func(rs *ReplicaSet) { rs.Existing = 0 })
	if next := newPlan(s).nextLook(); !next.IsZero() {
		t.Errorf("a release without pods is looked at %s from now", next.Sub(now))
	}
}

func TestProgressOfAReleaseIsMorePodsThanEverOrFewerOldOnes(t *testing.T) {
	terminating := func(n int32) func(*ReplicaSet) { return func(rs *ReplicaSet) { rs.Terminating = &n } }
	for name, test := range map[string]struct {
		trial Trial
		v1    *ReplicaSet
		want  bool
	}{
		"as before":                     {Trial{IsKnown: true, Most: 1, Fewest: 2}, set("v1", 2, 2), false},
		"a pod is available again":      {Trial{IsKnown: true, Most: 2, Fewest: 2}, set("v1", 2, 2), false},
		"one more is available":         {Trial{IsKnown: true, Most: 0, Fewest: 2}, set("v1", 2, 2), true},
		"an old pod is gone":            {Trial{IsKnown: true, Most: 1, Fewest: 3}, set("v1", 2, 2), true},
		"an old pod terminates slowly":  {Trial{IsKnown: true, Most: 1, Fewest: 4}, set("v1", 2, 2, terminating(2)), false},
		"one of two has terminated":     {Trial{IsKnown: true, Most: 1, Fewest: 4}, set("v1", 2, 2, terminating(1)), true},
		"it was scaled up from nothing": {Trial{IsKnown: true, Most: 1, Fewest: 2, IsIdle: true}, set("v1", 2, 2), true},
	} {
		s := tried(test.trial, since("v2", 100))
		s.ReplicaSets[0] = complete(test.v1, 1)
		stateOf(s.Deployment, s.ReplicaSets...)
		isRenewed := progressing(s).LastUpdateTime.Time.Equal(now)
		if isRenewed != test.want {
			t.Errorf("%s: progress: %t", name, isRenewed)
		}
	}
}

// So it is when a process has looked at pods and written no status yet, or while the condition is about the rollout before.
func TestWithoutMarksTheLastStatusTellsProgress(t *testing.T) {
	for name, test := range map[string]struct {
		trial     Trial
		named     string
		available int32
		want      bool
	}{
		"as before, and no marks":                {Trial{}, "v2", 3, false},
		"one more is available, and no marks":    {Trial{}, "v2", 2, true},
		"one more, and marks that are not asked": {Trial{IsKnown: true, Most: 3, Fewest: 0}, "v1", 2, true},
		"one more, and marks that are":           {Trial{IsKnown: true, Most: 3, Fewest: 0}, "v2", 2, false},
	} {
		s := tried(test.trial, since(test.named, 100), func(d *appsv1.Deployment) {
			d.Annotations[RevisionAnnotation] = "2"
			d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = 4, 2, 3, test.available
		})
		if isRenewed := progressing(s).LastUpdateTime.Time.Equal(now); isRenewed != test.want {
			t.Errorf("%s: progress: %t", name, isRenewed)
		}
	}
}

func TestAProcessRemembersWhatItHasSeenOfARelease(t *testing.T) {
	rememberedBy := func(s *State) *Trial {
		actions, _ := Plan(s)
		for _, action := range actions {
			if update, isStatus := action.(UpdateStatus); isStatus {
				return update.Trial
			}
		}
		t.Fatal("no status is written")
		return nil
	}
	// While a pod is missing that was there, and an old one is back, the marks stay.
	look := Look{At: now.Add(-time.Minute), Ready: 7}
	got := rememberedBy(tried(Trial{IsKnown: true, Most: 2, Fewest: 1, Look: look}))
	expect(t, "marks", &Trial{Of: "uid-of-web-v2", Attempt: 1, IsKnown: true, Most: 2, Fewest: 1, Look: look}, got)
	got = rememberedBy(tried(Trial{Look: look}))
	expect(t, "the first marks", &Trial{Of: "uid-of-web-v2", Attempt: 1, IsKnown: true, Most: 1, Fewest: 2, Look: look}, got)
	got = rememberedBy(tried(Trial{Attempt: 2, IsKnown: true, Most: 2, Fewest: 1, Look: look}))
	expect(t, "another attempt", &Trial{Of: "uid-of-web-v2", Attempt: 1, IsKnown: true, Most: 1, Fewest: 2}, got)
	got = rememberedBy(tried(Trial{IsKnown: true, Most: 9, Fewest: 9}))
	expect(t, "more than are wanted now", &Trial{Of: "uid-of-web-v2", Attempt: 1, IsKnown: true, Most: 3, Fewest: 2}, got)

	if got := rememberedBy(stateOf(web(3, "v2", asking), complete(set("v1", 3, 3), 1))); got != nil {
		t.Errorf("of a ReplicaSet that is yet to be created: %+v", got)
	}
	crash := seen(sight(podsight.Broken, "CrashLoopBackOff", 0), 0)
	got = rememberedBy(tried(crash))
	if got == nil || got.Failed != FailedByCrash || got.Worst != crash.Worst {
		t.Errorf("after a failure: %+v", got)
	}
	s := stateOf(web(3, "v2", asking, since("v2", 5)), complete(set("v1", 2, 2), 1), broken(set("v2", 2, 1), 2))
	s.Trial = &Trial{Of: "uid-of-web-v2", Attempt: 1, Failed: FailedByCrash}
	expect(t, "once it has failed", s.Trial, rememberedBy(s))
	if got := rememberedBy(stateOf(web(3, "v2", since("v2", 5)), set("v1", 2, 2), set("v2", 2, 1))); got != nil {
		t.Errorf("of a release that does not fall back: %+v", got)
	}
}

func TestALookBelongsToOneAttempt(t *testing.T) {
	found := &Look{At: now, Ready: 2}
	look := &LookAtPods{Target: Meta{UID: "b"}, Attempt: 2, Found: found}
	before := &Trial{Of: "b", Attempt: 2, IsKnown: true, Most: 3, Fewest: 1}
	expect(t, "the same", &Trial{Of: "b", Attempt: 2, IsKnown: true, Most: 3, Fewest: 1, Look: *found}, before.With(look))
	for name, other := range map[string]*Trial{
		"none": nil, "an earlier attempt": {Of: "b", Attempt: 1, IsKnown: true, Most: 3}, "another ReplicaSet": {Of: "a", Attempt: 2, IsKnown: true, Failed: FailedByCrash},
	} {
		expect(t, name, &Trial{Of: "b", Attempt: 2, Look: *found}, other.With(look))
	}
	if before.Look != (Look{}) {
		t.Error("a trial was modified")
	}
}

func TestThePodThatSaysMostAgainstAReleaseCounts(t *testing.T) {
	fine := podsight.Sight{Tally: podsight.Tally{Ready: 1}}
	unstarted := sight(podsight.Unstarted, "it has not started", 1).Sight
	unplaced := sight(podsight.Blocked, "Unschedulable", 1).Sight
	late, early := sight(podsight.Hanging, "it hangs", 5).Sight, sight(podsight.Hanging, "it hangs", 9).Sight
	image, crash := sight(podsight.Blocked, "ErrImagePull", 1).Sight, sight(podsight.Broken, "CrashLoopBackOff", 1).Sight
	for name, test := range map[string]struct {
		pods  []podsight.Sight
		worst podsight.Sight
		ready int64
	}{
		"all are fine":                      {[]podsight.Sight{fine, fine}, podsight.Sight{}, 2},
		"one cannot start":                  {[]podsight.Sight{unstarted, fine, unplaced}, podsight.Sight{}, 1},
		"one hangs":                         {[]podsight.Sight{unplaced, late, fine}, late, 1},
		"the one that has hung for longest": {[]podsight.Sight{late, early, late}, early, 0},
		"no image before hanging":           {[]podsight.Sight{early, image, late}, image, 0},
		"a crash before all":                {[]podsight.Sight{early, crash, image}, crash, 0},
	} {
		for range len(test.pods) {
			look := Look{}
			for _, pod := range test.pods {
				look.Add(pod)
			}
			expect(t, name, Look{Ready: test.ready, Worst: Finding{test.worst}}, look)
			test.pods = append(test.pods[1:], test.pods[0]) // whatever the order
		}
	}
}
