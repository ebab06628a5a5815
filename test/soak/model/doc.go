// Package model judges what a soak has seen. It is pure: what was done and what was
// observed goes in ([Model.Configure], [Model.See], …), a verdict comes out
// ([Model.Verdict]), and for a workload that went wrong its whole story
// ([Model.Story]).
//
// The model knows what a user can know, and nothing of how the controller works:
//
//   - Lost: a pod that runs at the end has read something else of a config than it would
//     now, and the last change was made while the workload was opted in. If the content is
//     what it was before, that must have happened while the controllers could see
//     everything ([Model.Watched]).
//   - Overlooked: a change that the record did not answer for long, whatever came later. The
//     time in which the record is kept after a revert does not count (see kept.go), nor does
//     that in which a restart may be held for a stated reason (see held.go).
//   - Needless: a restart that no change of its own accounts for. Each restart uses up
//     one change of what the workload's pods can see, made after the record before it
//     (or a little earlier: the controller may have learned of it late). And while the
//     record is trusted, a restart must show in it, unless a pod started while the content was
//     another one for a while. A revert ([Model.Revert]) accounts for one restart, too.
//   - Over the budget: restarts that follow each other too closely.
//   - Held: a restart that began although an annotation of the workload, or of the config
//     that it was for, held it or closed the window.
//   - Halted: a restart for content that had broken other workloads, although nothing had
//     ended the halt; see halts.go.
//   - Over the limit, out of turn: a restart that began while as many others rolled as may,
//     or while a workload of an earlier wave did; see rolling.go.
//   - Not enabled: a restart or record that was written while the workload was not
//     opted in.
//   - Disagreeing: two records that say different things of the same content.
//   - Out of bounds: an order of the deployment engine that makes too many pods or
//     takes away too many available ones; see bounds.go.
//
// Some workloads restart by eviction, and of some only the pods show how far a restart is. Of both, the
// model assumes what excuses most: they still roll while others wait for them, and have become whole where that
// would end a halt.
//
// Order within one object is that of its resource versions; between ReplicaSets and
// Deployments, too, since they live in one etcd. What happened while nobody could
// observe, because the API server was away, is not judged. The model is then lenient,
// never wrong: of several restarts in a gap it sees the last.
package model
