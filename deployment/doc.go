// Package deployment is the deployment engine: a complete Deployment controller,
// for clusters whose kube-controller-manager runs without its own. It turns each
// Deployment into ReplicaSets named by pod-template-hash and rolls from the old
// ones to the new by the Deployment's strategy.
//
// A sync is a straight line: observe the caches into a [State], compute the
// [Plan] that the state calls for, and apply its actions in order. A plan is a
// pure function of the state, the time included. What it orders is a list of
// [Action] values that can be printed, compared, simulated and fuzzed. A write
// that fails comes back as an observation in a later state.
//
// The engine works only while it hears nobody else who drives Deployments: a
// rivalry, which is pure like the plans, decides that.
//
// Vocabulary, as in Kubernetes' documentation of Deployments
// (https://kubernetes.io/docs/concepts/workloads/controllers/deployment/):
//
//   - The new ReplicaSet is the one made from the present pod template; all
//     others of the Deployment are old.
//   - A ReplicaSet is active while its spec wants pods.
//   - A rollout is complete when the new ReplicaSet's pods are all that exist and
//     all of them are available.
//   - Surge is how many pods there may be beyond the wanted ones, unavailable how
//     many of the wanted ones may be missing.
package deployment
