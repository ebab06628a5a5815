// Package wording words what Events, logs and the status say. The texts have no data of configs and no names of a
// Secret's keys.
package wording
