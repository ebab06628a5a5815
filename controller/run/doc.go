// Package run has what the parts of a controller share to run: the role of the process, signals between the parts, and
// queues of workloads.
package run
