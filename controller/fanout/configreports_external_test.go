package fanout_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/fanout"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// bombedRecorder panics at Events on objects of this name.
type bombedRecorder struct {
	record.FakeRecorder
	name string
}

func (r *bombedRecorder) Event(object runtime.Object, eventType, reason, message string) {
	if object.(*corev1.ObjectReference).Name == r.name {
		panic("canary")
	}
	r.FakeRecorder.Event(object, eventType, reason, message)
}

func TestAnEventOnAConfigThatPanicsKeepsNoOthersFromBeingCreated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		logger, recorder := slog.New(slog.NewTextHandler(&log, nil)), record.NewFakeRecorder(10)
		configs := configEventsOf(t, func(*http.Request) (*http.Response, error) {
			list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"}}
			list.Items = make([]metav1.PartialObjectMetadata, 1)
			return objecttest.Respond(http.StatusOK, &list)
		}, &bombedRecorder{*recorder, "bad"}, logger)
		known := catalog.New()
		r := fanout.NewReports(gatekeeper.NewNotices(logger), controllertest.OpenGate(known), follow.NewEvictions(known, tracker.New()), nil, configs, quarantine.New(quarantine.Options{Log: logger}), logger)
		for _, name := range []string{"bad", "good"} {
			r.Note(names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: name}, corev1.EventTypeWarning, events.Halted, "halted")
		}
		r.Note(names.ConfigRef{Namespace: "a"}, corev1.EventTypeWarning, events.Halted, "no config")
		ctx, stop := context.WithTimeout(t.Context(), 2*fanout.ReportPeriod)
		defer stop()
		r.Run(ctx)
		if len(recorder.Events) != 1 || strings.Count(log.String(), "internal error") != 1 || !strings.Contains(log.String(), "object=configmap/a/bad") {
			t.Errorf("%d Events, and the log is\n%s", len(recorder.Events), &log)
		}
	})
}
