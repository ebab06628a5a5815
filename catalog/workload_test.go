package catalog

import (
	"strconv"
	"testing"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// The owner has to learn about an invalid grace period, and waiting changes may
// wait for too long.
func TestAnotherGracePeriodCallsForADecision(t *testing.T) {
	c := New()
	d := objecttest.Deployment(objecttest.ReadsAll("web", false))
	c.ObserveWorkload(catalogtest.MustWorkload(d))
	for i, test := range []struct {
		text string
		want bool
	}{{"soon", true}, {"soon", false}, {"later", true}, {"2m", true}, {"120s", false}, {"1m", true}, {"soon", true}} {
		d.Annotations[annotation.GracePeriodAnnotation] = test.text
		d.ResourceVersion = strconv.Itoa(i + 2)
		if got := c.ObserveWorkload(catalogtest.MustWorkload(d)); got != test.want {
			t.Errorf("%s: calls for a decision: %t, want %t", test.text, got, test.want)
		}
	}
}

func TestANamespaceHasWorkloadsOfAnyKind(t *testing.T) {
	for _, kind := range []names.WorkloadKind{names.Deployment, names.StatefulSet, names.DaemonSet, "rollouts.argoproj.io"} {
		c := New()
		if c.HasWorkloads("ns") {
			t.Error("an empty catalog has workloads")
		}
		c.ObserveWorkload(workload.Workload{Object: workload.Object{Ref: names.WorkloadRef{Kind: kind, Namespace: "ns", Name: "web"}, ResourceVersion: "1"}})
		if !c.HasWorkloads("ns") || c.HasWorkloads("other") {
			t.Errorf("%s: in its namespace %t, in another one %t", kind, c.HasWorkloads("ns"), c.HasWorkloads("other"))
		}
		c.ForgetWorkload(names.WorkloadRef{Kind: kind, Namespace: "ns", Name: "web"})
		if c.HasWorkloads("ns") {
			t.Errorf("%s: one that is gone is still there", kind)
		}
	}
}
