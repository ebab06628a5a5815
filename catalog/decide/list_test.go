package decide

import (
	"cmp"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// listConfigs returns the news of a list together.
func listConfigs(c *catalog.Catalog, kind names.ConfigKind, namespace string, configs []*content.Config, at time.Time, first bool) (news, gone []names.ConfigRef) {
	gone = c.ListConfigs(kind, namespace, configs, at, first, func(ref names.ConfigRef) { news = append(news, ref) })
	return news, gone
}

func listWorkloads(c *catalog.Catalog, kind names.WorkloadKind, namespace string, workloads []*workload.Workload, shown names.Sequence) (news, gone []names.WorkloadRef) {
	gone = c.ListWorkloads(kind, namespace, workloads, shown, func(ref names.WorkloadRef) { news = append(news, ref) })
	return news, gone
}

func TestAViewReportsThatAListIsBeingProcessed(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
	ref := objecttest.DeploymentRef("web")
	isListing := func() bool {
		view, _ := s.catalog.View(ref)
		return view.Listing
	}
	for namespace, want := range map[string]bool{"": true, ref.Namespace: true, "elsewhere": false} {
		changed := content.NewConfigMap(objecttest.ConfigMap("web", objecttest.Data{"a": "in " + namespace}))
		changed.Ref.Namespace = cmp.Or(namespace, ref.Namespace)
		during := false
		s.catalog.ListConfigs(names.ConfigMap, namespace, []*content.Config{&changed}, objecttest.NoonPlus(10), false, func(names.ConfigRef) { during = isListing() })
		if during != want || isListing() {
			t.Errorf("in a list of namespace %q: %t, want %t; afterwards: %t", namespace, during, want, isListing())
		}
	}
}
