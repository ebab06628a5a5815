package series

import "github.com/prometheus/client_golang/prometheus"

// Count returns a counter. The namespace is the prefix of its name.
func Count(namespace, name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

// CountBy returns a counter for each value of a label.
func CountBy(namespace, name, help, label string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, []string{label})
}

// Histogram returns a histogram.
func Histogram(namespace, name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
}

// Desc describes a metric that is computed for each scrape. The namespace is the prefix
// of its name.
func Desc(namespace, name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

// Gauges returns a function that sends the values of such metrics, as gauges.
func Gauges(samples chan<- prometheus.Metric) func(desc *prometheus.Desc, value float64, labels ...string) {
	return func(desc *prometheus.Desc, value float64, labels ...string) {
		samples <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
}

// Bool returns the value of a gauge for a condition: 1 if it holds, otherwise 0.
func Bool(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
