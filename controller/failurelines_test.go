package controller

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

func TestAFailureThatLastsHasFewLines(t *testing.T) {
	listed := []string{"a/one", "a/two", "b/one", "b/two"}
	w := gradual(t, listed...)
	log := w.log()
	w.refuse, w.refusedWith = http.StatusForbidden, objecttest.LackedPermission
	w.edited("a/c", "2")
	w.edited("b/c", "2")
	settle(w)
	const attempts = 25
	for range attempts {
		for _, name := range listed {
			w.controller.restarter.Queue.Add(objecttest.DeploymentNamed(name), names.ConfigRef{})
		}
		settle(w)
	}
	if lines := strings.Count(log.String(), "cannot update workload"); lines < len(listed) || lines > 6*len(listed) {
		t.Errorf("%d lines after %d attempts at %d workloads", lines, attempts, len(listed))
	}
}

func TestAPolicyThatDeniesCountsAsDenied(t *testing.T) {
	const policy = `ValidatingAdmissionPolicy 'frozen' with binding 'frozen' denied request: no`
	for want, err := range map[string]error{
		"denied":    objecttest.RefusalWith(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, policy),
		"invalid":   objecttest.RefusalWith(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "spec: invalid"),
		"forbidden": objecttest.RefusalWith(http.StatusForbidden, metav1.StatusReasonForbidden, objecttest.LackedPermission),
	} {
		if reason := failures.Reason(err); reason != want {
			t.Errorf("%v counts as %s, want %s", err, reason, want)
		}
	}
}

func TestAnotherFailureHasItsLineHoweverLongTheFirstLasted(t *testing.T) {
	w := gradual(t, "a/web")
	log := w.log()
	w.refuse, w.refusedWith = http.StatusServiceUnavailable, "the server is down"
	w.edited("a/c", "2")
	settle(w)
	again := func() {
		w.controller.restarter.Queue.Add(objecttest.DeploymentNamed("a/web"), names.ConfigRef{})
		settle(w)
	}
	for range 40 {
		again()
	}
	w.refuse, w.refusedWith = http.StatusForbidden, objecttest.LackedPermission
	again()
	if !strings.Contains(log.String(), "is forbidden") {
		t.Errorf("the log does not say what fails now:\n%s", log)
	}
}
