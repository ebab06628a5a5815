package catalog

import (
	"fmt"
	"runtime"
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
		want       int // references; none if there are too many
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
		if len(w.References) != test.want || w.TooManyReferences != (test.want == 0) {
			t.Errorf("%s: %d references, too many: %t; want %d", name, len(w.References), w.TooManyReferences, test.want)
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
	if got := Decide(view); got.Outcome != Keep || len(got.Checksums) > 0 || len(s.catalog.referencing) > 0 || view.Workload.Record.Checksums != nil {
		t.Errorf("decision %+v, record %+v", got, view.Workload.Record)
	}
	few.Spec.Template = many.Spec.Template
	if !s.catalog.ObserveWorkload(s.reduced()) {
		t.Error("that they are fewer again calls for no decision")
	}
	if got := s.decide(t, startedAt(noonPlus(30))); got.Outcome != Restart {
		t.Errorf("with few references again: %+v", got)
	}
}

// BenchmarkObserveADeploymentOf1000ContainersAnd2500Sources is one event.
func BenchmarkObserveADeploymentOf1000ContainersAnd2500Sources(b *testing.B) {
	d := withManagedFields(manyContainersAndSources(1000, 2500))
	writeChecksums(d, manyChecksums(5000))
	_, bytes := retained(func() Workload { return mustWorkload(d) })
	c := New()
	b.ReportAllocs()
	for b.Loop() {
		c.ObserveWorkload(mustWorkload(d))
	}
	b.ReportMetric(float64(bytes), "retained-B")
}

// writeChecksums writes a record into the annotations and leaves the managedFields alone.
func writeChecksums(d *appsv1.Deployment, checksums Checksums) {
	fields := d.ManagedFields
	writeRecord(d, checksums, noon)
	d.ManagedFields = fields
}

// BenchmarkDecideByPodsOn3000SingleKeys is a decision about a workload that takes 3,000
// variables from one config or from as many, all of which were edited, with 1,000 pods.
func BenchmarkDecideByPodsOn3000SingleKeys(b *testing.B) {
	const n = 3000
	for name, config := range map[string]func(i int) string{
		"of one config": func(int) string { return "web" }, "of 3000 configs": func(i int) string { return fmt.Sprint("web-", i) },
	} {
		b.Run(name, func(b *testing.B) {
			s := begin(manyVariables(n, func(i int) (string, string) { return config(i), keyNamed(i) }))
			s.listed()
			for _, value := range []string{"1", "2"} {
				s.config("web", manyKeys(n, value), 60)
				for i := range n {
					s.config(fmt.Sprint("web-", i), data{keyNamed(i): value}, 60)
				}
			}
			view, _ := s.catalog.View(deploymentRef("web"))
			pods := manyPods(1000, noonPlus(5))
			b.ReportAllocs()
			for b.Loop() {
				if got := DecideByPods(view, pods); got.Outcome != Restart {
					b.Fatal(got.Reason)
				}
			}
		})
	}
}

// editedManyKeys is a ConfigMap of so many keys, all of which somebody has just written.
func editedManyKeys(n int, value string, at time.Time) *corev1.ConfigMap {
	cm := configMap("large", manyKeys(n, value))
	paths := make([]string, 0, n)
	for name := range cm.Data {
		paths = append(paths, "f:data/f:"+name)
	}
	cm.ManagedFields = []metav1.ManagedFieldsEntry{owns("kubectl", at, paths...)}
	return cm
}

// BenchmarkEditAConfigMapOf40000Keys is an event that shows all keys of a ConfigMap changed,
// which no workload references.
func BenchmarkEditAConfigMapOf40000Keys(b *testing.B) {
	const n = 40000
	objects := []*corev1.ConfigMap{editedManyKeys(n, "1", noonPlus(10)), editedManyKeys(n, "2", noonPlus(20))}
	versions := []Config{NewConfigMap(objects[0]), NewConfigMap(objects[1])}
	b.Run("reduce", func(b *testing.B) {
		_, bytes := retained(func() Config { return NewConfigMap(objects[0]) })
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			NewConfigMap(objects[i%2])
		}
		b.ReportMetric(float64(bytes), "retained-B")
	})
	b.Run("observe", func(b *testing.B) {
		c := New()
		c.ObserveConfig(versions[1], noon)
		var locked time.Duration
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			a := newArrival(versions[i%2], noonPlus(float64(i)), false)
			c.arrive(a)
			begin := b.Elapsed()
			c.putConfig(a)
			locked += b.Elapsed() - begin
		}
		b.ReportMetric(float64(locked.Nanoseconds())/float64(b.N), "locked-ns/op")
	})
}

// readsConfigs is a workload that reads so many configs, from the given one on.
func readsConfigs(n, first int) Workload {
	w := mustWorkload(deployment(corev1.Container{Name: "app"}))
	for i := range n {
		w.References = append(w.References, Reference{Config: configMapRef(fmt.Sprintf("config-%06d", first+i)), Channel: Volume})
	}
	return w
}

// BenchmarkReplaceAllReferences is an event of a workload that reads other configs than before,
// all of it under the lock.
func BenchmarkReplaceAllReferences(b *testing.B) {
	for _, n := range []int{MaxReferences, 16000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c, versions := New(), []Workload{readsConfigs(n, 0), readsConfigs(n, n)}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				w := versions[i%2]
				w.ResourceVersion = strconv.Itoa(i + 1)
				c.ObserveWorkload(w)
			}
		})
	}
}

// BenchmarkTurnOneOf10000WorkloadsOfOneConfig is an event of one of very many workloads that read
// the same config, which reads another one from now on, and comes back.
func BenchmarkTurnOneOf10000WorkloadsOfOneConfig(b *testing.B) {
	const n = 10000
	c := New()
	versions := []Workload{readsConfigs(1, 0), readsConfigs(1, 1)}
	for i := range n {
		versions[0].Ref.Name = fmt.Sprint("web-", i)
		c.ObserveWorkload(versions[0])
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		w := versions[(i+1)%2]
		w.Ref.Name, w.ResourceVersion = fmt.Sprint("web-", i/2%n), strconv.Itoa(i+2)
		c.ObserveWorkload(w)
	}
}

// BenchmarkDecideOnALargeRecord is a decision about a workload that reads as many configs as it
// may, with a record of all that fit.
func BenchmarkDecideOnALargeRecord(b *testing.B) {
	c := New()
	w := readsConfigs(MaxReferences, 0)
	for _, reference := range w.References {
		c.ObserveConfig(NewConfigMap(configMap(reference.Config.Name, data{"a": "1"})), noon)
	}
	c.ObserveWorkload(w)
	view, _ := c.View(w.Ref)
	w.Record = Record{Checksums: Decide(view).Checksums, Vouches: true}
	w.ResourceVersion = "2"
	c.ObserveWorkload(w)
	b.ReportAllocs()
	for b.Loop() {
		view, _ := c.View(w.Ref)
		if got := Decide(view); got.Outcome != Keep {
			b.Fatal(got.Outcome)
		}
	}
}

// BenchmarkDecideByPodsOf1000ContainersThatReadALargeConfig is a decision about containers each of
// which reads keys of its own, or all of them, of a config of 40,000 keys that were all edited.
func BenchmarkDecideByPodsOf1000ContainersThatReadALargeConfig(b *testing.B) {
	const keys = 40000
	whole := deployment(corev1.Container{})
	single := deployment(corev1.Container{})
	whole.Spec.Template.Spec.Containers, single.Spec.Template.Spec.Containers = nil, nil
	for i := range 1000 {
		all := readsAll("large", true)
		some := corev1.Container{}
		for j := range 9 {
			some.Env = append(some.Env, readsKey("large", keyNamed(9*i+j), j%2 == 0).Env...)
		}
		all.Name, some.Name = fmt.Sprint("c-", i), fmt.Sprint("c-", i)
		whole.Spec.Template.Spec.Containers = append(whole.Spec.Template.Spec.Containers, all)
		single.Spec.Template.Spec.Containers = append(single.Spec.Template.Spec.Containers, some)
	}
	for name, d := range map[string]*appsv1.Deployment{"all keys": whole, "single keys": single} {
		b.Run(name, func(b *testing.B) {
			s := begin(d)
			s.listed()
			for _, value := range []string{"1", "2"} {
				s.config("large", manyKeys(keys, value), 60)
			}
			view, _ := s.catalog.View(deploymentRef("web"))
			var pods []Pod
			for i := range 100 {
				pod := Pod{Mounted: noonPlus(float64(i))}
				for j := range 1000 {
					pod.Started = append(pod.Started, Start{Container: fmt.Sprint("c-", j), At: pod.Mounted})
				}
				pods = append(pods, pod)
			}
			b.ReportAllocs()
			for b.Loop() {
				if got := DecideByPods(view, pods); got.Outcome != Restart {
					b.Fatal(got.Reason)
				}
			}
		})
	}
}

// A decision is kept while its restart is put off, and told to people.
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
		if len(got.Causes) != named || got.MoreCauses != configs-named || got.Causes[0].Config != configMapRef("web-00") {
			t.Fatalf("%s: %d causes and %d more, first %v", name, len(got.Causes), got.MoreCauses, got.Causes[0].Config)
		}
		cause := got.Causes[named-1]
		if len(cause.Keys) != named || cause.MoreKeys != keys-named || cause.Keys[0] != keyNamed(0) || cap(cause.Keys) > 2*named {
			t.Errorf("%s: keys %q and %d more", name, cause.Keys, cause.MoreKeys)
		}
		if len(cause.Writers) != named || cause.MoreWriters != keys-named || cause.Writers[0] != "writer-00" {
			t.Errorf("%s: writers %q and %d more", name, cause.Writers, cause.MoreWriters)
		}
	}
}
