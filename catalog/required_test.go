package catalog

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodsLackTheRequiredConfigsAndVariablesThatDoNotExist(t *testing.T) {
	ref := func(name string) ConfigRef { return ConfigRef{ConfigMap, "shop", name} }
	settings := NewConfigMap(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings"}, Data: map[string]string{"LEVEL": "1"}, BinaryData: map[string][]byte{"BYTES": {1}},
	})
	gone := Config{Ref: ref("gone"), Deleted: true}
	configs := map[ConfigRef]*Config{ref("settings"): &settings, ref("gone"): &gone}
	variable := func(name string, keys ...string) Reference {
		return Reference{Config: ref(name), Keys: Selection{Names: keys, DataOnly: true}}
	}
	file := func(key string, isItem bool) Reference {
		return Reference{Config: ref("settings"), Channel: Volume, Keys: Selection{Names: []string{key}}, Items: isItem}
	}
	optional := variable("none")
	optional.Optional = true
	for name, test := range map[string]struct {
		references []Reference
		want       Missing
		count      int
	}{
		"nothing":                       {nil, Missing{}, 0},
		"all keys of one that exists":   {[]Reference{variable("settings")}, Missing{}, 0},
		"a key that exists":             {[]Reference{variable("settings", "LEVEL")}, Missing{}, 0},
		"a key that does not":           {[]Reference{variable("settings", "LEVEL", "OTHER")}, Missing{ref("settings"), "OTHER"}, 1},
		"binary data as a variable":     {[]Reference{variable("settings", "BYTES")}, Missing{ref("settings"), "BYTES"}, 1},
		"one that never existed":        {[]Reference{variable("none")}, Missing{ref("none"), ""}, 1},
		"one that is gone, in two ways": {[]Reference{variable("gone"), variable("gone", "LEVEL"), variable("none")}, Missing{ref("gone"), ""}, 2},
		"an optional one":               {[]Reference{optional}, Missing{}, 0},
		"a file that is mounted":        {[]Reference{file("other", false)}, Missing{}, 0},
		"an item that exists":           {[]Reference{file("BYTES", true)}, Missing{}, 0},
		"an item that does not":         {[]Reference{file("other", true)}, Missing{ref("settings"), "other"}, 1},
		"a volume":                      {[]Reference{{Config: ref("none"), Channel: Volume}}, Missing{ref("none"), ""}, 1},
		"what a program reads":          {[]Reference{{Config: ref("none"), Channel: API}}, Missing{}, 0},
		"what a driver mounts":          {[]Reference{{Config: ConfigRef{SecretProviderClass, "shop", "none"}, Channel: Volume}}, Missing{}, 0},
		"a release of Helm":             {[]Reference{{Config: ConfigRef{Secret, "shop", "sh.helm.release.v1.web.v1"}, Channel: Volume}}, Missing{}, 0},
	} {
		view := View{Workload: &Workload{References: test.references}, Configs: configs}
		if got, count := view.Missing(allConfigs); got != test.want || count != test.count {
			t.Errorf("%s: %d, %+v", name, count, got)
		}
		view.Workload.Idle = true
		if _, count := view.Missing(allConfigs); count != 0 {
			t.Errorf("%s, without pods: %d", name, count)
		}
	}
}

func allConfigs(ConfigRef) bool { return true }

func TestAKindOfConfigsThatIsNotKnownIsNotMissing(t *testing.T) {
	view := View{Workload: &Workload{References: []Reference{{Config: ConfigRef{ConfigMap, "ns", "c"}, Channel: Environment}, {Config: ConfigRef{Secret, "ns", "s"}, Channel: Environment}}}}
	want := Missing{Config: ConfigRef{Secret, "ns", "s"}}
	if got, count := view.Missing(func(ref ConfigRef) bool { return ref.Kind == Secret }); got != want || count != 1 {
		t.Errorf("%+v, and %d in all", got, count)
	}
}

func TestOnlyASecretThatNobodySawMayBeUnwatched(t *testing.T) {
	ref := func(kind ConfigKind, name string) ConfigRef { return ConfigRef{kind, "ns", name} }
	view := View{
		Workload: &Workload{Applied: AppliedState{Checksums: Checksums{ref(Secret, "recorded"): 1}}},
		Configs:  map[ConfigRef]*Config{ref(Secret, "gone"): {Deleted: true}},
	}
	for config, want := range map[ConfigRef]bool{
		ref(Secret, "never"): true, ref(Secret, "recorded"): false, ref(Secret, "gone"): false, ref(Secret, "NO_NAME"): false, ref(ConfigMap, "never"): false,
	} {
		if got := view.MayBeUnwatched(config); got != want {
			t.Errorf("%s: %t", config, got)
		}
	}
}
