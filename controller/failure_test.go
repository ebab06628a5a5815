package controller

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestFailuresAreToldApart(t *testing.T) {
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for _, test := range []struct {
		err       error
		permanent bool
		reason    string
	}{
		{apierrors.NewForbidden(deployments, "web", errors.New("denied")), true, "forbidden"},
		{apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "web", nil), true, "invalid"},
		{apierrors.NewBadRequest("what?"), true, "badrequest"},
		{apierrors.NewConflict(deployments, "web", errors.New("changed")), false, "conflict"},
		{apierrors.NewTooManyRequests("later", 1), false, "toomanyrequests"},
		{apierrors.NewUnauthorized("token expired"), false, "unauthorized"},
		{apierrors.NewInternalError(errors.New("oops")), false, "internalerror"},
		{apierrors.NewServiceUnavailable("etcd"), false, "serviceunavailable"},
		{apierrors.NewGenericServerResponse(http.StatusTeapot, "patch", deployments, "web", "", 0, true), true, "unknown"},
		{errors.New("connection refused"), false, "network"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			wrapped := fmt.Errorf("patch web: %w", test.err)
			if got := isPermanent(wrapped); got != test.permanent {
				t.Errorf("permanent: got %v", got)
			}
			if got := failureReason(wrapped); got != test.reason {
				t.Errorf("reason: got %q", got)
			}
		})
	}
}

func TestAnErrorIsIgnoredIfAnyPatternMatchesItsText(t *testing.T) {
	patterns := []*regexp.Regexp{regexp.MustCompile("policy .* denied"), regexp.MustCompile("^quota")}
	for text, want := range map[string]bool{
		"patch web: policy 'x' denied request": true,
		"quota exceeded":                       true,
		"no quota":                             false,
	} {
		if got := matchesAny(errors.New(text), patterns); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}
