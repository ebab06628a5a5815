package pending

import (
	"slices"
	"testing"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

func TestNamespacesTakeTurns(t *testing.T) {
	var waiting Turns
	for number := range 3 {
		waiting.Add(objecttest.OfNamespace("a", number))
		waiting.Add(objecttest.OfNamespace("a", number))
	}
	waiting.Add(objecttest.OfNamespace("b", 0))
	var got []names.WorkloadRef
	for !waiting.IsEmpty() {
		ref := waiting.Next()
		if got = append(got, ref); ref.Namespace == "b" {
			waiting.Add(objecttest.OfNamespace("c", 0))
			waiting.Add(objecttest.OfNamespace("a", 0)) // again
		}
	}
	want := []names.WorkloadRef{
		objecttest.OfNamespace("a", 0), objecttest.OfNamespace("b", 0), objecttest.OfNamespace("a", 1), objecttest.OfNamespace("c", 0), objecttest.OfNamespace("a", 2), objecttest.OfNamespace("a", 0),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if waiting.held.Len()+waiting.waiting.Len() != 0 {
		t.Errorf("%+v is left", waiting)
	}
}
