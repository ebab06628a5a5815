package catalog

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

func TestPodsLackTheRequiredConfigsAndVariablesThatDoNotExist(t *testing.T) {
	ref := func(name string) names.ConfigRef {
		return names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: name}
	}
	settings := content.NewConfigMap(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings"}, Data: map[string]string{"LEVEL": "1"}, BinaryData: map[string][]byte{"BYTES": {1}},
	})
	gone := content.Config{Ref: ref("gone"), Deleted: true}
	configs := map[names.ConfigRef]*content.Config{ref("settings"): &settings, ref("gone"): &gone}
	variable := func(name string, keys ...string) template.Reference {
		return template.Reference{Config: ref(name), Keys: template.Selection{Names: keys, DataOnly: true}}
	}
	file := func(key string, isItem bool) template.Reference {
		return template.Reference{Config: ref("settings"), Channel: template.Volume, Keys: template.Selection{Names: []string{key}}, Items: isItem}
	}
	optional := variable("none")
	optional.Optional = true
	for name, test := range map[string]struct {
		references []template.Reference
		want       Missing
		count      int
	}{
		"nothing":                       {nil, Missing{}, 0},
		"all keys of one that exists":   {[]template.Reference{variable("settings")}, Missing{}, 0},
		"a key that exists":             {[]template.Reference{variable("settings", "LEVEL")}, Missing{}, 0},
		"a key that does not":           {[]template.Reference{variable("settings", "LEVEL", "OTHER")}, Missing{ref("settings"), "OTHER"}, 1},
		"binary data as a variable":     {[]template.Reference{variable("settings", "BYTES")}, Missing{ref("settings"), "BYTES"}, 1},
		"one that never existed":        {[]template.Reference{variable("none")}, Missing{ref("none"), ""}, 1},
		"one that is gone, in two ways": {[]template.Reference{variable("gone"), variable("gone", "LEVEL"), variable("none")}, Missing{ref("gone"), ""}, 2},
		"an optional one":               {[]template.Reference{optional}, Missing{}, 0},
		"a file that is mounted":        {[]template.Reference{file("other", false)}, Missing{}, 0},
		"an item that exists":           {[]template.Reference{file("BYTES", true)}, Missing{}, 0},
		"an item that does not":         {[]template.Reference{file("other", true)}, Missing{ref("settings"), "other"}, 1},
		"a volume":                      {[]template.Reference{{Config: ref("none"), Channel: template.Volume}}, Missing{ref("none"), ""}, 1},
		"what a program reads":          {[]template.Reference{{Config: ref("none"), Channel: template.API}}, Missing{}, 0},
		"what a driver mounts":          {[]template.Reference{{Config: names.ConfigRef{Kind: names.SecretProviderClass, Namespace: "shop", Name: "none"}, Channel: template.Volume}}, Missing{}, 0},
		"a release of Helm":             {[]template.Reference{{Config: names.ConfigRef{Kind: names.Secret, Namespace: "shop", Name: "sh.helm.release.v1.web.v1"}, Channel: template.Volume}}, Missing{}, 0},
	} {
		view := View{Workload: &workload.Workload{Object: workload.Object{References: test.references}}, Configs: configs}
		if got, count := view.Missing(objecttest.AllConfigs); got != test.want || count != test.count {
			t.Errorf("%s: %d, %+v", name, count, got)
		}
		view.Workload.Idle = true
		if _, count := view.Missing(objecttest.AllConfigs); count != 0 {
			t.Errorf("%s, without pods: %d", name, count)
		}
	}
}

func TestAKindOfConfigsThatIsNotKnownIsNotMissing(t *testing.T) {
	view := View{Workload: &workload.Workload{Object: workload.Object{References: []template.Reference{{Config: names.ConfigRef{Kind: names.ConfigMap, Namespace: "ns", Name: "c"}, Channel: template.Environment}, {Config: names.ConfigRef{Kind: names.Secret, Namespace: "ns", Name: "s"}, Channel: template.Environment}}}}}
	want := Missing{Config: names.ConfigRef{Kind: names.Secret, Namespace: "ns", Name: "s"}}
	if got, count := view.Missing(func(ref names.ConfigRef) bool { return ref.Kind == names.Secret }); got != want || count != 1 {
		t.Errorf("%+v, and %d in all", got, count)
	}
}

func TestOnlyASecretThatNobodySawMayBeUnwatched(t *testing.T) {
	ref := func(kind names.ConfigKind, name string) names.ConfigRef {
		return names.ConfigRef{Kind: kind, Namespace: "ns", Name: name}
	}
	view := View{
		Workload: &workload.Workload{Record: record.Record{Checksums: record.Checksums{ref(names.Secret, "recorded"): 1}}},
		Configs:  map[names.ConfigRef]*content.Config{ref(names.Secret, "gone"): {Deleted: true}},
	}
	for config, want := range map[names.ConfigRef]bool{
		ref(names.Secret, "never"): true, ref(names.Secret, "recorded"): false, ref(names.Secret, "gone"): false, ref(names.Secret, "NO_NAME"): false, ref(names.ConfigMap, "never"): false,
	} {
		if got := view.MayBeUnwatched(config); got != want {
			t.Errorf("%s: %t", config, got)
		}
	}
}
