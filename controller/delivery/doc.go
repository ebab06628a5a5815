// Package delivery judges what became of a restart: a restart is delivered when its pods run and
// stay up, and not when the API server accepts the patch.
//
// The package is pure. It has no client, no clock and no log: statuses, pods and times come in as
// arguments, and verdicts come out.
package delivery
