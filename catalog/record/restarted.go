package record

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unique"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// Restarted is a config that a restart was for. The record of the restart names it, so that another
// process that follows the restart knows.
type Restarted struct {
	Config names.ConfigRef
	// Keys are the changed keys that the workload sees, sorted; empty if they are not known, not
	// all known, or secret.
	Keys []string
}

// LastRestart is what the record says of the last restart.
type LastRestart struct {
	// RestartedFor is what it was for.
	RestartedFor []Restarted
	// Budget is what the workload has used of its restarts, if we wrote it.
	Budget policy.Budget
	// Evict is when the restart began if it was one by eviction and may not be over, in seconds of Unix time by the clock
	// of the API server; otherwise 0. See [LastRestart.EvictedAt].
	Evict uint32
	// WithRestart means that the pod template has the timestamp of the restart that was made with the
	// record. All pods of that template were then created after [Record.Written].
	WithRestart bool
	// Ran is how many pods ran before the restart.
	Ran Ran
}

// Ran says how many pods of a workload ran before a restart, by which the restart is judged: all but those that were missing. It is
// 0 if that is not known, or none ran; otherwise, the more ran, the greater it is.
type Ran uint16

// AllRan means that none was missing.
const AllRan Ran = math.MaxUint16

// AllBut returns that so many pods were missing.
func AllBut(missing int32) Ran { return AllRan - Ran(max(0, min(missing, math.MaxUint16-1))) } //nolint:gosec // it fits

// Missing returns how many pods may be missing again.
func (r Ran) Missing() int32 {
	if r == 0 {
		return 0
	}
	return int32(AllRan - r)
}

// Of returns how many of the wanted pods must run again.
func (r Ran) Of(wanted int32) int32 { return max(min(1, wanted), wanted-r.Missing()) }

// maxRestarted is how many bytes the record of what a restart was for may take with its keys;
// beyond that, it leaves them out. Each of at most [names.MaxNamed] configs may have a name of
// LongestName bytes.
const maxRestarted = 1024

// MoreRestartedFor is [decide.Decision.MoreCauses] of the last restart: the record does not say whether there were more than it may name,
// nor for what it was if it names nothing.
func (r *LastRestart) MoreRestartedFor() int {
	if n := len(r.RestartedFor); n > 0 && n < names.MaxNamed {
		return 0
	}
	return names.UnknownNumber
}

// encodeRestarted returns the member of the basis that says what a restart was for: the keys by the
// configs, whose namespace is that of the workload. It is nil without configs.
func encodeRestarted(restarted []Restarted) (json.RawMessage, error) {
	if len(restarted) == 0 {
		return nil, nil
	}
	withKeys, without := make(map[string][]string), make(map[string][]string)
	for _, r := range restarted {
		name := r.Config.NameWithin()
		withKeys[name], without[name] = []string{}, []string{}
		if !r.Config.Kind.IsSecret() {
			withKeys[name] = append(withKeys[name], r.Keys...)
		}
	}
	encoded, err := json.Marshal(withKeys) // sorts the configs
	if err == nil && len(encoded) > maxRestarted {
		encoded, err = json.Marshal(without)
	}
	if err != nil {
		return nil, fmt.Errorf("encode what a restart was for: %w", err)
	}
	return encoded, nil
}

// decodeRestarted is the inverse of [encodeRestarted] for a workload in the given namespace. Anyone
// who may write to a workload can write the member, so it keeps no more than this controller
// writes.
func decodeRestarted(encoded json.RawMessage, namespace string) []Restarted {
	var entries map[string][]string
	if len(encoded) == 0 || json.Unmarshal(encoded, &entries) != nil || len(entries) > names.MaxNamed {
		return nil
	}
	var restarted []Restarted
	for name, keys := range entries {
		kind, name, _ := strings.Cut(name, "/")
		ref := names.ConfigRef{Kind: names.ParseConfigKind(kind), Namespace: namespace, Name: name}
		if ref.Kind != 0 && names.IsConfigName(name) && len(name) <= 2*names.LongestName {
			restarted = append(restarted, Restarted{ref, possibleKeys(ref.Kind, keys)})
		}
	}
	slices.SortFunc(restarted, func(a, b Restarted) int { return names.CompareConfigRefs(a.Config, b.Config) })
	return restarted
}

// possibleKeys returns recorded keys, nil if they cannot be ours. Many workloads restart for the
// same keys, and share their names.
func possibleKeys(kind names.ConfigKind, recorded []string) []string {
	if kind.IsSecret() || len(recorded) == 0 || len(recorded) > names.MaxNamed {
		return nil
	}
	keys := make([]string, 0, len(recorded))
	for _, key := range recorded {
		if !names.IsPossibleName(key) {
			return nil
		}
		keys = append(keys, unique.Make(key).Value())
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// restartedKept returns the entries of configs that are referenced, under the names that the
// references hold. Both are sorted by config.
func restartedKept(restarted []Restarted, references []template.Reference) []Restarted {
	kept := restarted[:0]
	for _, entry := range restarted {
		if of := template.ReferencesTo(references, entry.Config); len(of) > 0 {
			entry.Config = of[0].Config
			kept = append(kept, entry)
		}
	}
	return slices.Clip(kept)
}
