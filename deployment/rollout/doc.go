// Package rollout plans the rollouts of Deployments. It is pure: [Plan] computes, from a
// [State], what has to be done now. The state holds all that the plan may look at, the time
// included. What the plan orders is a list of [Action] values that can be printed, compared,
// simulated and fuzzed. The package has no client, no clock, no context and no log. Nothing in
// it modifies what it is given, so all of it may be used concurrently.
//
// [NewDeployment] and [NewReplicaSet] reduce API objects to what plans look at.
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
//   - A strategy is how a rollout gets from the old ReplicaSets to the new one.
//   - The sum of a pod template identifies it; the hash only names its ReplicaSet.
package rollout
