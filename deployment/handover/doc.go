// Package handover decides who drives the Deployments of a cluster: this engine, or another deployment controller such
// as that of kube-controller-manager. Two controllers that drive the same Deployments would fight, so the engine drives
// them only while no other controller does, and hands over as soon as it detects one.
//
// A [Monitor] detects others by a probe, a Deployment without effect whose status any other deployment controller
// writes, and by foreign writes of the status of other Deployments.
//
// Vocabulary:
//
//   - A rival is another controller that drives Deployments.
//   - The engine makes sure that it is alone, drives Deployments, or stands by for a rival.
//   - The detector decides what the engine does. It is pure: it receives events and the time.
//   - The takeover delay is how long no rival must have been detected before the engine drives.
package handover
