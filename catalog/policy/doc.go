// Package policy reads what the annotations of workloads and configs ask for: holds, windows, waves, the method, the budget
// and with whom a config is shared.
package policy
