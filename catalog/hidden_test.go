package catalog

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
)

// seenKeys returns which of the drawn keys of the ConfigMap web the pods see.
func seenKeys(t *testing.T, spec *corev1.PodSpec) (seen []string) {
	t.Helper()
	w := Workload{References: mustReferences(t, spec)}
	for _, key := range drawnKeys {
		if w.Selects(configMapRef("web"), []string{key}) {
			seen = append(seen, key)
		}
	}
	return seen
}

func literal(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }

// taken takes a variable from a key of a ConfigMap.
func taken(name, config, key string, optional bool) corev1.EnvVar {
	variable := readsKey(config, key, optional).Env[0]
	variable.Name = name
	return variable
}

func TestNobodySeesAVariableThatALaterOneReplaces(t *testing.T) {
	from := func(prefix string) corev1.EnvFromSource {
		source := readsAll("web", false).EnvFrom[0]
		source.Prefix = prefix
		return source
	}
	envFrom := []corev1.EnvFromSource{from("")}
	for name, test := range map[string]struct {
		from []corev1.EnvFromSource
		env  []corev1.EnvVar
		want []string
	}{
		"nothing replaces it":                       {envFrom, []corev1.EnvVar{literal("x", "1")}, drawnKeys},
		"a literal":                                 {envFrom, []corev1.EnvVar{literal("a", "1")}, []string{"b", "c"}},
		"an empty literal":                          {envFrom, []corev1.EnvVar{literal("a", "")}, []string{"b", "c"}},
		"a variable in another spelling":            {envFrom, []corev1.EnvVar{literal("A", "1")}, drawnKeys},
		"a name that is a glob":                     {envFrom, []corev1.EnvVar{literal("*", "1"), literal("?", "1")}, drawnKeys},
		"a literal that refers to it":               {envFrom, []corev1.EnvVar{literal("a", "$(a):1")}, drawnKeys},
		"a literal that does not, it is escaped":    {envFrom, []corev1.EnvVar{literal("a", "$$(a) $$$$(a) $(a")}, []string{"b", "c"}},
		"a literal that does, behind a dollar":      {envFrom, []corev1.EnvVar{literal("a", "$$$(a)")}, drawnKeys},
		"one before it refers to it":                {envFrom, []corev1.EnvVar{literal("x", "$(a)"), literal("a", "1")}, drawnKeys},
		"one after it refers to the new value":      {envFrom, []corev1.EnvVar{literal("a", "1"), literal("x", "$(a)")}, []string{"b", "c"}},
		"one that nobody sees refers to it":         {envFrom, []corev1.EnvVar{literal("x", "$(a)"), literal("a", "1"), literal("x", "2")}, []string{"b", "c"}},
		"one that another uses refers to it":        {envFrom, []corev1.EnvVar{literal("x", "$(a)"), literal("a", "1"), literal("y", "$(x)"), literal("x", "2")}, drawnKeys},
		"a key of another config":                   {envFrom, []corev1.EnvVar{taken("a", "other", "k", false)}, []string{"b", "c"}},
		"an optional key":                           {envFrom, []corev1.EnvVar{taken("a", "other", "k", true)}, drawnKeys},
		"a field of the pod":                        {envFrom, []corev1.EnvVar{{Name: "a", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}, []string{"b", "c"}},
		"a key of a file":                           {envFrom, []corev1.EnvVar{{Name: "a", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{}}}}, []string{"b", "c"}},
		"an optional key of a file":                 {envFrom, []corev1.EnvVar{{Name: "a", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{Optional: new(true)}}}}, drawnKeys},
		"another key of the same config":            {envFrom, []corev1.EnvVar{taken("a", "web", "b", false)}, []string{"b", "c"}},
		"a literal, but another name is left of it": {envFrom, []corev1.EnvVar{taken("x", "web", "a", false), literal("a", "1")}, drawnKeys},
		"a literal with the prefix":                 {[]corev1.EnvFromSource{from("P_")}, []corev1.EnvVar{literal("P_a", "1"), literal("b", "1"), literal("P_", "1")}, []string{"b", "c"}},
		"a literal, but another prefix is left":     {[]corev1.EnvFromSource{from("P_"), from("")}, []corev1.EnvVar{literal("P_a", "1"), literal("b", "1")}, drawnKeys},
		"literals for both prefixes":                {[]corev1.EnvFromSource{from("P_"), from("")}, []corev1.EnvVar{literal("P_a", "1"), literal("a", "1")}, []string{"b", "c"}},
		"the same name twice":                       {nil, []corev1.EnvVar{taken("x", "web", "a", false), taken("x", "web", "b", false)}, []string{"b"}},
		"the same name twice, one in between":       {nil, []corev1.EnvVar{taken("x", "web", "a", false), literal("y", "$(x)"), taken("x", "web", "b", false)}, []string{"a", "b"}},
		"the same name twice, the last is optional": {nil, []corev1.EnvVar{taken("x", "web", "a", false), taken("x", "web", "b", true)}, []string{"a", "b"}},
		"a literal over a key":                      {nil, []corev1.EnvVar{taken("x", "web", "a", false), literal("x", "1")}, nil},
		"more variables than are looked at":         {envFrom, append([]corev1.EnvVar{literal("a", "1")}, manyLiterals(maxHidden)...), drawnKeys},
	} {
		t.Run(name, func(t *testing.T) {
			spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "app", EnvFrom: test.from, Env: test.env}}}
			if diff := cmp.Diff(test.want, seenKeys(t, &spec)); diff != "" {
				t.Errorf("seen (-want +got):\n%s", diff)
			}
		})
	}
}

func manyLiterals(n int) (all []corev1.EnvVar) {
	for i := range n {
		all = append(all, literal(keyNamed(i), "1"))
	}
	return all
}

func TestEachContainerSeesItsOwnEnvironment(t *testing.T) {
	hiding, plain := readsAll("web", false), readsAll("web", false)
	hiding.Env, hiding.Name = []corev1.EnvVar{literal("a", "1"), literal("b", "1")}, "init"
	plain.Env = []corev1.EnvVar{literal("b", "1")}
	spec := corev1.PodSpec{InitContainers: []corev1.Container{hiding}, Containers: []corev1.Container{plain}}
	want := []Reference{
		{Config: configMapRef("web"), Keys: Selection{Names: []string{"-b"}, DataOnly: true, ByRules: true}, Container: "app"},
		{Config: configMapRef("web"), Keys: Selection{Names: []string{"-a", "-b"}, DataOnly: true, ByRules: true}, Container: "init"},
	}
	if diff := cmp.Diff(want, mustReferences(t, &spec)); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "c"}, seenKeys(t, &spec)); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
}

// start returns the environment of a container as the kubelet makes it, and false if it does not start.
func start(container *corev1.Container, world map[ConfigRef]data) (map[string]string, bool) {
	environment := map[string]string{}
	for _, from := range container.EnvFrom {
		ref := secretRef("web")
		if from.ConfigMapRef != nil {
			ref = configMapRef("web")
		}
		for key, value := range world[ref] {
			environment[from.Prefix+key] = value
		}
	}
	for _, variable := range container.Env {
		value, from := variable.Value, variable.ValueFrom
		if from == nil {
			environment[variable.Name] = dollars.ReplaceAllStringFunc(value, func(found string) string {
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
		ref, key, optional := secretRef("web"), "", false
		if from.ConfigMapKeyRef != nil {
			ref, key, optional = configMapRef("web"), from.ConfigMapKeyRef.Key, isTrue(from.ConfigMapKeyRef.Optional)
		} else {
			key, optional = from.SecretKeyRef.Key, isTrue(from.SecretKeyRef.Optional)
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
	refs := []ConfigRef{configMapRef("web"), secretRef("web")}
	rapid.Check(t, func(t *rapid.T) {
		container := drawContainer(t, "app")
		container.VolumeMounts = nil
		isPlain := len(container.EnvFrom) < 2
		for i := range container.EnvFrom {
			nameAll(container.EnvFrom[i].ConfigMapRef, container.EnvFrom[i].SecretRef)
		}
		for i := range container.Env {
			if from := container.Env[i].ValueFrom; from != nil {
				nameAll(from.ConfigMapKeyRef, from.SecretKeyRef)
			}
			isPlain = isAlwaysSet(&container.Env[i]) && isPlain
		}
		references, _ := referencesOf("ns", &corev1.PodSpec{Containers: []corev1.Container{container}}, Filter{})
		w := Workload{References: references}
		for _, ref := range refs {
			for _, key := range drawnKeys {
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
func isSeenInAny(container *corev1.Container, refs []ConfigRef, ref ConfigRef, key string) bool {
	for bits := range 1 << (len(refs) * len(drawnKeys)) {
		world := map[ConfigRef]data{}
		for i, ref := range refs {
			world[ref] = data{}
			for k, key := range drawnKeys {
				if bits>>(i*len(drawnKeys)+k)&1 == 1 {
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
		"nothing replaces it":                  {[]projection{web, of("other", false, item("k", "x"))}, []corev1.VolumeMount{whole}, drawnKeys},
		"an item":                              {[]projection{web, of("other", false, item("k", "a"))}, []corev1.VolumeMount{whole}, []string{"b", "c"}},
		"an earlier item":                      {[]projection{of("other", false, item("k", "a")), web}, []corev1.VolumeMount{whole}, drawnKeys},
		"an item of an optional source":        {[]projection{web, of("other", true, item("k", "a"))}, []corev1.VolumeMount{whole}, drawnKeys},
		"an item that is spelled otherwise":    {[]projection{web, of("other", false, item("k", "./a"))}, []corev1.VolumeMount{whole}, drawnKeys},
		"a whole source, whatever it has":      {[]projection{web, of("other", false)}, []corev1.VolumeMount{whole}, drawnKeys},
		"another item of the same config":      {[]projection{web, of("web", false, item("b", "a"))}, []corev1.VolumeMount{whole}, []string{"b", "c"}},
		"an item over an item":                 {[]projection{of("web", false, item("a", "d/x"), item("b", "y")), of("other", false, item("k", "d/x"))}, []corev1.VolumeMount{whole}, []string{"b"}},
		"an item over an item, in one source":  {[]projection{of("web", false, item("a", "x"), item("b", "x"))}, []corev1.VolumeMount{whole}, []string{"b"}},
		"the same, and one may be missing":     {[]projection{of("web", true, item("a", "x"), item("b", "x"))}, []corev1.VolumeMount{whole}, []string{"a", "b"}},
		"a token":                              {[]projection{web, {ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "a"}}}, []corev1.VolumeMount{whole}, []string{"b", "c"}},
		"a field of the pod":                   {[]projection{web, {DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "a"}, {Path: "d/b"}}}}}, []corev1.VolumeMount{whole}, []string{"b", "c"}},
		"a trust bundle":                       {[]projection{web, {ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Path: "a"}}}, []corev1.VolumeMount{whole}, []string{"b", "c"}},
		"what an older kubelet does not know":  {[]projection{web, {PodCertificate: &corev1.PodCertificateProjection{KeyPath: "a"}}}, []corev1.VolumeMount{whole}, drawnKeys},
		"an item, in a mounted file":           {[]projection{web, of("other", false, item("k", "a"))}, []corev1.VolumeMount{sub("a"), sub("b")}, []string{"b"}},
		"an item, in all mounted files":        {[]projection{web, of("other", false, item("k", "a"))}, []corev1.VolumeMount{sub("a")}, nil},
		"an item that is not mounted":          {[]projection{of("web", false, item("a", "x"), item("b", "y")), of("other", false, item("k", "x"))}, []corev1.VolumeMount{sub("y")}, []string{"b"}},
		"files of another path than the mount": {[]projection{of("web", false, item("a", "d/x"), item("b", "d/y")), of("other", false, item("k", "d/x"))}, []corev1.VolumeMount{sub("d")}, []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := corev1.PodSpec{Containers: []corev1.Container{mounts(test.mounts...)}, Volumes: []corev1.Volume{
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
	container := readsAll("web", false)
	container.Env = []corev1.EnvVar{literal("a", "1")}
	for filter, want := range map[Filter][]string{
		{}:                           {"b", "c"},
		{Ignore: "configmap/web:b"}:  {"c"},
		{Ignore: "configmap/web:b*"}: {"c"},
		{Only: "configmap/web:a,configmap/web:b"}:               {"b"},
		{Only: "configmap/web:?"}:                               {"b", "c"},
		{Only: "configmap/web:a"}:                               nil,
		{Only: "configmap/web:c", Also: "configmap/web:a"}:      {"a", "c"}, // a program reads it through the API
		{Ignore: entriesOf("configmap/web:x%02d", maxHidden/3)}: {"b", "c"},
		{Ignore: entriesOf("configmap/web:x%02d", 100)}:         drawnKeys, // too many together
	} {
		references, _ := referencesOf("ns", &corev1.PodSpec{Containers: []corev1.Container{container}}, filter)
		w := Workload{References: references}
		var seen []string
		for _, key := range drawnKeys {
			if w.Selects(configMapRef("web"), []string{key}) {
				seen = append(seen, key)
			}
		}
		if diff := cmp.Diff(want, seen, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%+v: seen (-want +got):\n%s", filter, diff)
		}
	}
}

// Anyone may write such templates.
func TestManyHiddenKeysCostLittle(t *testing.T) {
	container := corev1.Container{Name: "app", Env: manyLiterals(maxHidden)}
	prefixed := corev1.Container{Name: "prefixed", Env: manyLiterals(maxHidden)}
	var volume corev1.ProjectedVolumeSource
	for i := range 3000 {
		source := readsAll(fmt.Sprint("web-", i%1500), false).EnvFrom[0]
		container.EnvFrom = append(container.EnvFrom, source)
		source.Prefix = keyNamed(i)[:i%9]
		prefixed.EnvFrom = append(prefixed.EnvFrom, source)
		name := corev1.LocalObjectReference{Name: source.ConfigMapRef.Name}
		volume.Sources = append(volume.Sources, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: name}},
			corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: name, Items: []corev1.KeyToPath{{Key: "k", Path: fmt.Sprint(i)}}}})
	}
	container.VolumeMounts = []corev1.VolumeMount{{Name: "v"}}
	spec := corev1.PodSpec{
		Containers: []corev1.Container{container, prefixed},
		Volumes:    []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &volume}}},
	}
	m := mentions{namespace: "ns"}
	if m.references(&spec, Filter{}); m.hidings != maxHidings {
		t.Errorf("%d selections leave something out", m.hidings)
	}
	lists := map[*string]int{}
	for _, reference := range m.list {
		if reference.Keys.ByRules {
			lists[&reference.Keys.Names[0]] = len(reference.Keys.Names)
		}
	}
	kept := 0
	for n := range maps.Values(lists) {
		kept += n
	}
	if len(lists) > maxHidings || kept > MaxReferences {
		t.Errorf("%d lists of %d keys are kept", len(lists), kept)
	}
}
