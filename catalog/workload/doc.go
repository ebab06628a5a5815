// Package workload reduces a workload to what matters, and says how it follows its predecessor.
package workload
