package workload

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
)

func TestOnlyTheExactAnnotationOptsIn(t *testing.T) {
	for value, want := range map[string]bool{"enabled": true, "Enabled": false, "true": false, "": false, "disabled": false} {
		if got := annotation.IsEnabled(&metav1.ObjectMeta{Annotations: map[string]string{annotation.EnabledAnnotation: value}}); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
	if annotation.IsEnabled(&metav1.ObjectMeta{}) {
		t.Error("enabled without annotations")
	}
}

func TestARefOfAWorkloadOfAnyKindIsReadFromItsText(t *testing.T) {
	for text, want := range map[string]names.WorkloadRef{
		"deployment/ns/web":           {Kind: names.Deployment, Namespace: "ns", Name: "web"},
		"StatefulSet/ns/web":          {Kind: names.StatefulSet, Namespace: "ns", Name: "web"},
		"rollouts.argoproj.io/ns/web": {Kind: "rollouts.argoproj.io", Namespace: "ns", Name: "web"},
		"Rollouts.Argoproj.io/ns/web": {Kind: "rollouts.argoproj.io", Namespace: "ns", Name: "web"},
		"a.b/ns/web":                  {Kind: "a.b", Namespace: "ns", Name: "web"},
	} {
		got, found := names.ParseWorkloadRef(text)
		if !found || got != want {
			t.Errorf("%q: got %v (%t), want %v", text, got, found, want)
		}
		if again, found := names.ParseWorkloadRef(got.String()); !found || again != want {
			t.Errorf("%q: read again as %v (%t)", text, again, found)
		}
	}
	for _, text := range []string{"", "/", "pod/ns/web", "rollouts/ns/web", "rollouts./ns/web", ".io/ns/web", "a_b.c/ns/web", "a.b/ns/", "a.b//web", "a.b/ns", "a.b/ns/web/more"} {
		if got, found := names.ParseWorkloadRef(text); found {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
