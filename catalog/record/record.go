package record

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// Record is what a workload's annotations say about the configs that its pods run with. It is shared and never modified
// after the catalog has taken it in.
type Record struct {
	// Checksums are the checksums of the configs that the workload references. Others means that
	// the annotation has more, which are not kept: anyone can write as many as fit.
	Checksums Checksums
	Others    bool
	// Trusted means that the checksums are reliable: they have our scheme, belong to the present
	// pod template, and were written by us.
	Trusted bool
	// Room is how many bytes of checksums the workload's other annotations leave for the next record. A
	// [workload.Workload] sets it.
	Room int32
	// Key is the id of the key that the checksums of Secrets were made with, empty without such
	// checksums.
	Key string
	// Written is when the record was written, zero if that is not known.
	Written time.Time
	// Without is what a trusted record does not cover; nil stands for nothing.
	Without *Without
	// Reverted describes a recorded restart that was reverted; nil if there is no such
	// restart. A [catalog.Catalog] may know about a revert that the annotations do not show.
	Reverted *Revert
	Contradiction
	LastRestart
	// Original is what the original controller recorded: [OriginalDigest]s, nil if there is no such record.
	Original Checksums
	// Problem describes why an annotation cannot be read. It is empty if the annotation is valid
	// or absent.
	Problem string
}

// Contradiction says since when the content of configs has not been what is recorded.
type Contradiction struct {
	// Contradicted is since when content other than the recorded one has required a restart that
	// was put off or failed; zero if no restart is required.
	Contradicted time.Time
	// Marked means that the basis says Contradicted; otherwise only the [catalog.Catalog] knows it.
	Marked bool
	// Unseen means that no watch of the process that noted this showed how all of it began, as far as it knows.
	Unseen bool
	// MarkOwn means that this process wrote the mark. A [catalog.Catalog] sets it.
	MarkOwn bool
}

// ReadRecord reads the record of a workload with the given pod template, which has the given
// fingerprint. It also returns a time by which the workload had opted in, whichever template the
// record is about; zero if the record does not say.
func ReadRecord(meta *metav1.ObjectMeta, owned *annotation.Ownership, template *corev1.PodTemplateSpec, fingerprint Fingerprint) (record Record, optedIn time.Time) {
	encoded, found := meta.Annotations[annotation.ChecksumsAnnotation]
	if !found {
		return Record{}, time.Time{}
	}
	var b stored
	err := json.Unmarshal([]byte(meta.Annotations[annotation.BasisAnnotation]), &b)
	b.discardForgedTimes()
	isKnown := err == nil && b.isKnown()
	isOurs := err == nil && owned.IsOurs(annotation.BasisAnnotation)
	if !isOurs {
		b.Budget = policy.Budget{}
	}
	fits := b.Checksums == checksumOf(encoded).String()
	if !isKnown || !fits {
		record = Record{LastRestart: LastRestart{Budget: b.Budget}, Problem: problemOf(encoded, isKnown)}
		if !fits && record.Problem == "" {
			record.Original = readOriginal(meta, owned)
		}
		return record, time.Time{}
	}
	checksums, err := ParseChecksums(encoded)
	if err != nil {
		return Record{LastRestart: LastRestart{Budget: b.Budget}, Problem: err.Error()}, time.Time{}
	}
	record = Record{
		Checksums: checksums,
		LastRestart: LastRestart{
			Budget: b.Budget,
		},
		Written: b.Written,
		Key:     b.Key,
	}
	if isOurs {
		record.Trusted = b.isAbout(fingerprint)
		record.readOwn(&b, owned, meta.Namespace)
		optedIn = b.OptedIn
	}
	record.readRevert(owned, &b, template)
	return record, optedIn
}

// readOwn reads what counts only if the controller wrote it itself.
func (r *Record) readOwn(b *stored, owned *annotation.Ownership, namespace string) {
	if r.Trusted {
		r.Without = names.UnlessZero(b.Without)
		r.Evict = b.evictedAt(owned)
	}
	r.readMark(b)
	r.Ran = b.ran()
	r.RestartedFor = decodeRestarted(b.For, namespace)
}

// DiffersSince returns since when the content has not been what is recorded, zero if it is. [Contradiction] may say an earlier time: if
// a watch was behind, pods may have read such content before the record.
func (r *Record) DiffersSince() time.Time {
	if r.Contradicted.IsZero() {
		return time.Time{}
	}
	return names.Latest(r.Contradicted, r.Written)
}

// IsSame reports whether both come from the same write of a record, since each write has its own
// time. They may still differ: the pod template decides whether the record is trusted, and which
// of its checksums are kept.
func (r *Record) IsSame(other *Record) bool {
	return !r.Written.IsZero() && r.Written.Equal(other.Written) && r.Key == other.Key
}

// readMark notes that the record is marked as contradicted.
func (r *Record) readMark(b *stored) {
	if r.Trusted && !b.Contradicted.IsZero() {
		r.Contradicted, r.Unseen, r.Marked = b.Contradicted, b.Unseen, true
	}
}

// KeptFor returns the record without the checksums of configs that are not referenced.
func (r Record) KeptFor(references []template.Reference) Record {
	r.Checksums, r.Others = r.Checksums.keptFor(references)
	r.RestartedFor = restartedKept(r.RestartedFor, references)
	r.Original, _ = r.Original.keptFor(references)
	return r
}

// SaysTheSame reports whether two records say the same about what the pods run with. When each was written, what the last
// restart was for, and what contradicts it does not matter.
func (r Record) SaysTheSame(other Record) bool {
	return r.Trusted == other.Trusted && r.Others == other.Others && r.Key == other.Key && r.Problem == other.Problem &&
		names.AreEqual(r.Without, other.Without) && r.Checksums.Equal(other.Checksums) && r.Original.Equal(other.Original)
}

// IsReadableWith reports whether the recorded checksums of Secrets, if there are any, were made with
// the given key.
func (r *Record) IsReadableWith(key content.ChecksumKey) bool {
	return r.Key == "" || r.Key == key.ID()
}

// MayBeUnwatched reports whether a config that is not among those that are watched may be a Secret of the type that the
// controller does not watch, which its name does not show. One that the record has was of another type.
func (r *Record) MayBeUnwatched(ref names.ConfigRef) bool {
	_, isRecorded := r.Checksums[ref]
	return ref.Kind == names.Secret && !isRecorded && len(validation.IsDNS1123Subdomain(ref.Name)) == 0
}
