//go:build !race

package kinds

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"weak"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/custom"
)

// objectsInMemory is how many objects of each kind are compared.
const objectsInMemory = 1000

// retainedBy returns how many bytes of the heap the workloads take that are made one by one from their texts.
func retainedBy(t *testing.T, read func(text []byte) (*Observation, error)) int {
	t.Helper()
	heap := func() int {
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int(stats.HeapAlloc) //nolint:gosec // far from the largest number
	}
	kept := make([]*WorkloadObservation, 0, objectsInMemory)
	before := heap()
	for i := range objectsInMemory {
		text := objecttest.ObjectText("Gadget", fmt.Sprint(i+1), objecttest.PodTemplateText+`, "padding": "`+strings.Repeat("x", 5000)+`"`, `"padding": "`+strings.Repeat("y", 5000)+`"`)
		o, err := read([]byte(strings.Replace(text, `"name": "web"`, fmt.Sprintf(`"name": "web-%d"`, i), 1)))
		if err != nil {
			t.Fatal(err)
		}
		if o.Workload.Workload == nil {
			t.Fatalf("not kept: %+v", o.Workload.Problem)
		}
		kept = append(kept, o.Workload)
	}
	after := heap()
	runtime.KeepAlive(kept)
	return after - before
}

// Nothing of an object lives longer than the answer that it came in but what is kept of a Deployment, too.
func TestWorkloadsOfACustomKindTakeAsMuchMemoryAsDeployments(t *testing.T) {
	kind, err := custom.ParseKind("gadgets.v1.example.com")
	if err != nil {
		t.Fatal(err)
	}
	row, rules := newCustomRow(kind, apiclient.CustomClients{}), &optin.Rules{}
	ofGadgets := retainedBy(t, func(text []byte) (*Observation, error) {
		object := &custom.Object{}
		if err := utiljson.Unmarshal(text, object); err != nil {
			return nil, err
		}
		return row.Reduce(object, rules)
	})
	ofDeployments := retainedBy(t, func(text []byte) (*Observation, error) {
		object := &appsv1.Deployment{}
		if err := json.Unmarshal(text, object); err != nil {
			return nil, err
		}
		return KindOfWorkload(names.Deployment).Reduce(object, rules)
	})
	t.Logf("%d bytes a Gadget, %d a Deployment", ofGadgets/objectsInMemory, ofDeployments/objectsInMemory)
	if 100*ofGadgets > 115*ofDeployments {
		t.Errorf("%d Gadgets take %d bytes, and as many Deployments %d", objectsInMemory, ofGadgets, ofDeployments)
	}
}

func TestNothingIsKeptOfACustomResourceBesidesHowItsKindIsSpelled(t *testing.T) {
	kind, err := custom.ParseKind("gadgets.v1.example.com")
	if err != nil {
		t.Fatal(err)
	}
	row := newCustomRow(kind, apiclient.CustomClients{})
	object := func() weak.Pointer[custom.Object] {
		page := &custom.List{Items: []custom.Object{{TypeMeta: metav1.TypeMeta{Kind: "Gadget"}, Spec: json.RawMessage("{}")}}}
		row.Parts(&page.Items[0])
		return weak.Make(&page.Items[0])
	}()
	runtime.GC()
	if object.Value() != nil {
		t.Error("the object stays in memory")
	}
	if spelled := row.Custom.spelled.Load(); spelled == nil || *spelled != "Gadget" {
		t.Errorf("the kind is spelled %v", spelled)
	}
	runtime.KeepAlive(row)
}
