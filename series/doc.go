// Package series bounds how many time series a metric has. Whoever may create an object or
// deny a request chooses names: of namespaces, configs, field managers. If each became the
// value of a label, anybody could fill the memory of whatever collects the metrics. So a
// label with such values has a limit, and what exceeds it is [Other].
//
// Both engines use this package; it knows neither.
package series

// Other is the value of a label that stands for all values beyond the limit. An object may
// have that name, too; it counts as one of them.
const Other = "other"
