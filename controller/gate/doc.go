// Package gate decides when a restart that is due may begin. Before it, grace periods (package pending) and unknown facts
// (gatekeeper.KnowsEnough) hold restarts.
//
// Vocabulary:
//
//   - A fan-out is a config and the moment of an edit. All keys of the edit share it, and all copies of the config if
//     they form a group. Readers that see different keys of it share its slots, and prove nothing for each other.
//   - The [Ledger] counts what the restarts of each fan-out, namespace and wave are doing, so that [Admit] compares
//     numbers and looks at no other workload.
//   - A place is a share of the limit, a slot a share of a slow start.
//   - A standing is how a workload is before its restart: failed, exposed, well, lacking or unwell.
//   - A workload is exposed to a content that a restart has brought until it is judged, or its deadline has passed.
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
//	unproven nothing of it is to be seen for now, or nobody follows it; it holds its slots until its deadline
//
// Beside these, a restart is uncertain if the API server may have accepted it without saying so. It keeps its place for
// 30 seconds, and its slots until it is known what became of it, for an hour at most. When a restart ends, the ledger
// wakes those that may begin because of that, and no others.
//
// Invariant: a workload keeps the slots of a content until it is delivered, has failed, or its deadline has passed.
// Another restart goes on with them. Nothing that others do frees them, but a group frees what takes too long.
//
// # To add a reason to wait
//
// Put it into [Reasons], where its place says what comes first, and ask for it in [Admit], from what [Request] says. If other
// restarts end the wait, give it a line (see join). All that tells reasons apart, such as their texts, mentions [Window].
//
// # Why it is so
//
// If the content named a fan-out, an edit of one key would begin all others anew; if the key did, a release of 30 keys
// would be 30 fan-outs.
//
// State is derived: records show which workloads run with a content, and timestamps which ones roll. Only halts are
// remembered, because a failure leaves no trace once the broken workload is released, undone or deleted, and because
// content comes back. People resume a halt by its id, so that an annotation that stays on a config cannot resume a
// later one.
//
// The slow start lets one restart begin, and then as many at a time as have proven the content. Workloads that the
// former content broke, or may have, go first: they have the least to lose. The others wait a minute at most after the
// last edit to learn whether these are due. Unwell workloads go last and prove nothing.
//
// The soak takes no place: the limit protects the nodes and the API server, not the content's readers.
//
// A namespace holds no more places than are free. With 50 places, a single busy namespace uses 26. A namespace has 16
// active halts at most; beyond that, all its gradual restarts are halted.
package gate
