// Package gatekeeper feeds the gate: it gathers what a restart that is due depends on, asks, and tells the gate what
// becomes of restarts. It also knows the halts.
//
//   - No gradual restart begins in a namespace before the halts are read and the namespace's workloads are listed, or
//     a minute has passed in which that was not possible.
//   - Readers that run with the content before their turn are counted once for each fan-out, when a restart has to
//     wait for its slow start.
//   - A failure counts for each content as it was brought. If the config has another one by then, the halt is
//     remembered; see [gate.Halt]. That a workload runs after all ends it only if it runs this content, with the
//     template that failed.
//   - A resumed halt is kept, because it forgives failures of restarts from before. A halt that is lost costs one more
//     broken workload.
//   - What a workload is exposed to is noted by content, and kept for the next leader if it may not see it; see
//     [Gatekeeper.Expose]. In a fan-out that begins with the same content, the workload takes its slot again.
package gatekeeper
