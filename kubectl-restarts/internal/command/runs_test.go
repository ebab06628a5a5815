package command_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const (
	cronJobsPath = "/apis/batch/v1/namespaces/shop/cronjobs"
	jobsPath     = "/apis/batch/v1/namespaces/shop/jobs"
)

// podsReading is a pod template that reads a key of the settings and a Secret.
const podsReading = `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"main","env":[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"settings","key":"LEVEL"}}}],"envFrom":[{"secretRef":{"name":"db","optional":true}}]}]}}`

func cronJob(name string) string {
	return fmt.Sprintf(`{"kind":"CronJob","apiVersion":"batch/v1","metadata":{"name":%q,"namespace":"shop"},"spec":{"schedule":"@daily","jobTemplate":{"spec":{%s}}}}`, name, podsReading)
}

func cronJobs(names ...string) string {
	var all []string
	for _, name := range names {
		all = append(all, cronJob(name))
	}
	return `{"kind":"CronJobList","apiVersion":"batch/v1","items":[` + strings.Join(all, ",") + `]}`
}

func job(name, meta, status string) string {
	return fmt.Sprintf(`{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":%q,"namespace":"shop"%s},"spec":{"selector":{"matchLabels":{"a":"b"}},%s},"status":{%s}}`, name, meta, podsReading, status)
}

// jobs are one that runs, one that a CronJob has made, and one that has ended.
func jobs() string {
	return `{"kind":"JobList","apiVersion":"batch/v1","items":[` + strings.Join([]string{
		job("migrate", "", `"active":1`),
		job("nightly-1", `,"ownerReferences":[{"apiVersion":"batch/v1","kind":"CronJob","name":"nightly","uid":"u","controller":true}]`, `"active":1`),
		job("ended", "", `"conditions":[{"type":"Complete","status":"True"}]`),
	}, ",") + `]}`
}

func TestImpactCountsTheRunsThatNeedNoRestart(t *testing.T) {
	for name, test := range map[string]struct {
		cronJobs, jobs, denied, workloads string
		arguments                         []string
		want                              string
	}{
		"one":               {cronJobs("nightly"), "", "", "", []string{"cm/settings"}, "Nothing would restart. 1 CronJob reads it, and needs no restart: each run reads it anew.\n"},
		"several":           {cronJobs("nightly", "hourly", "weekly"), "", "", "", []string{"cm/settings"}, "Nothing would restart. 3 CronJobs read it, and need no restart: each run reads it anew.\n"},
		"a Job":             {cronJobs("nightly"), jobs(), "", "", []string{"cm/settings"}, "Nothing would restart. 1 CronJob and 1 Job read it, and need no restart: each run reads it anew.\n"},
		"beside others":     {cronJobs("nightly"), "", "", deployments(enabled), []string{"cm/settings"}, "1 workload, 2 pods would restart. 1 CronJob reads it, and needs no restart: each run reads it anew.\n"},
		"another key":       {cronJobs("nightly"), "", "", "", []string{"cm/settings", "--key=OTHER"}, "Nothing would restart.\n"},
		"none":              {cronJobs(), "", "", "", []string{"cm/settings"}, "Nothing would restart.\n"},
		"a hidden kind":     {cronJobs("nightly"), jobs(), cronJobsPath, "", []string{"cm/settings"}, "Nothing would restart. 1 Job reads it, and needs no restart: each run reads it anew.\n"},
		"a hidden Secret":   {cronJobs("nightly"), "", "/api/v1/namespaces/shop/secrets/db", "", []string{"secret/db"}, "Nothing would restart. 1 CronJob reads it, and needs no restart: each run reads it anew.\n"},
		"an edit of a file": {cronJobs("nightly"), "", "", "", []string{"-f", manifest(t, "LEVEL: debug")}, "Nothing would restart. 1 CronJob reads it, and needs no restart: each run reads it anew.\n"},
		"no edit":           {cronJobs("nightly"), "", "", "", []string{"-f", manifest(t, "LEVEL: info")}, "Nothing would restart.\n"},
	} {
		s := newServer(t)
		s.objects[settingPath], s.objects[cronJobsPath], s.denied = settings, test.cronJobs, test.denied
		if test.jobs != "" {
			s.objects[jobsPath] = test.jobs
		}
		if test.workloads != "" {
			s.objects[listPath] = test.workloads
		}
		if code, stdout, stderr := s.run(t.Context(), append([]string{"impact"}, test.arguments...)...); code != 0 || !strings.HasSuffix(stdout, test.want) {
			t.Errorf("%s: %d, %s%s, want %s", name, code, stdout, stderr, test.want)
		}
	}
}

func TestRunsAreForProgramsToo(t *testing.T) {
	s := newServer(t)
	s.objects[settingPath] = settings
	for want, list := range map[string]string{
		`[{"namespace":"shop","kind":"CronJob","name":"nightly"}]`: cronJobs("nightly"), `[]`: cronJobs(), "": "",
	} {
		if s.objects[cronJobsPath] = list; list == "" {
			s.denied = cronJobsPath // and Jobs are not served
		}
		code, stdout, stderr := s.run(t.Context(), "impact", "cm/settings", "-o", "json")
		var report struct{ Runs json.RawMessage }
		if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != 0 || strings.Join(strings.Fields(string(report.Runs)), "") != want {
			t.Errorf("%d, %s%s, want %s", code, stdout, stderr, want)
		}
		s.denied = ""
	}
}

func TestARunNeedsNoRestart(t *testing.T) {
	s := newServer(t)
	s.objects[cronJobsPath+"/nightly"], s.objects[jobsPath+"/migrate"] = cronJob("nightly"), job("migrate", "", "")
	for argument, name := range map[string]string{"cronjob/nightly": "cronjob/nightly", "cj/nightly": "cronjob/nightly", "CronJobs.batch/nightly": "cronjob/nightly", "job/migrate": "job/migrate"} {
		code, stdout, stderr := s.run(t.Context(), "explain", argument)
		want := name + ` in shop needs no restart: each run reads its configs anew.

CONFIG               KEYS                        READ AS       OPTIONAL
configmap/settings   LEVEL                       environment   no
secret/db            all that nothing replaces   environment   yes
`
		if code != 0 || stdout != want || stderr != "" {
			t.Errorf("%s: %d, %s%s", argument, code, stdout, stderr)
		}
	}
	code, stdout, stderr := s.run(t.Context(), "explain", "cronjob/nightly", "-o", "json")
	var report struct {
		Run, Conclusion string
		Configs         []map[string]any
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != 0 || report.Run != "cronjob/nightly" || len(report.Configs) != 2 || report.Configs[0]["content"] != nil {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
	if code, _, stderr := s.run(t.Context(), "explain", "job/x"); code != 1 || !strings.Contains(stderr, "not found in namespace shop") {
		t.Errorf("one that does not exist: %d, %s", code, stderr)
	}
}
