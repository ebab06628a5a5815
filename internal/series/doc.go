// Package series limits how many time series a metric has. Anyone who may create an object
// or deny a request chooses names: of namespaces, configs and field managers. If each name
// became the value of a label, any user could fill the memory of the system that collects
// the metrics. So a label with such values has a limit, and values beyond it become
// [Other].
//
// It also makes the metrics of both engines, and has what they need for those that are computed for each scrape.
//
// Both engines use this package; it depends on neither.
package series

// Other is the label value that stands for all values beyond the limit. If an object has
// that name, it also counts here.
const Other = "other"
