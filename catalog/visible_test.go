package catalog

import (
	"slices"
	"testing"
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
