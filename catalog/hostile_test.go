package catalog

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Objects that any user who may create a Deployment can make, as large as the API takes
// them. What they cost is in the benchmarks that are named after them.

// manyContainersAndSources is a Deployment that wants no pods, whose containers all mount
// one volume that is made of many configs.
func manyContainersAndSources(containers, sources int) *appsv1.Deployment {
	projected := &corev1.ProjectedVolumeSource{}
	for i := range sources {
		projected.Sources = append(projected.Sources, corev1.VolumeProjection{
			ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: fmt.Sprint("config-", i)}},
		})
	}
	d := deployment(corev1.Container{}, corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Projected: projected}})
	d.Spec.Replicas = pointer[int32](0)
	d.Spec.Template.Spec.Containers = nil
	for i := range containers {
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{
			Name: fmt.Sprint("c-", i), Image: "registry.example.com/app:1", VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/etc/config"}},
		})
	}
	return d
}

// withManagedFields adds to a Deployment what the API server notes of who wrote it: the
// fields of each container, by its owner and by this controller.
func withManagedFields(d *appsv1.Deployment) *appsv1.Deployment {
	var fields strings.Builder
	for i, container := range d.Spec.Template.Spec.Containers {
		if i > 0 {
			fields.WriteString(",")
		}
		fmt.Fprintf(&fields, `"k:{\"name\":\"%s\"}":{".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{},`+
			`"f:terminationMessagePath":{},"f:terminationMessagePolicy":{},"f:volumeMounts":{".":{},"k:{\"mountPath\":\"/etc/config\"}":`+
			`{".":{},"f:mountPath":{},"f:name":{}}}}`, container.Name)
	}
	entry := d.ManagedFields[0]
	entry.FieldsV1 = metav1.NewFieldsV1(fmt.Sprintf(`{"f:metadata":{"f:annotations":{".":{},"f:%s":{},"f:%s":{}}},`+
		`"f:spec":{"f:template":{"f:metadata":{"f:annotations":{".":{},"f:%s":{}}},"f:spec":{"f:containers":{%s}}}}}`,
		EnabledAnnotation, BasisAnnotation, TimestampAnnotation, fields.String()))
	ours := entry
	ours.Manager = FieldManager
	d.ManagedFields = []metav1.ManagedFieldsEntry{entry, ours}
	return d
}

// manyVariables is a Deployment with one container and so many variables, each of which is a
// key of a config, as the function names them.
func manyVariables(n int, name func(i int) (config, key string)) *appsv1.Deployment {
	container := corev1.Container{Name: "app"}
	for i := range n {
		config, key := name(i)
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprint("V", i), ValueFrom: &corev1.EnvVarSource{
			ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: config}, Key: key},
		}})
	}
	return deployment(container)
}

func keyNamed(i int) string { return fmt.Sprintf("key-%05d", i) }

// manyKeys is the content of a ConfigMap of so many keys.
func manyKeys(n int, value string) data {
	content := data{}
	for i := range n {
		content[keyNamed(i)] = value
	}
	return content
}

// manyPods started one after the other, the first at the given time.
func manyPods(n int, first time.Time) []Pod {
	pods := make([]Pod, n)
	for i := range pods {
		pods[i] = startedAt(first.Add(time.Duration(i) * time.Second))
	}
	return pods
}

// retained returns what a function builds and how many bytes of memory it takes.
func retained[T any](build func() T) (T, uint64) {
	inUse := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := inUse()
	made := build()
	after := inUse()
	return made, max(after, before) - before
}

func TestVolumesThatAllContainersMountAreKeptOnce(t *testing.T) {
	d := manyContainersAndSources(1000, 2500)
	c, bytes := retained(func() *Catalog {
		c := New()
		c.ObserveWorkload(mustWorkload(d))
		return c
	})
	view, _ := c.View(deploymentRef("web"))
	if got := len(view.Workload.References); got != 2500 || bytes > 4<<20 {
		t.Errorf("%d references in %d KiB, want 2500 in 4 MiB at most", got, bytes>>10)
	}
}

func TestATemplateMayReferToConfigsAsOftenAsTheLimitSays(t *testing.T) {
	variables := func(n int) *appsv1.Deployment {
		return manyVariables(n, func(i int) (string, string) { return "web", keyNamed(i) })
	}
	// Of each source the mounts show so many keys, which are the same for all sources.
	shownKeys := func(sources, keys int) *appsv1.Deployment {
		d := manyContainersAndSources(2*keys, sources)
		for i := range d.Spec.Template.Spec.Containers {
			d.Spec.Template.Spec.Containers[i].VolumeMounts[0].SubPath = keyNamed(i % keys)
		}
		return d
	}
	for name, test := range map[string]struct {
		deployment *appsv1.Deployment
		want       int // references; 0 if there are too many
	}{
		"as many variables":                 {variables(MaxReferences), 1},
		"one more":                          {variables(MaxReferences + 1), 0},
		"as many keys in files":             {shownKeys(100, MaxReferences/100), 100},
		"one config more":                   {shownKeys(101, MaxReferences/100), 0},
		"as many configs in a volume":       {manyContainersAndSources(1, MaxReferences), MaxReferences},
		"one more, and many containers":     {manyContainersAndSources(100, MaxReferences+1), 0},
		"one volume, many containers":       {manyContainersAndSources(MaxReferences+1, 1), 1},
		"millions of keys in files, shared": {shownKeys(2500, 1000), 0},
	} {
		w := mustWorkload(test.deployment)
		if len(w.References) != test.want || (w.Excess == TooManyReferences) != (test.want == 0) {
			t.Errorf("%s: %d references, too many: %t; want %d", name, len(w.References), w.Excess == TooManyReferences, test.want)
		}
	}
}

func TestAWorkloadOfTooManyReferencesIsLeftAloneUntilItChanges(t *testing.T) {
	many := manyVariables(MaxReferences+1, func(i int) (string, string) { return "web", keyNamed(i) })
	few := deployment(readsAll("web", false))
	s := begin(few)
	s.listed(configMap("web", data{"a": "1"}))
	s.recorded(10)
	few.Spec.Template, many.Spec.Template = many.Spec.Template, few.Spec.Template
	if !s.catalog.ObserveWorkload(s.reduced()) {
		t.Error("that there are too many references calls for no decision")
	}
	s.config("web", data{"a": "2"}, 60)
	view, _ := s.catalog.View(deploymentRef("web"))
	if got := Decide(view); got.Outcome != Keep || len(got.Checksums) > 0 || len(s.catalog.referencing) > 0 || view.Workload.Applied.Checksums != nil {
		t.Errorf("decision %+v, record %+v", got, view.Workload.Applied)
	}
	few.Spec.Template = many.Spec.Template
	if !s.catalog.ObserveWorkload(s.reduced()) {
		t.Error("that they are fewer again calls for no decision")
	}
	if got := s.decide(t, startedAt(noonPlus(30))); got.Outcome != Restart {
		t.Errorf("with few references again: %+v", got)
	}
}

// writeChecksums writes a record into the annotations and leaves the managedFields alone.
func writeChecksums(d *appsv1.Deployment, checksums Checksums) {
	fields := d.ManagedFields
	writeRecord(d, checksums, noon)
	d.ManagedFields = fields
}

// A decision stays in memory while its restart is put off, and appears in logs and Events.
func TestADecisionNamesAFewOfManyConfigsKeysAndWriters(t *testing.T) {
	const configs, keys = 15, 40
	container := corev1.Container{Name: "app"}
	for i := range configs {
		container.EnvFrom = append(container.EnvFrom, readsAll(fmt.Sprintf("web-%02d", i), false).EnvFrom...)
	}
	edit := func(s *story, value string, at float64) {
		for i := range configs {
			cm := configMap(fmt.Sprintf("web-%02d", i), manyKeys(keys, value))
			for j := range keys {
				cm.ManagedFields = append(cm.ManagedFields, owns(fmt.Sprintf("writer-%02d", j), noonPlus(at), "f:data/f:"+keyNamed(j)))
			}
			s.catalog.ObserveConfig(NewConfigMap(cm), noonPlus(at))
		}
	}
	for name, record := range map[string]bool{"by the record": true, "by the pods": false} {
		s := begin(deployment(container))
		s.listed()
		edit(s, "1", 5)
		if record {
			s.recorded(10)
		}
		edit(s, "2", 60)
		view, _ := s.catalog.View(deploymentRef("web"))
		got := Decide(view)
		if got.Outcome == AskPods {
			got = DecideByPods(view, []Pod{startedAt(noonPlus(20))})
		}
		if len(got.Causes) != maxNamed || got.MoreCauses != configs-maxNamed || got.Causes[0].Config != configMapRef("web-00") {
			t.Fatalf("%s: %d causes and %d more, first %v", name, len(got.Causes), got.MoreCauses, got.Causes[0].Config)
		}
		cause := got.Causes[maxNamed-1]
		if len(cause.Keys) != maxNamed || cause.MoreKeys != keys-maxNamed || cause.Keys[0] != keyNamed(0) || cap(cause.Keys) > 2*maxNamed {
			t.Errorf("%s: keys %q and %d more", name, cause.Keys, cause.MoreKeys)
		}
		if len(cause.Writers) != maxNamed || cause.MoreWriters != keys-maxNamed || cause.Writers[0] != "writer-00" {
			t.Errorf("%s: writers %q and %d more", name, cause.Writers, cause.MoreWriters)
		}
	}
}

// What is kept of a key is its name and its checksum, however often somebody edits it and however many field managers own
// it. The edits of a config are limited.
func TestWhatIsKeptOfAConfigGrowsWithItsKeysOnly(t *testing.T) {
	const n, managers, perKey = 20000, 10, 56
	edited := func(c *Catalog) {
		for i := range 3 {
			c.ObserveConfig(NewConfigMap(configMap("large", manyKeys(n, fmt.Sprint(i)))), noonPlus(float64(i)))
		}
	}
	owned := func(c *Catalog) {
		cm := editedManyKeys(n, "1", noonPlus(10))
		for i := range managers {
			entry := cm.ManagedFields[0]
			entry.Manager = fmt.Sprint("manager-", i)
			cm.ManagedFields = append(cm.ManagedFields, entry)
		}
		c.ObserveConfig(NewConfigMap(cm), noonPlus(20))
	}
	halfEdited := func(c *Catalog) {
		edited(c)
		content := manyKeys(n, "2")
		for i, name := range slices.Sorted(maps.Keys(content)) {
			content[name] = strconv.Itoa(2 + i%2)
		}
		for i := range 2 { // the second event changes no key
			c.ObserveConfig(NewConfigMap(configMap("large", maps.Clone(content))), noonPlus(float64(10+i)))
		}
	}
	for name, fill := range map[string]func(*Catalog){
		"edited again and again": edited, "half of it edited, and relabeled": halfEdited, "owned by many": owned,
	} {
		c, bytes := retained(func() *Catalog {
			c := New()
			fill(c)
			return c
		})
		if got := len(c.config(configMapRef("large")).Edits); got != maxEdits+1 || bytes > perKey*n {
			t.Errorf("%s: %d edits, %d bytes a key, want %d at most", name, got, bytes/n, perKey)
		}
		t.Logf("%s: %d bytes a key", name, bytes/n)
	}
}
