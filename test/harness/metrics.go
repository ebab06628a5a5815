package harness

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// MetricPrefix begins the name of every metric that is the controller's own.
const MetricPrefix = "deployment_restart_controller_"

// Metrics are the metric families of one look at /metrics, by name.
type Metrics map[string]*dto.MetricFamily

// Metrics reads the controller's metrics.
func (c *Controller) Metrics(ctx context.Context) (Metrics, error) {
	status, body, err := c.Get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("/metrics answers %d: %s", status, body)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("parse metrics: %w", err)
	}
	return families, nil
}

// Metric reads one value of the controller's: the sum over the series of the
// metric that bear the labels. The name may lack [MetricPrefix]. A metric of that
// name without a series that bears the labels is 0, a missing one an error.
func (c *Controller) Metric(ctx context.Context, name string, labels map[string]string) (float64, error) {
	metrics, err := c.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	return metrics.Value(name, labels)
}

// Value is [Controller.Metric] of one look at all metrics. Of a histogram
// or summary it is the number of observations.
func (m Metrics) Value(name string, labels map[string]string) (float64, error) {
	family, found := m[name]
	if !found {
		if family, found = m[MetricPrefix+name]; !found {
			return 0, fmt.Errorf("there is no metric %s", name)
		}
	}
	sum := 0.0
	for _, metric := range family.GetMetric() {
		if bears(metric, labels) {
			sum += value(metric)
		}
	}
	return sum, nil
}

func bears(metric *dto.Metric, labels map[string]string) bool {
	lacking := maps.Clone(labels)
	for _, pair := range metric.GetLabel() {
		if want, asked := lacking[pair.GetName()]; asked && want == pair.GetValue() {
			delete(lacking, pair.GetName())
		}
	}
	return len(lacking) == 0
}

func value(metric *dto.Metric) float64 {
	switch {
	case metric.Counter != nil:
		return metric.Counter.GetValue()
	case metric.Gauge != nil:
		return metric.Gauge.GetValue()
	case metric.Histogram != nil:
		return float64(metric.Histogram.GetSampleCount())
	case metric.Summary != nil:
		return float64(metric.Summary.GetSampleCount())
	default:
		return metric.GetUntyped().GetValue()
	}
}

// Idle returns nil if the controller has nothing to do: no change is due and no
// workload waits for a worker. A change that the API server has but the
// controller's watch has not shown yet is not known to it.
func (c *Controller) Idle(ctx context.Context) error {
	metrics, err := c.Metrics(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{"changes_waiting_total", "queue_depth"} {
		waiting, err := metrics.Value(name, nil)
		if err != nil {
			return Final(err)
		}
		if waiting != 0 {
			return fmt.Errorf("the controller is busy: %s is %.0f", name, waiting)
		}
	}
	return nil
}
