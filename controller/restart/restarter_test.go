package restart_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/pending"
)

func TestARunEndsWithTheContextOrAPermanentFailure(t *testing.T) {
	for exitOnError, want := range map[bool]string{true: "permanent failure: " + failures.ErrOnlyRecord.Error() + ": patch deployment/ns/web", false: ""} {
		object := objecttest.Watched()
		var log strings.Builder
		r := refusedRestarter(t, &refusingServer{deployment: object, refusal: refusal(http.StatusForbidden, metav1.StatusReasonForbidden)}, record.NewFakeRecorder(10), &log)
		r.ExitOnError, r.Failure = exitOnError, make(chan error, 1)
		workload := controllertest.WorkloadOf(t, &object)
		workload.References = nil // so that its pods make no difference
		r.Catalog.ObserveWorkload(workload)
		r.Enqueue(pending.ObservedChange{Workload: objecttest.Web, Subject: objecttest.Web})
		ctx, stop := context.WithCancel(t.Context())
		worked := 0
		err := r.Run(ctx, func(ref names.WorkloadRef) {
			worked++
			if ref != objecttest.Web {
				t.Errorf("worked on %s", ref)
			}
			if !exitOnError {
				stop()
			}
		})
		stop()
		if (err != nil) != exitOnError || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("exit on error: %t: %v", exitOnError, err)
		}
		if due, waits := r.Backlogs.State(objecttest.Web); worked == 0 || due || !waits {
			t.Errorf("worked %d times; due: %t, waits: %t\n%s", worked, due, waits, &log)
		}
	}
}
