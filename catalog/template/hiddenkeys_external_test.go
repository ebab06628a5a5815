package template_test

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// seenKeys returns which of the drawn keys of the ConfigMap web the pods see.
func seenKeys(t *testing.T, spec *corev1.PodSpec) (seen []string) {
	t.Helper()
	w := workload.Workload{Object: workload.Object{References: mustReferences(t, spec)}}
	for _, key := range objecttest.DrawnKeys {
		if w.Selects(objecttest.ConfigMapRef("web"), []string{key}) {
			seen = append(seen, key)
		}
	}
	return seen
}

func TestNobodySeesAVariableThatALaterOneReplaces(t *testing.T) {
	from := func(prefix string) corev1.EnvFromSource {
		source := objecttest.ReadsAll("web", false).EnvFrom[0]
		source.Prefix = prefix
		return source
	}
	envFrom := []corev1.EnvFromSource{from("")}
	for name, test := range map[string]struct {
		from []corev1.EnvFromSource
		env  []corev1.EnvVar
		want []string
	}{
		"nothing replaces it":                       {envFrom, []corev1.EnvVar{objecttest.Literal("x", "1")}, objecttest.DrawnKeys},
		"a literal":                                 {envFrom, []corev1.EnvVar{objecttest.Literal("a", "1")}, []string{"b", "c"}},
		"an empty literal":                          {envFrom, []corev1.EnvVar{objecttest.Literal("a", "")}, []string{"b", "c"}},
		"a variable in another spelling":            {envFrom, []corev1.EnvVar{objecttest.Literal("A", "1")}, objecttest.DrawnKeys},
		"a name that is a glob":                     {envFrom, []corev1.EnvVar{objecttest.Literal("*", "1"), objecttest.Literal("?", "1")}, objecttest.DrawnKeys},
		"a literal that refers to it":               {envFrom, []corev1.EnvVar{objecttest.Literal("a", "$(a):1")}, objecttest.DrawnKeys},
		"a literal that does not, it is escaped":    {envFrom, []corev1.EnvVar{objecttest.Literal("a", "$$(a) $$$$(a) $(a")}, []string{"b", "c"}},
		"a literal that does, behind a dollar":      {envFrom, []corev1.EnvVar{objecttest.Literal("a", "$$$(a)")}, objecttest.DrawnKeys},
		"one before it refers to it":                {envFrom, []corev1.EnvVar{objecttest.Literal("x", "$(a)"), objecttest.Literal("a", "1")}, objecttest.DrawnKeys},
		"one after it refers to the new value":      {envFrom, []corev1.EnvVar{objecttest.Literal("a", "1"), objecttest.Literal("x", "$(a)")}, []string{"b", "c"}},
		"one that nobody sees refers to it":         {envFrom, []corev1.EnvVar{objecttest.Literal("x", "$(a)"), objecttest.Literal("a", "1"), objecttest.Literal("x", "2")}, []string{"b", "c"}},
		"one that another uses refers to it":        {envFrom, []corev1.EnvVar{objecttest.Literal("x", "$(a)"), objecttest.Literal("a", "1"), objecttest.Literal("y", "$(x)"), objecttest.Literal("x", "2")}, objecttest.DrawnKeys},
		"a key of another config":                   {envFrom, []corev1.EnvVar{objecttest.Taken("a", "other", "k", false)}, []string{"b", "c"}},
		"an optional key":                           {envFrom, []corev1.EnvVar{objecttest.Taken("a", "other", "k", true)}, objecttest.DrawnKeys},
		"a field of the pod":                        {envFrom, []corev1.EnvVar{{Name: "a", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}, []string{"b", "c"}},
		"a key of a file":                           {envFrom, []corev1.EnvVar{{Name: "a", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{}}}}, []string{"b", "c"}},
		"an optional key of a file":                 {envFrom, []corev1.EnvVar{{Name: "a", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{Optional: new(true)}}}}, objecttest.DrawnKeys},
		"another key of the same config":            {envFrom, []corev1.EnvVar{objecttest.Taken("a", "web", "b", false)}, []string{"b", "c"}},
		"a literal, but another name is left of it": {envFrom, []corev1.EnvVar{objecttest.Taken("x", "web", "a", false), objecttest.Literal("a", "1")}, objecttest.DrawnKeys},
		"a literal with the prefix":                 {[]corev1.EnvFromSource{from("P_")}, []corev1.EnvVar{objecttest.Literal("P_a", "1"), objecttest.Literal("b", "1"), objecttest.Literal("P_", "1")}, []string{"b", "c"}},
		"a literal, but another prefix is left":     {[]corev1.EnvFromSource{from("P_"), from("")}, []corev1.EnvVar{objecttest.Literal("P_a", "1"), objecttest.Literal("b", "1")}, objecttest.DrawnKeys},
		"literals for both prefixes":                {[]corev1.EnvFromSource{from("P_"), from("")}, []corev1.EnvVar{objecttest.Literal("P_a", "1"), objecttest.Literal("a", "1")}, []string{"b", "c"}},
		"the same name twice":                       {nil, []corev1.EnvVar{objecttest.Taken("x", "web", "a", false), objecttest.Taken("x", "web", "b", false)}, []string{"b"}},
		"the same name twice, one in between":       {nil, []corev1.EnvVar{objecttest.Taken("x", "web", "a", false), objecttest.Literal("y", "$(x)"), objecttest.Taken("x", "web", "b", false)}, []string{"a", "b"}},
		"the same name twice, the last is optional": {nil, []corev1.EnvVar{objecttest.Taken("x", "web", "a", false), objecttest.Taken("x", "web", "b", true)}, []string{"a", "b"}},
		"a literal over a key":                      {nil, []corev1.EnvVar{objecttest.Taken("x", "web", "a", false), objecttest.Literal("x", "1")}, nil},
		"more variables than are looked at":         {envFrom, append([]corev1.EnvVar{objecttest.Literal("a", "1")}, objecttest.ManyLiterals(template.MaxHidden)...), objecttest.DrawnKeys},
	} {
		t.Run(name, func(t *testing.T) {
			spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "app", EnvFrom: test.from, Env: test.env}}}
			if diff := cmp.Diff(test.want, seenKeys(t, &spec)); diff != "" {
				t.Errorf("seen (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEachContainerSeesItsOwnEnvironment(t *testing.T) {
	hiding, plain := objecttest.ReadsAll("web", false), objecttest.ReadsAll("web", false)
	hiding.Env, hiding.Name = []corev1.EnvVar{objecttest.Literal("a", "1"), objecttest.Literal("b", "1")}, "init"
	plain.Env = []corev1.EnvVar{objecttest.Literal("b", "1")}
	spec := corev1.PodSpec{InitContainers: []corev1.Container{hiding}, Containers: []corev1.Container{plain}}
	want := []template.Reference{
		{Config: objecttest.ConfigMapRef("web"), Keys: template.Selection{Names: []string{"-b"}, DataOnly: true, ByRules: true}, Container: "app"},
		{Config: objecttest.ConfigMapRef("web"), Keys: template.Selection{Names: []string{"-a", "-b"}, DataOnly: true, ByRules: true}, Container: "init"},
	}
	if diff := cmp.Diff(want, mustReferences(t, &spec)); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "c"}, seenKeys(t, &spec)); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
}

// start returns the environment of a container as the kubelet makes it, and false if it does not start.
func start(container *corev1.Container, world map[names.ConfigRef]objecttest.Data) (map[string]string, bool) {
	environment := map[string]string{}
	for _, from := range container.EnvFrom {
		ref := objecttest.SecretRef("web")
		if from.ConfigMapRef != nil {
			ref = objecttest.ConfigMapRef("web")
		}
		for key, value := range world[ref] {
			environment[from.Prefix+key] = value
		}
	}
	for _, variable := range container.Env {
		value, from := variable.Value, variable.ValueFrom
		if from == nil {
			environment[variable.Name] = objecttest.Dollars.ReplaceAllStringFunc(value, func(found string) string {
				known, is := environment[strings.Trim(found, "$()")]
				switch {
				case found == "$$":
					return "$"
				case is:
					return known
				}
				return found
			})
			continue
		}
		ref, key, optional := objecttest.SecretRef("web"), "", false
		if from.ConfigMapKeyRef != nil {
			ref, key, optional = objecttest.ConfigMapRef("web"), from.ConfigMapKeyRef.Key, template.IsTrue(from.ConfigMapKeyRef.Optional)
		} else {
			key, optional = from.SecretKeyRef.Key, template.IsTrue(from.SecretKeyRef.Optional)
		}
		value, is := world[ref][key]
		switch {
		case is:
			environment[variable.Name] = value
		case !optional:
			return nil, false
		}
	}
	return environment, true
}

// Whatever keys there are, a key that does not count changes nothing in the environment. Each that counts changes it in one
// of these worlds, unless its template says that a key which could hide it must be there.
func TestAKeyCountsIfAContainerSeesIt(t *testing.T) {
	refs := []names.ConfigRef{objecttest.ConfigMapRef("web"), objecttest.SecretRef("web")}
	rapid.Check(t, func(t *rapid.T) {
		container := objecttest.DrawContainer(t, "app")
		container.VolumeMounts = nil
		isPlain := len(container.EnvFrom) < 2
		for i := range container.EnvFrom {
			nameAll(container.EnvFrom[i].ConfigMapRef, container.EnvFrom[i].SecretRef)
		}
		for i := range container.Env {
			if from := container.Env[i].ValueFrom; from != nil {
				nameAll(from.ConfigMapKeyRef, from.SecretKeyRef)
			}
			isPlain = template.IsAlwaysSet(&container.Env[i]) && isPlain
		}
		references, _ := template.ReferencesOf("ns", &corev1.PodSpec{Containers: []corev1.Container{container}}, template.Filter{})
		w := workload.Workload{Object: workload.Object{References: references}}
		for _, ref := range refs {
			for _, key := range objecttest.DrawnKeys {
				counts, isSeen := w.Selects(ref, []string{key}), isSeenInAny(&container, refs, ref, key)
				if isSeen && !counts || counts && isPlain && !isSeen {
					t.Fatalf("%s of %s: counts: %t, is seen: %t; of %+v", key, ref, counts, isSeen, container)
				}
			}
		}
	})
}

// nameAll makes all references name the config web.
func nameAll(references ...any) {
	for _, reference := range references {
		if named := reflect.ValueOf(reference); !named.IsNil() {
			named.Elem().FieldByName("Name").SetString("web")
		}
	}
}

// isSeenInAny reports whether the value of a key makes a difference in any world.
func isSeenInAny(container *corev1.Container, refs []names.ConfigRef, ref names.ConfigRef, key string) bool {
	for bits := range 1 << (len(refs) * len(objecttest.DrawnKeys)) {
		world := map[names.ConfigRef]objecttest.Data{}
		for i, ref := range refs {
			world[ref] = objecttest.Data{}
			for k, key := range objecttest.DrawnKeys {
				if bits>>(i*len(objecttest.DrawnKeys)+k)&1 == 1 {
					world[ref][key] = fmt.Sprint(ref, key)
				}
			}
		}
		if _, is := world[ref][key]; !is {
			continue
		}
		before, starts := start(container, world)
		world[ref][key] = "changed"
		if after, _ := start(container, world); starts && !maps.Equal(before, after) {
			return true
		}
	}
	return false
}

func TestNobodySeesAFileThatALaterOneReplaces(t *testing.T) {
	type projection = corev1.VolumeProjection
	item := func(key, path string) corev1.KeyToPath { return corev1.KeyToPath{Key: key, Path: path} }
	of := func(name string, optional bool, items ...corev1.KeyToPath) projection {
		return projection{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}, Optional: &optional, Items: items,
		}}
	}
	web, whole := of("web", false), corev1.VolumeMount{Name: "v"}
	sub := func(path string) corev1.VolumeMount { return corev1.VolumeMount{Name: "v", SubPath: path} }
	for name, test := range map[string]struct {
		sources []projection
		mounts  []corev1.VolumeMount
		want    []string
	}{
		"nothing replaces it":                  {[]projection{web, of("other", false, item("k", "x"))}, []corev1.VolumeMount{whole}, objecttest.DrawnKeys},
		"an item":                              {[]projection{web, of("other", false, item("k", "a"))}, []corev1.VolumeMount{whole}, []string{"b", "c"}},
		"an earlier item":                      {[]projection{of("other", false, item("k", "a")), web}, []corev1.VolumeMount{whole}, objecttest.DrawnKeys},
		"an item of an optional source":        {[]projection{web, of("other", true, item("k", "a"))}, []corev1.VolumeMount{whole}, objecttest.DrawnKeys},
		"an item that is spelled otherwise":    {[]projection{web, of("other", false, item("k", "./a"))}, []corev1.VolumeMount{whole}, objecttest.DrawnKeys},
		"a whole source, whatever it has":      {[]projection{web, of("other", false)}, []corev1.VolumeMount{whole}, objecttest.DrawnKeys},
		"another item of the same config":      {[]projection{web, of("web", false, item("b", "a"))}, []corev1.VolumeMount{whole}, []string{"b", "c"}},
		"an item over an item":                 {[]projection{of("web", false, item("a", "d/x"), item("b", "y")), of("other", false, item("k", "d/x"))}, []corev1.VolumeMount{whole}, []string{"b"}},
		"an item over an item, in one source":  {[]projection{of("web", false, item("a", "x"), item("b", "x"))}, []corev1.VolumeMount{whole}, []string{"b"}},
		"the same, and one may be missing":     {[]projection{of("web", true, item("a", "x"), item("b", "x"))}, []corev1.VolumeMount{whole}, []string{"a", "b"}},
		"a token":                              {[]projection{web, {ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "a"}}}, []corev1.VolumeMount{whole}, []string{"b", "c"}},
		"a field of the pod":                   {[]projection{web, {DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "a"}, {Path: "d/b"}}}}}, []corev1.VolumeMount{whole}, []string{"b", "c"}},
		"a trust bundle":                       {[]projection{web, {ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Path: "a"}}}, []corev1.VolumeMount{whole}, []string{"b", "c"}},
		"what an older kubelet does not know":  {[]projection{web, {PodCertificate: &corev1.PodCertificateProjection{KeyPath: "a"}}}, []corev1.VolumeMount{whole}, objecttest.DrawnKeys},
		"an item, in a mounted file":           {[]projection{web, of("other", false, item("k", "a"))}, []corev1.VolumeMount{sub("a"), sub("b")}, []string{"b"}},
		"an item, in all mounted files":        {[]projection{web, of("other", false, item("k", "a"))}, []corev1.VolumeMount{sub("a")}, nil},
		"an item that is not mounted":          {[]projection{of("web", false, item("a", "x"), item("b", "y")), of("other", false, item("k", "x"))}, []corev1.VolumeMount{sub("y")}, []string{"b"}},
		"files of another path than the mount": {[]projection{of("web", false, item("a", "d/x"), item("b", "d/y")), of("other", false, item("k", "d/x"))}, []corev1.VolumeMount{sub("d")}, []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := corev1.PodSpec{Containers: []corev1.Container{objecttest.Mounts(test.mounts...)}, Volumes: []corev1.Volume{
				{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: test.sources}}},
			}}
			if diff := cmp.Diff(test.want, seenKeys(t, &spec)); diff != "" {
				t.Errorf("seen (-want +got):\n%s", diff)
			}
		})
	}
}

// A filter and what nobody sees say together which keys count.
func TestAFilterLimitsWhatIsNotHidden(t *testing.T) {
	container := objecttest.ReadsAll("web", false)
	container.Env = []corev1.EnvVar{objecttest.Literal("a", "1")}
	for filter, want := range map[template.Filter][]string{
		{}:                           {"b", "c"},
		{Ignore: "configmap/web:b"}:  {"c"},
		{Ignore: "configmap/web:b*"}: {"c"},
		{Only: "configmap/web:a,configmap/web:b"}:                                   {"b"},
		{Only: "configmap/web:?"}:                                                   {"b", "c"},
		{Only: "configmap/web:a"}:                                                   nil,
		{Only: "configmap/web:c", Also: "configmap/web:a"}:                          {"a", "c"}, // a program reads it through the API
		{Ignore: objecttest.EntriesOf("configmap/web:x%02d", template.MaxHidden/3)}: {"b", "c"},
		{Ignore: objecttest.EntriesOf("configmap/web:x%02d", 100)}:                  objecttest.DrawnKeys, // too many together
	} {
		references, _ := template.ReferencesOf("ns", &corev1.PodSpec{Containers: []corev1.Container{container}}, filter)
		w := workload.Workload{Object: workload.Object{References: references}}
		var seen []string
		for _, key := range objecttest.DrawnKeys {
			if w.Selects(objecttest.ConfigMapRef("web"), []string{key}) {
				seen = append(seen, key)
			}
		}
		if diff := cmp.Diff(want, seen, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%+v: seen (-want +got):\n%s", filter, diff)
		}
	}
}
