package watch

import (
	"errors"
	"log/slog"
	"testing"
	"time"
)

func TestAStatusIsOneLine(t *testing.T) {
	since := time.Date(2026, 1, 20, 20, 57, 30, 999, time.FixedZone("CET", 3600))
	for want, status := range map[string]Status{
		"[-] watch pods: not synced yet":                                             {Resource: "pods"},
		"[+] watch pods in ns: synced":                                               {Resource: "pods", Namespace: "ns", Synced: true},
		"[-] watch pods: not synced yet, broken since 2026-01-20T19:57:30Z: no":      {Resource: "pods", BrokenSince: since, Problem: errors.New("no")},
		"[!] watch pods in ns: synced before, broken since 2026-01-20T19:57:30Z: no": {Resource: "pods", Namespace: "ns", Synced: true, BrokenSince: since, Problem: errors.New("no")},
	} {
		if got := status.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A stream that begins with a list shows events only when the list is complete.
func TestAWatchWorksWhenItsListIsComplete(t *testing.T) {
	w := New(Options[string]{Log: slog.New(slog.DiscardHandler)})
	for _, step := range []struct {
		name  string
		do    func()
		works bool
	}{
		{"a stream with a list is opened", func() { w.awaitList(); w.working() }, false},
		{"the list is complete", w.listed, true},
		{"the stream is opened again", w.working, true},
		{"another stream with a list is opened", func() { w.awaitList(); w.working() }, false},
		{"its list is complete", w.listed, true},
		{"pages are read", w.hasGap, false},
		{"the pages are complete", w.listed, false},
		{"the stream that follows them is opened", w.working, true},
	} {
		step.do()
		if works := !w.Status().WorkingSince.IsZero(); works != step.works {
			t.Errorf("%s: works %t", step.name, works)
		}
	}
}
