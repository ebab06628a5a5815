package decide

import (
	"fmt"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// What the objects of hostile_test.go cost.

// BenchmarkObserveADeploymentOf1000ContainersAnd2500Sources is one event.
func BenchmarkObserveADeploymentOf1000ContainersAnd2500Sources(b *testing.B) {
	d := withManagedFields(manyContainersAndSources(1000, 2500))
	writeChecksums(d, catalogtest.ManyChecksums(5000))
	_, bytes := objecttest.Retained(func() workload.Workload { return catalogtest.MustWorkload(d) })
	c := catalog.New()
	b.ReportAllocs()
	for b.Loop() {
		c.ObserveWorkload(catalogtest.MustWorkload(d))
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
			s := begin(objecttest.ManyVariables(n, func(i int) (string, string) { return config(i), objecttest.KeyNamed(i) }))
			s.listed()
			for _, value := range []string{"1", "2"} {
				s.config("web", objecttest.ManyKeys(n, value), 60)
				for i := range n {
					s.config(fmt.Sprint("web-", i), objecttest.Data{objecttest.KeyNamed(i): value}, 60)
				}
			}
			view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
			pods := manyPods(1000, objecttest.NoonPlus(5))
			b.ReportAllocs()
			for b.Loop() {
				if got := ByPods(view, pods); got.Outcome != Restart {
					b.Fatal(got.Reason)
				}
			}
		})
	}
}

// BenchmarkReplaceAllReferences is an event of a workload that reads other configs than before,
// all of it under the lock.
func BenchmarkReplaceAllReferences(b *testing.B) {
	for _, n := range []int{template.MaxReferences, 16000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c, versions := catalog.New(), []workload.Workload{catalogtest.ReadsConfigs(n, 0), catalogtest.ReadsConfigs(n, n)}
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
	c := catalog.New()
	versions := []workload.Workload{catalogtest.ReadsConfigs(1, 0), catalogtest.ReadsConfigs(1, 1)}
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
	c := catalog.New()
	w := catalogtest.ReadsConfigs(template.MaxReferences, 0)
	for _, reference := range w.References {
		c.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap(reference.Config.Name, objecttest.Data{"a": "1"})), objecttest.Noon)
	}
	c.ObserveWorkload(w)
	view, _ := c.View(w.Ref)
	w.Record = record.Record{Checksums: Decide(view).Checksums, Trusted: true, Room: view.Workload.Record.Room}
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
	whole := objecttest.Deployment(corev1.Container{})
	single := objecttest.Deployment(corev1.Container{})
	whole.Spec.Template.Spec.Containers, single.Spec.Template.Spec.Containers = nil, nil
	for i := range 1000 {
		all := objecttest.ReadsAll("large", true)
		some := corev1.Container{}
		for j := range 9 {
			some.Env = append(some.Env, objecttest.ReadsKey("large", objecttest.KeyNamed(9*i+j), j%2 == 0).Env...)
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
				s.config("large", objecttest.ManyKeys(keys, value), 60)
			}
			view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
			var pods []Pod
			for i := range 100 {
				pod := Pod{Mounted: objecttest.NoonPlus(float64(i))}
				for j := range 1000 {
					pod.Started = append(pod.Started, Start{Container: fmt.Sprint("c-", j), At: pod.Mounted})
				}
				pods = append(pods, pod)
			}
			b.ReportAllocs()
			for b.Loop() {
				if got := ByPods(view, pods); got.Outcome != Restart {
					b.Fatal(got.Reason)
				}
			}
		})
	}
}

// BenchmarkDecideOnAMarkedConfigOf40000EditedKeys is a decision about a workload without a record, one of whose configs was marked
// while a watch showed it, and then edited.
func BenchmarkDecideOnAMarkedConfigOf40000EditedKeys(b *testing.B) {
	d := objecttest.Deployment(objecttest.ReadsAll("large", false))
	s := begin(d)
	d.Annotations[dialect.ReloaderSearch] = "true"
	d.Annotations["configmaps.exclude.reloader.stakater.com/reload"] = objecttest.EntriesOf("another-config-name-%02d", template.MaxFilterEntries-1)
	d.Annotations["configmap.reloader.stakater.com/reload"] = objecttest.EntriesOf("some-config-of-a-name-%02d", 40)
	s.listed(objecttest.ConfigMap("large", objecttest.ManyKeys(40000, "1")))
	s.catalog.ObserveWorkload(s.reduced())
	s.catalog.ObserveConfig(reducedConfigMap(markedConfigMap("large", objecttest.ManyKeys(40000, "1"))), objecttest.NoonPlus(20))
	s.catalog.ObserveConfig(reducedConfigMap(markedConfigMap("large", objecttest.ManyKeys(40000, "2"))), objecttest.NoonPlus(60))
	benchmarkDecisions(b, s, AskPods)
}

func benchmarkDecisions(b *testing.B, s *story, want Outcome) {
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
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
	d := objecttest.Deployment(objecttest.ReadsAll("large", false))
	s := begin(d)
	s.listed(objecttest.ConfigMap("large", objecttest.ManyKeys(40000, "1")))
	s.recorded(10)
	d.Annotations[annotation.OnlyAnnotation] = objecttest.EntriesOf(hard, 9) + "," + objecttest.EntriesOf("configmap/large:some-key-%02d", 80) + ",configmap/large:k*"
	d.Annotations[annotation.IgnoreAnnotation] = objecttest.EntriesOf(hard, 10) + "," + objecttest.EntriesOf("configmap/large:some-key-%02d", 89)
	d.Annotations[annotation.AlsoAnnotation] = d.Annotations[annotation.IgnoreAnnotation]
	s.catalog.ObserveWorkload(s.reduced())
	s.catalog.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap("large", objecttest.ManyKeys(40000, "2"))), objecttest.NoonPlus(60))
	benchmarkDecisions(b, s, Restart)
}

// manyMounts observes so many statuses.
func manyMounts(c *catalog.Catalog, n int, class func(i int) string, version string) {
	for i := range n {
		meta := objecttest.StatusMeta(types.UID(fmt.Sprintf("pod-%06d", i)))
		c.ObserveMount(content.NewCSIMount(&meta, class(i), catalogtest.VersionsOf([]string{version})), objecttest.Noon)
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
					_, bytes = objecttest.Retained(func() *catalog.Catalog {
						c := catalog.New()
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
