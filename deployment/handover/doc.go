// Package handover decides who drives the Deployments of a cluster: this engine, or another
// deployment controller such as that of kube-controller-manager. Two controllers that drive
// the same Deployments would fight, so the engine drives them only while no other controller
// does, and hands over as soon as it detects one.
//
// A [Monitor] detects others in two ways:
//
//   - The probe is a Deployment in the engine's own namespace that has no effect. Any other
//     deployment controller writes its status, and thereby answers it. An answer stops the
//     engine everywhere.
//   - A foreign write is a write of another Deployment's status by another field manager. The
//     writer need not be a controller, so the engine rests only in the namespace of that
//     Deployment, until a new probe has stayed without an answer.
//
// Vocabulary:
//
//   - A rival is another controller that drives Deployments.
//   - The engine makes sure that it is alone, drives Deployments, or stands by for a rival.
//     A standby engine begins by standing by.
//   - The detector decides what the engine does. It is pure: it receives events and the time.
//     The Monitor feeds it, and carries out what it decides.
//   - The takeover delay is how long no rival must have been detected before the engine
//     drives.
//
// Nothing here plans or writes Deployments other than the probe. The package deployment does
// that, where the Monitor lets it.
package handover
