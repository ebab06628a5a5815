// Package deployment is the deployment engine: a complete Deployment controller, for clusters whose
// kube-controller-manager runs without its own. docs/engine.md describes how it works.
//
// A sync is a straight line: observe the caches into a [rollout.State], compute the plan, and apply its actions in
// order. A failed write is an observation of a later state.
//
//   - The caches hold what the watches have shown, and the answers to the engine's own writes. They prefer an answer
//     to a list only if it came after the list was asked for.
//   - A write history is what the engine remembers about its last writes for a Deployment.
//   - If a Deployment, one of its ReplicaSets or, for Recreate, one of their pods is left alone after a panic, nothing
//     is planned for it, and it is checked again every 10 seconds: the engine would create an unknown ReplicaSet a
//     second time.
//   - The engine drives only while package handover says so.
package deployment
