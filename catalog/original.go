package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// readOriginal reads a record as the original controller writes it: checksums without a basis,
// or with the basis of other checksums, which remains from this controller if the original comes
// back. It returns nil if there is no such record. The original writes under the same field
// manager's name. A record that another manager restored, as an undo does, is not about these pods.
func readOriginal(meta *metav1.ObjectMeta, owned *ownership) Checksums {
	var entries map[string]string
	if !owned.isOurs(ChecksumsAnnotation) || json.Unmarshal([]byte(meta.Annotations[ChecksumsAnnotation]), &entries) != nil {
		return nil
	}
	checksums := make(Checksums, len(entries))
	for name, digits := range entries {
		ref, isRef := ParseConfigRef(name)
		checksum, err := parseChecksum(digits)
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
func OriginalDigest(object metav1.Object) (Checksum, error) {
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
	return Checksum(binary.BigEndian.Uint64(sum[:])), nil
}

// UnsettledByOriginal returns the configs in a record of the original controller that need their
// [OriginalDigest]s for a decision.
func (v *View) UnsettledByOriginal() []ConfigRef { return v.unsettledByOriginal(v.sights()) }

func (v *View) unsettledByOriginal(sights []sight) []ConfigRef {
	if v.Originals != nil || v.Workload.Applied.Original == nil {
		return nil
	}
	var unsettled []ConfigRef
	for i := range sights {
		s := &sights[i]
		if recorded, found := v.Workload.Applied.Original[s.ref]; found && s.config != nil && recorded != s.checksum {
			unsettled = append(unsettled, s.ref)
		}
	}
	return unsettled
}

// lacksInOriginal reports whether there is a record of the original that does not have the config. The original
// looked at fewer references than this controller. Changes of such a config before this controller watched are no
// reason to restart.
func (r *AppliedState) lacksInOriginal(ref ConfigRef) bool {
	_, found := r.Original[ref]
	return r.Original != nil && !found
}

// comparison is the result of comparing a config with a record of the original.
type comparison int

const (
	unknown  comparison = iota
	sameData            // as far as the original's digest goes, which leaves out binaryData
	different
)

// compareOriginal compares a config's content with a record of the original. A record of this controller that lost
// its basis looks like one, but has our own checksum: it is ignored.
func (v *View) compareOriginal(s *sight) comparison {
	recorded, found := v.Workload.Applied.Original[s.ref]
	digest, isRead := v.Originals[s.ref]
	switch {
	case !found || !isRead || recorded == s.checksum:
		return unknown
	case recorded == digest:
		return sameData
	}
	return different
}

// binary returns the config as if it had only its binaryData.
func (c *Config) binary() *Config {
	isText := func(key Key) bool { return !key.Binary }
	rest := *c
	rest.Keys = slices.DeleteFunc(slices.Clone(c.Keys), isText)
	rest.Edits = slices.DeleteFunc(slices.Clone(c.Edits), func(edit Edit) bool {
		mayBe := edit.isJoined() && len(rest.Keys) > 0
		return !mayBe && !hasKey(rest.Keys, edit.Key)
	})
	return &rest
}
