package fanout_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/fanout"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// configEventsOf creates Events on configs with an API server that answers like this.
func configEventsOf(t *testing.T, server objecttest.Answers, events record.EventRecorder, log *slog.Logger) fanout.ConfigEvents {
	t.Helper()
	rate := apiclient.Rate{QPS: 1e6, Burst: 1e6}
	clients, err := apiclient.Connect(&rest.Config{Host: "http://api", Transport: server}, rate, rate)
	if err != nil {
		t.Fatal(err)
	}
	return fanout.ConfigEvents{Metadata: clients.Metadata, Events: events, Log: log}
}

func TestTheReportOfAFailureReadsNoDataOfTheConfig(t *testing.T) {
	var accepts []string
	configs := configEventsOf(t, func(r *http.Request) (*http.Response, error) {
		accepts = append(accepts, r.Header.Get("Accept"))
		list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"}}
		list.Items = []metav1.PartialObjectMetadata{{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}, ObjectMeta: metav1.ObjectMeta{Name: "s", UID: "u"}}}
		return objecttest.Respond(http.StatusOK, &list)
	}, &record.FakeRecorder{}, slog.New(slog.DiscardHandler))
	config, err := configs.Reference(t.Context(), names.ConfigRef{Kind: names.Secret, Namespace: "default", Name: "s"})
	if err != nil || config.UID != "u" || config.Kind != "Secret" || config.APIVersion != "v1" || config.Name != "s" {
		t.Errorf("%+v, %v", config, err)
	}
	if len(accepts) != 1 || !strings.Contains(accepts[0], "as=PartialObjectMetadataList") {
		t.Errorf("it accepted %q", accepts)
	}
}
