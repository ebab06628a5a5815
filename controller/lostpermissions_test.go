package controller

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/status"
)

func TestALostPermissionIsToldUntilAnAttemptSucceeds(t *testing.T) {
	w := gradual(t, "a/one", "a/two", "b/one")
	w.edited("b/c", "1")
	settle(w)
	w.refuse, w.refusedWith = http.StatusForbidden, lackedPermission
	w.edited("a/c", "2")
	w.edited("b/c", "2")
	settle(w)
	const want = "The controller lacks a permission that it needs to restart workloads of the kind Deployment (waiting: %d)"
	for namespace, waiting := range map[string]int{"": 3, "a": 2, "b": 1} {
		gaps := w.controller.lostPermissions(namespace)
		if len(gaps) != 1 || gaps[0].Text != fmt.Sprintf(want, waiting) || gaps[0].Since.IsZero() || !strings.Contains(gaps[0].Why, lackedPermission) || gaps[0].Remedy != status.ApplyManifest {
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
		w.controller.restarter.queue.Add(deploymentNamed(name), catalog.ConfigRef{})
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
			w.controller.restarter.queue.Add(deploymentNamed("a/one"), catalog.ConfigRef{})
			settle(w)
		}
		w.edited("a/c", "2")
		try(`admission webhook "a.example.com" denied the request: no`)
		time.Sleep(time.Hour)
		lost := time.Now()
		for range 3 {
			try(lackedPermission)
			time.Sleep(time.Hour)
		}
		if gaps := w.controller.lostPermissions(""); len(gaps) != 1 || !gaps[0].Since.Equal(lost) {
			t.Errorf("got %+v, want since %v", gaps, lost)
		}
	})
}

func TestALostPermissionToEvictIsTold(t *testing.T) {
	c, _ := newIdleController(t)
	c.evictor.rows = map[catalog.WorkloadRef]*eviction{web: {}}
	err := refusalWith(http.StatusForbidden, metav1.StatusReasonForbidden, strings.Replace(lackedPermission, "patch", "create", 1))
	w := &catalog.Workload{Ref: web}
	c.evictor.failed(w, time.Now(), err)
	if gaps := c.lostPermissions(web.Namespace); len(gaps) != 1 || !strings.HasPrefix(gaps[0].Text, "The controller lacks a permission that it needs to replace the pods of workloads of the kind Deployment") {
		t.Errorf("got %+v", gaps)
	}
}
