// Package metrics has what the controller counts as it works.
package metrics
