package status_test

import (
	"fmt"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/internal/status"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func before(seconds int) time.Time { return noon.Add(-time.Duration(seconds) * time.Second) }

func TestAReplicaSaysWhetherAnybodyLeadsAndSinceWhen(t *testing.T) {
	held := func(renewed int, problem string) *status.Lease {
		return &status.Lease{Namespace: "ctl", Holder: "pod-1", Since: before(600), Renewed: before(renewed), Seconds: 15, Problem: problem}
	}
	const since = " since 2026-11-20T11:"
	const look = "Look at the controller's pods and their logs: kubectl get pods -n ctl, kubectl logs -n ctl POD, with --previous if it has ended."
	const nobody = "Probably no replica of the controller leads, so nothing restarts: pod pod-1 has not renewed its lease of 15 s"
	for _, test := range []struct {
		leads      bool
		lease      *status.Lease
		gap, ready string
	}{
		{true, held(2, ""), "", "[+] leading" + since + "50:00Z"},
		{false, held(2, ""), "", "[+] standing by, pod pod-1 leads" + since + "50:00Z and last renewed its lease at 2026-11-20T11:59:58Z"},
		{true, held(8, "timeout"), "This replica cannot renew its lease and is about to stop leading", "[!] This replica cannot renew its lease and is about to stop leading" + since + "59:52Z: timeout"},
		{true, held(20, "timeout"), "This replica has not renewed its lease, so another one may lead", "[!] This replica has not renewed its lease, so another one may lead" + since + "59:40Z: timeout. " + look},
		{false, held(480, "forbidden"), nobody, "[!] " + nobody + since + "52:00Z: forbidden. " + look},
		{false, &status.Lease{Namespace: "ctl", Problem: "forbidden"}, "This replica cannot read or take the lease, so it does not know whether another one leads", "[!] This replica cannot read or take the lease, so it does not know whether another one leads: forbidden. " + look},
		{false, &status.Lease{Problem: "forbidden", ProblemSince: before(60), Remedy: status.ApplyManifest}, "This replica cannot read or take the lease, so it does not know whether another one leads", "[!] This replica cannot read or take the lease, so it does not know whether another one leads" + since + "59:00Z: forbidden. " + status.ApplyManifest},
		{false, held(2, "forbidden"), "This replica cannot take part in the leader election", "[!] This replica cannot take part in the leader election: forbidden. " + look},
	} {
		if got := test.lease.Line(test.leads, noon); got != test.ready {
			t.Errorf("got %s, want %s", got, test.ready)
		}
		known := status.NewKnowledge(test.leads, test.lease, status.NewWatches(), noon)
		if text := texts(known.Gaps); text != test.gap {
			t.Errorf("got %q, want %q", text, test.gap)
		}
	}
	if known := status.NewKnowledge(true, nil, status.NewWatches(), noon); len(known.Gaps) > 0 {
		t.Errorf("without an election: %+v", known.Gaps)
	}
}

func texts(gaps []status.Gap) (all string) {
	for i := range gaps {
		all += gaps[i].Text
	}
	return all
}

func TestTheBrokenWatchesComeFirstAndSayWhatDoesNotWork(t *testing.T) {
	watches := status.NewWatches()
	for i := range status.Limit {
		watches.Add(status.Watch{Resource: fmt.Sprintf("a%02d", i), Works: true, Listed: true, Since: noon})
	}
	watches.Add(status.Watch{Resource: "deployments", Listed: true, Since: before(60), Problem: "gone", Without: "it does not notice new ones"})
	watches.Add(status.Watch{Resource: "secrets", Namespace: "shop", Since: before(60), Problem: "forbidden", Remedy: "Grant it.", Without: "no workload restarts there"})
	watches.Add(status.Watch{Resource: "configmaps", Without: "no workload restarts"})
	known := status.NewKnowledge(true, nil, watches, noon)
	want := []status.Gap{
		{Text: "The controller has not yet listed all configmaps, so no workload restarts"},
		{Text: "The controller cannot list secrets in shop, so no workload restarts there", Beginning: status.Beginning{Since: before(60), AtLeast: true}, Why: "forbidden", Remedy: "Grant it."},
		{Text: "The controller cannot watch deployments, so it does not notice new ones", Beginning: status.Beginning{Since: before(60)}, Why: "gone"},
	}
	if fmt.Sprint(known.Gaps) != fmt.Sprint(want) || known.Watches.Total != status.Limit+3 {
		t.Errorf("got %+v of %d", known.Gaps, known.Watches.Total)
	}
}
