package restart

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// serveConfigMap serves the only ConfigMap of an API server, or none, and counts how often.
func serveConfigMap(t *testing.T, present **corev1.ConfigMap, reads *int) apiclient.Core {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*reads++
		if selector := r.URL.Query().Get("fieldSelector"); r.URL.Path != "/api/v1/namespaces/ns/configmaps" || selector != "metadata.name=web" {
			t.Errorf("a request for %s", r.URL)
		}
		list := corev1.ConfigMapList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}}
		if *present != nil {
			list.Items = append(list.Items, **present)
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(list); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	client, err := apiclient.ConnectGroup(&rest.Config{Host: server.URL}, corev1.SchemeGroupVersion)
	if err != nil {
		t.Fatal(err)
	}
	return apiclient.NewCore(client)
}

// recordedOtherwise returns the view of a workload whose record, from another process, has
// other content than the catalog knows.
func recordedOtherwise(t *testing.T, known *content.Config, recordSeen, now names.Sequence) *catalog.View {
	t.Helper()
	return &catalog.View{
		Workload: &workload.Workload{Object: workload.Object{References: []template.Reference{{Config: known.Ref}}}, Timeline: workload.Timeline{RecordSeen: recordSeen}, Record: record.Record{Trusted: true, Checksums: record.Checksums{known.Ref: 1}}},
		Configs:  map[names.ConfigRef]*content.Config{known.Ref: known},
		Sequence: now,
	}
}

func TestAConfigIsConfirmedOnlyIfItIsWhatTheCatalogKnows(t *testing.T) {
	known := content.NewConfigMap(objecttest.ConfigMapOf("1"))
	for name, test := range map[string]struct {
		present *corev1.ConfigMap
		want    error
	}{
		"the same":        {objecttest.ConfigMapOf("1"), nil},
		"another content": {objecttest.ConfigMapOf("2"), failures.ErrConfigChanging},
		"none":            {nil, failures.ErrConfigChanging},
	} {
		reads := 0
		reader := configReader{core: serveConfigMap(t, &test.present, &reads)}
		if err := reader.confirm(t.Context(), recordedOtherwise(t, &known, 5, 7)); !errors.Is(err, test.want) || reads != 1 {
			t.Errorf("%s: %v after %d reads, want %v", name, err, reads, test.want)
		}
	}
}

// One read serves all workloads whose records were seen before it, and none that came later.
func TestAConfigIsReadAgainOnlyForARecordThatCameLater(t *testing.T) {
	known, present, reads := content.NewConfigMap(objecttest.ConfigMapOf("1")), objecttest.ConfigMapOf("1"), 0
	reader := configReader{core: serveConfigMap(t, &present, &reads)}
	for _, step := range []struct {
		recordSeen, now names.Sequence
		reads           int
	}{{5, 7, 1}, {6, 8, 1}, {7, 9, 1}, {8, 9, 2}, {9, 9, 2}} {
		if err := reader.confirm(t.Context(), recordedOtherwise(t, &known, step.recordSeen, step.now)); err != nil {
			t.Fatal(err)
		}
		if reads != step.reads {
			t.Errorf("record seen at %d, now %d: %d reads, want %d", step.recordSeen, step.now, reads, step.reads)
		}
	}
}

// A large config can be edited all the time, and be read each time.
func TestWhatWasReadOfAConfigKeepsNoEarlierStateOfIt(t *testing.T) {
	known, present, reads := content.NewConfigMap(objecttest.ConfigMapOf("1")), objecttest.ConfigMapOf("1"), 0
	reader := configReader{core: serveConfigMap(t, &present, &reads)}
	forgotten := make(chan struct{})
	func() {
		earlier := known
		runtime.AddCleanup(&earlier, func(done chan struct{}) { close(done) }, forgotten)
		if err := reader.confirm(t.Context(), recordedOtherwise(t, &earlier, 5, 7)); err != nil {
			t.Fatal(err)
		}
	}()
	for range 1000 {
		runtime.GC()
		select {
		case <-forgotten:
			runtime.KeepAlive(&reader)
			return
		case <-time.After(time.Millisecond):
		}
	}
	t.Error("it is kept")
}
