// Package pending has what workloads wait for: changes until their grace period is over, and backlogs until they are applied.
// Nothing is decided with that but when; see package decide.
package pending
