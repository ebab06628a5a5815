package catalog

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What the objects of hostile_test.go cost.

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
	w.Applied = AppliedState{Checksums: Decide(view).Checksums, Trusted: true}
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

// BenchmarkDecideOnAMarkedConfigOf40000EditedKeys is a decision about a workload without a record, one of whose configs was marked
// while a watch showed it, and then edited.
func BenchmarkDecideOnAMarkedConfigOf40000EditedKeys(b *testing.B) {
	d := deployment(readsAll("large", false))
	s := begin(d)
	d.Annotations[reloaderSearch] = "true"
	d.Annotations["configmaps.exclude.reloader.stakater.com/reload"] = entriesOf("another-config-name-%02d", maxFilterEntries-1)
	d.Annotations["configmap.reloader.stakater.com/reload"] = entriesOf("some-config-of-a-name-%02d", 40)
	s.listed(configMap("large", manyKeys(40000, "1")))
	s.catalog.ObserveWorkload(s.reduced())
	s.catalog.ObserveConfig(reducedConfigMap(markedConfigMap("large", manyKeys(40000, "1"))), noonPlus(20))
	s.catalog.ObserveConfig(reducedConfigMap(markedConfigMap("large", manyKeys(40000, "2"))), noonPlus(60))
	benchmarkDecisions(b, s, AskPods)
}

func benchmarkDecisions(b *testing.B, s *story, want Outcome) {
	view, _ := s.catalog.View(deploymentRef("web"))
	b.ReportAllocs()
	for b.Loop() {
		if got := Decide(view); got.Outcome != want {
			b.Fatal(got.Outcome, got.Reason)
		}
	}
}

// BenchmarkDecideOn40000EditedKeysByAFilter is a decision about a workload whose filter has as many entries as it may, with a
// record that was made without one.
func BenchmarkDecideOn40000EditedKeysByAFilter(b *testing.B) {
	const hard = "configmap/large:*k*k*k*k*k*k*k*k%02dzz*"
	d := deployment(readsAll("large", false))
	s := begin(d)
	s.listed(configMap("large", manyKeys(40000, "1")))
	s.recorded(10)
	d.Annotations[OnlyAnnotation] = entriesOf(hard, 9) + "," + entriesOf("configmap/large:some-key-%02d", 80) + ",configmap/large:k*"
	d.Annotations[IgnoreAnnotation] = entriesOf(hard, 10) + "," + entriesOf("configmap/large:some-key-%02d", 89)
	d.Annotations[AlsoAnnotation] = d.Annotations[IgnoreAnnotation]
	s.catalog.ObserveWorkload(s.reduced())
	s.catalog.ObserveConfig(NewConfigMap(configMap("large", manyKeys(40000, "2"))), noonPlus(60))
	benchmarkDecisions(b, s, Restart)
}

// BenchmarkReadAWorkloadOfVeryManyManagedFields is an event of a workload with nearly as many managed fields as fit, the owner of
// each of which is asked about several annotations.
func BenchmarkReadAWorkloadOfVeryManyManagedFields(b *testing.B) {
	foreign := []string{reloaderAuto, reloaderSearch, waveEnabled}
	for _, kind := range reloaderKinds {
		foreign = append(foreign, kind.auto, kind.named)
	}
	fields := make([]string, 0, 20010)
	for _, name := range append([]string{EnabledAnnotation, BasisAnnotation, ChecksumsAnnotation}, foreign...) {
		fields = append(fields, annotationField(name))
	}
	for i := range 20000 {
		fields = append(fields, annotationField(fmt.Sprintf("a%05d", i)))
	}
	d := deployment(readsAll("web", false))
	for i := range 4 {
		d.ManagedFields = append(d.ManagedFields, owns(fmt.Sprint("m", i), noon, fields...))
	}
	b.Run("enabled", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			mustWorkload(d)
		}
	})
	delete(d.Annotations, EnabledAnnotation)
	for _, name := range foreign {
		d.Annotations[name] = "true"
	}
	b.Run("by other tools", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			parts := understanding.Understand(Deployment, *partsOf(d))
			if _, err := NewWorkload(Deployment, &parts); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkCheckQuantities reads a pod template of nearly as many bytes as the API server takes.
func BenchmarkCheckQuantities(b *testing.B) {
	for name, unit := range map[string]string{"letters": "abcdefghij", "runs of digits": strings.Repeat("7", longDigits-1) + "x", "exponents": "e123"} {
		b.Run(name, func(b *testing.B) {
			text := []byte(`{"spec":{"containers":[{"name":"a","env":[{"name":"A","value":"` + strings.Repeat(unit, 1_400_000/len(unit)) + `"}]}]}}`)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if err := CheckQuantities(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// manyMounts observes so many statuses.
func manyMounts(c *Catalog, n int, class func(i int) string, version string) {
	for i := range n {
		meta := statusMeta(types.UID(fmt.Sprintf("pod-%06d", i)))
		c.ObserveMount(NewMount(&meta, class(i), versionsOf([]string{version})), noon)
	}
}

// BenchmarkBeginAListOf100000Mounts is what a list that is read again does at once, under the lock.
func BenchmarkBeginAListOf100000Mounts(b *testing.B) {
	c := New()
	manyMounts(c, 100_000, func(int) string { return "db" }, "v1")
	for b.Loop() {
		c.beginMounts("", noon)
	}
}

// BenchmarkObserve20000Mounts reports what is kept of each status.
func BenchmarkObserve20000Mounts(b *testing.B) {
	const n = 20000
	for name, class := range map[string]func(i int) string{
		"of one class": func(int) string { return "db" }, "of a class each": func(i int) string { return fmt.Sprintf("db-%06d", i) },
	} {
		for _, isRotated := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s rotated %t", name, isRotated), func(b *testing.B) {
				var bytes uint64
				for b.Loop() {
					_, bytes = retained(func() *Catalog {
						c := New()
						if manyMounts(c, n, class, "v1"); isRotated {
							manyMounts(c, n, class, "v2")
						}
						return c
					})
				}
				b.ReportMetric(float64(bytes)/n, "retained-B/status")
			})
		}
	}
}
