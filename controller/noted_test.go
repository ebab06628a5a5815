package controller

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
)

func TestOfEachNamespaceFewNotesAreKeptAndTheOthersAreCounted(t *testing.T) {
	n := noted[string, int]{countsAll: true}
	for i := range 3 * maxNotedOf {
		if isNews := n.put("hostile", fmt.Sprint(i), i+1); isNews != (i < maxNotedOf) {
			t.Fatalf("note %d is news: %t", i, isNews)
		}
	}
	if !n.put("a", "web", 1) || n.put("a", "web", 1) || !n.put("a", "web", 2) {
		t.Error("in another namespace, a note is not news once, and when it changes")
	}
	if kept, size := len(n.all()), n.size(); kept != maxNotedOf+1 || size != 3*maxNotedOf+1 {
		t.Errorf("%d of %d notes are kept, want %d of %d", kept, size, maxNotedOf+1, 3*maxNotedOf+1)
	}
	last := fmt.Sprint(3*maxNotedOf - 1)
	if note, isNoted := n.find("hostile", last); !isNoted || note != 0 {
		t.Errorf("the last one: %d, %t", note, isNoted)
	}
	n.drop("hostile", "0")
	if !n.put("hostile", last, 7) || len(n.all()) != maxNotedOf+1 || n.size() != 3*maxNotedOf {
		t.Errorf("it does not get the place of one that is gone: %d of %d", len(n.all()), n.size())
	}
	n.dropAll("hostile", func(string) bool { return true })
	if n.drop("a", "web"); n.size() != 0 || n.kept != 0 || len(n.in) != 0 {
		t.Errorf("in the end %+v is kept", n.in)
	}
}

func TestInAllNamespacesNotVeryManyNotesAreKept(t *testing.T) {
	n := noted[int, int]{countsAll: true}
	const full, further = maxNoted / maxNotedOf, 10
	for i := range (full + further) * maxNotedOf {
		n.put(fmt.Sprint(i/maxNotedOf), i, 1)
	}
	if kept, size := len(n.all()), n.size(); kept != maxNoted+further*fewNoted || size != (full+further)*maxNotedOf {
		t.Errorf("%d of %d notes are kept", kept, size)
	}
}

func TestWhatAWorkloadLacksIsSaidHoweverManyLackSomething(t *testing.T) {
	var names []string
	for i := range 2 * maxNotedOf {
		names = append(names, fmt.Sprintf("a/web-%03d", i))
	}
	w := gradual(t, names...)
	w.hide("configmaps", w.configMaps["a/c"])
	settle(w)
	w.judged(t)
	o := w.overview()
	if o.Lacking.Total != len(names) {
		t.Errorf("%d workloads lack it, want %d", o.Lacking.Total, len(names))
	}
	for _, e := range o.Lacking.Items {
		if e.Text != "configmap/c does not exist" {
			t.Errorf("%s: %q", e.Workload, e.Text)
		}
	}
	for _, name := range names {
		ref := deploymentNamed(name)
		if s := w.controller.board.standingOf(ref); s.by.text != "configmap/c does not exist" {
			t.Fatalf("%s: %+v", name, s)
		}
	}
	if kept := len(w.controller.absences.of.all()); kept != maxNotedOf {
		t.Errorf("%d texts are kept", kept)
	}
}

// BenchmarkAbsencesOf10000Workloads is what is kept of the workloads of one namespace that all lack a config, with a long name.
func BenchmarkAbsencesOf10000Workloads(b *testing.B) {
	const n = 10000
	inUse := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	names := make([]names.WorkloadRef, n)
	for i := range names {
		names[i] = deploymentNamed(fmt.Sprintf("hostile/web-%d", i))
	}
	for b.Loop() {
		before, all := inUse(), absences{catalog: catalog.New()}
		for _, ref := range names {
			all.put(ref, strings.Repeat("x", 250)+ref.Name, time.Now())
		}
		b.ReportMetric(float64(inUse()-before)/n, "B/workload")
		runtime.KeepAlive(&all)
	}
}

func TestOfOthersNothingIsKeptIfNobodyCountsThem(t *testing.T) {
	var n noted[int, int]
	for i := range 3 * maxNotedOf {
		n.put("hostile", i, 1)
	}
	if kept, size := len(n.all()), n.size(); kept != maxNotedOf || size != maxNotedOf {
		t.Errorf("%d of %d notes are kept", kept, size)
	}
}
