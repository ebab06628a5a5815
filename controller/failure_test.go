package controller

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/pending"
)

func TestFailuresAreDistinguished(t *testing.T) {
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for name, test := range map[string]struct {
		err       error
		permanent bool
	}{
		"forbidden":   {apierrors.NewForbidden(deployments, "web", errors.New("denied")), true},
		"invalid":     {apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "web", nil), true},
		"bad request": {apierrors.NewBadRequest("what?"), true},
		"conflict":    {apierrors.NewConflict(deployments, "web", errors.New("changed")), false},
		"throttled":   {apierrors.NewTooManyRequests("later", 1), false},
		"token":       {apierrors.NewUnauthorized("token expired"), false},
		"internal":    {apierrors.NewInternalError(errors.New("oops")), false},
		"unavailable": {apierrors.NewServiceUnavailable("etcd"), false},
		"teapot":      {apierrors.NewGenericServerResponse(http.StatusTeapot, "patch", deployments, "web", "", 0, true), true},
		"no answer":   {errors.New("connection refused"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := failures.IsPermanent(fmt.Errorf("patch web: %w", test.err)); got != test.permanent {
				t.Errorf("permanent: got %v", got)
			}
		})
	}
}

func TestAnIgnoredErrorCountsAsSuchAndMakesNoRestartLate(t *testing.T) {
	c, _ := newIdleController(t)
	c.restarter.IgnoredErrors = []string{"frozen"}
	c.restarter.Backlogs.Note(pending.ObservedChange{Workload: objecttest.Web, Count: 1, Due: time.Now().Add(-time.Hour)})
	for _, step := range []struct {
		failure, reason string
		late            bool
	}{{"frozen", "ignored", false}, {"something else", "unknown", true}, {"frozen again", "ignored", false}} {
		before := testutil.ToFloat64(c.restarter.Metrics.PatchErrors.WithLabelValues(step.reason))
		c.restarter.Failed(objecttest.Web, errors.New(step.failure))
		if more := testutil.ToFloat64(c.restarter.Metrics.PatchErrors.WithLabelValues(step.reason)) - before; more != 1 {
			t.Errorf("%q counts %v times as %q", step.failure, more, step.reason)
		}
		if _, late := c.restarter.Table.Load(time.Now()).Waits[objecttest.Web.Namespace]; late != step.late {
			t.Errorf("after %q it is late: %t", step.failure, late)
		}
	}
	c.restarter.Failed(objecttest.Web, failures.ErrConfigChanging)
	if _, late := c.restarter.Table.Load(time.Now()).Waits[objecttest.Web.Namespace]; !late {
		t.Error("it is not late while it waits for something else")
	}
	if _, waits := c.restarter.Backlogs.State(objecttest.Web); !waits {
		t.Error("nothing is under way any more")
	}
}
