package follow_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolsrecord "k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/metrics"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// deliveriesOf follows restarts with an API server that answers like this.
func deliveriesOf(t *testing.T, server objecttest.Answers, log io.Writer) *follow.Deliveries {
	t.Helper()
	rate := apiclient.Rate{QPS: 1e6, Burst: 1e6}
	clients, err := apiclient.Connect(&rest.Config{Host: "http://api", Transport: server}, rate, rate)
	if err != nil {
		t.Fatal(err)
	}
	known := catalog.New()
	d := controllertest.Followed(known)
	d.Log = slog.New(slog.NewTextHandler(log, nil))
	d.Quarantine = quarantine.New(quarantine.Options{Log: d.Log})
	d.Pods = kinds.PodReader{Apps: clients.Apps.RESTClient(), Core: clients.Core.RESTClient()}
	d.Events, d.Metrics = &toolsrecord.FakeRecorder{}, metrics.New()
	d.Policy = delivery.Policy{Soak: 30 * time.Second, Deadline: 10 * time.Minute}
	d.Notices = gatekeeper.NewNotices(d.Log)
	d.Gate.Notices = d.Notices
	return d
}

var webRef = names.WorkloadRef{Kind: names.Deployment, Namespace: "default", Name: "web"}

func followWeb(d *follow.Deliveries, rollout workload.Rollout) {
	w := workload.Workload{Object: workload.Object{Ref: webRef, UID: "web-uid", ResourceVersion: "1", Selector: "app=web", Timestamp: time.Now().UTC().Format(time.RFC3339Nano), Rollout: rollout}}
	w.Record.Ran = record.AllRan
	d.Catalog.ObserveWorkload(w)
	d.Begin(&w, decide.Decision{Outcome: decide.Restart}, "", tracker.Made{At: time.Now(), Timestamp: w.Timestamp, Ran: record.AllRan})
}

func TestARestartWhosePodsCannotBeReadIsJudgedByItsStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		var lists atomic.Int32
		d := deliveriesOf(t, func(*http.Request) (*http.Response, error) {
			lists.Add(1)
			status := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonForbidden, Code: 403}
			return objecttest.Respond(http.StatusForbidden, &status)
		}, &log)
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { d.Run(ctx) })
		followWeb(d, workload.Rollout{Wanted: 3, Updated: 3, Available: 3, Observed: true})
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		stop()
		group.Wait()
		if !strings.Contains(log.String(), "restart is delivered") || lists.Load() > 10 || strings.Count(log.String(), "\n") > 3 {
			t.Errorf("%d lists, and the log:\n%s", lists.Load(), &log)
		}
	})
}

// Whoever begins the next restart, or drops the workload, reads it meanwhile.
func TestARestartIsReplacedAndNotChangedByWhatALookShows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := deliveriesOf(t, nil, io.Discard)
		followWeb(d, workload.Rollout{Wanted: 3, Updated: 3, Available: 3, Observed: true})
		held := d.Of(webRef)
		before := *held.Restart
		time.Sleep(time.Second)
		d.Look(t.Context(), webRef)
		if *held.Restart != before {
			t.Errorf("it has changed from %+v to %+v", before, *held.Restart)
		}
		if after := d.Of(webRef); after == held || !after.IsWhole() {
			t.Errorf("the look was not noted: %+v", after)
		}
	})
}

// A DaemonSet's node dies during the rollout. Its controller deletes the unavailable old pod, which no kubelet ends.
func TestAnEarlierPodOnADeadNodeIsNoFailure(t *testing.T) {
	isController := true
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: "default", DeletionTimestamp: &metav1.Time{Time: time.Now().Add(-time.Minute)},
		Labels:          map[string]string{appsv1.ControllerRevisionHashLabelKey: "old"},
		OwnerReferences: []metav1.OwnerReference{{UID: "web-uid", Controller: &isController}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}}}
	d := deliveriesOf(t, func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/pods") {
			return objecttest.Respond(http.StatusOK, &corev1.PodList{Items: []corev1.Pod{pod}})
		}
		return objecttest.Respond(http.StatusOK, &appsv1.ControllerRevisionList{})
	}, io.Discard)
	w := &workload.Workload{Object: workload.Object{Ref: names.WorkloadRef{Kind: names.DaemonSet, Namespace: "default", Name: "web"}, UID: types.UID("web-uid"), Timestamp: "x", Rollout: workload.Rollout{Wanted: 5, Updated: 4, Outdated: 1, Available: 4, Observed: true}}}
	restart := delivery.Begin(w, record.AllRan, time.Now())
	restart.Look(w, d.Policy, time.Now())
	seen, err := d.Pods.Sight(t.Context(), w, delivery.Traces{})
	if err != nil {
		t.Fatal(err)
	}
	if got := restart.LookAtPods(w, d.Policy, seen, "", time.Now().Add(11*time.Minute)); got.Verdict != delivery.Neutral {
		t.Errorf("%+v", got)
	}
}
