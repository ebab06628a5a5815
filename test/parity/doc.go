// Package parity compares the deployment engine with the original: it plays the
// same scenarios on two clusters, one driven by the deployment controller of
// kube-controller-manager, the other by this project's engine, and compares what
// the API shows afterwards.
//
// Vocabulary:
//
//   - A side is one of the two clusters: the oracle's, which says what is right,
//     and the subject's, which is under test. With -self both run the original:
//     that proves that a scenario is determined and that the comparison is fair.
//   - A scene is one scenario's namespace, of the same name on both sides, and the
//     steps that can be taken in it. A step is taken on both sides at the same
//     time, and the next one begins when both have shown its effect.
//   - A checkpoint compares the two sides whole: all Deployments, ReplicaSets and
//     the Deployments' Events. It waits until both sides have come to rest. Only
//     times, UIDs, resource versions, field managers and the generations of
//     ReplicaSets (which count scalings) are left out, and the random end of a
//     pod's name in a message.
//
// At the end of the run, no object of any scene may have been written since the
// scene's last checkpoint: an engine that has nothing to do writes nothing.
//
// # To add a scenario
//
// Write a function of a [*scene] in the file of its theme and put it into the
// list there; its name is a sentence. It makes Deployments with [scene.create],
// changes them, and places a checkpoint wherever the state is determined: where
// all is settled, or where pods are held back so that the rollout cannot go on
// ([held], [workload.letGo]), a finalizer keeps pods from going ([lingering]),
// the rollout is paused, or a quota forbids what comes next. Before the
// checkpoint, wait for the condition that makes it the right moment
// ([workload.await]): a checkpoint right after a step may come before either
// side has reacted to it.
//
// Between two templates a scene waits for the next second of the clock, so that
// no two ReplicaSets have the same time of creation: their order would depend on
// their names.
//
// Run the new scenario with -self several times. If the sides differ, something
// in it depends on timing: hold pods back to make it determined, or, where that
// is not possible, name what is not determined with [scene.ignore] and say why.
// A difference that is meant is stated with [scene.meant], as the exact change to
// what the oracle shows; docs/engine.md lists it.
//
//	go test ./test/parity -run 'TestScenarios/a_template_change'    one scenario
//	go test ./test/parity -self                                     the original against itself
//	go test ./test/parity -run TestRandom -seed 7 -count 20         random scenarios
package parity
