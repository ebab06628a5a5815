// Package custom reads workloads of kinds for which this program has no types: any API object with a pod template.
//
// A [Kind] names such a kind and knows where its objects have their pod templates. [Kind.Parts] returns what a workload
// of the kind has in common with a Deployment. For some kinds a preset knows more: how their status describes a
// rollout, what keeps a changed template from restarting pods, and by which label pods of the present template are
// recognized. For all others, only their pods show how a rollout goes; see [workload.Rollout.ByPods].
//
// No error quotes content of an object.
package custom
