package controller

import (
	"context"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/names"
)

func TestARunEndsWithTheContextOrAPermanentFailure(t *testing.T) {
	for exitOnError, want := range map[bool]string{true: "permanent failure: " + errOnlyRecord.Error() + ": patch deployment/ns/web", false: ""} {
		object := watched()
		var log strings.Builder
		r := refusedRestarter(t, &refusingServer{deployment: object, refusal: refusal(http.StatusForbidden, metav1.StatusReasonForbidden)}, record.NewFakeRecorder(10), &log)
		r.exitOnError, r.failure = exitOnError, make(chan error, 1)
		workload := workloadOf(t, &object)
		workload.References = nil // so that its pods make no difference
		r.catalog.ObserveWorkload(workload)
		r.Enqueue(observedChange{Workload: web, Subject: web})
		ctx, stop := context.WithCancel(t.Context())
		worked := 0
		err := r.Run(ctx, func(ref names.WorkloadRef) {
			worked++
			if ref != web {
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
		if due, waits := r.State(web); worked == 0 || due || !waits {
			t.Errorf("worked %d times; due: %t, waits: %t\n%s", worked, due, waits, &log)
		}
	}
}
