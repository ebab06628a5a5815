package restart

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
)

func in(namespace, name string) names.WorkloadRef {
	return names.WorkloadRef{Kind: names.Deployment, Namespace: namespace, Name: name}
}

// handOut hands out so many workloads, one after the other.
func handOut(t *testing.T, q *Queue, count int) (order []string) {
	t.Helper()
	for range count {
		ref, found := q.Get()
		if !found {
			t.Fatalf("none waits after %q", order)
		}
		order = append(order, ref.Namespace+"/"+ref.Name)
		q.Done(ref)
	}
	return order
}

func TestBehindManyWorkloadsOfOneNamespaceThatOfAnotherIsSecond(t *testing.T) {
	q := NewQueue()
	for i := range 5000 {
		q.Add(in("crowded", fmt.Sprint(i)), names.ConfigRef{Kind: names.ConfigMap, Namespace: "crowded", Name: fmt.Sprint(i)})
	}
	q.Add(in("other", "web"), names.ConfigRef{Kind: names.ConfigMap, Namespace: "other", Name: "settings"})
	if diff := cmp.Diff([]string{"crowded/0", "other/web"}, handOut(t, q, 2)); diff != "" {
		t.Error(diff)
	}
}

// The workloads of a shared config that could not be patched must not wait in a flow with
// all others, nor these behind them.
func TestAWorkloadThatIsRetriedKeepsTheFlowOfItsConfig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue()
		for i := range 3 {
			q.Add(in("ns", fmt.Sprint("shared-", i)), objecttest.MapA)
		}
		q.Add(in("ns", "single"), objecttest.MapB)
		for range 4 {
			q.Get()
		}
		for _, name := range []string{"shared-0", "shared-1", "shared-2", "single"} {
			q.Retry(in("ns", name), fairqueue.Refused)
			q.Done(in("ns", name))
		}
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"ns/shared-0", "ns/single", "ns/shared-1", "ns/shared-2"}, handOut(t, q, 4)); diff != "" {
			t.Error(diff)
		}
	})
}
