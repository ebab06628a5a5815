package controller

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/show"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/status"
)

func TestALostPermissionIsToldUntilAnAttemptSucceeds(t *testing.T) {
	w := gradual(t, "a/one", "a/two", "b/one")
	w.edited("b/c", "1")
	settle(w)
	w.refuse, w.refusedWith = http.StatusForbidden, objecttest.LackedPermission
	w.edited("a/c", "2")
	w.edited("b/c", "2")
	settle(w)
	const want = "The controller lacks a permission that it needs to restart workloads of the kind Deployment (waiting: %d)"
	for namespace, waiting := range map[string]int{"": 3, "a": 2, "b": 1} {
		gaps := w.controller.lostPermissions(namespace)
		if len(gaps) != 1 || gaps[0].Text != fmt.Sprintf(want, waiting) || gaps[0].Since.IsZero() || !strings.Contains(gaps[0].Why, objecttest.LackedPermission) || gaps[0].Remedy != status.ApplyManifest {
			t.Errorf("in %q: %+v", namespace, gaps)
		}
	}
	_, detail := w.controller.Ready()
	if line := "[!] " + fmt.Sprintf(want, 3) + " since "; !strings.Contains(detail, line) {
		t.Errorf("/readyz says: %s", detail)
	}
	if gaps := w.controller.lostPermissions("c"); len(gaps) > 0 {
		t.Errorf("elsewhere: %+v", gaps)
	}

	w.refuse = 0
	for _, name := range []string{"a/one", "a/two", "b/one"} {
		w.controller.restarter.Queue.Add(objecttest.DeploymentNamed(name), names.ConfigRef{})
	}
	settle(w)
	if _, detail := w.controller.Ready(); strings.Contains(detail, "[!]") {
		t.Errorf("afterwards: %s", detail)
	}
}

func TestAPolicyIsNoLostPermission(t *testing.T) {
	w := gradual(t, "a/one")
	w.refuse, w.refusedWith = http.StatusForbidden, `admission webhook "a.example.com" denied the request: no`
	w.edited("a/c", "2")
	settle(w)
	if gaps := w.controller.lostPermissions(""); w.overview().Retrying.Total != 1 || len(gaps) > 0 {
		t.Errorf("got %+v", gaps)
	}
}

// The workload has failed for longer, but for another reason.
func TestALostPermissionIsToldSinceTheFirstAttemptThatItRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/one")
		try := func(refusal string) {
			w.refuse, w.refusedWith = http.StatusForbidden, refusal
			w.controller.restarter.Queue.Add(objecttest.DeploymentNamed("a/one"), names.ConfigRef{})
			settle(w)
		}
		w.edited("a/c", "2")
		try(`admission webhook "a.example.com" denied the request: no`)
		time.Sleep(time.Hour)
		lost := time.Now()
		for range 3 {
			try(objecttest.LackedPermission)
			time.Sleep(time.Hour)
		}
		if gaps := w.controller.lostPermissions(""); len(gaps) != 1 || !gaps[0].Since.Equal(lost) {
			t.Errorf("got %+v, want since %v", gaps, lost)
		}
	})
}

func TestALostPermissionToEvictIsTold(t *testing.T) {
	c, _ := newIdleController(t)
	c.evictor.Table.Update(objecttest.Web, func(row *tracker.Row) { row.Eviction = &tracker.Eviction{} })
	err := objecttest.RefusalWith(http.StatusForbidden, metav1.StatusReasonForbidden, strings.Replace(objecttest.LackedPermission, "patch", "create", 1))
	w := &workload.Workload{Object: workload.Object{Ref: objecttest.Web}}
	c.evictor.Failed(w, time.Now(), err)
	if gaps := c.lostPermissions(objecttest.Web.Namespace); len(gaps) != 1 || !strings.HasPrefix(gaps[0].Text, "The controller lacks a permission that it needs to replace the pods of workloads of the kind Deployment") {
		t.Errorf("got %+v", gaps)
	}
}

// Each workload would be tried in its own turn only, which may be half a minute later.
func TestAGrantedPermissionLetsEverythingBeTriedAtOnceThatItWasRefusedTo(t *testing.T) {
	w := gradual(t, "a/one", "b/one")
	w.edited("b/c", "1")
	settle(w)
	w.refuse, w.refusedWith = http.StatusForbidden, objecttest.LackedPermission
	w.edited("a/c", "2")
	w.edited("b/c", "2")
	settle(w)
	w.refuse = 0
	tried := func(granted apiclient.Permission, want ...string) {
		t.Helper()
		w.controller.TryRefused([]apiclient.Permission{granted})
		settle(w)
		if got := w.restarted(); !slices.Equal(got, want) {
			t.Errorf("after %s was granted, %v are restarted, want %v", granted, got, want)
		}
	}
	tried(apiclient.Permission{Verb: "patch", Resource: "deployments", Namespace: "a"}, "a/one")
	tried(apiclient.Permission{Verb: "patch", Resource: "deployments"}, "a/one", "b/one")
	if gaps := w.controller.lostPermissions(""); len(gaps) > 0 {
		t.Errorf("afterwards: %+v", gaps)
	}
}

// It waits for its turn, and nothing of it is tried that would show that it is not refused any more.
func TestARestartThatWaitsForItsTurnAfterAGrantIsNotRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/one", "a/two")
		told := w.listens()
		w.refuse, w.refusedWith = http.StatusForbidden, objecttest.LackedPermission
		w.edited("a/c", "2")
		settle(w)
		if failed := told(events.RestartFailed); len(failed) != 2 {
			t.Fatalf("told %q", failed)
		}
		w.controller.TryRefused([]apiclient.Permission{{Verb: "watch", Resource: "secrets"}})
		settle(w)
		if refused := w.refusals(); len(refused) != 2 {
			t.Fatalf("after something else was granted: %+v", refused)
		}
		told(events.RestartFailed)
		w.refuse = 0
		w.controller.TryRefused([]apiclient.Permission{{Verb: "patch", Resource: "deployments"}})
		settle(w)
		o := w.overview()
		if len(w.restarted()) != 1 || o.Retrying.Total != 0 || o.Waiting.Total != 1 || o.Waiting.Items[0].Error != "" || o.FanOuts.Items[0].Refused != 0 {
			t.Errorf("restarted %q, retrying %+v, waiting %+v, fan-outs %+v", w.restarted(), o.Retrying, o.Waiting, o.FanOuts)
		}
		if events := told(events.Resumed); len(events) != 1 || !strings.Contains(events[0], "its restart waits for its slow start") {
			t.Errorf("told %q", events)
		}
		w.refuse = http.StatusForbidden
		w.delivers(t, w.restarted()[0])
		settle(w)
		if refused, failed := w.refusals(), told(events.RestartFailed); len(refused) != 1 || len(failed) == 0 {
			t.Errorf("refused again: %+v, told %q", refused, failed)
		}
	})
}

func TestAGrantedPermissionLetsARefusedEvictionGoOnAtOnce(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.refusal = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web-1", errors.New("the user has no right"))
		w.refusal.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		w.refusal.ErrStatus.Message = objecttest.LackedPermission
		w.edited("a/c", "2")
		w.pass(60)
		asked := w.asked
		w.refusal = nil
		w.controller.TryRefused([]apiclient.Permission{{Namespace: "b"}})
		w.pass(1)
		if w.asked != asked || asked == 0 {
			t.Fatalf("asked %d times, then %d for a permission elsewhere", asked, w.asked)
		}
		w.controller.TryRefused([]apiclient.Permission{{Namespace: "a"}})
		w.pass(1)
		if w.asked == asked || len(w.controller.lostPermissions("")) > 0 {
			t.Errorf("not tried again: %+v", w.controller.lostPermissions(""))
		}
	})
}

// It is not noted at each attempt that is refused again.
func TestThatARefusalForLackOfAPermissionBeginsIsNotedOnce(t *testing.T) {
	w := gradual(t, "a/one", "b/one")
	requireNoted := func(when string, want int) {
		t.Helper()
		got := len(w.controller.Refused())
		if got != want {
			t.Errorf("%s: noted %d times, want %d", when, got, want)
		}
		if got > 0 {
			<-w.controller.Refused()
		}
	}
	try := func(name, refusal string) {
		w.refuse, w.refusedWith = http.StatusForbidden, refusal
		w.controller.restarter.Queue.Add(objecttest.DeploymentNamed(name), names.ConfigRef{})
		settle(w)
	}
	w.refuse, w.refusedWith = http.StatusForbidden, `admission webhook "a.example.com" denied the request: no`
	w.edited("a/c", "2")
	settle(w)
	requireNoted("by a policy", 0)
	try("a/one", objecttest.LackedPermission)
	requireNoted("for lack of a permission", 1)
	try("a/one", objecttest.LackedPermission)
	requireNoted("again", 0)
	w.edited("b/c", "2")
	settle(w)
	requireNoted("another workload", 1)

	k, err := w.controller.halts, objecttest.RefusalWith(http.StatusForbidden, metav1.StatusReasonForbidden, objecttest.LackedPermission)
	for i, want := range []int{1, 0, 0} {
		k.NoteObject(t.Context(), err)
		requireNoted(fmt.Sprintf("attempt %d at the ConfigMap of halts", i), want)
	}
	k.NoteObject(t.Context(), nil)
	k.NoteObject(t.Context(), err)
	requireNoted("the ConfigMap of halts, once it could be read", 1)

	web := &workload.Workload{Object: workload.Object{Ref: objecttest.Web}}
	w.controller.evictor.Table.Update(web.Ref, func(row *tracker.Row) { row.Eviction = &tracker.Eviction{} })
	for i, want := range []int{1, 0} {
		w.controller.evictor.Failed(web, time.Now(), err)
		requireNoted(fmt.Sprintf("attempt %d at an eviction", i), want)
	}
}

func (c *Controller) lostPermissions(namespace string) []status.Gap {
	return show.LostPermissions(namespace, c.evictor.Table)
}
