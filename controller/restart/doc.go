// Package restart decides about the workloads that changes concern, and writes to them. No other package writes to workloads,
// apart from what package evict asks of their own controllers.
package restart
