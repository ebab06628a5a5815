package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/internal/status"
)

func TestAllThatIsKnownOfANamespaceIsListed(t *testing.T) {
	w := gradual(t)
	for _, name := range []string{"a/web", "a/api", "b/web"} {
		w.show("deployments", w.deployment(name, "c"))
	}
	now := time.Now()
	for _, test := range []struct {
		what, namespace string
		want            []status.Listed
	}{
		{status.ListNamespaces, "", []status.Listed{{Name: "a", Workloads: 2}, {Name: "b", Workloads: 1}}},
		{status.ListWorkloads, "a", []status.Listed{{Name: "deployment/a/api", State: status.Pending}, {Name: "deployment/a/web", State: status.Pending}}},
		{status.ListConfigs, "a", []status.Listed{{Name: "configmap/a/c", Workloads: 2}}},
	} {
		l := w.controller.List(test.what, test.namespace, 1, now)
		if l == nil {
			t.Fatalf("%s %s: nothing is known", test.what, test.namespace)
		}
		if diff := cmp.Diff(test.want, l.Items); diff != "" || l.Total != len(test.want) || l.Pages != 1 {
			t.Errorf("%s %s: %d of %d pages, %s", test.what, test.namespace, l.Total, l.Pages, diff)
		}
	}
	for _, nothing := range []struct {
		what, namespace string
		page            int
	}{{status.ListWorkloads, "typo", 1}, {status.ListConfigs, "typo", 1}, {status.ListWorkloads, "a", 2}, {status.ListWorkloads, "a", 0}, {status.ListNamespaces, "", 2}} {
		if l := w.controller.List(nothing.what, nothing.namespace, nothing.page, now); l != nil {
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
		l := w.controller.List(status.ListWorkloads, "a", page+1, time.Now())
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
