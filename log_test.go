package main

import (
	"strings"
	"testing"

	"k8s.io/klog/v2"
)

func TestTheClientLibraryNeverLogsResponses(t *testing.T) {
	for _, verbose := range []int{0, 1, 4, 5, 8, 100} {
		var out strings.Builder
		newLogger(&options{Verbose: verbose, LogFormat: "text"}, &out)
		logClient(8, "response body: canary")
		logClient(6, "response headers")
		if out.Len() > 0 {
			t.Errorf("--verbose=%d logs %s", verbose, out.String())
		}
		logClient(4, "a detail")
		if got := strings.Contains(out.String(), "a detail"); got != (verbose >= 4) {
			t.Errorf("--verbose=%d logs the client library's details: %v", verbose, got)
		}
	}
}

// logClient logs as the client library does, in both of its ways.
func logClient(verbosity int, message string) {
	klog.Background().V(verbosity).Info(message)
	klog.V(klog.Level(verbosity)).Info(message)
}
