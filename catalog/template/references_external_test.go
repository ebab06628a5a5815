package template_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/template"
)

func mustReferences(t *testing.T, spec *corev1.PodSpec) []template.Reference {
	t.Helper()
	references, fit := template.ReferencesOf("ns", spec, template.Filter{})
	if !fit {
		t.Fatal("too many references")
	}
	return references
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
		want []template.Reference
	}{
		"nothing": {spec: spec(corev1.Container{Name: "app", Env: []corev1.EnvVar{{Name: "A", Value: "1"}}})},
		"all of a ConfigMap as environment": {
			spec: spec(objecttest.ReadsAll("web", false)),
			want: []template.Reference{{Config: objecttest.ConfigMapRef("web"), Keys: template.Selection{DataOnly: true}, Container: "app", Channel: template.Environment}},
		},
		"all of an optional Secret as environment": {
			spec: spec(corev1.Container{Name: "app", EnvFrom: []corev1.EnvFromSource{{
				Prefix: "P_", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named("tls"), Optional: objecttest.Pointer(true)},
			}}}),
			want: []template.Reference{{Config: objecttest.SecretRef("tls"), Keys: template.Selection{DataOnly: true}, Container: "app", Channel: template.Environment, Optional: true}},
		},
		"a key of a ConfigMap as environment variable": {
			spec: spec(objecttest.ReadsKey("web", "color", true)),
			want: []template.Reference{{
				Config: objecttest.ConfigMapRef("web"), Keys: template.Selection{Names: []string{"color"}, DataOnly: true},
				Container: "app", Channel: template.Environment, Optional: true,
			}},
		},
		"a key of a Secret as environment variable": {
			spec: spec(corev1.Container{Name: "app", Env: []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{
				SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: named("tls"), Key: "key"},
			}}}}),
			want: []template.Reference{{
				Config: objecttest.SecretRef("tls"), Keys: template.Selection{Names: []string{"key"}, DataOnly: true}, Container: "app", Channel: template.Environment,
			}},
		},
		"names that no config can have": {
			spec: spec(corev1.Container{Name: "app", VolumeMounts: []corev1.VolumeMount{mount}, EnvFrom: []corev1.EnvFromSource{
				{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: named("other/web")}},
				{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named(strings.Repeat("s", names.LongestName+1))}},
				{SecretRef: &corev1.SecretEnvSource{}},
			}}, objecttest.VolumeOf("other/web", false)),
		},
		"an environment variable from a field of the pod": {
			spec: spec(corev1.Container{Name: "app", Env: []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"},
			}}}}),
		},
		"a volume made of a ConfigMap": {
			spec: spec(objecttest.Mounts(mount), objecttest.VolumeOf("web", false)),
			want: []template.Reference{{Config: objecttest.ConfigMapRef("web"), Channel: template.Volume}},
		},
		"a volume made of an optional Secret": {
			spec: spec(objecttest.Mounts(mount), corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{
				Secret: &corev1.SecretVolumeSource{SecretName: "tls", Optional: objecttest.Pointer(true)},
			}}),
			want: []template.Reference{{Config: objecttest.SecretRef("tls"), Channel: template.Volume, Optional: true}},
		},
		"a projected volume": {
			spec: spec(objecttest.Mounts(mount), corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{
				Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
					{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named("web"), Items: []corev1.KeyToPath{{Key: "b", Path: "x/b"}, {Key: "a", Path: "a"}}}},
					{Secret: &corev1.SecretProjection{LocalObjectReference: named("tls"), Optional: objecttest.Pointer(true)}},
					{DownwardAPI: &corev1.DownwardAPIProjection{}},
					{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
					{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: new("anchors"), Path: "anchors.pem"}},
				}},
			}}),
			want: []template.Reference{
				{Config: objecttest.ConfigMapRef("web"), Keys: template.Selection{Names: []string{"a", "b"}}, Channel: template.Volume, Items: true},
				{Config: objecttest.SecretRef("tls"), Keys: catalogtest.AllBut("anchors.pem", "token"), Channel: template.Volume, Optional: true},
			},
		},
		"a volume that nobody mounts": {
			spec: spec(objecttest.Mounts(corev1.VolumeMount{Name: "other"}), objecttest.VolumeOf("web", false),
				corev1.Volume{Name: "other", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}),
		},
		"init containers, sidecars and containers, each by its own": {
			spec: corev1.PodSpec{
				InitContainers: []corev1.Container{
					{Name: "init", EnvFrom: objecttest.ReadsAll("web", false).EnvFrom},
					{Name: "sidecar", RestartPolicy: &always, VolumeMounts: []corev1.VolumeMount{mount}},
				},
				Containers: []corev1.Container{objecttest.ReadsKey("web", "color", false), {Name: "idle"}},
				Volumes:    []corev1.Volume{objecttest.VolumeOf("web", false)},
			},
			want: []template.Reference{
				{Config: objecttest.ConfigMapRef("web"), Keys: template.Selection{DataOnly: true}, Container: "init", Channel: template.Environment},
				{Config: objecttest.ConfigMapRef("web"), Keys: template.Selection{Names: []string{"color"}, DataOnly: true}, Container: "app", Channel: template.Environment},
				{Config: objecttest.ConfigMapRef("web"), Channel: template.Volume},
			},
		},
		"references without a name, which the API accepts": {
			spec: spec(corev1.Container{
				Name: "app", EnvFrom: objecttest.ReadsAll("", true).EnvFrom, Env: objecttest.ReadsKey("", "k", true).Env, VolumeMounts: []corev1.VolumeMount{mount},
			}, objecttest.VolumeOf("", true)),
		},
		"credentials for pulling images and for volume drivers": {
			spec: corev1.PodSpec{
				ImagePullSecrets: []corev1.LocalObjectReference{named("registry")},
				Containers:       []corev1.Container{objecttest.Mounts(mount, corev1.VolumeMount{Name: "ceph"})},
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
	everything := []template.Selection{{}}
	only := func(names ...string) []template.Selection { return []template.Selection{{Names: names}} }

	for name, test := range map[string]struct {
		items  []corev1.KeyToPath
		mounts []corev1.VolumeMount
		want   []template.Selection
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
				Containers: []corev1.Container{objecttest.Mounts(test.mounts...)},
				Volumes:    []corev1.Volume{objecttest.VolumeOf("web", false, test.items...)},
			}
			if test.items != nil { // a variadic call makes nothing of an empty list
				spec.Volumes[0].ConfigMap.Items = test.items
			}
			var got []template.Selection
			for _, reference := range mustReferences(t, &spec) {
				got = append(got, reference.Keys)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
}
