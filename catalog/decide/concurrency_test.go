package decide

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// Several goroutines observe while others decide: each view must be of one
// moment, and stay as it is. The race detector sees the rest.
func TestViewsStayConsistentWhileTheCatalogIsWrittenTo(t *testing.T) {
	const rounds, workloads = 300, 4
	c := catalog.New()
	reduced := make([]content.Config, rounds)
	known := map[names.Checksum]bool{}
	for i := range reduced {
		// Both keys of a version carry its number: a mixture has a checksum of its own.
		reduced[i] = content.NewConfigMap(objecttest.ConfigMap("web", objecttest.Data{"a": strconv.Itoa(i), "b": strconv.Itoa(i)}))
		known[keysOnly(reduced[i])] = true
	}
	named := func(i, version int) workload.Workload {
		d := objecttest.Deployment(objecttest.ReadsAll("web", i%2 == 0))
		d.Name, d.ResourceVersion = fmt.Sprint("web-", i), strconv.Itoa(version)
		d.Spec.Template.Annotations = objecttest.Data{annotation.TimestampAnnotation: strconv.Itoa(version)}
		return catalogtest.MustWorkload(d)
	}
	var observers, deciders sync.WaitGroup
	done := make(chan struct{})
	observers.Go(func() {
		for i, config := range reduced {
			switch i % 10 {
			case 3:
				c.ForgetConfig(config.Ref, objecttest.Noon)
			case 7:
				listConfigs(c, names.ConfigMap, "", objecttest.ListOf(config), objecttest.NoonPlus(float64(i)), false)
			default:
				c.ObserveConfig(config, objecttest.NoonPlus(float64(i)))
			}
		}
	})
	for i := range workloads {
		c.ObserveWorkload(named(i, 1))
		observers.Go(func() {
			for version := 2; version < rounds; version++ {
				w := named(i, version)
				if version%5 == 0 {
					c.ObserveWritten(w, names.Sequence(version))
				} else {
					c.ObserveWorkload(w)
				}
			}
		})
		deciders.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					checkView(t, c, named(i, 1).Ref, known)
				}
			}
		})
	}
	deciders.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				c.WorkloadsReferencing(objecttest.ConfigMapRef("web"))
				c.WorkloadsIn("")
				c.Size()
			}
		}
	})
	observers.Wait()
	close(done)
	deciders.Wait()

	view, _ := c.View(named(0, 1).Ref)
	if last := reduced[rounds-1]; view.Workload.ResourceVersion != strconv.Itoa(rounds-1) || !cmp.Equal(last.Keys, view.Configs[last.Ref].Keys) {
		t.Errorf("in the end there is %+v", view)
	}
}

func checkView(t *testing.T, c *catalog.Catalog, ref names.WorkloadRef, known map[names.Checksum]bool) {
	view, found := c.View(ref)
	if !found {
		t.Errorf("%s is not there", ref)
		return
	}
	decision := Decide(view)
	ByPods(view, []Pod{startedAt(objecttest.NoonPlus(5))})
	for config := range decision.Checksums {
		if whole := keysOnly(*view.Configs[config]); !known[whole] {
			t.Errorf("a mixture of contents: %+v", view.Configs[config])
		}
	}
}
