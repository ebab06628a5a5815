package restart

import (
	"fmt"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog/decide"
	catalogrecord "kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

func TestAttemptsThatFailForLongTakeLittleMemory(t *testing.T) {
	b := NewJournal()
	for range 100 {
		decision := decide.Decision{Outcome: decide.Restart, Checksums: catalogrecord.Checksums{objecttest.MapA: 1}}
		b.noteAttempt(objecttest.Web, Attempt{decision: decision})
	}
	attempts := b.Attempts[objecttest.Web]
	if len(attempts) != maxAttempts {
		t.Errorf("%d are remembered, want %d", len(attempts), maxAttempts)
	}
	for _, a := range attempts {
		if a.decision.Checksums != nil || a.decision.Outcome != decide.Restart {
			t.Errorf("decision %+v", a.decision)
		}
	}
}

func TestTheAttemptsOfANamespaceTakeLittleMemory(t *testing.T) {
	j := NewJournal()
	for range 100 {
		for i := range 300 {
			j.noteAttempt(objecttest.WorkloadNamed(fmt.Sprint("web-", i)), Attempt{written: time.Unix(int64(i), 0)})
		}
	}
	if n := j.attemptsIn["ns"]; n > maxAttemptsIn+300 || len(j.Attempts) != 300 {
		t.Errorf("%d attempts of %d workloads are remembered", n, len(j.Attempts))
	}
	other := objecttest.Web
	other.Namespace = "other"
	for range 100 {
		j.noteAttempt(other, Attempt{})
	}
	if n := len(j.Attempts[other]); n != maxAttempts {
		t.Errorf("%d attempts of a workload of another namespace are remembered", n)
	}
	for ref, attempts := range j.Attempts {
		if last := attempts[len(attempts)-1]; ref != other && !j.hasAttempted(&workload.Workload{Object: workload.Object{Ref: ref}, Record: catalogrecord.Record{Written: last.written}}) {
			t.Errorf("the last attempt of %s is forgotten", ref)
		}
		j.forget(ref)
	}
	if len(j.attemptsIn) > 0 {
		t.Errorf("%v are left", j.attemptsIn)
	}
}
