package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/cespare/xxhash/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The annotations that hold the record.
const (
	// ChecksumsAnnotation maps the name of each config to the checksum of what
	// the workload sees of it.
	ChecksumsAnnotation = "com.xing.deployment-restart.applied-config-checksums"
	// BasisAnnotation says what the checksums rest on.
	BasisAnnotation = "com.xing.deployment-restart.applied-config-basis"
)

// Scheme names the way in which checksums are computed, the rules of [References]
// included: which keys a checksum covers. Checksums of another scheme cannot be
// compared, so a change of the rules without another scheme would restart every
// workload that they concern.
const Scheme = "xxh64-keys-v1"

// Checksums are what a workload's pods run with: the checksum of each config.
type Checksums map[ConfigRef]Checksum

// Record is what a workload's annotations tell of the configs that its pods run
// with.
type Record struct {
	Checksums Checksums
	// Vouches tells that the checksums can be relied on: they are in our scheme,
	// for the present pod template, and written by us.
	Vouches bool
	// Budget is what the workload has used of its restarts, if we wrote that.
	Budget Budget
	// Problem tells what is wrong with an annotation that cannot be read, and is
	// empty for one that is fine or absent.
	Problem string
}

// basis is the content of [BasisAnnotation].
type basis struct {
	Scheme   string `json:"scheme"`
	Template string `json:"template"`
	// Checksums is the checksum of the checksums annotation itself, so that owning
	// the basis means vouching for both.
	Checksums string `json:"checksums"`
	// Written is the time of the write. It makes each basis another one: the API
	// server gives a field to its writer only if the write changes its value.
	Written time.Time `json:"written"`
	Budget
}

// readRecord reads the record off a workload whose pod template has the given
// fingerprint.
func readRecord(meta *metav1.ObjectMeta, template Fingerprint) Record {
	encoded, found := meta.Annotations[ChecksumsAnnotation]
	if !found {
		return Record{}
	}
	var b basis
	if err := json.Unmarshal([]byte(meta.Annotations[BasisAnnotation]), &b); err != nil {
		return Record{Problem: malformed(encoded)}
	}
	isOurs := ownsAnnotation(meta, BasisAnnotation)
	if !isOurs {
		b.Budget = Budget{}
	}
	if b.Scheme != Scheme {
		// Another scheme may write its checksums as it likes.
		return Record{Budget: b.Budget, Problem: malformed(encoded)}
	}
	checksums, err := parseChecksums(encoded)
	if err != nil {
		return Record{Budget: b.Budget, Problem: err.Error()}
	}
	return Record{
		Checksums: checksums,
		Vouches:   isOurs && b.Template == template.String() && b.Checksums == checksumOf(encoded).String(),
		Budget:    b.Budget,
	}
}

func checksumOf(annotation string) Checksum { return Checksum(xxhash.Sum64String(annotation)) }

// malformed tells what is wrong with checksums of whichever scheme.
func malformed(encoded string) string {
	var entries map[string]string
	if err := json.Unmarshal([]byte(encoded), &entries); err != nil {
		return fmt.Sprintf("parse %s: not a JSON object of strings", ChecksumsAnnotation)
	}
	return ""
}

func parseChecksums(encoded string) (Checksums, error) {
	var entries map[string]string
	if err := json.Unmarshal([]byte(encoded), &entries); err != nil {
		return nil, fmt.Errorf("parse %s: %w", ChecksumsAnnotation, err)
	}
	checksums := make(Checksums, len(entries))
	for name, digits := range entries {
		ref, ok := parseConfigRef(name)
		if !ok {
			return nil, fmt.Errorf("parse %s: %.100q names no config", ChecksumsAnnotation, name)
		}
		checksum, err := ParseChecksum(digits)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %s: %w", ChecksumsAnnotation, ref, err)
		}
		checksums[ref] = checksum
	}
	return checksums, nil
}

// Annotations returns the annotations that record the checksums and the budget, at
// the given time, for a workload whose pod template has the given fingerprint.
func (c Checksums) Annotations(template Fingerprint, budget Budget, now time.Time) (map[string]string, error) {
	entries := make(map[string]string, len(c))
	for ref, checksum := range c {
		entries[ref.String()] = checksum.String()
	}
	encoded, err := json.Marshal(entries) // sorts the keys
	if err != nil {
		return nil, fmt.Errorf("encode checksums: %w", err)
	}
	encodedBasis, err := json.Marshal(basis{
		Scheme:    Scheme,
		Template:  template.String(),
		Checksums: checksumOf(string(encoded)).String(),
		Written:   now.UTC(),
		Budget:    budget,
	})
	if err != nil {
		return nil, fmt.Errorf("encode basis: %w", err)
	}
	return map[string]string{ChecksumsAnnotation: string(encoded), BasisAnnotation: string(encodedBasis)}, nil
}

// Equal tells whether both hold the same checksums of the same configs.
func (c Checksums) Equal(other Checksums) bool { return maps.Equal(c, other) }

func (r Record) equal(other Record) bool {
	return r.Vouches == other.Vouches && r.Problem == other.Problem && r.Checksums.Equal(other.Checksums)
}
