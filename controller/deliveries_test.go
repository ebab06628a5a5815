package controller

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
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// answers is an API server.
type answers func(*http.Request) (*http.Response, error)

func (f answers) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// deliveriesOf follows restarts with an API server that answers like this.
func deliveriesOf(t *testing.T, server answers, log io.Writer) *deliveries {
	t.Helper()
	rate := apiclient.Rate{QPS: 1e6, Burst: 1e6}
	clients, err := apiclient.Connect(&rest.Config{Host: "http://api", Transport: server}, rate, rate)
	if err != nil {
		t.Fatal(err)
	}
	known := catalog.New()
	d := followed(known)
	d.log = slog.New(slog.NewTextHandler(log, nil))
	d.quarantine = quarantine.New(quarantine.Options{Log: d.log})
	d.pods = podReader{apps: clients.Apps.RESTClient(), core: clients.Core.RESTClient()}
	d.events, d.metrics = &record.FakeRecorder{}, newMetrics()
	d.policy = delivery.Policy{Soak: 30 * time.Second, Deadline: 10 * time.Minute}
	d.notices = newNotices(d.log)
	d.gate.notices = d.notices
	return d
}

// configEventsOf creates Events on configs with an API server that answers like this.
func configEventsOf(t *testing.T, server answers, events record.EventRecorder, log *slog.Logger) configEvents {
	t.Helper()
	rate := apiclient.Rate{QPS: 1e6, Burst: 1e6}
	clients, err := apiclient.Connect(&rest.Config{Host: "http://api", Transport: server}, rate, rate)
	if err != nil {
		t.Fatal(err)
	}
	return configEvents{metadata: clients.Metadata, events: events, log: log}
}

var webRef = names.WorkloadRef{Kind: names.Deployment, Namespace: "default", Name: "web"}

func followWeb(d *deliveries, rollout workload.Rollout) {
	w := workload.Workload{Ref: webRef, UID: "web-uid", ResourceVersion: "1", Selector: "app=web", Timestamp: time.Now().UTC().Format(time.RFC3339Nano), Rollout: rollout}
	w.Applied.WasWhole = true
	d.catalog.ObserveWorkload(w)
	d.begin(&w, decide.Decision{Outcome: decide.Restart}, "", time.Now())
}

func TestARestartWhosePodsCannotBeReadIsJudgedByItsStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		var lists atomic.Int32
		d := deliveriesOf(t, func(*http.Request) (*http.Response, error) {
			lists.Add(1)
			status := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonForbidden, Code: 403}
			return respond(http.StatusForbidden, &status)
		}, &log)
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { d.run(ctx) })
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

// A DaemonSet's node dies during the rollout. Its controller deletes the unavailable old pod, which no kubelet ends.
func TestAnEarlierPodOnADeadNodeIsNoFailure(t *testing.T) {
	isController := true
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: "default", DeletionTimestamp: &metav1.Time{Time: time.Now().Add(-time.Minute)},
		Labels:          map[string]string{appsv1.ControllerRevisionHashLabelKey: "old"},
		OwnerReferences: []metav1.OwnerReference{{UID: "web-uid", Controller: &isController}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}}}
	d := deliveriesOf(t, func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/pods") {
			return respond(http.StatusOK, &corev1.PodList{Items: []corev1.Pod{pod}})
		}
		return respond(http.StatusOK, &appsv1.ControllerRevisionList{})
	}, io.Discard)
	w := &workload.Workload{Ref: names.WorkloadRef{Kind: names.DaemonSet, Namespace: "default", Name: "web"}, UID: types.UID("web-uid"), Timestamp: "x",
		Rollout: workload.Rollout{Wanted: 5, Updated: 4, Outdated: 1, Available: 4, Observed: true}}
	restart := delivery.Begin(w, true, time.Now())
	restart.Look(w, d.policy, time.Now())
	seen, err := d.pods.sight(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := restart.LookAtPods(w, d.policy, seen, "", time.Now().Add(11*time.Minute)); got.Verdict != delivery.Neutral {
		t.Errorf("%+v", got)
	}
}

func TestTheReportOfAFailureReadsNoDataOfTheConfig(t *testing.T) {
	var accepts []string
	configs := configEventsOf(t, func(r *http.Request) (*http.Response, error) {
		accepts = append(accepts, r.Header.Get("Accept"))
		list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"}}
		list.Items = []metav1.PartialObjectMetadata{{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}, ObjectMeta: metav1.ObjectMeta{Name: "s", UID: "u"}}}
		return respond(http.StatusOK, &list)
	}, &record.FakeRecorder{}, slog.New(slog.DiscardHandler))
	config, err := configs.reference(t.Context(), names.ConfigRef{Kind: names.Secret, Namespace: "default", Name: "s"})
	if err != nil || config.UID != "u" || config.Kind != "Secret" || config.APIVersion != "v1" || config.Name != "s" {
		t.Errorf("%+v, %v", config, err)
	}
	if len(accepts) != 1 || !strings.Contains(accepts[0], "as=PartialObjectMetadataList") {
		t.Errorf("it accepted %q", accepts)
	}
}
