package command_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// editedMeta is the metadata of a config that somebody has edited after its creation.
func editedMeta(name, more string) string {
	const fields = `"fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:%s":{}}}`
	return fmt.Sprintf(`"metadata":{"name":%q,"namespace":"shop","resourceVersion":"3","creationTimestamp":"2026-01-02T10:00:00Z"%s,"managedFields":[`, name, more) +
		`{"manager":"helm","operation":"Update","time":"2026-01-02T10:00:00Z",` + fmt.Sprintf(fields, "swordfish-key") + `},` +
		`{"manager":"kubectl-edit\u001b[2J","operation":"Update","time":"2026-01-03T11:30:00Z",` + fmt.Sprintf(fields, "LEVEL") + `}]}`
}

func editedSettings(more string) string {
	return `{"kind":"ConfigMap","apiVersion":"v1",` + editedMeta("settings", more) + `,"data":{"LEVEL":"swordfish-value","OTHER":"x"}}`
}

// dbPath is the Secret db, of which only metadata may be read.
const dbPath = "/api/v1/namespaces/shop/secrets/db"

func readers(t *testing.T) *server {
	s := newServer(t)
	other := strings.Replace(strings.Replace(deployment(`{}`), `"name":"web"`, `"name":"other"`, 1), `"envFrom":[{"configMapRef":{"name":"settings"}}]`, `"env":[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"settings","key":"LEVEL","optional":true}}},{"name":"B","valueFrom":{"secretKeyRef":{"name":"db","key":"swordfish-key"}}}]`, 1)
	unrelated := strings.Replace(strings.Replace(deployment(enabled), `"name":"web"`, `"name":"unrelated"`, 1), `"configMapRef":{"name":"settings"}`, `"configMapRef":{"name":"more"}`, 1)
	s.objects[listPath] = `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[` + deployment(held) + "," + other + "," + unrelated + `]}`
	s.objects[settingPath], s.objects[cronJobsPath] = editedSettings(""), cronJobs("nightly")
	s.objects[dbPath] = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",` + editedMeta("db", "") + `}`
	for name, metas := range map[string]string{"configmaps": editedMeta("settings", ""), "secrets": editedMeta("db", "")} {
		s.objects["/api/v1/namespaces/shop/"+name] = `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[{` + metas + `}]}`
	}
	return s
}

func TestExplainShowsWhoReadsAConfig(t *testing.T) {
	s := readers(t)
	for argument, wants := range map[string][]string{
		"cm/settings": {
			"configmap/settings in shop: 3 workloads read it: 1 not enabled, 1 on hold, 1 no restart.\n\nKeys:      LEVEL, OTHER\nCreated:   2026-01-02T10:00:00Z (",
			"Last edit: 2026-01-03T11:30:00Z (", ` ago) by kubectl-edit\u001b[2J` + "\nHold:      none\nHalts:     none\n",
			"WORKLOAD           KEYS    READ AS       STATE         WHY\n",
			"deployment/other   LEVEL   environment   not enabled   its annotation com.xing.deployment-restart is missing\n",
			"deployment/web     all     environment   on hold       migration\n",
			"cronjob/nightly    LEVEL   environment   no restart    each run reads its configs anew\n",
		},
		"secret/db": {
			"secret/db in shop: 2 workloads read it: 1 not enabled, 1 no restart.\n\nCreated:   2026-01-02T10:00:00Z (", "Last edit: 2026-01-03T11:30:00Z (",
			"deployment/other   1 key                       environment   not enabled   its annotation",
		},
	} {
		code, stdout, stderr := s.run(t.Context(), "explain", argument, "--leader=false")
		for _, want := range wants {
			if code != 0 || !strings.Contains(stdout, want) || stderr != "" {
				t.Errorf("%s: %d, %s%s, want %q", argument, code, stdout, stderr, want)
			}
		}
	}
}

func TestExplainShowsTheHoldOfEverythingOfAConfigToo(t *testing.T) {
	s := readers(t)
	s.objects[haltsPath] = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"halts"},"data":{"hold":"incident 42"}}`
	const want = "Hold:      all restarts (release with: kubectl restarts unhold --all-workloads): incident 42\n"
	if code, stdout, stderr := s.run(t.Context(), "explain", "cm/settings", "--leader=false"); code != 0 || !strings.Contains(stdout, want) {
		t.Errorf("%d, %s%s, want %q", code, stdout, stderr, want)
	}
}

func TestExplainShowsNoContentOfAConfig(t *testing.T) {
	s := readers(t)
	for _, argument := range []string{"cm/settings", "secret/db"} {
		for _, format := range []string{"", "json", "yaml"} {
			if code, stdout, stderr := s.run(t.Context(), "explain", argument, "--leader=false", "-o", format); code != 0 || strings.Contains(stdout+stderr, "swordfish") || strings.Contains(stdout+stderr, "\x1b") {
				t.Errorf("%s %s: %d, %s%s", argument, format, code, stdout, stderr)
			}
		}
	}
	_, stdout, _ := s.run(t.Context(), "explain", "cm/settings", "-o", "json")
	var report struct {
		Exists   bool
		Keys     []string
		LastEdit struct{ By string }
		Readers  []struct{ Name, Keys, State string }
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || !report.Exists || len(report.Keys) != 2 || report.LastEdit.By != "kubectl-edit\x1b[2J" || len(report.Readers) != 3 {
		t.Errorf("%s, %v", stdout, err)
	}
}

func TestWhatIsNotKnownOfAConfigIsSaid(t *testing.T) {
	s := readers(t)
	s.denied = dbPath
	if code, stdout, stderr := s.run(t.Context(), "explain", "secret/db", "--leader=false"); code != 0 || !strings.Contains(stdout, "You may not get secret/db, so it is not known when it was edited") || !strings.Contains(stdout, "deployment/other") || strings.Contains(stdout, "Last edit") || strings.Contains(stdout, "does not exist") {
		t.Errorf("without permission: %d, %s%s", code, stdout, stderr)
	}
	s.denied = ""
	delete(s.objects, dbPath)
	if code, stdout, stderr := s.run(t.Context(), "explain", "secret/db", "--leader=false"); code != 0 || !strings.Contains(stdout, "secret/db in shop does not exist: 2 workloads read it: ") {
		t.Errorf("one that is missing: %d, %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := s.run(t.Context(), "explain", "cm/x", "--leader=false"); code != 1 || stdout != "" || !strings.Contains(stderr, `"x" not found in namespace shop`) {
		t.Errorf("one that nobody reads: %d, %s%s", code, stdout, stderr)
	}
	s.objects["/api/v1/namespaces/shop/configmaps/x"] = strings.Replace(settings, `"name":"settings"`, `"name":"x"`, 1)
	if code, stdout, stderr := s.run(t.Context(), "explain", "cm/x", "--leader=false"); code != 0 || !strings.HasPrefix(stdout, "configmap/x in shop: no workload reads it.\n\nKeys:      LEVEL\nLast edit: none is known since it was created\nHold:      none\n") {
		t.Errorf("one that nobody reads: %d, %s%s", code, stdout, stderr)
	}
	s.objects[settingPath] = editedSettings(`,"annotations":{"com.xing.deployment-restart.hold":"approval\u202e","com.xing.deployment-restart.readers":"office"}`)
	if code, stdout, stderr := s.run(t.Context(), "explain", "cm/settings", "--leader=false"); code != 0 || !strings.Contains(stdout, `Hold:      approval\u202e`) || !strings.Contains(stderr, "configmap/settings is shared with other namespaces") {
		t.Errorf("one that is shared: %d, %s%s", code, stdout, stderr)
	}
}

func TestTheLeaderSaysWhatTheReadersOfAConfigWaitFor(t *testing.T) {
	s := readers(t)
	var isDryRun atomic.Bool
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"leads":true,"dryRun":%t,"namespace":"shop","waiting":{"total":1,"items":[{"workload":"deployment/shop/web","state":"waiting","reason":"slow-start","on":"configmap/shop/settings"}]}}`, isDryRun.Load())
	}))
	t.Cleanup(page.Close)
	code, stdout, stderr := s.run(t.Context(), "explain", "cm/settings", "--status-url="+page.URL)
	if code != 0 || !strings.Contains(stdout, "deployment/web     all     environment   waiting       slow-start; configmap/shop/settings\n") || stderr != "" {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
	isDryRun.Store(true)
	if code, stdout, stderr := s.run(t.Context(), "explain", "cm/settings", "--status-url="+page.URL); code != 0 || !strings.Contains(stdout, "unknown       the leader makes a dry run: nothing is restarted\n") {
		t.Errorf("a dry run: %d, %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := s.run(t.Context(), "explain", "cm/settings"); code != 0 || !strings.HasPrefix(stdout, "What is not known, or does not work:\n  The leader cannot be asked") {
		t.Errorf("without it: %d, %s%s", code, stdout, stderr)
	}
}
