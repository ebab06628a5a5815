package restart_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// contest is a workload whose record somebody undoes as soon as the watch shows it.
type contest struct {
	*restart.Restarter
	t        *testing.T
	server   *losingServer
	recorder *record.FakeRecorder
	log      strings.Builder
	undo     func(*appsv1.Deployment)
	begin    time.Time
	writes   []time.Duration // when the record was written, since the beginning
}

func newContest(t *testing.T, undo func(*appsv1.Deployment)) *contest {
	v := &contest{t: t, server: &losingServer{deployment: objecttest.Watched()}, recorder: record.NewFakeRecorder(100), undo: undo, begin: time.Now()}
	v.Restarter = refusedRestarter(t, v.server, v.recorder, &v.log)
	v.Grace, v.BackoffLimit = 0, time.Minute
	v.Catalog.ObserveConfig(objecttest.SettingsOf("v1"), time.Now())
	v.Catalog.ObserveWorkload(v.server.workload(t))
	return v
}

// fight lets the controller work and somebody undo the record, once a second.
func (v *contest) fight(seconds int) {
	for range seconds {
		for v.step() {
		}
		time.Sleep(time.Second)
	}
}

// step lets the controller decide once, and reports whether somebody undid what it wrote.
func (v *contest) step() bool {
	if v.Work(context.Background(), objecttest.Web); v.undo == nil || !v.server.workload(v.t).Record.Trusted {
		return false
	}
	v.writes = append(v.writes, time.Since(v.begin))
	v.server.deployment.Annotations = maps.Clone(v.server.deployment.Annotations)
	v.undo(&v.server.deployment)
	v.server.write()
	v.Catalog.ObserveWorkload(v.server.workload(v.t))
	return true
}

func basisRemoved(d *appsv1.Deployment) {
	delete(d.Annotations, annotation.BasisAnnotation)
	d.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + annotation.ChecksumsAnnotation + `":{}}}}`)
}

func inSeconds(seconds ...int) []time.Duration {
	times := make([]time.Duration, 0, len(seconds))
	for _, s := range seconds {
		times = append(times, time.Duration(s)*time.Second)
	}
	return times
}

func TestARecordThatSomebodyKeepsUndoingIsWrittenLessAndLessOften(t *testing.T) {
	for name, undo := range map[string]func(*appsv1.Deployment){"both annotations": objecttest.Removed, "the basis": basisRemoved} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newContest(t, undo)
				v.fight(200)
				want := inSeconds(0, 0, 0, 0, 1, 3, 7, 15, 31, 63, 123, 183) // after the first three, 1, 2, 4 … 60 seconds apart
				if diff := cmp.Diff(want, v.writes); diff != "" {
					t.Errorf("writes (-want +got):\n%s", diff)
				}
				if got := valueOf(t, v.Metrics.Undone); int(got) != len(want)-1 {
					t.Errorf("%v are counted", got)
				}
			})
		})
	}
}

func TestTheRecordIsWrittenAtOnceIfNothingIsToBeSpacedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newContest(t, objecttest.Removed)
		v.BackoffLimit = 0
		for range 100 {
			v.step()
		}
		if len(v.writes) != 100 {
			t.Errorf("%d writes, want 100", len(v.writes))
		}
	})
}

func TestUndoneRecordsAreReportedOnceInARow(t *testing.T) {
	replaced := func(d *appsv1.Deployment) {
		d.Annotations[annotation.BasisAnnotation] = "{}"
		d.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: "operator", Operation: metav1.ManagedFieldsOperationUpdate, Time: new(metav1.Now()), FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + annotation.BasisAnnotation + `":{}}}}`),
		}}
	}
	removedByKnown := func(d *appsv1.Deployment) {
		objecttest.Removed(d)
		d.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: "bystander", Operation: metav1.ManagedFieldsOperationUpdate, Time: new(metav1.Now()), FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`),
		}}
	}
	for name, test := range map[string]struct {
		undo            func(*appsv1.Deployment)
		by, logged, not string
	}{
		"replaced": {replaced, `Warning RecordUndone field manager "operator" keeps removing or replacing`, "manager=operator", "RecordUndone another client"},
		"removed":  {removedByKnown, "Warning RecordUndone another client keeps removing or replacing", "manager=unknown", "bystander"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newContest(t, test.undo)
				v.fight(100)
				requireReported(t, v, test.by, test.logged, test.not)
				v.fight(1)
				v.undo = nil
				v.fight(300) // nobody undoes it, and the row ends
				v.log.Reset()
				v.undo = test.undo
				v.fight(100)
				requireReported(t, v, test.by, test.logged, test.not)
			})
		})
	}
}

func requireReported(t *testing.T, v *contest, event, logged, not string) {
	t.Helper()
	events := objecttest.EventsOf(v.recorder)
	if len(events) != 1 || !strings.HasPrefix(events[0], event) || strings.Contains(events[0], not) {
		t.Errorf("Events %q", events)
	}
	if lines := strings.Count(v.log.String(), "keeps removing or replacing the record"); lines != 1 || !strings.Contains(v.log.String(), logged) {
		t.Errorf("%d lines in the log:\n%s", lines, &v.log)
	}
}

// A container started before the edit: its restart is due, whenever the record may be written.
func TestARestartDoesNotWaitForARecordThatIsPutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newContest(t, objecttest.Removed)
		v.BackoffLimit = time.Hour
		rs := appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{UID: "rs", OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(&v.server.deployment, appsv1.SchemeGroupVersion.WithKind("Deployment")),
		}}}
		rs.Spec.Template = v.server.deployment.Spec.Template
		pod := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(&rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
				Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
			}}},
		}
		v.Pods = (&controllertest.ListServer{Lists: map[string]objecttest.MadeList{
			"pods": {Total: 1, Make: func(_, _ int) apiclient.Page {
				return &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []corev1.Pod{pod}}
			}},
			"replicasets": {Total: 1, Make: func(_, _ int) apiclient.Page {
				return &appsv1.ReplicaSetList{TypeMeta: metav1.TypeMeta{Kind: "ReplicaSetList", APIVersion: "apps/v1"}, Items: []appsv1.ReplicaSet{rs}}
			}},
		}}).Reader(t)
		v.fight(20)
		if v.step() {
			t.Fatal("the record is not put off")
		}
		if due, waits := v.Backlogs.State(objecttest.Web); due || !waits {
			t.Errorf("a restart is due: %t, the record waits: %t", due, waits)
		}
		if late := v.Table.Load(time.Now()).Waits[objecttest.Web.Namespace]; late > 0 {
			t.Errorf("a record that is put off counts as overdue since %s", late)
		}
		v.Catalog.ObserveConfig(objecttest.SettingsOf("v2"), time.Now())
		before := valueOf(t, v.Metrics.Restarts)
		if v.step(); valueOf(t, v.Metrics.Restarts) != before+1 {
			t.Errorf("it was not restarted at once:\n%s", &v.log)
		}
	})
}

func TestWhatIsRememberedOfUndoneRecordsGoesWithTheWorkload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newContest(t, objecttest.Removed)
		if v.step(); v.Table.Of(objecttest.Web).Reported != nil {
			t.Error("a workload is remembered whose record was not written again")
		}
		v.fight(20)
		if v.Table.Of(objecttest.Web).Reported == nil {
			t.Error("it is not remembered")
		}
		if v.Forget(objecttest.Web); v.Table.Of(objecttest.Web).Reported != nil {
			t.Error("it is not forgotten")
		}
	})
}
