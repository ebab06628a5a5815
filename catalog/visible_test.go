package catalog

import (
	"slices"
	"testing"
	"time"
)

func TestOnlyKeysThatAContainerSeesAreVisibleChanges(t *testing.T) {
	ref := ConfigRef{Kind: ConfigMap, Namespace: "shop", Name: "settings"}
	content := func(keys ...Key) *Config { return &Config{Ref: ref, Keys: keys} }
	before := content(Key{Name: "changed", Checksum: 1}, Key{Name: "removed", Checksum: 1}, Key{Name: "same", Checksum: 1})
	after := content(Key{Name: "added", Checksum: 1}, Key{Name: "binary", Checksum: 1, Binary: true}, Key{Name: "changed", Checksum: 2}, Key{Name: "same", Checksum: 1})
	all := []string{"added", "binary", "changed", "removed"}
	for name, test := range map[string]struct {
		keys          Selection
		before, after *Config
		want          []string
	}{
		"all keys":                  {Selection{}, before, after, all},
		"data only":                 {Selection{DataOnly: true}, before, after, []string{"added", "changed", "removed"}},
		"one key":                   {Selection{Names: []string{"changed"}}, before, after, []string{"changed"}},
		"a key that stays the same": {Selection{Names: []string{"same"}}, before, after, nil},
		"the same content":          {Selection{}, before, before, nil},
		"a new config":              {Selection{Names: []string{"added"}}, nil, after, []string{"added"}},
		"a config that goes":        {Selection{}, before, nil, []string{"changed", "removed", "same"}},
	} {
		w := Workload{References: []Reference{{Config: ref, Keys: test.keys}}}
		if got := w.VisibleChanges(ref, test.before, test.after); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	other := Workload{References: []Reference{{Config: ConfigRef{Kind: Secret, Namespace: "shop", Name: "settings"}}}}
	if got := other.VisibleChanges(ref, before, after); got != nil {
		t.Errorf("a workload without a reference sees %v", got)
	}
}

func TestARecordIsComparedWithWhatTheWorkloadSees(t *testing.T) {
	config := &Config{Ref: ConfigRef{Kind: ConfigMap, Namespace: "shop", Name: "settings"}, Keys: []Key{{Name: "seen", Checksum: 1}, {Name: "unseen", Checksum: 1}}}
	seen := []Reference{{Config: config.Ref, Keys: Selection{Names: []string{"seen"}}}}
	recorded := Checksums{config.Ref: config.Checksum([]Selection{{Names: []string{"seen"}}}, ChecksumKey{})}
	for name, test := range map[string]struct {
		applied            Checksums
		change             int
		isRecorded, isSame bool
	}{
		"no record":                   {nil, 0, false, false},
		"the recorded content":        {recorded, 0, true, true},
		"another content":             {recorded, 1, true, false},
		"an edit of a key not seen":   {recorded, 2, true, true},
		"a record of another config":  {Checksums{{Kind: ConfigMap, Namespace: "shop", Name: "other"}: 1}, 0, false, false},
		"a record of other selection": {Checksums{config.Ref: config.Checksum([]Selection{{}}, ChecksumKey{})}, 0, true, false},
	} {
		present := *config
		present.Keys = slices.Clone(config.Keys)
		if test.change > 0 {
			present.Keys[test.change-1].Checksum++
		}
		w := Workload{References: seen, Applied: AppliedState{Checksums: test.applied}}
		if isRecorded, isSame := w.Recorded(&present); isRecorded != test.isRecorded || isSame != test.isSame {
			t.Errorf("%s: %t, %t", name, isRecorded, isSame)
		}
	}
}

func TestAWorkloadSelectsKeysWhetherTheConfigHasThemOrNot(t *testing.T) {
	ref, other := ConfigRef{Kind: ConfigMap, Namespace: "shop", Name: "settings"}, ConfigRef{Kind: ConfigMap, Namespace: "shop", Name: "other"}
	w := &Workload{References: []Reference{
		{Config: ref, Channel: Environment, Keys: Selection{Names: []string{"level"}, DataOnly: true}},
		{Config: ref, Channel: Volume, Keys: Selection{Names: []string{"cert"}}},
	}}
	for _, test := range []struct {
		config ConfigRef
		keys   []string
		want   bool
	}{
		{ref, nil, true},
		{ref, []string{"level"}, true},
		{ref, []string{"cert", "level"}, true},
		{ref, []string{"level", "unread"}, false},
		{other, nil, false},
		{other, []string{"level"}, false},
	} {
		if got := w.Selects(test.config, test.keys); got != test.want {
			t.Errorf("%v of %v: %v", test.keys, test.config, got)
		}
	}
}

func TestAConfigLacksWhatAWorkloadRequires(t *testing.T) {
	ref, gone := ConfigRef{Kind: ConfigMap, Namespace: "shop", Name: "settings"}, ConfigRef{Kind: ConfigMap, Namespace: "shop", Name: "gone"}
	c := New()
	c.ObserveConfig(Config{Ref: ref, Keys: []Key{{Name: "there", Checksum: 1}}}, time.Time{})
	for name, test := range map[string]struct {
		reference Reference
		want      bool
	}{
		"all keys":              {Reference{Config: ref}, false},
		"a key":                 {Reference{Config: ref, Keys: Selection{Names: []string{"there"}}}, false},
		"a missing key":         {Reference{Config: ref, Keys: Selection{Names: []string{"missing"}}}, true},
		"an optional one":       {Reference{Config: ref, Keys: Selection{Names: []string{"missing"}}, Optional: true}, false},
		"a missing config":      {Reference{Config: gone}, true},
		"an optional one, gone": {Reference{Config: gone, Optional: true}, false},
	} {
		w := &Workload{References: []Reference{test.reference}}
		if got := c.LacksRequired(w, test.reference.Config); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
