// Package gate decides when a restart that is due may begin. It is the only place that holds
// restarts back: the budget of a workload, holds, halts, windows, waves, the slow start of a
// fan-out and the limit of restarts at the same time are all answers of [Admit].
//
// A fan-out is the series of restarts that deliver one content of one config to the workloads
// that read it. A [Ledger] counts what the restarts of each fan-out, namespace and wave are doing,
// so that Admit compares numbers and looks at no other workload.
//
// The package is pure. It has no client, no clock and no log: what happens and the time come in
// as arguments, and answers come out.
package gate
