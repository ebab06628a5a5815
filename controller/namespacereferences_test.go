//go:build !race

package controller

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/wording"
)

// references are the names of so many configs that only this workload reads.
func references(workload string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", strings.ReplaceAll(workload, "/", "-"), i)
	}
	return names
}

// runsWith lets the watch show a Deployment with so many references.
func (w *world) runsWith(name string, references []string) {
	d := w.deployment(name, references...)
	wholeStatus(d)
	w.deployments[name] = d
	w.show("deployments", d)
}

func (w *world) removes(name string) {
	w.hide("deployments", w.deployments[name])
	delete(w.deployments, name)
}

// readsAgain answers reads of Deployments, and counts them.
func (w *world) readsAgain() *int {
	reads := 0
	w.answer = func(r *http.Request) (int, any) {
		path := strings.Split(r.URL.Path, "/")
		d := w.deployments[path[len(path)-3]+"/"+path[len(path)-1]]
		if r.Method != http.MethodGet || path[len(path)-2] != "deployments" || d == nil {
			return 0, nil
		}
		reads++
		found := *d
		found.TypeMeta.APIVersion, found.Kind = "apps/v1", "Deployment"
		return http.StatusOK, &found
	}
	return &reads
}

// leftAlone names the workloads that are, and requires that nothing else lacks its references.
func (w *world) leftAlone(t *testing.T) (names []string) {
	t.Helper()
	for _, ref := range w.controller.catalog.WorkloadsIn("") {
		known := w.controller.catalog.Workload(ref)
		isLeft := known.Excess == workload.NamespaceFull
		if isLeft {
			names = append(names, ref.Namespace+"/"+ref.Name)
		}
		if isLeft != (len(known.References) == 0) {
			t.Errorf("%s is left alone: %t, %d references", ref, isLeft, len(known.References))
		}
	}
	slices.Sort(names)
	return names
}

func (w *world) requireLeftAlone(t *testing.T, when string, want ...string) {
	t.Helper()
	settle(w)
	if got := w.leftAlone(t); !slices.Equal(got, want) {
		t.Errorf("%s: %q are left alone, want %q", when, got, want)
	}
}

func TestAWorkloadOfANamespaceWithTooManyReferencesIsLeftAloneUntilItFits(t *testing.T) {
	for name, rules := range map[string]optin.Rules{"by themselves": {}, "by default": {ByDefault: true}} {
		t.Run(name, func(t *testing.T) {
			w := ruled(t, rules)
			reads := w.readsAgain()
			w.edited("a/c", "1")
			w.edited("a/large-9-1", "1")
			for i := range 10 {
				w.runsWith(fmt.Sprint("a/large-", i), references(fmt.Sprint("large-", i), 9_900))
			}
			w.runsWith("a/app", []string{"c"})
			w.runsWith("b/large", references("large", 9_900))
			w.requireLeftAlone(t, "just enough fit")
			w.runsWith("a/largest", references("largest", 9_950))
			w.requireLeftAlone(t, "one more does not fit", "a/largest")
			w.runsWith("a/medium", references("medium", 5_000))
			w.requireLeftAlone(t, "a smaller one comes first", "a/large-9", "a/largest")
			w.edited("a/c", "2")
			w.edited("a/large-9-1", "2")
			w.requireRestarted(t, "both configs were edited", "a/app")
			if *reads > 0 {
				t.Errorf("%d workloads were read", *reads)
			}
			w.removes("a/medium")
			w.requireLeftAlone(t, "it is gone", "a/largest")
			w.requireRestarted(t, "one fits again, whose config was edited meanwhile", "a/app", "a/large-9")
			w.runsWith("a/large-3", []string{"c"})
			w.requireLeftAlone(t, "another one has fewer")
			if *reads != 2 {
				t.Errorf("%d workloads were read, want each that fits again once", *reads)
			}
		})
	}
}

func TestAListLeavesTheLargestWorkloadsAloneWhateverItsOrder(t *testing.T) {
	w := ruled(t, optin.Rules{})
	w.readsAgain()
	objects := make(map[string]*appsv1.Deployment)
	for i := range 12 {
		name := fmt.Sprintf("a/%02d", i)
		objects[name] = w.deployment(name, references(name, 9_992-i)...)
		wholeStatus(objects[name])
	}
	w.deployments = objects
	w.listBuffered(objects)
	w.requireLeftAlone(t, "twelve are listed", "a/00", "a/01")
	delete(objects, "a/11")
	w.listBuffered(objects)
	w.requireLeftAlone(t, "the smallest is missing from the next list", "a/00")
}

// listBuffered lets the watch list Deployments, of which little is kept until the list is complete.
func (w *world) listBuffered(objects map[string]*appsv1.Deployment) {
	var all []*kinds.Observation
	watch := w.watches["deployments"]
	for _, d := range objects {
		o, _ := controllertest.Reduce(d, &w.controller.optIns.Rules)
		watch.Buffer(o.Workload)
		all = append(all, o)
	}
	kept := 0
	for _, o := range all {
		kept += len(o.Workload.Workload.References)
	}
	if kept > wording.MaxReferencesOfNamespace {
		panic("too much is kept")
	}
	watch.Replace(all, w.nextVersion())
}
