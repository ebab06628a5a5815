package kinds

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/custom"
)

// allocated returns how many MiB a function allocates.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int((after.TotalAlloc - before.TotalAlloc) >> 20) //nolint:gosec // far from the largest number
}

func TestARevisionThatTakesFarMoreMemoryThanBytesIsNotDecoded(t *testing.T) {
	w := objecttest.AgentReadingItsEnvironment()
	revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "large"}}
	revision.Data.Raw = []byte(`{"spec":{"template":` + objecttest.ManyContainers + `}}`)
	var isEarlier bool
	var err error
	took := allocated(func() { isEarlier, err = isOfEarlierTemplate(w, revision) })
	if isEarlier || err == nil || !strings.Contains(err.Error(), "read controllerrevision ns/large: it has too many values") {
		t.Errorf("earlier %t, %v", isEarlier, err)
	}
	if took > 0 {
		t.Errorf("that took %d MiB", took)
	}
	revision.Data.Raw = []byte(`{"spec":{"template":` + strings.Replace(objecttest.ManyContainers, strings.Repeat("{},", 463_500), "", 1) + `}}`)
	took = allocated(func() { isEarlier, err = isOfEarlierTemplate(w, revision) })
	if !isEarlier || err != nil || took > 60 {
		t.Errorf("the largest one that is decoded: earlier %t, %v, %d MiB", isEarlier, err, took)
	}
	t.Logf("the largest one that is decoded takes %d MiB", took)
}

func TestNothingIsDecodedOfAnObjectThatDoesNotCount(t *testing.T) {
	kind, err := custom.ParseKind("gadgets.v1.example.com")
	if err != nil {
		t.Fatal(err)
	}
	row := newCustomRow(kind, apiclient.CustomClients{})
	read := func(annotation string) *custom.Object {
		o := &custom.Object{}
		text := `{"metadata":{"namespace":"ns","name":"web","annotations":{"` + annotation + `"}},"spec":{"template":` + objecttest.ManyContainers + `}}`
		if err := utiljson.Unmarshal([]byte(text), o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	for _, c := range []struct {
		annotation, problem string
		rules               optin.Rules
	}{
		{`a":"b`, "", optin.Rules{}},
		{`a":"b`, "", optin.Rules{Dialects: []optin.Dialect{optin.Reloader}}},
		{`com.xing.deployment-restart":"enabled`, "it has too many values", optin.Rules{}},
		{`reloader.stakater.com/auto":"true`, "it has too many values", optin.Rules{Dialects: []optin.Dialect{optin.Reloader}}},
	} {
		o, got := read(c.annotation), &Observation{}
		took := allocated(func() { got, err = row.Reduce(o, &c.rules) })
		switch {
		case err != nil || got.Workload.Workload != nil || took > 0:
			t.Errorf("%s: %+v, %v, %d MiB", c.annotation, got.Workload, err, took)
		case c.problem == "" && got.Workload.Problem != nil, c.problem != "" && (got.Workload.Problem == nil || !strings.Contains(got.Workload.Problem.Text, c.problem)):
			t.Errorf("%s: problem %+v, want %q", c.annotation, got.Workload.Problem, c.problem)
		}
	}
}

// Whoever annotates the pod template means to enable the workload.
func TestAnAnnotationOnThePodTemplateOfACustomObjectIsToldBeforeItIsEnabled(t *testing.T) {
	kind, err := custom.ParseKind("gadgets.v1.example.com")
	if err != nil {
		t.Fatal(err)
	}
	row := newCustomRow(kind, apiclient.CustomClients{})
	for _, field := range []string{"annotations", "labels"} {
		o := &custom.Object{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}}
		o.Spec = []byte(`{"template":{"metadata":{"` + field + `":{"com.xing.deployment-restart":"enabled"}}}}`)
		got, err := row.Reduce(o, &optin.Rules{})
		if err != nil || got.Workload.Workload != nil || got.Mistake == nil || !strings.HasSuffix(got.Mistake.Text, ", so it enables nothing") {
			t.Errorf("%s: %+v, %+v, %v", field, got, got.Mistake, err)
		}
	}
}

func TestHeavyObjectsAreDecodedOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		object := func(size int) *custom.Object {
			return &custom.Object{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}, Spec: []byte(`"` + strings.Repeat("a", size) + `"`)}
		}
		var decoded atomic.Int32
		heavy.Enter("another")
		for _, size := range []int{10, 300 << 10, 300 << 10} {
			go decodeObject(object(size), func() { decoded.Add(1); time.Sleep(time.Second) })
		}
		for i, want := range []int32{1, 2, 3} {
			synctest.Wait()
			if got := decoded.Load(); got != want {
				t.Errorf("after %d: %d objects are decoded, want %d", i, got, want)
			}
			if i == 0 {
				heavy.Leave()
				continue
			}
			time.Sleep(time.Second)
		}
	})
}

func TestADecodingThatPanicsLetsTheNextOneIn(t *testing.T) {
	func() {
		defer func() { _ = recover() }()
		decode("ns", true, func() { panic("bad") })
	}()
	isIn := false
	decode("ns", true, func() { isIn = true })
	if !isIn {
		t.Error("it does not come in")
	}
}
