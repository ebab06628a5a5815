// Package gate decides when a restart that is due may begin. Before it, grace periods (package pending) and unknown facts
// (gatekeeper.KnowsEnough) hold restarts.
//
// Vocabulary:
//
//   - A fan-out is a config and the moment of an edit. All keys of the edit share it, and all copies of the config if
//     they form a group.
//   - The [Ledger] counts what the restarts of each fan-out, namespace and wave are doing, so that [Admit] compares
//     numbers and looks at no other workload.
//   - A place is a share of the limit, a slot a share of a slow start.
//   - A standing is how a workload is before its restart: failed, well or unwell.
//
// # Admit
//
// One function asks in the order of [Reasons]. A restart that is not admitted is put off, and when it asks again, the
// caller decides again, about the content at that time.
//
// # States of a restart
//
//	waiting  for what its reason says
//	failing  could not begin, and will ask again; others do not wait for its turn
//	called   waited, and should ask again; it occupies its slots
//	admitted may begin; it holds a place and its slots
//	rolling  its pods are replaced; it holds both
//	soaking  all its pods run, but not for long; it holds its slots, but no place
//
// Beside these, a restart is uncertain for 30 seconds if the API server may have accepted it without saying so. It
// keeps its place and its slots until a watch would have shown it. When a restart ends, the ledger wakes those that may
// begin because of that, and no others.
//
// # Why it is so
//
// If the content named a fan-out, an edit of one key would begin all others anew; if the key did, a release of 30 keys
// would be 30 fan-outs.
//
// State is derived: records show which workloads run with a content, and timestamps which ones roll. Only halts are
// remembered, because a failure leaves no trace once the broken workload is released, undone or deleted. People resume
// a halt by its id, so that an annotation that stays on a config cannot resume a later one.
//
// The slow start lets one restart begin, and then as many at a time as have proven the content. Workloads that the
// former content broke go first: they have the least to lose, and may be the only ones that reveal the fault. The
// others wait a minute at most to learn whether these are due. Unwell workloads go last and prove nothing.
//
// The soak takes no place: the limit protects the nodes and the API server, not the content's readers.
//
// A namespace holds no more places than are free. With 50 places, a single busy namespace uses 26. A namespace has 16
// halts at most; beyond that, all its gradual restarts are halted.
package gate
