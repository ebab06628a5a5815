package catalog

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/template"
)

func TestNamingConfigsThatAreNotSharedCostsNothingButTheirNames(t *testing.T) {
	c := New()
	d := objecttest.Deployment(objecttest.ReadsAll("web", false))
	d.Annotations[annotation.AlsoAnnotation] = objecttest.EntriesOf("configmap/others/flags-%02d", template.MaxFilterEntries)
	for i := range 100 {
		d.Name = fmt.Sprint("web", i)
		c.ObserveWorkload(catalogtest.MustWorkload(d))
	}
	for i := range template.MaxFilterEntries {
		for state := range 3 {
			cm := objecttest.OthersFlags(objecttest.Data{"key": fmt.Sprint(state)}, "")
			cm.Name = fmt.Sprintf("flags-%02d", i)
			if c.ObserveConfig(content.NewConfigMap(cm), objecttest.NoonPlus(float64(state))) {
				t.Fatal("it is news")
			}
		}
		ref := names.ConfigRef{Kind: names.ConfigMap, Namespace: "others", Name: fmt.Sprintf("flags-%02d", i)}
		if c.isReferenced(ref) {
			t.Fatalf("%s is referenced", ref)
		}
		if c.ForgetConfig(ref, objecttest.NoonPlus(5)); i > 0 {
			continue
		}
		if c.source(ref) != nil {
			t.Error("it is kept although it is gone")
		}
	}
	if len(c.past) > 0 || c.gone > 0 {
		t.Errorf("%d past contents, %d configs that are gone", len(c.past), c.gone)
	}
}

// The index has what the workloads say, and nothing stays of it in the end.
func TestTheIndexOfOtherNamespacesFollowsWorkloadsAndConfigs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, version := New(), 0
		naming, readers := map[names.WorkloadRef]bool{}, ""
		workload := func(t *rapid.T) *appsv1.Deployment {
			d := objecttest.Deployment(objecttest.ReadsAll("web", false))
			d.Namespace = rapid.SampledFrom([]string{"team-a", "team-b"}).Draw(t, "namespace")
			d.Name = rapid.SampledFrom([]string{"one", "two"}).Draw(t, "workload")
			version++
			d.ResourceVersion = fmt.Sprint(version)
			return d
		}
		isThere := false
		t.Repeat(map[string]func(*rapid.T){
			"name it": func(t *rapid.T) {
				d := workload(t)
				names := rapid.Bool().Draw(t, "names")
				if names {
					d.Annotations[annotation.AlsoAnnotation] = "configmap/others/flags"
				}
				w := catalogtest.MustWorkload(d)
				c.ObserveWorkload(w)
				naming[w.Ref] = names
			},
			"forget a workload": func(t *rapid.T) {
				w := catalogtest.MustWorkload(workload(t))
				c.ForgetWorkload(w.Ref)
				delete(naming, w.Ref)
			},
			"write the config": func(t *rapid.T) {
				readers, isThere = rapid.SampledFrom([]string{"", "team-a", "team-?"}).Draw(t, "readers"), true
				version++
				c.ObserveConfig(content.NewConfigMap(objecttest.OthersFlags(objecttest.Data{"key": fmt.Sprint(version)}, readers)), objecttest.NoonPlus(float64(version)))
			},
			"delete the config": func(t *rapid.T) {
				c.ForgetConfig(objecttest.FlagsThere, objecttest.NoonPlus(float64(version)))
				isThere = false
			},
			"": func(t *rapid.T) {
				for _, namespace := range []string{"team-a", "team-b"} {
					here := objecttest.FlagsThere.SharedIn(namespace)
					var want []string
					for ref, names := range naming {
						if names && ref.Namespace == namespace {
							want = append(want, ref.String())
						}
					}
					var got []string
					for _, ref := range catalogtest.RefsOf(c.WorkloadsReferencing(here)) {
						got = append(got, ref.String())
					}
					slices.Sort(want)
					slices.Sort(got)
					if !slices.Equal(got, want) {
						t.Fatalf("read by %v, want %v", got, want)
					}
					if isSeen := c.HasConfig(here); isSeen != (isThere && policy.IsReader(readers, namespace)) {
						t.Fatalf("seen from %s: %t", namespace, isSeen)
					}
					hasName := slices.Contains(c.NamesElsewhere(objecttest.FlagsThere), here)
					if isThere && hasName != (len(want) > 0 && policy.IsReader(readers, namespace)) {
						t.Fatalf("has a name in %s: %t", namespace, hasName)
					}
				}
			},
		})
		for ref := range naming {
			c.ForgetWorkload(ref)
		}
		c.ForgetConfig(objecttest.FlagsThere, objecttest.NoonPlus(1e6))
		elsewhere := slices.Collect(c.references.Elsewhere(objecttest.FlagsThere))
		if len(elsewhere) > 0 || len(c.past) > 0 || c.references.Len() > 0 || c.gone > 0 || c.configs.Len() > 0 {
			t.Fatalf("left: %v, %v, %v, %d, %d", elsewhere, c.past, c.references, c.gone, c.configs.Len())
		}
	})
}
