package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/internal/status"
)

func TestAllThatIsKnownIsListedOrWhatIsAskedForOfIt(t *testing.T) {
	w := gradual(t)
	for _, name := range []string{"a/web", "a/api", "b/web"} {
		w.show("deployments", w.deployment(name, "c"))
	}
	w.show("configmaps", &corev1.ConfigMap{ObjectMeta: w.meta("b/c")})
	now := time.Now()
	api, web := status.Listed{Name: "deployment/a/api", State: status.Pending}, status.Listed{Name: "deployment/a/web", State: status.Pending}
	ofB := status.Listed{Name: "deployment/b/web", State: status.Pending}
	for _, test := range []struct {
		asked status.Selection
		want  []status.Listed
	}{
		{status.Selection{What: status.ListNamespaces}, []status.Listed{{Name: "a", Workloads: 2}, {Name: "b", Workloads: 1}}},
		{status.Selection{What: status.ListNamespaces, Query: "b"}, []status.Listed{{Name: "b", Workloads: 1}}},
		{status.Selection{What: status.ListWorkloads, Namespace: "a"}, []status.Listed{api, web}},
		{status.Selection{What: status.ListWorkloads}, []status.Listed{api, web, ofB}},
		{status.Selection{What: status.ListWorkloads, Query: "/web"}, []status.Listed{web, ofB}},
		{status.Selection{What: status.ListWorkloads, Namespace: "a", Query: "web", States: []status.State{status.Held, status.Pending}}, []status.Listed{web}},
		{status.Selection{What: status.ListWorkloads, States: []status.State{status.Held}}, nil},
		{status.Selection{What: status.ListConfigs, Namespace: "a"}, []status.Listed{{Name: "configmap/a/c", Workloads: 2}}},
		{status.Selection{What: status.ListConfigs}, []status.Listed{{Name: "configmap/a/c", Workloads: 2}, {Name: "configmap/b/c", Workloads: 1}}},
		{status.Selection{What: status.ListConfigs, Query: "map/b"}, []status.Listed{{Name: "configmap/b/c", Workloads: 1}}},
	} {
		test.asked.Page = 1
		l := w.controller.List(test.asked, now)
		if l == nil {
			t.Fatalf("%+v: nothing is known", test.asked)
		}
		if diff := cmp.Diff(test.want, l.Items); diff != "" || l.Total != len(test.want) || l.Pages != 1 {
			t.Errorf("%+v: %d of %d pages, %s", test.asked, l.Total, l.Pages, diff)
		}
	}
	for _, nothing := range []status.Selection{
		{What: status.ListWorkloads, Namespace: "typo", Page: 1}, {What: status.ListConfigs, Namespace: "typo", Page: 1},
		{What: status.ListWorkloads, Namespace: "a", Page: 2}, {What: status.ListWorkloads, Namespace: "a"}, {What: status.ListNamespaces, Page: 2},
	} {
		if l := w.controller.List(nothing, now); l != nil {
			t.Errorf("%v: %+v", nothing, l)
		}
	}
	if !w.controller.Catalog.HasNamespace("b") || w.controller.Catalog.HasNamespace("typo") {
		t.Error("which namespaces are known is not")
	}
}

func TestEachWorkloadIsOnOnePageOfTheList(t *testing.T) {
	w := gradual(t)
	for i := range 2*status.ListingSize + 1 {
		w.show("deployments", w.deployment(fmt.Sprintf("a/web-%03d", i), "c"))
	}
	found := map[string]bool{}
	for page := range 3 {
		l := w.controller.List(status.Selection{What: status.ListWorkloads, Namespace: "a", Page: page + 1}, time.Now())
		if l == nil || l.Pages != 3 {
			t.Fatalf("page %d: %+v", page+1, l)
		}
		for _, item := range l.Items {
			found[item.Name] = true
		}
	}
	if len(found) != 2*status.ListingSize+1 {
		t.Errorf("%d workloads are listed", len(found))
	}
}
