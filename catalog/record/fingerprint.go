package record

import (
	"crypto/sha256"
	"encoding/hex"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/internal/podtemplate"
)

// Fingerprint identifies a pod template by 128 bits of its [podtemplate.Sum]. It depends
// only on the fields that are set in the template, so it stays the same when the API
// types change.
type Fingerprint [16]byte

// String returns the fingerprint as 32 lower-case hexadecimal digits.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

func fingerprintOf(sum podtemplate.Sum) Fingerprint { return Fingerprint(sum[:16]) }

// RevisionFingerprint returns the fingerprint of the pod template of a workload's
// revision, which is in a ReplicaSet or a ControllerRevision. It equals
// [workload.Workload.PodTemplate] if the revision was made from the workload's present template.
func RevisionFingerprint(template *corev1.PodTemplateSpec) Fingerprint {
	return fingerprintOf(podtemplate.Encode(template).SumWithout(appsv1.DefaultDeploymentUniqueLabelKey))
}

// BareFingerprint is what tells apart the pod templates of one workload without what restarts them. It has no room for more: there
// are very many workloads, and 512 bytes is a size in which Go allocates.
type BareFingerprint [3]byte

// String returns the fingerprint as 6 lower-case hexadecimal digits.
func (f BareFingerprint) String() string { return hex.EncodeToString(f[:]) }

// BareFingerprintOf returns that of a pod template, whose fingerprint without our restarts is given.
func BareFingerprintOf(template *corev1.PodTemplateSpec, bare Fingerprint) BareFingerprint {
	if _, isRestarted := template.Annotations[annotation.KubectlRestartAnnotation]; isRestarted {
		bare = fingerprintOf(podtemplate.Encode(template).SumWithoutAnnotations(annotation.TimestampAnnotation, annotation.CauseAnnotation, annotation.KubectlRestartAnnotation))
	}
	return BareFingerprint(bare[:3])
}

// Within returns the fingerprint of a template whose pods do not run at present, such as for a reason that began at a time: a
// record from before says nothing about those that do.
func (f Fingerprint) Within(episode string) Fingerprint {
	sum := sha256.Sum256(append(f[:], episode...))
	return Fingerprint(sum[:16])
}

// Fingerprints returns the fingerprints of a pod template with and without what a restart sets in
// it. It does not modify the template.
func Fingerprints(template *corev1.PodTemplateSpec) (full, bare Fingerprint) {
	encoded := podtemplate.Encode(template)
	return fingerprintOf(encoded.Sum()), fingerprintOf(encoded.SumWithoutAnnotations(annotation.TimestampAnnotation, annotation.CauseAnnotation))
}
