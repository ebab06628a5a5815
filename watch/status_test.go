package watch

import (
	"errors"
	"testing"
	"time"
)

func TestAStatusIsOneLine(t *testing.T) {
	since := time.Date(2026, 1, 20, 20, 57, 30, 999, time.FixedZone("CET", 3600))
	for want, status := range map[string]Status{
		"[-] watch pods: not synced yet":                                        {Resource: "pods"},
		"[+] watch pods in ns: synced":                                          {Resource: "pods", Namespace: "ns", Synced: true},
		"[-] watch pods: not synced yet, broken since 2026-01-20T19:57:30Z: no": {Resource: "pods", BrokenSince: since, Problem: errors.New("no")},
		"[+] watch pods in ns: synced, broken since 2026-01-20T19:57:30Z: no":   {Resource: "pods", Namespace: "ns", Synced: true, BrokenSince: since, Problem: errors.New("no")},
	} {
		if got := status.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
