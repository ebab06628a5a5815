// Package deployment is the deployment engine: a complete Deployment controller, for
// clusters whose kube-controller-manager runs without its own. It turns each Deployment into
// ReplicaSets named by pod-template-hash, and rolls from the old ones to the new one by the
// Deployment's strategy.
//
// A sync is a straight line: observe the caches into a [rollout.State], compute the plan
// that the state calls for, and apply its actions in order. Package rollout, which is pure,
// computes the plans. A failed write appears as an observation in a later state.
//
// The engine works only while no other controller drives Deployments. Package handover
// decides that.
//
// Vocabulary, beside that of package rollout:
//
//   - The caches hold what the watches have shown, and the API server's answers to the
//     engine's own writes.
//   - A write history is what the engine remembers about its last writes for a Deployment.
//   - The engine drives Deployments, or stands by while another controller does. It can rest
//     in single namespaces.
package deployment
