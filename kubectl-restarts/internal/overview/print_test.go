package overview_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/printers"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/overview"
)

// Each row is as wide as the widest cell, and anyone who may create Events chooses the names in them.
func TestOneVeryLongNameDoesNotWidenAllRows(t *testing.T) {
	in := &overview.Input{Namespace: "shop", Now: now}
	for i := range 100 {
		name := fmt.Sprint(i)
		if i == 0 {
			name = strings.Repeat("x", 100_000)
		}
		in.Events = append(in.Events, facts.Event{At: now, Reason: "FanOut", Message: "fan-out", Namespace: "shop", On: "configmap/" + name})
		in.Workloads = append(in.Workloads, workload("reader", name, due))
	}
	report := lookAt(in)
	var out bytes.Buffer
	if err := report.Print(&out, printers.PrintOptions{}, now); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "configmap/99 ") || out.Len() > 100_000 {
		t.Errorf("the overview has %d bytes", out.Len())
	}
}
