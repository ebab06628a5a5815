package tracker

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
	b := New()
	for range 100 {
		decision := decide.Decision{Outcome: decide.Restart, Checksums: catalogrecord.Checksums{objecttest.MapA: 1}}
		b.NoteAttempt(objecttest.Web, Attempt{Decision: decision})
	}
	attempts := b.Of(objecttest.Web).Attempts
	if len(attempts) != maxAttempts {
		t.Errorf("%d are remembered, want %d", len(attempts), maxAttempts)
	}
	for _, a := range attempts {
		if a.Decision.Checksums != nil || a.Decision.Outcome != decide.Restart {
			t.Errorf("decision %+v", a.Decision)
		}
	}
}

func TestTheAttemptsOfANamespaceTakeLittleMemory(t *testing.T) {
	j := New()
	for range 100 {
		for i := range 300 {
			j.NoteAttempt(objecttest.WorkloadNamed(fmt.Sprint("web-", i)), Attempt{Written: time.Unix(int64(i), 0)})
		}
	}
	if n := j.attemptsIn["ns"]; n > maxAttemptsIn+300 || len(j.Refs()) != 300 {
		t.Errorf("%d attempts of %d workloads are remembered", n, len(j.Refs()))
	}
	other := objecttest.Web
	other.Namespace = "other"
	for range 100 {
		j.NoteAttempt(other, Attempt{})
	}
	if n := len(j.Of(other).Attempts); n != maxAttempts {
		t.Errorf("%d attempts of a workload of another namespace are remembered", n)
	}
	for ref, row := range j.All() {
		if last := row.Attempts[len(row.Attempts)-1]; ref != other && !j.HasAttempted(&workload.Workload{Object: workload.Object{Ref: ref}, Record: catalogrecord.Record{Written: last.Written}}) {
			t.Errorf("the last attempt of %s is forgotten", ref)
		}
		j.Forget(ref)
	}
	if len(j.attemptsIn) > 0 {
		t.Errorf("%v are left", j.attemptsIn)
	}
}
