// Package record reads and writes the record of a workload: the checksums that its pods are known to run with, and the
// basis on which they rest.
package record
