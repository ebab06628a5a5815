// Package controller is the restart controller: it keeps a [catalog.Catalog] up
// to date from watches, waits a grace period after each change, and carries out
// the catalog's decisions with one patch per workload.
//
// An edit of a config takes this path:
//
//	watch -> Catalog.ObserveConfig -> Catalog.WorkloadsReferencing
//	  -> changeQueue.Observe, for each workload -> (grace period)
//	  -> restarter -> catalog.Decide -> one patch
//	  -> answer and watch -> Catalog.ObserveWorkload -> the record matches: done
//
// What it guarantees:
//
//   - The data of a config is dropped as soon as it is hashed; see [configKind.reduce].
//   - A workload that did not opt in is never written to.
//   - A patch carries the resourceVersion that it was decided on. If the
//     workload has changed in the meantime, the controller decides again.
//   - A failed patch is tried again, with growing pauses, until it succeeds or
//     is not needed any more. State changes only with what the API server
//     answers or sends.
//   - A workload or config that causes a panic is left alone until it changes, and
//     everything else continues.
package controller
