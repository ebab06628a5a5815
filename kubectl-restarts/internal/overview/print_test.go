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
		in.Events = append(in.Events, facts.Event{At: now, Reason: "FanOut", Message: "fan-out", Namespace: "shop", On: fmt.Sprintf("configmap/%d", i)})
	}
	in.Events[0].On = "configmap/" + strings.Repeat("x", 100_000)
	report := overview.Look(in)
	var out bytes.Buffer
	if err := report.Print(&out, printers.PrintOptions{}, now); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "configmap/99 ") || out.Len() > 100_000 {
		t.Errorf("the overview has %d bytes", out.Len())
	}
}
