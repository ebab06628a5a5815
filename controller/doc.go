// Package controller is the restart controller: it keeps a [catalog.Catalog] up
// to date from watches, waits a grace period after each change, and carries out
// the catalog's decisions with one patch per workload. This package only puts the
// parts together; each is a package of its own.
//
// An edit of a config takes this path:
//
//	watch -> intake -> Catalog.ObserveConfig -> Catalog.WorkloadsReferencing
//	  -> pending.ChangeQueue, for each workload -> (grace period)
//	  -> restart -> decide.Decide -> gatekeeper, when it may begin -> one patch
//	  -> answer and watch -> Catalog.ObserveWorkload -> the record matches: done
//	  -> follow, until it is known what became of it
//
// Imports run one way. From the lowest:
//
//   - gate, delivery and window compute when a restart may begin, what became of
//     one, and when a window is open. They are pure.
//   - run, events, failures, kinds, metrics and wording are the vocabulary: the role
//     of the process, the reasons of Events, what failures mean, the tables of kinds,
//     what is counted, and what texts say.
//   - store keeps what must outlive a process; pending has what workloads wait for;
//     counting knows which workloads count.
//   - gatekeeper asks the gate; follow follows restarts; fanout tells the owners of
//     configs about them; restart makes them; evict carries out those by eviction.
//   - intake takes in what the watches show; halts keeps the halts; judge finds out
//     what is wrong with workloads; show shows all that.
//
// What it guarantees:
//
//   - The data of a config is dropped as soon as it is hashed; see [kinds.ConfigKind.Reduce].
//   - A workload that did not opt in is never written to.
//   - A patch carries the resourceVersion that it was decided on. If the
//     workload has changed in the meantime, the controller decides again.
//   - A failed patch is tried again, with growing pauses, until it succeeds or
//     is not needed any more. State changes only with what the API server
//     answers or sends.
//   - A workload or config that causes a panic is left alone until it changes, and
//     everything else continues.
package controller
