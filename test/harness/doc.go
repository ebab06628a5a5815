// Package harness runs the restart controller the way its users do: as a process
// of its own, with the permissions of its own ServiceAccount, against a real control
// plane. The end-to-end tests, the benchmarks and the demo share it; it knows
// nothing of package testing.
//
//   - A [Cluster] is one "localcluster up": etcd, kube-apiserver and, unless left
//     out, the controller manager, the scheduler and KWOK for nodes and pods.
//   - An [Installation] is what the manifests of permissions give the controller in a
//     cluster: a kubeconfig with a token of its ServiceAccount.
//   - A [Controller] is one running controller process, its log and its metrics.
//
// Every child process ends with its parent, also when the parent is killed (on
// Linux; elsewhere when the parent ends in good order). Whatever Start functions
// began is undone before they return an error. Waiting is always for a condition
// ([Eventually]), never for an amount of time.
package harness
