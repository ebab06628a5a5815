package failures

import (
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/status"
)

func TestARefusalSaysWhatHelps(t *testing.T) {
	const (
		policy  = `deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'frozen' with binding 'all' denied request: `
		webhook = `admission webhook "a.example.com" denied the request`
		failed  = `Internal error occurred: failed calling webhook "a.example.com": failed to call webhook: `
	)
	for name, test := range map[string]struct {
		err  error
		want status.Remedy
	}{
		"a permission":              {objecttest.RefusalWith(403, metav1.StatusReasonForbidden, objecttest.LackedPermission), status.GrantPermission},
		"a policy":                  {objecttest.RefusalWith(422, metav1.StatusReasonInvalid, policy+"it is Friday"), status.ChangePolicy},
		"a policy that forbids":     {objecttest.RefusalWith(403, metav1.StatusReasonForbidden, policy+"it is Friday"), status.ChangePolicy},
		"a policy that quotes RBAC": {objecttest.RefusalWith(403, metav1.StatusReasonForbidden, policy+objecttest.LackedPermission), status.ChangePolicy},
		"a webhook":                 {objecttest.RefusalWith(400, "", webhook+": no"), status.ChangePolicy},
		"a webhook without reasons": {objecttest.RefusalWith(403, metav1.StatusReasonForbidden, webhook+" without explanation"), status.ChangePolicy},
		"a webhook that looks like a conflict": {
			fmt.Errorf("patch web: %w: %w", ErrDenied, objecttest.RefusalWith(409, metav1.StatusReasonConflict, webhook+": no")), status.ChangePolicy,
		},
		"another refusal": {objecttest.RefusalWith(403, metav1.StatusReasonForbidden, `deployments.apps "web" is forbidden: exceeded quota`), ""},
		"a webhook that fails": {
			objecttest.RefusalWith(500, metav1.StatusReasonInternalError, failed+"connection refused"), status.RepairWebhook,
		},
		"a webhook whose denial quotes that": {objecttest.RefusalWith(500, metav1.StatusReasonInternalError, webhook+": "+failed), status.ChangePolicy},
		"a webhook that chooses these words": {objecttest.RefusalWith(400, "", failed), ""},
		"no answer":                          {errors.New(objecttest.LackedPermission), ""},
	} {
		if got := RemedyOf(test.err); got != test.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
