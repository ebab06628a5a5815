package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/cespare/xxhash/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// keyedScheme names the way in which checksums are computed, including the rules of
// [referencesOf]. A recorded checksum covers all keys that the workload sees of the config, by
// whichever references. So if a version selects other keys of a config that a record already has,
// the checksum changes, and the workload would restart at the upgrade. A new kind of reference does this
// wherever it selects further keys of a config that the workload also references in another way.
//
// To avoid that, add a scheme for the templates in which it does, and let the references of the former one say what its
// records cover: they are then compared by that, like records that were made by another [Filter]. Records of a scheme that
// is not known are not trusted, and the pods decide about all configs.
const keyedScheme = "keyed-v2"

// Checksums hold what a workload's pods run with: the checksum of each config. For configs of which each
// pod has its own content, there is a time in place of a checksum; see [sinceOf].
type Checksums map[ConfigRef]Checksum

// AppliedState is what a workload's annotations say about the configs that its pods run with.
type AppliedState struct {
	// Checksums are the checksums of the configs that the workload references. Others means that
	// the annotation has more, which are not kept: anyone can write as many as fit.
	Checksums Checksums
	Others    bool
	// Trusted means that the checksums are reliable: they have our scheme, belong to the present
	// pod template, and were written by us.
	Trusted bool
	// WithRestart means that the pod template has the timestamp of the restart that was made with the
	// record. All pods of that template were then created after Written.
	WithRestart bool
	// WasWhole means that all pods ran before the last restart, as the record says.
	WasWhole bool
	// Marked means that the basis says Contradicted; otherwise only the [Catalog] knows it.
	Marked bool
	// MarkSeen means that it is marked, and that the watch showed how the contradiction began. A [Catalog] sets it.
	MarkSeen bool
	// Budget is what the workload has used of its restarts, if we wrote it.
	Budget Budget
	// RestartedFor is what the last restart was for, as the record says.
	RestartedFor []Restarted
	// Without is what a trusted record does not cover; nil stands for nothing.
	Without *Without
	// Written is when the record was written, zero if that is not known.
	Written time.Time
	// Contradicted is since when content other than the recorded one has required a restart that
	// was put off or failed; zero if no restart is required.
	Contradicted time.Time
	// Reverted describes a recorded restart that was reverted; nil if there is no such
	// restart. A [Catalog] may know about a revert that the annotations do not show.
	Reverted *Revert
	// Key is the id of the key that the checksums of Secrets were made with, empty without such
	// checksums.
	Key string
	// Original is what the original controller recorded: [OriginalDigest]s, nil if there is no such record.
	Original Checksums
	// Problem describes why an annotation cannot be read. It is empty if the annotation is valid
	// or absent.
	Problem string
}

// basis is the content of [BasisAnnotation].
type basis struct {
	Scheme   string `json:"scheme"`
	Key      string `json:"key,omitempty"`
	Template string `json:"template"`
	// Checksums is the checksum of the checksums annotation itself, so that a trusted basis
	// covers both.
	Checksums string `json:"checksums"`
	// Written is the time of the write. It makes each basis unique: the API server assigns a
	// field to its writer only if the write changes its value.
	Written time.Time `json:"written"`
	// Timestamp is the restart timestamp of the pod template for which the checksums were
	// recorded, empty if it had none; the fingerprint leaves it out.
	Timestamp string `json:"timestamp"`
	// Contradicted marks a record that has been contradicted since that time, while a restart is
	// put off.
	Contradicted time.Time `json:"contradicted,omitzero"`
	// WasWhole means that all pods ran before the last restart; see [Rollout.IsWhole].
	WasWhole bool `json:"wasWhole,omitempty"`
	// For is what the last restart was for; see [encodeRestarted].
	For json.RawMessage `json:"for,omitempty"`
	// Filter is the filter by which the checksums were made.
	Filter Filter `json:"filter,omitzero"`
	// Ignored are the configs that were ignored; see [View.ignored].
	Ignored string `json:"ignored,omitempty"`
	// Evict is evictNow or the time of the write that had it, if the last restart was one by eviction.
	Evict string `json:"evict,omitempty"`
	Budget
}

// readRecord reads the record of a workload with the given pod template, which has the given
// fingerprint.
func readRecord(meta *metav1.ObjectMeta, owned *ownership, template *corev1.PodTemplateSpec, fingerprint Fingerprint) AppliedState {
	encoded, found := meta.Annotations[ChecksumsAnnotation]
	if !found {
		return AppliedState{}
	}
	var b basis
	err := json.Unmarshal([]byte(meta.Annotations[BasisAnnotation]), &b)
	b.discardForgedTimes()
	isKnown := err == nil && b.isKnown()
	isOurs := err == nil && owned.isOurs(BasisAnnotation)
	if !isOurs {
		b.Budget = Budget{}
	}
	fits := b.Checksums == checksumOf(encoded).String()
	if !isKnown || !fits {
		record := AppliedState{Budget: b.Budget, Problem: problemOf(encoded, isKnown)}
		if !fits && record.Problem == "" {
			record.Original = readOriginal(meta, owned)
		}
		return record
	}
	checksums, err := parseChecksums(encoded)
	if err != nil {
		return AppliedState{Budget: b.Budget, Problem: err.Error()}
	}
	record := AppliedState{
		Checksums: checksums,
		Budget:    b.Budget,
		Written:   b.Written,
		Key:       b.Key,
		WasWhole:  b.WasWhole && isOurs,
	}
	if isOurs {
		record.Trusted = b.isAbout(fingerprint)
		record.readOwn(&b, meta.Namespace)
	}
	record.readRevert(owned, &b, template)
	return record
}

// readOwn reads what counts only if the controller wrote it itself.
func (r *AppliedState) readOwn(b *basis, namespace string) {
	r.readWithout(b)
	r.readMark(b)
	r.RestartedFor = decodeRestarted(b.For, namespace)
}

// isSame reports whether both come from the same write of a record, since each write has its own
// time. They may still differ: the pod template decides whether the record is trusted, and which
// of its checksums are kept.
func (r *AppliedState) isSame(other *AppliedState) bool {
	return !r.Written.IsZero() && r.Written.Equal(other.Written) && r.Key == other.Key
}

// readMark notes that the record is marked as contradicted.
func (r *AppliedState) readMark(b *basis) {
	if r.Trusted && !b.Contradicted.IsZero() {
		r.Contradicted, r.Marked = b.Contradicted, true
	}
}

// longestKeyID is the maximum length of the id of a key. Ours are shorter.
const longestKeyID = 64

// isKnown reports whether a version of this controller may have written the basis.
func (b *basis) isKnown() bool {
	return b.Scheme == keyedScheme && len(b.Key) <= longestKeyID
}

// isAbout reports whether the basis names the given pod template. A basis that says more than annotations can is about none.
func (b *basis) isAbout(fingerprint Fingerprint) bool {
	return b.Filter.isUsable() && len(b.Ignored) <= maxIgnored && b.Template == fingerprint.String()
}

func checksumOf(annotation string) Checksum { return Checksum(xxhash.Sum64String(annotation)) }

// problemOf describes what is wrong with checksums. Another scheme may use other checksums.
func problemOf(encoded string, isKnown bool) string {
	if !isKnown {
		return malformed(encoded)
	}
	if _, err := parseChecksums(encoded); err != nil {
		return err.Error()
	}
	return ""
}

// malformed describes what is wrong with checksums, whatever their scheme.
func malformed(encoded string) string {
	if _, err := checksumTexts(encoded); err != nil {
		return err.Error()
	}
	return ""
}

// checksumTexts reads the entries of checksums. The library's errors name types of the program.
func checksumTexts(encoded string) (entries map[string]string, err error) {
	if err := json.Unmarshal([]byte(encoded), &entries); err != nil {
		return nil, fmt.Errorf("parse %s: not a JSON object of strings", ChecksumsAnnotation)
	}
	return entries, nil
}

func parseChecksums(encoded string) (Checksums, error) {
	entries, err := checksumTexts(encoded)
	if err != nil {
		return nil, err
	}
	checksums := make(Checksums, len(entries))
	for name, digits := range entries {
		ref, ok := ParseConfigRef(name)
		if !ok {
			return nil, fmt.Errorf("parse %s: %.100q names no config", ChecksumsAnnotation, name)
		}
		checksum, err := parseChecksum(digits)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %.100s: %w", ChecksumsAnnotation, ref, err)
		}
		checksums[ref] = checksum
	}
	return checksums, nil
}

// Basis is what the checksums to record rest on.
type Basis struct {
	// Template is the fingerprint of the workload's pod template.
	Template Fingerprint
	// Key is the key that the checksums of Secrets were made with.
	Key ChecksumKey
	// Budget is what the workload has used of its restarts at that time.
	Budget Budget
	// Written is the time of the write.
	Written time.Time
	// Timestamp is the restart timestamp that the pod template has at that time, empty if it has
	// no timestamp.
	Timestamp string
	// Contradicted is the time to mark; see [AppliedState.Contradicted].
	Contradicted time.Time
	// WasWhole is [AppliedState.WasWhole].
	WasWhole bool
	// RestartedFor is [AppliedState.RestartedFor].
	RestartedFor []Restarted
	// Without is what the record does not cover.
	Without Without
	// Evict is [Workload.EvictAfter].
	Evict string
}

// Annotations returns the annotations that record the checksums and the budget. It returns an
// error if there are checksums of Secrets and no key.
func (c Checksums) Annotations(on Basis) (map[string]string, error) {
	var key string
	entries := make(map[string]string, len(c))
	for ref, checksum := range c {
		entries[ref.String()] = checksum.String()
		if ref.Kind.isKeyed() {
			key = on.Key.ID()
		}
		if ref.Kind.isKeyed() && on.Key.IsZero() {
			return nil, fmt.Errorf("encode checksums: that of %s has no key", ref)
		}
	}
	encoded, err := json.Marshal(entries) // sorts the keys
	if err != nil {
		return nil, fmt.Errorf("encode checksums: %w", err)
	}
	restarted, err := encodeRestarted(on.RestartedFor)
	if err != nil {
		return nil, err
	}
	encodedBasis, err := json.Marshal(basis{
		Scheme:    keyedScheme,
		Key:       key,
		Template:  on.Template.String(),
		Checksums: checksumOf(string(encoded)).String(),
		Written:   on.Written.UTC(),
		Timestamp: on.Timestamp,
		Budget:    on.Budget,
		WasWhole:  on.WasWhole,
		For:       restarted,
		Filter:    on.Without.Filter,
		Ignored:   on.Without.Ignored,
		Evict:     on.Evict,

		Contradicted: on.Contradicted.UTC(),
	})
	if err != nil {
		return nil, fmt.Errorf("encode basis: %w", err)
	}
	return map[string]string{ChecksumsAnnotation: string(encoded), BasisAnnotation: string(encodedBasis)}, nil
}

// public returns the checksums of configs that are not secret.
func (c Checksums) public() Checksums {
	public := maps.Clone(c)
	maps.DeleteFunc(public, func(ref ConfigRef, _ Checksum) bool { return ref.Kind.isKeyed() })
	return public
}

// Equal reports whether both hold the same checksums of the same configs.
func (c Checksums) Equal(other Checksums) bool { return maps.Equal(c, other) }

// keptFor returns the record without the checksums of configs that are not referenced.
func (r AppliedState) keptFor(references []Reference) AppliedState {
	r.Checksums, r.Others = r.Checksums.keptFor(references)
	r.RestartedFor = restartedKept(r.RestartedFor, references)
	r.Original, _ = r.Original.keptFor(references)
	return r
}

// keptFor returns the checksums of the configs that are referenced, under the names that the
// references hold, and whether there are others.
func (c Checksums) keptFor(references []Reference) (kept Checksums, others bool) {
	if c == nil {
		return nil, false
	}
	kept = make(Checksums, min(len(c), len(references)))
	for ofOne := range runs(references, ofOneConfig) {
		if checksum, found := c[ofOne[0].Config]; found {
			kept[ofOne[0].Config] = checksum
		}
	}
	return kept, len(kept) < len(c)
}

func (r AppliedState) equal(other AppliedState) bool {
	return r.Trusted == other.Trusted && r.Others == other.Others && r.Key == other.Key && r.Problem == other.Problem &&
		areEqual(r.Without, other.Without) && r.Checksums.Equal(other.Checksums) && r.Original.Equal(other.Original)
}
