package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/cespare/xxhash/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// KeyedScheme names the way in which checksums are computed, including the rules of
// [template.ReferencesOf]. A recorded checksum covers all keys that the workload sees of the config, by
// whichever references. So if a version selects other keys of a config that a record already has,
// the checksum changes, and the workload would restart at the upgrade. A new kind of reference does this
// wherever it selects further keys of a config that the workload also references in another way.
//
// To avoid that, add a scheme for the templates in which it does, and let the references of the former one say what its
// records cover: they are then compared by that, like records that were made by another [template.Filter]. Records of a scheme that
// is not known are not trusted, and the pods decide about all configs.
const KeyedScheme = "keyed-v2"

// Checksums hold what a workload's pods run with: the checksum of each config. For configs of which each
// pod has its own content, there is a time in place of a checksum; see [content.ClassMounts].
type Checksums map[names.ConfigRef]names.Checksum

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
	// Marked means that the basis says Contradicted; otherwise only the [catalog.Catalog] knows it.
	Marked bool
	// MarkSeen means that it is marked, and that the watch showed how the contradiction began. A [catalog.Catalog] sets it.
	MarkSeen bool
	// Budget is what the workload has used of its restarts, if we wrote it.
	Budget policy.Budget
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
	// restart. A [catalog.Catalog] may know about a revert that the annotations do not show.
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

// Encoded is the content of [annotation.BasisAnnotation].
type Encoded struct {
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
	// WasWhole means that all pods ran before the last restart; see [workload.Rollout.IsWhole].
	WasWhole bool `json:"wasWhole,omitempty"`
	// For is what the last restart was for; see [encodeRestarted].
	For json.RawMessage `json:"for,omitempty"`
	// Filter is the filter by which the checksums were made.
	Filter template.Filter `json:"filter,omitzero"`
	// Ignored are the configs that were ignored; see [decide.ignored].
	Ignored string `json:"ignored,omitempty"`
	// Evict is EvictNow or the time of the write that had it, if the last restart was one by eviction.
	Evict string `json:"evict,omitempty"`
	policy.Budget
}

// ReadRecord reads the record of a workload with the given pod template, which has the given
// fingerprint.
func ReadRecord(meta *metav1.ObjectMeta, owned *annotation.Ownership, template *corev1.PodTemplateSpec, fingerprint Fingerprint) AppliedState {
	encoded, found := meta.Annotations[annotation.ChecksumsAnnotation]
	if !found {
		return AppliedState{}
	}
	var b Encoded
	err := json.Unmarshal([]byte(meta.Annotations[annotation.BasisAnnotation]), &b)
	b.discardForgedTimes()
	isKnown := err == nil && b.isKnown()
	isOurs := err == nil && owned.IsOurs(annotation.BasisAnnotation)
	if !isOurs {
		b.Budget = policy.Budget{}
	}
	fits := b.Checksums == ChecksumOf(encoded).String()
	if !isKnown || !fits {
		record := AppliedState{Budget: b.Budget, Problem: problemOf(encoded, isKnown)}
		if !fits && record.Problem == "" {
			record.Original = readOriginal(meta, owned)
		}
		return record
	}
	checksums, err := ParseChecksums(encoded)
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
func (r *AppliedState) readOwn(b *Encoded, namespace string) {
	r.readWithout(b)
	r.readMark(b)
	r.RestartedFor = decodeRestarted(b.For, namespace)
}

// IsSame reports whether both come from the same write of a record, since each write has its own
// time. They may still differ: the pod template decides whether the record is trusted, and which
// of its checksums are kept.
func (r *AppliedState) IsSame(other *AppliedState) bool {
	return !r.Written.IsZero() && r.Written.Equal(other.Written) && r.Key == other.Key
}

// readMark notes that the record is marked as contradicted.
func (r *AppliedState) readMark(b *Encoded) {
	if r.Trusted && !b.Contradicted.IsZero() {
		r.Contradicted, r.Marked = b.Contradicted, true
	}
}

// longestKeyID is the maximum length of the id of a key. Ours are shorter.
const longestKeyID = 64

// isKnown reports whether a version of this controller may have written the basis.
func (b *Encoded) isKnown() bool {
	return b.Scheme == KeyedScheme && len(b.Key) <= longestKeyID
}

// isAbout reports whether the basis names the given pod template. A basis that says more than annotations can is about none.
func (b *Encoded) isAbout(fingerprint Fingerprint) bool {
	return b.Filter.IsUsable() && len(b.Ignored) <= MaxIgnored && b.Template == fingerprint.String()
}

func ChecksumOf(annotation string) names.Checksum {
	return names.Checksum(xxhash.Sum64String(annotation))
}

// problemOf describes what is wrong with checksums. Another scheme may use other checksums.
func problemOf(encoded string, isKnown bool) string {
	if !isKnown {
		return malformed(encoded)
	}
	if _, err := ParseChecksums(encoded); err != nil {
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
		return nil, fmt.Errorf("parse %s: not a JSON object of strings", annotation.ChecksumsAnnotation)
	}
	return entries, nil
}

func ParseChecksums(encoded string) (Checksums, error) {
	entries, err := checksumTexts(encoded)
	if err != nil {
		return nil, err
	}
	checksums := make(Checksums, len(entries))
	for name, digits := range entries {
		ref, ok := names.ParseConfigRef(name)
		if !ok {
			return nil, fmt.Errorf("parse %s: %.100q names no config", annotation.ChecksumsAnnotation, name)
		}
		checksum, err := names.ParseChecksum(digits)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %.100s: %w", annotation.ChecksumsAnnotation, ref, err)
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
	Key content.ChecksumKey
	// Budget is what the workload has used of its restarts at that time.
	Budget policy.Budget
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
	// Evict is [decide.EvictAfter].
	Evict string
}

// Annotations returns the annotations that record the checksums and the budget. It returns an
// error if there are checksums of Secrets and no key.
func (c Checksums) Annotations(on Basis) (map[string]string, error) {
	var key string
	entries := make(map[string]string, len(c))
	for ref, checksum := range c {
		entries[ref.String()] = checksum.String()
		if ref.Kind.IsKeyed() {
			key = on.Key.ID()
		}
		if ref.Kind.IsKeyed() && on.Key.IsZero() {
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
	encodedBasis, err := json.Marshal(Encoded{
		Scheme:    KeyedScheme,
		Key:       key,
		Template:  on.Template.String(),
		Checksums: ChecksumOf(string(encoded)).String(),
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
	return map[string]string{annotation.ChecksumsAnnotation: string(encoded), annotation.BasisAnnotation: string(encodedBasis)}, nil
}

// Public returns the checksums of configs that are not secret.
func (c Checksums) Public() Checksums {
	public := maps.Clone(c)
	maps.DeleteFunc(public, func(ref names.ConfigRef, _ names.Checksum) bool { return ref.Kind.IsKeyed() })
	return public
}

// Equal reports whether both hold the same checksums of the same configs.
func (c Checksums) Equal(other Checksums) bool { return maps.Equal(c, other) }

// KeptFor returns the record without the checksums of configs that are not referenced.
func (r AppliedState) KeptFor(references []template.Reference) AppliedState {
	r.Checksums, r.Others = r.Checksums.keptFor(references)
	r.RestartedFor = restartedKept(r.RestartedFor, references)
	r.Original, _ = r.Original.keptFor(references)
	return r
}

// keptFor returns the checksums of the configs that are referenced, under the names that the
// references hold, and whether there are others.
func (c Checksums) keptFor(references []template.Reference) (kept Checksums, others bool) {
	if c == nil {
		return nil, false
	}
	kept = make(Checksums, min(len(c), len(references)))
	for ofOne := range names.Runs(references, template.OfOneConfig) {
		if checksum, found := c[ofOne[0].Config]; found {
			kept[ofOne[0].Config] = checksum
		}
	}
	return kept, len(kept) < len(c)
}

// Equal reports whether two states are the same.
func (r AppliedState) Equal(other AppliedState) bool {
	return r.Trusted == other.Trusted && r.Others == other.Others && r.Key == other.Key && r.Problem == other.Problem &&
		names.AreEqual(r.Without, other.Without) && r.Checksums.Equal(other.Checksums) && r.Original.Equal(other.Original)
}

// discardForgedTimes drops times that no clock shows. Anyone can write a basis, and a year
// without exactly four digits could be read but never written again. The last day of 9999
// has such a year in UTC with the right offset.
func (b *Encoded) discardForgedTimes() {
	for _, at := range []*time.Time{&b.Written, &b.Contradicted, &b.Last} {
		if annotation.IsForged(*at) {
			*at = time.Time{}
		}
	}
}

// EvictNow in a basis says that a restart by eviction began with this write. Every later write names the time
// of that one, in the form of EvictLayout.
const (
	EvictNow    = "now"
	EvictLayout = time.RFC3339
)
