package evict

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubernetes-deployment-restart-controller/controller/delivery"
)

func TestWhichAnswersToAnEvictionAreRefusals(t *testing.T) {
	pod := &delivery.Evicted{Name: "web-1", IsReady: true}
	several := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."}}
	negative := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web-1", fmt.Errorf("too many pending evictions"))
	negative.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "DisruptionBudget", Message: "The disruption budget web does not allow evicting pods currently"}}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"several budgets":  {several, "a PodDisruptionBudget refuses to evict a pod although all are ready: This pod has more than one PodDisruptionBudget"},
		"pending ones":     {negative, "a PodDisruptionBudget refuses to evict a pod although all are ready: The disruption budget web does not allow"},
		"an overload":      {apierrors.NewTooManyRequests("the server is busy", 1), ""},
		"a missing right":  {apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web-1", nil), ""},
		"a broken network": {fmt.Errorf("connection reset"), ""},
	} {
		err := refused(test.err, pod)
		if _, is := err.(*refusalError); is != (test.want != "") || !strings.HasPrefix(err.Error(), test.want) { //nolint:errorlint // it is not wrapped
			t.Errorf("%s: %v", name, err)
		}
	}
}
