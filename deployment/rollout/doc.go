// Package rollout plans the rollouts of Deployments. It is pure: from a [State], [Plan] computes what has to be done
// now. The state holds everything that the plan may look at, including the time. A plan is a list of [Action] values.
// The functions do not modify their arguments, so all of them may be used concurrently.
//
// [NewDeployment] and [NewReplicaSet] reduce API objects to what plans may look at.
//
// Vocabulary, as in Kubernetes' documentation of Deployments
// (https://kubernetes.io/docs/concepts/workloads/controllers/deployment/):
//
//   - The new ReplicaSet is the one made from the present pod template; all other ReplicaSets of the Deployment are
//     old.
//   - A ReplicaSet is active while its spec wants pods.
//   - A rollout is complete when only pods of the new ReplicaSet exist, and all of them are available.
//   - Surge is how many pods there may be beyond the wanted ones. Unavailable is how many of the wanted pods may be
//     missing.
//   - A strategy is how a rollout gets from the old ReplicaSets to the new one.
//   - The sum of a pod template identifies it; the hash only names its ReplicaSet.
package rollout
