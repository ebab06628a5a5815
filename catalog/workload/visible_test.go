package workload_test

import (
	"slices"
	"testing"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

func TestOnlyKeysThatAContainerSeesAreVisibleChanges(t *testing.T) {
	ref := names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: "settings"}
	data := func(keys ...names.Key) *content.Config { return &content.Config{Ref: ref, Keys: names.NewKeys(keys)} }
	before := data(names.Key{Name: "changed", Checksum: 1}, names.Key{Name: "removed", Checksum: 1}, names.Key{Name: "same", Checksum: 1})
	after := data(names.Key{Name: "added", Checksum: 1}, names.Key{Name: "binary", Checksum: 1, Binary: true}, names.Key{Name: "changed", Checksum: 2}, names.Key{Name: "same", Checksum: 1})
	all := []string{"added", "binary", "changed", "removed"}
	for name, test := range map[string]struct {
		keys          template.Selection
		before, after *content.Config
		want          []string
	}{
		"all keys":                  {template.Selection{}, before, after, all},
		"data only":                 {template.Selection{DataOnly: true}, before, after, []string{"added", "changed", "removed"}},
		"one key":                   {template.Selection{Names: []string{"changed"}}, before, after, []string{"changed"}},
		"a key that stays the same": {template.Selection{Names: []string{"same"}}, before, after, nil},
		"the same content":          {template.Selection{}, before, before, nil},
		"a new config":              {template.Selection{Names: []string{"added"}}, nil, after, []string{"added"}},
		"a config that goes":        {template.Selection{}, before, nil, []string{"changed", "removed", "same"}},
	} {
		w := workload.Workload{Object: workload.Object{References: []template.Reference{{Config: ref, Keys: test.keys}}}}
		if got := w.VisibleChanges(ref, test.before, test.after); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	other := workload.Workload{Object: workload.Object{References: []template.Reference{{Config: names.ConfigRef{Kind: names.Secret, Namespace: "shop", Name: "settings"}}}}}
	if got := other.VisibleChanges(ref, before, after); got != nil {
		t.Errorf("a workload without a reference sees %v", got)
	}
}

func TestARecordIsComparedWithWhatTheWorkloadSees(t *testing.T) {
	keys := []names.Key{{Name: "seen", Checksum: 1}, {Name: "unseen", Checksum: 1}}
	config := &content.Config{Ref: names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: "settings"}, Keys: names.NewKeys(keys)}
	seen := []template.Reference{{Config: config.Ref, Keys: template.Selection{Names: []string{"seen"}}}}
	recorded := record.Checksums{config.Ref: config.Checksum([]template.Selection{{Names: []string{"seen"}}}, content.ChecksumKey{})}
	for name, test := range map[string]struct {
		applied            record.Checksums
		change             int
		isRecorded, isSame bool
	}{
		"no record":                   {nil, 0, false, false},
		"the recorded content":        {recorded, 0, true, true},
		"another content":             {recorded, 1, true, false},
		"an edit of a key not seen":   {recorded, 2, true, true},
		"a record of another config":  {record.Checksums{{Kind: names.ConfigMap, Namespace: "shop", Name: "other"}: 1}, 0, false, false},
		"a record of other selection": {record.Checksums{config.Ref: config.Checksum([]template.Selection{{}}, content.ChecksumKey{})}, 0, true, false},
	} {
		present := *config
		if changed := slices.Clone(keys); test.change > 0 {
			changed[test.change-1].Checksum++
			present.Keys = names.NewKeys(changed)
		}
		w := workload.Workload{Object: workload.Object{References: seen}, Record: record.Record{Checksums: test.applied}}
		if isRecorded, isSame := w.Recorded(&present); isRecorded != test.isRecorded || isSame != test.isSame {
			t.Errorf("%s: %t, %t", name, isRecorded, isSame)
		}
	}
}

func TestAWorkloadSelectsKeysWhetherTheConfigHasThemOrNot(t *testing.T) {
	ref, other := names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: "settings"}, names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: "other"}
	w := &workload.Workload{Object: workload.Object{References: []template.Reference{
		{Config: ref, Channel: template.Environment, Keys: template.Selection{Names: []string{"level"}, DataOnly: true}},
		{Config: ref, Channel: template.Volume, Keys: template.Selection{Names: []string{"cert"}}},
	}}}
	for _, test := range []struct {
		config names.ConfigRef
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
