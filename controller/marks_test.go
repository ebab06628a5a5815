package controller

import (
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/record"
)

// slowed returns a server and its restarter when the workload has no budget left: the next
// restart, for another content of its settings, has to wait for a second.
func slowed(t *testing.T, log *strings.Builder) (*losingServer, *restarter) {
	t.Helper()
	server := &losingServer{deployment: watched()}
	r := refusedRestarter(t, server, record.NewFakeRecorder(100), log)
	r.grace, r.backoffLimit = time.Millisecond, time.Hour
	r.catalog.ObserveConfig(settingsOf("v0"), time.Now())
	r.catalog.ObserveWorkload(server.workload(t))
	r.work(t.Context(), web)
	for _, content := range []string{"v1", "v2", "v3", "v4"} {
		r.catalog.ObserveConfig(settingsOf(content), time.Now())
		if content != "v4" {
			r.work(t.Context(), web)
		}
	}
	return server, r
}

func TestARestartThatIsPutOffForLongerThanTheGracePeriodMarksTheRecord(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*restarter)
		marked  bool
	}{
		"for longer":     {func(*restarter) {}, true},
		"not for longer": {func(r *restarter) { r.grace = time.Minute }, false},
		"in a dry run":   {func(r *restarter) { r.dryRun = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			server, r := slowed(t, &log)
			test.prepare(r)
			before := server.workload(t)
			for range 2 {
				r.work(t.Context(), web)
			}
			after := server.workload(t)
			if after.Applied.Marked != test.marked || after.Timestamp != before.Timestamp || !after.Applied.Trusted {
				t.Errorf("marked: %t, want %t; timestamp %s, was %s", after.Applied.Marked, test.marked, after.Timestamp, before.Timestamp)
			}
			if !after.Applied.Checksums.Equal(before.Applied.Checksums) || !after.Applied.Written.Equal(before.Applied.Written) || after.Applied.Budget != before.Applied.Budget {
				t.Errorf("the record is %+v, was %+v", after.Applied, before.Applied)
			}
			if lines := strings.Count(log.String(), "marked the record"); lines > 1 || lines == 1 != test.marked {
				t.Errorf("%d marks are in the log:\n%s", lines, &log)
			}
			if changed := after.ResourceVersion != before.ResourceVersion; changed != test.marked {
				t.Errorf("the version is %s, was %s", after.ResourceVersion, before.ResourceVersion)
			}
		})
	}
}
