// Package decide says what to do about a workload: keep, record, restart, or ask its pods or its configs first. It computes
// with a view of the catalog and changes nothing.
package decide
