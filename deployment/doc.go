// Package deployment is the deployment engine: a complete Deployment controller,
// for clusters whose kube-controller-manager runs without its own. It turns each
// Deployment into ReplicaSets named by pod-template-hash and rolls from the old
// ones to the new by the Deployment's strategy.
//
// A sync is a straight line: observe the caches into a [rollout.State], compute the
// plan that the state calls for, and apply its actions in order. Plans are the affair of
// package rollout, which is pure. A write that fails comes back as an observation in a later
// state.
//
// The engine works only while it hears nobody else who drives Deployments: a
// rivalry, which is pure like the plans, decides that.
//
// Vocabulary, beside that of package rollout:
//
//   - The caches hold what the watches have shown, and what the API server has answered to
//     the engine's own writes.
//   - A note is what the engine remembers of its writes for a Deployment.
//   - The engine drives Deployments, or stands by while somebody else does. A rival is
//     somebody else who drives; the probe is the Deployment by which the engine finds out.
package deployment
