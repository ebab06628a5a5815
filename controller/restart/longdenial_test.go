//go:build !race

package restart_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/metrics"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// eventServer takes Events, and notes the longest message.
type eventServer struct{ taken, longest int }

func (s *eventServer) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	event := &corev1.Event{}
	if _, _, err := apiclient.Codecs.UniversalDeserializer().Decode(body, nil, event); err != nil {
		return nil, err
	}
	s.taken, s.longest = s.taken+1, max(s.longest, len(event.Message))
	event.TypeMeta = metav1.TypeMeta{Kind: "Event", APIVersion: "v1"}
	return objecttest.Respond(http.StatusCreated, event)
}

// An admission webhook denies with a megabyte, other words each time. client-go keeps the
// messages of thousands of Events.
func TestLongDenialsAreShortened(t *testing.T) {
	const workloads = 100
	synctest.Test(t, func(t *testing.T) {
		server, rate := &eventServer{}, apiclient.Rate{QPS: 1e6, Burst: 1e6}
		clients, err := apiclient.Connect(&rest.Config{Host: "http://api", Transport: server}, rate, rate)
		if err != nil {
			t.Fatal(err)
		}
		broadcaster := record.NewBroadcaster()
		r := restart.NewRestarter(restart.Parts{
			Catalog: catalog.New(), Gate: controllertest.OpenGate(catalog.New()), Table: tracker.New(), Metrics: metrics.New(), Queue: restart.NewQueue(),
			Events: clients.Recorder(broadcaster, "test"), Log: slog.New(slog.DiscardHandler),
		}, nil)
		before := objecttest.HeapInUse()
		for i := range workloads {
			ref := names.WorkloadRef{Kind: names.Deployment, Namespace: "ns", Name: fmt.Sprint("web", i)}
			r.Catalog.ObserveWorkload(workload.Workload{Object: workload.Object{Ref: ref, UID: objecttest.UIDOf(i), ResourceVersion: "1"}})
			r.Failed(ref, fmt.Errorf("patch: %w", &apierrors.StatusError{ErrStatus: metav1.Status{
				Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: fmt.Sprint(i, strings.Repeat("x", 1<<20)),
			}}))
			synctest.Wait()
		}
		kept := objecttest.HeapInUse() - before
		if server.taken != workloads || server.longest > 4096 {
			t.Errorf("%d Events, the longest of %d bytes", server.taken, server.longest)
		}
		if kept > 4<<20 {
			t.Errorf("%d KiB are kept", kept>>10)
		}
		runtime.KeepAlive(r)
		broadcaster.Shutdown()
	})
}
