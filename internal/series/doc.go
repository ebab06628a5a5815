// Package series limits how many time series a metric has. Whoever may create an object chooses names, so if each
// became the value of a label, any user could fill the memory of the system that collects them. A counter has series
// of its own for the first N values, a gauge for the N most important ones; the rest share [Other].
package series

// Other is the label value that stands for all values beyond the limit. If an object has
// that name, it also counts here.
const Other = "other"
