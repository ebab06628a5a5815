package record

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// readOriginal reads a record as the original controller writes it: checksums without a basis,
// or with the basis of other checksums, which remains from this controller if the original comes
// back. It returns nil if there is no such record. The original writes under the same field
// manager's name. A record that another manager restored, as an undo does, is not about these pods.
func readOriginal(meta *metav1.ObjectMeta, owned *annotation.Ownership) Checksums {
	var entries map[string]string
	if !owned.IsOurs(annotation.ChecksumsAnnotation) || json.Unmarshal([]byte(meta.Annotations[annotation.ChecksumsAnnotation]), &entries) != nil {
		return nil
	}
	checksums := make(Checksums, len(entries))
	for name, digits := range entries {
		ref, isRef := names.ParseConfigRef(name)
		checksum, err := names.ParseChecksum(digits)
		if isRef && err == nil && !ref.Kind.IsPerPod() {
			checksums[ref] = checksum
		}
	}
	if len(checksums) == 0 {
		return nil
	}
	return checksums
}

// OriginalDigest is what the original controller (1.3.0) records of a ConfigMap or
// Secret: the first 8 bytes of the SHA-256 of its data, and not its binaryData, as
// Go encodes it in JSON.
func OriginalDigest(object metav1.Object) (names.Checksum, error) {
	var encoded []byte
	var err error
	switch o := object.(type) {
	case *corev1.ConfigMap:
		encoded, err = json.Marshal(o.Data)
	case *corev1.Secret:
		encoded, err = json.Marshal(o.Data)
	default:
		err = fmt.Errorf("unexpected type %T, want ConfigMap or Secret", object)
	}
	if err != nil {
		return 0, fmt.Errorf("digest data: %w", err)
	}
	sum := sha256.Sum256(encoded)
	clear(encoded) // it is a Secret's data once more
	return names.Checksum(binary.BigEndian.Uint64(sum[:])), nil
}

// LacksInOriginal reports whether there is a record of the original that does not have the config. The original
// looked at fewer references than this controller. Changes of such a config before this controller watched are no
// reason to restart.
func (r *Record) LacksInOriginal(ref names.ConfigRef) bool {
	_, found := r.Original[ref]
	return r.Original != nil && !found
}
