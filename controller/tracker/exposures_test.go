package tracker

import (
	"slices"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

func TestTheReasonsThatMayLastExposeAndWaitsForATurnDoNot(t *testing.T) {
	b := NewBacklogs(New())
	var exposed []gate.Reason
	for _, reason := range gate.Reasons {
		b.PutOff(objecttest.Web, nil, gate.Answer{Reason: reason}, time.Now())
		b.NoteExposed(objecttest.Web, true)
		if len(b.table.Load(time.Now()).Exposed) > 0 {
			exposed = append(exposed, reason)
		}
	}
	if want := []gate.Reason{gate.Hold, gate.Halted, gate.Missing, gate.Window, gate.Wave}; !slices.Equal(exposed, want) {
		t.Errorf("%q expose, want %q", exposed, want)
	}
	b.NoteDue(objecttest.Web, false, time.Now())
	b.PutOff(objecttest.Web, nil, gate.Answer{Reason: gate.Hold}, time.Now())
	if len(b.table.Load(time.Now()).Exposed) > 0 {
		t.Error("it is exposed to the content of its next restart at once")
	}
	b.Settle(objecttest.Web)
	if b.NoteExposed(objecttest.Web, true); b.Of(objecttest.Web) != nil {
		t.Error("a workload that does not wait is remembered")
	}
}
