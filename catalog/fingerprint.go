package catalog

import (
	"fmt"
	"maps"

	"github.com/cespare/xxhash/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Fingerprint identifies a pod template by the xxhash64 of its protobuf
// encoding, which is deterministic (maps are sorted). One controller version
// always computes the same; after an upgrade of the Kubernetes API types it may
// differ, which costs a look at the pods.
type Fingerprint uint64

// String returns the fingerprint as 16 lower-case hexadecimal digits.
func (f Fingerprint) String() string { return fmt.Sprintf("%016x", uint64(f)) }

// RevisionFingerprint is the fingerprint of the pod template of a workload's revision, a
// ReplicaSet or what a ControllerRevision holds. It equals [Workload.PodTemplate] if the
// revision was made from the workload's present template.
func RevisionFingerprint(template *corev1.PodTemplateSpec) (Fingerprint, error) {
	labeled := *template
	labeled.Labels = without(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return fingerprint(&labeled)
}

// fingerprint leaves out the given annotations. It does not modify the template.
func fingerprint(template *corev1.PodTemplateSpec, annotations ...string) (Fingerprint, error) {
	bare := *template
	for _, annotation := range annotations {
		bare.Annotations = without(bare.Annotations, annotation)
	}
	encoded, err := bare.Marshal()
	if err != nil {
		return 0, fmt.Errorf("encode pod template: %w", err)
	}
	return Fingerprint(xxhash.Sum64(encoded)), nil
}

func without(m map[string]string, key string) map[string]string {
	if _, found := m[key]; !found {
		return m
	}
	rest := maps.Clone(m)
	delete(rest, key)
	return rest
}
