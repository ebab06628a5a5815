package catalog

import (
	"encoding/hex"
	"fmt"
	"maps"

	"github.com/cespare/xxhash/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/podtemplate"
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
// [Workload.PodTemplate] if the revision was made from the workload's present template.
func RevisionFingerprint(template *corev1.PodTemplateSpec) Fingerprint {
	return fingerprintOf(podtemplate.Encode(template).SumWithoutLabel(appsv1.DefaultDeploymentUniqueLabelKey))
}

// fingerprints returns the fingerprints of a pod template with and without what a restart sets in
// it. It does not modify the template.
func fingerprints(template *corev1.PodTemplateSpec) (full, bare Fingerprint) {
	encoded := podtemplate.Encode(template)
	return fingerprintOf(encoded.Sum()), fingerprintOf(encoded.SumWithoutAnnotations(TimestampAnnotation, CauseAnnotation))
}

// earlierDigits is the length of the fingerprints that [earlierFingerprint] returns.
const earlierDigits = 16

// earlierFingerprint identifies a pod template without the restart timestamp as versions
// before [Fingerprint] did: by the xxhash64 of its protobuf encoding. It returns the
// empty string for a template that cannot be encoded.
func earlierFingerprint(template *corev1.PodTemplateSpec) string {
	bare := *template
	bare.Annotations = maps.Clone(template.Annotations)
	delete(bare.Annotations, TimestampAnnotation)
	encoded, err := bare.Marshal()
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%0*x", earlierDigits, xxhash.Sum64(encoded))
}
