package record

import (
	"encoding/json"
	"fmt"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/policy"
)

// stored is the content of [annotation.BasisAnnotation]. The order of its members is part of the format.
type stored struct {
	identity
	// Contradicted marks a record that has been contradicted since that time, while a restart is
	// put off.
	Contradicted time.Time `json:"contradicted,omitzero"`
	// Unseen is [Contradiction.Unseen].
	Unseen bool `json:"unseen,omitempty"`
	// OptedIn is a time by which the workload had opted in. The managedFields show the last writes only.
	OptedIn time.Time `json:"optedIn,omitzero"`
	restart
	Without
	// Evict is EvictNow or the time of the write that had it, if the last restart was one by eviction.
	Evict string `json:"evict,omitempty"`
	policy.Budget
}

// identity says which checksums of which pod template were written when, and how they were made.
type identity struct {
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
}

// restart is how the last restart began.
type restart struct {
	// WasWhole means that all pods ran before the last restart; see [workload.Rollout.IsWhole]. Missing is how many did not if others
	// did.
	WasWhole bool  `json:"wasWhole,omitempty"`
	Missing  int32 `json:"missing,omitempty"`
	// For is what the last restart was for; see [encodeRestarted].
	For json.RawMessage `json:"for,omitempty"`
}

// restart returns what is stored of a restart before which so many pods ran.
func (r Ran) restart(restarted json.RawMessage) restart {
	if r == AllRan {
		return restart{WasWhole: true, For: restarted}
	}
	return restart{Missing: r.Missing(), For: restarted}
}

// ran returns how many pods ran before the last restart.
func (r *restart) ran() Ran {
	switch {
	case r.WasWhole:
		return AllRan
	case r.Missing > 0:
		return AllBut(r.Missing)
	}
	return 0
}

// longestKeyID is the maximum length of the id of a key. Ours are shorter.
const longestKeyID = 64

// isKnown reports whether a version of this controller may have written the basis.
func (b *stored) isKnown() bool {
	return b.Scheme == KeyedScheme && len(b.Key) <= longestKeyID
}

// isAbout reports whether the basis names the given pod template. A basis that says more than annotations can is about none.
func (b *stored) isAbout(fingerprint Fingerprint) bool {
	return b.Filter.IsUsable() && len(b.Ignored) <= MaxIgnored && b.Template == fingerprint.String()
}

// discardForgedTimes drops times that no clock shows. Anyone can write a basis, and a year
// without exactly four digits could be read but never written again. The last day of 9999
// has such a year in UTC with the right offset.
func (b *stored) discardForgedTimes() {
	for _, at := range []*time.Time{&b.Written, &b.Contradicted, &b.OptedIn, &b.Last} {
		if annotation.IsForged(*at) {
			*at = time.Time{}
		}
	}
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
	// Contradicted is the time to mark, and Unseen part of the mark; see [Contradiction].
	Contradicted time.Time
	Unseen       bool
	// OptedIn is the earliest known time by which the workload had opted in.
	OptedIn time.Time
	// Ran is [LastRestart.Ran].
	Ran Ran
	// RestartedFor is [LastRestart.RestartedFor].
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
	encodedBasis, err := json.Marshal(stored{
		identity: identity{
			Scheme:    KeyedScheme,
			Key:       key,
			Template:  on.Template.String(),
			Checksums: checksumOf(string(encoded)).String(),
			Written:   on.Written.UTC(),
			Timestamp: on.Timestamp,
		},
		Contradicted: on.Contradicted.UTC(),
		Unseen:       on.Unseen,
		OptedIn:      on.OptedIn.UTC(),
		restart:      on.Ran.restart(restarted),
		Without:      on.Without,
		Evict:        on.Evict,
		Budget:       on.Budget,
	})
	if err != nil {
		return nil, fmt.Errorf("encode basis: %w", err)
	}
	return map[string]string{annotation.ChecksumsAnnotation: string(encoded), annotation.BasisAnnotation: string(encodedBasis)}, nil
}
