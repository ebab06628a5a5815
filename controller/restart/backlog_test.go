package restart_test

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/metrics"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/controller/tracker"
)

func TestALongGracePeriodAndAPutOffRestartAreNotLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := restart.NewRestarter(restart.Parts{Deliveries: controllertest.Followed(catalog.New()), Evictions: follow.NewEvictions(catalog.New(), tracker.New()), Gate: controllertest.OpenGate(catalog.New()), Table: tracker.New(), Metrics: metrics.New(), Log: slog.New(slog.DiscardHandler)}, nil)
		edited := time.Now()
		time.Sleep(2 * time.Minute)
		r.Backlogs.Note(pending.ObservedChange{Workload: objecttest.Web, Since: edited, Due: time.Now(), Count: 1})
		time.Sleep(time.Second)
		r.Backlogs.PutOff(objecttest.Web, nil, objecttest.SlowedUntil(time.Now().Add(10*time.Minute)), time.Now())
		time.Sleep(10*time.Minute + 3*time.Second)
		r.Applied(&workload.Workload{Object: workload.Object{Ref: objecttest.Web}}, decide.Decision{Outcome: decide.RecordOnly}, nil, tracker.Made{})
		for want, histogram := range map[float64]prometheus.Histogram{
			12*60 + 4: r.Metrics.ChangeToPatch,
			3:         r.Metrics.DueToPatch,
		} {
			var got dto.Metric
			if err := histogram.Write(&got); err != nil || got.GetHistogram().GetSampleSum() != want {
				t.Errorf("%s has a sum of %v, want %v (%v)", histogram.Desc(), got.GetHistogram().GetSampleSum(), want, err)
			}
		}
	})
}

// The config is reverted while a person holds the restart, so it is only recorded.
func TestARecordAfterAHoldIsNotLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := restart.NewRestarter(restart.Parts{Deliveries: controllertest.Followed(catalog.New()), Evictions: follow.NewEvictions(catalog.New(), tracker.New()), Gate: controllertest.OpenGate(catalog.New()), Table: tracker.New(), Metrics: metrics.New(), Events: &record.FakeRecorder{}, Log: slog.New(slog.DiscardHandler)}, nil)
		r.Backlogs.Note(pending.ObservedChange{Workload: objecttest.Web, Since: time.Now(), Due: time.Now(), Count: 1})
		r.Backlogs.PutOff(objecttest.Web, nil, gate.Answer{Reason: gate.Hold, Text: "an incident"}, time.Now())
		time.Sleep(time.Hour)
		r.Applied(&workload.Workload{Object: workload.Object{Ref: objecttest.Web}}, decide.Decision{Outcome: decide.RecordOnly}, nil, tracker.Made{})
		for want, histogram := range map[float64]prometheus.Histogram{60 * 60: r.Metrics.ChangeToPatch, 0: r.Metrics.DueToPatch} {
			var got dto.Metric
			if err := histogram.Write(&got); err != nil || got.GetHistogram().GetSampleSum() != want {
				t.Errorf("%s has a sum of %v, want %v (%v)", histogram.Desc(), got.GetHistogram().GetSampleSum(), want, err)
			}
		}
	})
}
