package controller

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/status"
)

const lackedPermission = `deployments.apps "web" is forbidden: User "system:serviceaccount:a:b" cannot patch resource "deployments" in API group "apps" in the namespace "ns"`

func refusalWith(code int32, reason metav1.StatusReason, message string) error {
	return fmt.Errorf("patch web: %w", &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: message}})
}

func TestARefusalSaysWhatHelps(t *testing.T) {
	const (
		policy  = `deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'frozen' with binding 'all' denied request: `
		webhook = `admission webhook "a.example.com" denied the request`
	)
	for name, test := range map[string]struct {
		err  error
		want status.Remedy
	}{
		"a permission":              {refusalWith(403, metav1.StatusReasonForbidden, lackedPermission), status.GrantPermission},
		"a policy":                  {refusalWith(422, metav1.StatusReasonInvalid, policy+"it is Friday"), status.ChangePolicy},
		"a policy that forbids":     {refusalWith(403, metav1.StatusReasonForbidden, policy+"it is Friday"), status.ChangePolicy},
		"a policy that quotes RBAC": {refusalWith(403, metav1.StatusReasonForbidden, policy+lackedPermission), status.ChangePolicy},
		"a webhook":                 {refusalWith(400, "", webhook+": no"), status.ChangePolicy},
		"a webhook without reasons": {refusalWith(403, metav1.StatusReasonForbidden, webhook+" without explanation"), status.ChangePolicy},
		"a webhook that looks like a conflict": {
			fmt.Errorf("patch web: %w: %w", errDenied, refusalWith(409, metav1.StatusReasonConflict, webhook+": no")), status.ChangePolicy,
		},
		"another refusal": {refusalWith(403, metav1.StatusReasonForbidden, `deployments.apps "web" is forbidden: exceeded quota`), ""},
		"a webhook that fails": {
			refusalWith(500, metav1.StatusReasonInternalError, `failed calling webhook "a.example.com": connection refused`), "",
		},
		"no answer": {errors.New(lackedPermission), ""},
	} {
		if got := remedyOf(test.err); got != test.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestTheRemedyIsInTheEventAndTheStatusAndIsNotCutOff(t *testing.T) {
	for name, text := range map[string]string{
		"short": "no", "long": strings.Repeat("x", 10_000), "hostile": strings.Repeat("\x1b", 10_000),
	} {
		c, _ := newIdleController(t)
		events := record.NewFakeRecorder(1)
		c.restarter.events = events
		c.restarter.backlogs.note(observedChange{Workload: web, Count: 1, Due: time.Now()})
		c.catalog.ObserveWorkload(workload.Workload{Ref: web, UID: uidOf(1), ResourceVersion: "1"})
		c.restarter.failed(web, refusalWith(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "a" denied the request: `+text))
		if event := <-events.Events; !strings.HasSuffix(event, string(status.ChangePolicy)) || len(event) > 4096 {
			t.Errorf("%s: the Event has %d bytes: %s", name, len(event), event)
		}
		if got := c.restarter.backlogs.waiting[web].failure; got.remedy != status.ChangePolicy || !strings.HasPrefix(got.problem, "patch web: ") || len(got.problem) > longestFailure {
			t.Errorf("%s: kept is %+v", name, got)
		}
	}
}
