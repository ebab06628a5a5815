package deployment

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

func TestALongDenialIsCutInTheConditionAndInWhatIsRemembered(t *testing.T) {
	for denial, want := range map[string]string{
		"no quota":                              "no quota",
		"no quota" + strings.Repeat("x", 1<<20): "no quotaxxx",
	} {
		synctest.Test(t, func(t *testing.T) {
			a := newAttempts()
			a.cluster.refuse = func(verb string) error {
				if !strings.Contains(verb, "create") {
					return nil
				}
				return &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: denial}}
			}
			longest := 0
			for range 5 {
				a.sync(t)
				longest = max(longest, len(a.engine.histories.of(a.key).creation.Message))
			}
			if longest == 0 || longest > 4096 {
				t.Errorf("a message of %d bytes is remembered", longest)
			}
			message := ""
			for _, condition := range a.cluster.deployments["web"].Status.Conditions {
				if condition.Reason == rollout.ReasonCreateFailed {
					message = condition.Message
				}
			}
			if !strings.Contains(message, want) || len(message) > 4400 {
				t.Errorf("the condition has %d bytes: %.100q", len(message), message)
			}
			if len(denial) < 4096 && !strings.HasSuffix(message, `": no quota`) {
				t.Errorf("a short message has changed: %q", message)
			}
		})
	}
}
