// Package kinds has the tables of the kinds of objects: how each is watched, read and reduced to an observation, and which
// pods are a workload's. No other package distinguishes kinds.
package kinds
