package restart_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// slowed returns a server and its restarter when the workload has no budget left: the next
// restart, for another content of its settings, has to wait for a second.
func slowed(t *testing.T, log *strings.Builder) (*losingServer, *restart.Restarter) {
	t.Helper()
	server := &losingServer{deployment: objecttest.Watched()}
	r := refusedRestarter(t, server, record.NewFakeRecorder(100), log)
	r.Grace, r.BackoffLimit = time.Millisecond, time.Hour
	r.Catalog.ObserveConfig(objecttest.SettingsOf("v0"), time.Now())
	r.Catalog.ObserveWorkload(server.workload(t))
	r.Work(t.Context(), objecttest.Web)
	for _, content := range []string{"v1", "v2", "v3", "v4"} {
		r.Catalog.ObserveConfig(objecttest.SettingsOf(content), time.Now())
		if content != "v4" {
			r.Work(t.Context(), objecttest.Web)
		}
	}
	return server, r
}

func TestARestartThatIsPutOffForLongerThanTheGracePeriodMarksTheRecord(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*restart.Restarter)
		marked  bool
	}{
		"for longer":     {func(*restart.Restarter) {}, true},
		"not for longer": {func(r *restart.Restarter) { r.Grace = time.Minute }, false},
		"in a dry run":   {func(r *restart.Restarter) { r.DryRun = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			server, r := slowed(t, &log)
			test.prepare(r)
			before := server.workload(t)
			for range 2 {
				r.Work(t.Context(), objecttest.Web)
			}
			after := server.workload(t)
			if after.Record.Marked != test.marked || after.Timestamp != before.Timestamp || !after.Record.Trusted {
				t.Errorf("marked: %t, want %t; timestamp %s, was %s", after.Record.Marked, test.marked, after.Timestamp, before.Timestamp)
			}
			if !after.Record.Checksums.Equal(before.Record.Checksums) || !after.Record.Written.Equal(before.Record.Written) || after.Record.Budget != before.Record.Budget {
				t.Errorf("the record is %+v, was %+v", after.Record, before.Record)
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

// A reverted restart is not decided about while a recorded config is gone. The other configs may
// change meanwhile, and change back when another process leads.
func TestARecordThatIsKeptAfterARevertIsMarkedWhenTheContentDiffers(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		dryRun  bool
		marked  bool
	}{
		"another content": {"v2", false, true},
		"the same":        {"v1", false, false},
		"in a dry run":    {"v2", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			server := &losingServer{deployment: objecttest.Watched()}
			container := &server.deployment.Spec.Template.Spec.Containers[0]
			container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "gone"}}})
			r := refusedRestarter(t, server, record.NewFakeRecorder(100), &log)
			noPods := func(int, int) apiclient.Page { return &corev1.PodList{} }
			r.Pods = (&controllertest.ListServer{Lists: map[string]objecttest.MadeList{"pods": {Make: noPods}}}).Reader(t)
			gone := objecttest.SettingsOf("here")
			gone.Ref.Name = "gone"
			r.Catalog.ObserveConfig(gone, time.Now())
			for _, content := range []string{"v0", "v1"} {
				r.Catalog.ObserveConfig(objecttest.SettingsOf(content), time.Now())
				r.Catalog.ObserveWorkload(server.workload(t))
				r.Work(t.Context(), objecttest.Web)
			}
			r.Catalog.ForgetConfig(gone.Ref, time.Now())
			server.deployment.Spec.Template.Annotations = nil // which reverts the restart
			server.write()
			r.Catalog.ObserveWorkload(server.workload(t))
			r.Catalog.ObserveConfig(objecttest.SettingsOf(test.content), time.Now())
			r.DryRun = test.dryRun
			before := server.workload(t)
			if before.Record.Reverted == nil || before.Record.Marked {
				t.Fatalf("the record is %+v, want that of a reverted restart", before.Record)
			}
			for range 2 {
				r.Work(t.Context(), objecttest.Web)
			}
			after := server.workload(t)
			if after.Record.Marked != test.marked || after.Record.Reverted == nil || after.Timestamp != before.Timestamp || !after.Record.Checksums.Equal(before.Record.Checksums) {
				t.Errorf("the record is %+v, was %+v, want the mark: %t", after.Record, before.Record, test.marked)
			}
			if lines := strings.Count(log.String(), "marked the record"); lines > 1 || lines == 1 != test.marked {
				t.Errorf("%d marks are in the log:\n%s", lines, &log)
			}
		})
	}
}
