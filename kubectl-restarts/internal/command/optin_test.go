package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheExitCodeIsAnErrorIfNamespacesThatDecideCannotBeRead(t *testing.T) {
	const (
		namespacesPath = "/api/v1/namespaces"
		doubt          = "you may not read Namespaces"
	)
	rules := strings.Replace(understands, `\"dialects\":[\"reloader\"]`, `\"byNamespace\":true`, 1)
	if rules == understands {
		t.Fatal("there are no rules")
	}
	for name, c := range map[string]struct {
		rules, annotations, file string
		code                     int
		want                     string
	}{
		"by their Namespaces":                     {rules, "{}", "LEVEL: debug", 1, "cannot tell whether a workload would restart: " + doubt},
		"by their own annotations":                {understands, "{}", "LEVEL: debug", 0, "Nothing would restart."},
		"by their own annotations if they are in": {rules, enabled, "LEVEL: debug", 2, "1 workload, 2 pods would restart."},
		"by nothing if nothing has changed":       {rules, "{}", "LEVEL: info", 0, "Nothing would restart."},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.objects[listPath], s.objects[settingPath], s.objects[haltsPath], s.denied = deployments(c.annotations), settings, c.rules, namespacesPath
			code, stdout, stderr := s.run(t.Context(), "impact", "--exit-code", "-f", manifest(t, c.file))
			if code != c.code || !strings.Contains(stdout+stderr, c.want) || strings.Contains(stderr, "note: "+doubt) != (c.rules == rules && c.annotations != enabled) {
				t.Errorf("%d: %s%s", code, stdout, stderr)
			}
		})
	}
	s := newServer(t)
	s.objects[webPath], s.objects[haltsPath], s.denied = deployment("{}"), rules, namespacesPath
	if _, _, stderr := s.run(t.Context(), "explain", "deployment/web"); !strings.Contains(stderr, doubt) {
		t.Errorf("explain says %s", stderr)
	}
	if _, _, stderr := s.run(t.Context(), "status"); strings.Contains(stderr, doubt) {
		t.Errorf("without workloads, the status says %s", stderr)
	}
	s.objects[listPath] = deployments("{}")
	if _, _, stderr := s.run(t.Context(), "status"); !strings.Contains(stderr, doubt) {
		t.Errorf("the status says %s", stderr)
	}
}

// Who reads it elsewhere is not known here, so it is not known that nothing restarts.
func TestTheExitCodeIsAnErrorIfAConfigIsSharedWithOtherNamespaces(t *testing.T) {
	const note = "configmap/settings is shared with other namespaces: their workloads are not listed here"
	shared := strings.Replace(settings, `"resourceVersion"`, `"annotations":{"com.xing.deployment-restart.readers":"office"},"resourceVersion"`, 1)
	for name, c := range map[string]struct {
		settings, annotations, file string
		code                        int
		says, note                  string
	}{
		"it changes":                           {shared, "{}", "LEVEL: debug", 1, "Nothing would certainly restart.", "error: cannot tell whether a workload would restart: " + note},
		"it changes, and one restarts":         {shared, enabled, "LEVEL: debug", 2, "1 workload, 2 pods would restart.", "note: " + note},
		"it stays as it is":                    {shared, "{}", "LEVEL: info", 0, "Nothing would restart.", ""},
		"it is shared from now on":             {settings, "{}", "LEVEL: info}, metadata: {name: settings, annotations: {com.xing.deployment-restart.readers: office}", 1, "Nothing would certainly restart.", "error: cannot tell whether"},
		"it changes, and nobody else reads it": {settings, "{}", "LEVEL: debug", 0, "Nothing would restart.", ""},
	} {
		s := newServer(t)
		s.objects[listPath], s.objects[settingPath], s.objects[haltsPath] = deployments(c.annotations), c.settings, understands
		code, stdout, stderr := s.run(t.Context(), "impact", "--exit-code", "-f", manifest(t, c.file))
		if code != c.code || !strings.Contains(stdout, c.says) || !strings.Contains(stderr, c.note) || c.note == "" && stderr != "" {
			t.Errorf("%s: %d, %s%s", name, code, stdout, stderr)
		}
	}
}

// Who may not even read what the controller has noted does not know whether Namespaces decide.
func TestTheExitCodeIsAnErrorIfTheRulesCannotBeRead(t *testing.T) {
	const doubt = "you may not read the ConfigMap of halts, which says which workloads are enabled besides those with the annotation"
	elsewhere := strings.Replace(deployments("{}"), `"configMapRef":{"name":"settings"}`, `"configMapRef":{"name":"other"}`, 1)
	for name, c := range map[string]struct {
		workloads, file string
		code            int
		want            string
	}{
		"a reader says nothing":                   {deployments("{}"), "LEVEL: debug", 1, "cannot tell whether a workload would restart: " + doubt},
		"a reader says nothing about a new key":   {deployments("{}"), "LEVEL: info, NEW: key", 1, "not enabled, as far as you may read"},
		"a reader opts in":                        {deployments(enabled), "LEVEL: debug", 2, "1 workload, 2 pods would restart."},
		"a reader opts out":                       {deployments(`{"com.xing.deployment-restart":"no"}`), "LEVEL: debug", 0, "Nothing would restart."},
		"one that says nothing reads another one": {elsewhere, "LEVEL: debug", 0, "Nothing would restart."},
		"nothing has changed":                     {deployments("{}"), "LEVEL: info", 0, "Nothing would restart."},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.objects[listPath], s.objects[settingPath], s.denied = c.workloads, settings, haltsPath
			code, stdout, stderr := s.run(t.Context(), "impact", "--exit-code", "-f", manifest(t, c.file))
			if code != c.code || !strings.Contains(stdout+stderr, c.want) || strings.Contains(stdout, "Nothing would restart.") != (c.code == 0) {
				t.Errorf("%d: %s%s", code, stdout, stderr)
			}
		})
	}
	s := newServer(t)
	s.objects[webPath], s.denied = deployment("{}"), haltsPath
	if _, stdout, stderr := s.run(t.Context(), "explain", "deployment/web"); !strings.Contains(stderr, doubt) || !strings.Contains(stdout, "does not seem to be enabled") {
		t.Errorf("explain says %s%s", stdout, stderr)
	}
}

func TestWhyAWorkloadIsNotEnabledIsTheReasonThatCounts(t *testing.T) {
	rules := func(note string) string {
		return strings.Replace(understands, `\"dialects\":[\"reloader\"]`, note, 1)
	}
	for name, c := range map[string]struct{ rules, annotations, want string }{
		"its namespace is ignored":          {rules(`\"ignored\":[\"sh*\"]`), enabled, "its namespace is ignored by --ignore-namespace"},
		"its namespace is not selected":     {rules(`\"selector\":\"tier=web\"`), enabled, "its namespace is not selected by --namespace-selector"},
		"it has another value":              {understands, `{"com.xing.deployment-restart":"no"}`, `its annotation com.xing.deployment-restart is not "enabled"`},
		"it has no annotation":              {understands, "{}", "its annotation com.xing.deployment-restart is missing"},
		"it is misspelled":                  {understands, `{"com.xing.deployment-restrat":"enabled"}`, "annotation com.xing.deployment-restrat looks like a misspelling of com.xing.deployment-restart, so it enables nothing"},
		"its value is misspelled":           {understands, `{"com.xing.deployment-restart":"enabeld"}`, `annotation com.xing.deployment-restart: "enabeld" is neither "enabled" nor "disabled", so it enables nothing`},
		"another tool's is misspelled":      {understands, `{"reloader.stakater.com/auto":"yes"}`, `annotation reloader.stakater.com/auto: "yes" means nothing to reloader`},
		"something else is misspelled":      {understands, `{"com.xing.deployment-restart.wav":"1"}`, "its annotation com.xing.deployment-restart is missing"},
		"another tool's annotation says so": {understands, `{"reloader.stakater.com/auto":"false"}`, "its annotations of reloader disable it"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.objects[listPath], s.objects[webPath], s.objects[settingPath], s.objects[haltsPath] = deployments(c.annotations), deployment(c.annotations), settings, c.rules
			s.objects["/api/v1/namespaces"] = `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[{"metadata":{"name":"shop"}}]}`
			for _, arguments := range [][]string{{"explain", "deploy/web"}, {"impact", "cm/settings"}, {"hold", "deploy/web", "migration", "--dry-run=client"}} {
				if code, stdout, stderr := s.run(t.Context(), arguments...); code != 0 || !strings.Contains(stdout+stderr, c.want) || strings.Contains(stdout+stderr, `is not "enabled"`) != strings.Contains(c.want, `is not "enabled"`) {
					t.Errorf("%v: %d, %s%s", arguments, code, stdout, stderr)
				}
			}
		})
	}
}

// The name of a namespace is enough to know that it is ignored.
func TestAnIgnoredNamespaceNeedNotBeRead(t *testing.T) {
	s := newServer(t)
	s.objects[listPath], s.objects[settingPath], s.denied = deployments(enabled), settings, "/api/v1/namespaces"
	s.objects[haltsPath] = strings.Replace(understands, `\"dialects\":[\"reloader\"]`, `\"byNamespace\":true,\"ignored\":[\"sh*\"]`, 1)
	if code, stdout, stderr := s.run(t.Context(), "impact", "cm/settings", "--exit-code"); code != 0 || stderr != "" || !strings.Contains(stdout, "its namespace is ignored") {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
}

func TestTheConfigMapOfHaltsIsReadOnce(t *testing.T) {
	for _, arguments := range [][]string{{"explain", "deploy/web"}, {"impact", "cm/settings"}, {"status", "--leader=false"}} {
		s := newServer(t)
		s.objects[listPath], s.objects[webPath], s.objects[settingPath], s.objects[haltsPath] = deployments(enabled), deployment(enabled), settings, understands
		if code, stdout, stderr := s.run(t.Context(), arguments...); code != 0 || s.reads[haltsPath] != 1 {
			t.Errorf("%v: read %d times; %d, %s%s", arguments, s.reads[haltsPath], code, stdout, stderr)
		}
	}
}

// manifest writes a file with the settings.
func manifest(t *testing.T, data string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "settings.yaml")
	text := "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {" + data + "}}"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
