package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EarlierRecord is what the original controller recorded. It shows whether the content of
// a config is still the same, but not when the pods started.
type EarlierRecord struct {
	// Checksums are the [OriginalDigest]s of the configs in the record.
	Checksums Checksums
	// Beyond are the configs, sorted, that the original could not record: the workload reads
	// them in ways that the original did not support. Changes to them before this controller
	// watched are no reason to restart.
	Beyond []ConfigRef
	// Made is the earliest time at which the record may have been made, or zero if that is not
	// known. The record includes all changes before that time.
	Made time.Time
}

func (r *EarlierRecord) equal(other *EarlierRecord) bool {
	if r == nil || other == nil {
		return r == other
	}
	return r.Made.Equal(other.Made) && r.Checksums.Equal(other.Checksums)
}

// readOriginal reads a record as the original controller writes it: checksums without a basis,
// or with the basis of other checksums, which remains from this controller if the original comes
// back. It returns nil if there is no such record. The original writes under the same field
// manager's name; the time of that manager's last write counts only if no other manager restored
// the record, as an undo does.
func readOriginal(meta *metav1.ObjectMeta, owned *ownership) *EarlierRecord {
	var entries map[string]string
	if json.Unmarshal([]byte(meta.Annotations[ChecksumsAnnotation]), &entries) != nil {
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
	record := &EarlierRecord{Checksums: checksums}
	for _, owner := range owned.ofAnnotation(ChecksumsAnnotation) {
		if owner.Manager == FieldManager && owner.Operation == metav1.ManagedFieldsOperationUpdate && owner.Time != nil {
			record.Made = owner.Time.Time
		}
	}
	return record
}

// beyondOriginal returns the configs, sorted, that a workload reads but that the original does
// not record, because it only looked at the envFrom of containers other than init containers,
// and at ConfigMap volumes, mounted or not.
func beyondOriginal(w *Workload, spec *corev1.PodSpec) []ConfigRef {
	known := maps.Clone(w.Applied.Earlier.Checksums)
	add := func(kind ConfigKind, name string) { known[ConfigRef{kind, w.Ref.Namespace, name}] = 0 }
	for i := range spec.Containers {
		for _, from := range spec.Containers[i].EnvFrom {
			if from.ConfigMapRef != nil {
				add(ConfigMap, from.ConfigMapRef.Name)
			}
			if from.SecretRef != nil {
				add(Secret, from.SecretRef.Name)
			}
		}
	}
	for i := range spec.Volumes {
		if volume := spec.Volumes[i].ConfigMap; volume != nil {
			add(ConfigMap, volume.Name)
		}
	}
	var beyond []ConfigRef
	for _, ref := range w.Configs() {
		if _, isKnown := known[ref]; !isKnown {
			beyond = append(beyond, ref)
		}
	}
	return beyond
}

// isBeyondOriginal reports whether the record is from the original, which could not record the
// config.
func (r *AppliedState) isBeyondOriginal(ref ConfigRef) bool {
	if r.Earlier == nil {
		return false
	}
	_, found := slices.BinarySearchFunc(r.Earlier.Beyond, ref, compareConfigRefs)
	return found
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
func (v *View) UnsettledByOriginal() []ConfigRef {
	if !v.lacksOriginals() {
		return nil
	}
	return v.unsettledByOriginal(v.sights())
}

func (v *View) lacksOriginals() bool {
	return v.Workload.Applied.Earlier != nil && v.Originals == nil
}

func (v *View) unsettledByOriginal(sights []sight) []ConfigRef {
	if !v.lacksOriginals() {
		return nil
	}
	var unsettled []ConfigRef
	for i := range sights {
		s := &sights[i]
		recorded, found := v.Workload.Applied.Earlier.Checksums[s.ref]
		if found && s.config != nil && !v.isOwn(recorded, s) {
			unsettled = append(unsettled, s.ref)
		}
	}
	return unsettled
}

// isOwn reports whether a checksum matches a config's present content in any scheme of this
// controller.
func (v *View) isOwn(recorded Checksum, s *sight) bool {
	return recorded == setChecksum(s.seen) || !v.Key.IsZero() && recorded == s.checksum
}

// lostBasis reports whether an apparent record of the original is our own record that lost its
// basis: at least one config still has the recorded content in one of our schemes. No config is
// beyond such a record.
func (v *View) lostBasis(sights []sight) bool {
	earlier := v.Workload.Applied.Earlier
	return earlier != nil && slices.ContainsFunc(sights, func(s sight) bool {
		recorded, found := earlier.Checksums[s.ref]
		return found && s.config != nil && v.isOwn(recorded, &s)
	})
}

// comparison is the result of comparing a config with an earlier record.
type comparison int

const (
	unknown  comparison = iota
	sameData            // as far as the original's digest goes, which leaves out binaryData
	different
)

// compareEarlier compares a config's content with an earlier record.
func (v *View) compareEarlier(s *sight) comparison {
	earlier := v.Workload.Applied.Earlier
	if earlier == nil {
		return unknown
	}
	recorded, found := earlier.Checksums[s.ref]
	if !found {
		return unknown
	}
	digest, read := v.Originals[s.ref]
	switch {
	case v.isOwn(recorded, s): // our own record, which lost its basis and is ignored
		return unknown
	case !read:
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
