package watch

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// An API server that has just started may refuse what it allows a moment later, and one that does not answer refuses nothing.
func TestOnlyAWatchThatIsForbiddenAllTheTimeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Options[string]{Log: slog.New(slog.DiscardHandler)})
		forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)
		for _, step := range []struct {
			name    string
			do      func()
			refused bool
		}{
			{"no answer", func() { w.broken(t.Context(), errors.New("refused")) }, false},
			{"forbidden after the outage", func() { w.broken(t.Context(), forbidden) }, false},
			{"forbidden for an hour", func() { w.broken(t.Context(), forbidden) }, true},
			{"no answer again", func() { w.broken(t.Context(), errors.New("refused")) }, false},
			{"forbidden again", func() { w.broken(t.Context(), forbidden) }, false},
			{"works", w.working, false},
			{"forbidden after it has worked", func() { w.broken(t.Context(), forbidden) }, false},
		} {
			time.Sleep(time.Hour)
			step.do()
			if refused := w.Status().IsRefused(time.Now()); refused != step.refused {
				t.Errorf("%s: refused %t", step.name, refused)
			}
		}
	})
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
