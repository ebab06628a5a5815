package controller

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/show"
	"kubernetes-deployment-restart-controller/internal/status"
)

// crashes lets a pod of a Deployment crash that is from its present template.
func (w *world) crashes(name string) {
	d := w.deployments[name]
	waits := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	w.pods = map[string][]corev1.Pod{d.Namespace + "/": {{
		ObjectMeta: metav1.ObjectMeta{
			Name: d.Name + "-crashes", Namespace: d.Namespace, UID: "pod-" + d.UID, CreationTimestamp: metav1.Now(),
			OwnerReferences: []metav1.OwnerReference{{UID: "rs-" + d.UID, Controller: new(true)}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "app", RestartCount: 3, State: waits}}},
	}}}
}

func TestTheNextLeaderShowsWhatThePodsOfAFailedWorkloadShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader, standby, failed := twoLeadersOfACanary(t)
		leader.crashes(failed)
		time.Sleep(15 * time.Second)
		leader.fails(t, failed)
		time.Sleep(time.Minute)
		pass, _ := succeed(t, leader, standby)
		standby.crashes(failed)
		pass(time.Second)
		shown := func(w *world) (status.Entry, *status.Restart) {
			e := w.overview().Failed.Items[0]
			explained := w.controller.ExplainWorkload(e.Workload, time.Now())
			e.Pods = nil // which each world counts itself
			return e, explained.Last
		}
		want, wantLast := shown(leader)
		got, gotLast := shown(standby)
		if diff := cmp.Diff(want, got); diff != "" || want.Text == "" {
			t.Errorf("the row (-the former leader +the next one):\n%s", diff)
		}
		wantLast.Cause, gotLast.Cause = "", ""
		if diff := cmp.Diff(wantLast, gotLast); diff != "" || wantLast.Command == "" {
			t.Errorf("its last restart (-the former leader +the next one):\n%s", diff)
		}
		listings := len(standby.listings)
		for range 10 {
			pass(time.Minute)
			standby.changed(failed, func(d *appsv1.Deployment) { d.Labels = map[string]string{"at": time.Now().String()} })
		}
		if more := len(standby.listings) - listings; more > 0 {
			t.Errorf("listed the pods %d more times", more)
		}
	})
}

// afterAFailureThatNoPodShows returns a process that leads since a restart of a/web failed under another one. The pod may be gone,
// or run for the moment.
func afterAFailureThatNoPodShows(t *testing.T) (standby *world, pass func(time.Duration)) {
	leader, standby := twoLeadersOfAFailure(t)
	leader.changed("a/web", func(d *appsv1.Deployment) { d.Status.Conditions = nil })
	pass, _ = succeed(t, leader, standby)
	pass(time.Second)
	return standby, pass
}

func TestTheNextLeaderSaysWhoSawAFailureThatNoPodShows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		standby, _ := afterAFailureThatNoPodShows(t)
		if rows := standby.overview().Failed; rows.Total != 1 || rows.Items[0].Text != "an earlier leader saw it fail" {
			t.Errorf("%+v", rows)
		}
	})
}

// The entry of a halt has one time for all who failed.
func TestTheNextLeaderDatesNoFailureOfSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		standby, pass := afterAFailureThatNoPodShows(t)
		halt := standby.controller.gate.ActiveHalts()[0]
		restart := standby.controller.deliveries.Of(objecttest.AWeb)
		if s := show.StandingOfRestart(objecttest.AWeb, restart); len(halt.Failed) != 1 || !s.Since.Equal(halt.Since) {
			t.Errorf("of one: %+v", s)
		}
		standby.controller.deliveries.Forget(objecttest.AWeb)
		standby.controller.deliveries.FollowFailed(objecttest.AWeb, halt.Config, halt.Since, false)
		pass(time.Second)
		rows, restarts := standby.overview().Failed, standby.overview().Restarts.Items
		if rows.Total != 1 || !rows.Items[0].Since.IsZero() || len(restarts) == 0 || restarts[0].Took != 0 {
			t.Errorf("of several: %+v %+v", rows, restarts)
		}
	})
}

// The pods ran for a moment and crash since then, so the rollout was complete and needs no progress any more.
func TestACanaryThatBreaksAroundATakeoverHaltsItsFanOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader, standby, canary := twoLeadersOfACanary(t)
		completed := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"}
		for _, available := range []int32{3, 0} {
			time.Sleep(5 * time.Second)
			leader.changed(canary, func(d *appsv1.Deployment) {
				wholeStatus(d)
				d.Status.AvailableReplicas, d.Status.Conditions = available, []appsv1.DeploymentCondition{completed}
			})
		}
		time.Sleep(30 * time.Second) // nobody leads
		pass, told := succeed(t, leader, standby)
		standby.crashes(canary)
		pass(time.Minute)
		if failed := told(events.NotDelivered); len(failed) != 2 || !strings.Contains(failed[0], "CrashLoopBackOff") { // on the workload and the config
			t.Errorf("told of the failure: %q", failed)
		}
		if o := standby.overview(); o.Halts.Total != 1 || o.Held.Total != 1 || o.Failed.Total != 1 {
			t.Errorf("%d halts, %d held, %d failed", o.Halts.Total, o.Held.Total, o.Failed.Total)
		}
		if got := standby.restarted(); len(got) != 1 {
			t.Errorf("restarted %v, want the canary only", got)
		}
	})
}
