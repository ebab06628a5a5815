package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

func mustReferences(t *testing.T, spec *corev1.PodSpec) []Reference {
	t.Helper()
	references, fit := referencesOf("ns", spec, Filter{})
	if !fit {
		t.Fatal("too many references")
	}
	return references
}

// allBut selects all keys but some, sorted.
func allBut(hidden ...string) Selection {
	s := Selection{ByRules: true}
	for _, key := range hidden {
		s.Names = append(s.Names, "-"+key)
	}
	return s
}

func TestReferencesListsEveryWayToReadAConfig(t *testing.T) {
	named := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	mount := corev1.VolumeMount{Name: "v", MountPath: "/etc/v"}
	always := corev1.ContainerRestartPolicyAlways
	spec := func(container corev1.Container, volumes ...corev1.Volume) corev1.PodSpec {
		return corev1.PodSpec{Containers: []corev1.Container{container}, Volumes: volumes}
	}
	for name, test := range map[string]struct {
		spec corev1.PodSpec
		want []Reference
	}{
		"nothing": {spec: spec(corev1.Container{Name: "app", Env: []corev1.EnvVar{{Name: "A", Value: "1"}}})},
		"all of a ConfigMap as environment": {
			spec: spec(readsAll("web", false)),
			want: []Reference{{Config: configMapRef("web"), Keys: Selection{DataOnly: true}, Container: "app", Channel: Environment}},
		},
		"all of an optional Secret as environment": {
			spec: spec(corev1.Container{Name: "app", EnvFrom: []corev1.EnvFromSource{{
				Prefix: "P_", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named("tls"), Optional: pointer(true)},
			}}}),
			want: []Reference{{Config: secretRef("tls"), Keys: Selection{DataOnly: true}, Container: "app", Channel: Environment, Optional: true}},
		},
		"a key of a ConfigMap as environment variable": {
			spec: spec(readsKey("web", "color", true)),
			want: []Reference{{
				Config: configMapRef("web"), Keys: Selection{Names: []string{"color"}, DataOnly: true},
				Container: "app", Channel: Environment, Optional: true,
			}},
		},
		"a key of a Secret as environment variable": {
			spec: spec(corev1.Container{Name: "app", Env: []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{
				SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: named("tls"), Key: "key"},
			}}}}),
			want: []Reference{{
				Config: secretRef("tls"), Keys: Selection{Names: []string{"key"}, DataOnly: true}, Container: "app", Channel: Environment,
			}},
		},
		"names that no config can have": {
			spec: spec(corev1.Container{Name: "app", VolumeMounts: []corev1.VolumeMount{mount}, EnvFrom: []corev1.EnvFromSource{
				{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: named("other/web")}},
				{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named(strings.Repeat("s", longestName+1))}},
				{SecretRef: &corev1.SecretEnvSource{}},
			}}, volumeOf("other/web", false)),
		},
		"an environment variable from a field of the pod": {
			spec: spec(corev1.Container{Name: "app", Env: []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"},
			}}}}),
		},
		"a volume made of a ConfigMap": {
			spec: spec(mounts(mount), volumeOf("web", false)),
			want: []Reference{{Config: configMapRef("web"), Channel: Volume}},
		},
		"a volume made of an optional Secret": {
			spec: spec(mounts(mount), corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{
				Secret: &corev1.SecretVolumeSource{SecretName: "tls", Optional: pointer(true)},
			}}),
			want: []Reference{{Config: secretRef("tls"), Channel: Volume, Optional: true}},
		},
		"a projected volume": {
			spec: spec(mounts(mount), corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{
				Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
					{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named("web"), Items: []corev1.KeyToPath{{Key: "b", Path: "x/b"}, {Key: "a", Path: "a"}}}},
					{Secret: &corev1.SecretProjection{LocalObjectReference: named("tls"), Optional: pointer(true)}},
					{DownwardAPI: &corev1.DownwardAPIProjection{}},
					{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
					{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: new("anchors"), Path: "anchors.pem"}},
				}},
			}}),
			want: []Reference{
				{Config: configMapRef("web"), Keys: Selection{Names: []string{"a", "b"}}, Channel: Volume, Items: true},
				{Config: secretRef("tls"), Keys: allBut("anchors.pem", "token"), Channel: Volume, Optional: true},
			},
		},
		"a volume that nobody mounts": {
			spec: spec(mounts(corev1.VolumeMount{Name: "other"}), volumeOf("web", false),
				corev1.Volume{Name: "other", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}),
		},
		"init containers, sidecars and containers, each by its own": {
			spec: corev1.PodSpec{
				InitContainers: []corev1.Container{
					{Name: "init", EnvFrom: readsAll("web", false).EnvFrom},
					{Name: "sidecar", RestartPolicy: &always, VolumeMounts: []corev1.VolumeMount{mount}},
				},
				Containers: []corev1.Container{readsKey("web", "color", false), {Name: "idle"}},
				Volumes:    []corev1.Volume{volumeOf("web", false)},
			},
			want: []Reference{
				{Config: configMapRef("web"), Keys: Selection{DataOnly: true}, Container: "init", Channel: Environment},
				{Config: configMapRef("web"), Keys: Selection{Names: []string{"color"}, DataOnly: true}, Container: "app", Channel: Environment},
				{Config: configMapRef("web"), Channel: Volume},
			},
		},
		"references without a name, which the API accepts": {
			spec: spec(corev1.Container{
				Name: "app", EnvFrom: readsAll("", true).EnvFrom, Env: readsKey("", "k", true).Env, VolumeMounts: []corev1.VolumeMount{mount},
			}, volumeOf("", true)),
		},
		"credentials for pulling images and for volume drivers": {
			spec: corev1.PodSpec{
				ImagePullSecrets: []corev1.LocalObjectReference{named("registry")},
				Containers:       []corev1.Container{mounts(mount, corev1.VolumeMount{Name: "ceph"})},
				Volumes: []corev1.Volume{
					{Name: "v", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
						Driver: "d", NodePublishSecretRef: &corev1.LocalObjectReference{Name: "csi"},
					}}},
					{Name: "ceph", VolumeSource: corev1.VolumeSource{CephFS: &corev1.CephFSVolumeSource{SecretRef: &corev1.LocalObjectReference{Name: "ceph"}}}},
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, mustReferences(t, &test.spec), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("references (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAVolumeShowsOnlyTheKeysThatItsMountsCanReach(t *testing.T) {
	whole := corev1.VolumeMount{Name: "v", MountPath: "/whole"}
	sub := func(path string) corev1.VolumeMount {
		return corev1.VolumeMount{Name: "v", MountPath: "/sub", SubPath: path}
	}
	expression := corev1.VolumeMount{Name: "v", MountPath: "/expression", SubPathExpr: "$(POD_NAME)"}
	item := func(key, path string) corev1.KeyToPath { return corev1.KeyToPath{Key: key, Path: path} }
	everything := []Selection{{}}
	only := func(names ...string) []Selection { return []Selection{{Names: names}} }

	for name, test := range map[string]struct {
		items  []corev1.KeyToPath
		mounts []corev1.VolumeMount
		want   []Selection
	}{
		"whole":                               {nil, []corev1.VolumeMount{whole}, everything},
		"whole, with an empty list of items":  {[]corev1.KeyToPath{}, []corev1.VolumeMount{whole}, everything},
		"the root as subPath":                 {nil, []corev1.VolumeMount{sub("./")}, everything},
		"one subPath":                         {nil, []corev1.VolumeMount{sub("app.conf")}, only("app.conf")},
		"one subPath, an empty list of items": {[]corev1.KeyToPath{}, []corev1.VolumeMount{sub("app.conf")}, only("app.conf")},
		"a subPath in need of cleaning":       {nil, []corev1.VolumeMount{sub("./app.conf/")}, only("app.conf")},
		"a subPath below a key":               {nil, []corev1.VolumeMount{sub("dir/file")}, only("dir")},
		"a subPath through the link":          {nil, []corev1.VolumeMount{sub("..data/app.conf")}, only("app.conf")},
		"the link as subPath":                 {nil, []corev1.VolumeMount{sub("..data")}, everything},
		"two subPaths, one of them twice":     {nil, []corev1.VolumeMount{sub("b"), sub("a"), sub("b")}, only("a", "b")},
		"a subPath and the whole":             {nil, []corev1.VolumeMount{sub("b"), whole}, everything},
		"a subPath only known at the start":   {nil, []corev1.VolumeMount{expression}, everything},
		"a literal and another subPath":       {nil, []corev1.VolumeMount{sub("a"), expression}, everything},
		"items, whole":                        {[]corev1.KeyToPath{item("b", "x"), item("a", "y")}, []corev1.VolumeMount{whole}, only("a", "b")},
		"items, one key as two files":         {[]corev1.KeyToPath{item("a", "x"), item("a", "y")}, []corev1.VolumeMount{whole}, only("a")},
		"items, the file of one":              {[]corev1.KeyToPath{item("b", "x"), item("a", "y")}, []corev1.VolumeMount{sub("y")}, only("a")},
		"items, the directory of one":         {[]corev1.KeyToPath{item("b", "dir/x"), item("a", "directory")}, []corev1.VolumeMount{sub("dir")}, only("b")},
		"items, nested file":                  {[]corev1.KeyToPath{item("b", "dir/sub/x"), item("a", "dir/sub/y")}, []corev1.VolumeMount{sub("dir/sub/y")}, only("a")},
		"items, nested directory":             {[]corev1.KeyToPath{item("b", "dir/sub/x"), item("a", "dir/y")}, []corev1.VolumeMount{sub("dir/sub/")}, only("b")},
		"items, path in need of cleaning":     {[]corev1.KeyToPath{item("a", "./dir//x")}, []corev1.VolumeMount{sub("dir/x")}, only("a")},
		"items, file named like another key":  {[]corev1.KeyToPath{item("a", "b")}, []corev1.VolumeMount{sub("b")}, only("a")},
		"items, none of their files":          {[]corev1.KeyToPath{item("a", "x")}, []corev1.VolumeMount{sub("a")}, nil},
		"items, expression":                   {[]corev1.KeyToPath{item("a", "x")}, []corev1.VolumeMount{expression}, only("a")},
	} {
		t.Run(name, func(t *testing.T) {
			spec := corev1.PodSpec{
				Containers: []corev1.Container{mounts(test.mounts...)},
				Volumes:    []corev1.Volume{volumeOf("web", false, test.items...)},
			}
			if test.items != nil { // a variadic call makes nothing of an empty list
				spec.Volumes[0].ConfigMap.Items = test.items
			}
			var got []Selection
			for _, reference := range mustReferences(t, &spec) {
				got = append(got, reference.Keys)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
}

// A slow oracle for volumes: build the tree of files, take what lies under the
// mounted paths, and see which keys went in.
func TestVisibleKeysAreThoseOfTheFilesUnderTheMounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		element := rapid.SampledFrom([]string{"a", "b", "ab"})
		nested := rapid.Custom(func(t *rapid.T) []string { return rapid.SliceOfN(element, 1, 3).Draw(t, "elements") })
		items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) []string {
			return append([]string{element.Draw(t, "key")}, nested.Draw(t, "path")...)
		}), 1, 4).Draw(t, "items")
		subPaths := rapid.SliceOfN(nested, 1, 3).Draw(t, "subPaths")

		files := map[string][]string{} // a later item replaces the file of an earlier one
		for _, item := range items {
			files[joinPath(item[1:])] = item
		}
		want := map[string]bool{}
		for _, item := range files {
			for _, subPath := range subPaths {
				if file := item[1:]; len(subPath) <= len(file) && slices.Equal(subPath, file[:len(subPath)]) {
					want[item[0]] = true
				}
			}
		}
		source := configSource{items: keysToPaths(items)}
		keys, visible := (&mentions{}).itemsOf(&source, newShown(subPathMounts(subPaths)), map[string]struct{}{})
		if visible != (len(want) > 0) {
			t.Fatalf("visible: %v, want %v", visible, want)
		}
		for _, key := range []string{"a", "b", "ab"} {
			if keys.names(key) != want[key] {
				t.Fatalf("shows %s: %v, want %v", key, keys.names(key), want[key])
			}
		}
	})
}

func keysToPaths(items [][]string) []corev1.KeyToPath {
	var list []corev1.KeyToPath
	for _, item := range items {
		list = append(list, corev1.KeyToPath{Key: item[0], Path: joinPath(item[1:])})
	}
	return list
}

func subPathMounts(subPaths [][]string) []*corev1.VolumeMount {
	var list []*corev1.VolumeMount
	for _, subPath := range subPaths {
		list = append(list, &corev1.VolumeMount{Name: "v", SubPath: joinPath(subPath)})
	}
	return list
}

func joinPath(elements []string) string {
	joined := elements[0]
	for _, element := range elements[1:] {
		joined += "/" + element
	}
	return joined
}
