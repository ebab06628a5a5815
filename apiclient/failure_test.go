package apiclient_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubernetes-deployment-restart-controller/apiclient"
)

func TestFailuresAreNamedAsTheAPINamesThem(t *testing.T) {
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for want, err := range map[string]error{
		"forbidden":       apierrors.NewForbidden(deployments, "web", errors.New("denied")),
		"conflict":        apierrors.NewConflict(deployments, "web", errors.New("changed")),
		"toomanyrequests": apierrors.NewTooManyRequests("later", 1),
		"unknown":         apierrors.NewGenericServerResponse(http.StatusTeapot, "patch", deployments, "web", "", 0, true),
		"network":         errors.New("connection refused"),
	} {
		if got := apiclient.FailureReason(fmt.Errorf("patch web: %w", err)); got != want {
			t.Errorf("reason: got %q, want %q", got, want)
		}
	}
}
