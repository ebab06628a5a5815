package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/command"
)

// server answers like an API server: lists by their paths, and empty lists for all others.
type server struct {
	t       *testing.T
	address string

	mu      sync.Mutex
	objects map[string]string // by path; an item of a list or a single object
	writes  []string
	denied  string // the path that the caller may not use
	broken  string // the path at which requests fail
	// conflict is the path of an object that changes before each write; a write that names a version fails.
	conflict string
	// settles is how many writes conflict, 0 for all.
	settles int
	// replaced is the path of an object whose annotations change before each write; a write that tests one fails.
	replaced string
	served   int            // how many lists of Deployments
	reads    map[string]int // of objects, by path
	onList   func(served int)
	onRead   func(path string)
}

func newServer(t *testing.T) *server {
	s := &server{t: t, objects: map[string]string{}, reads: map[string]int{}}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	s.address = web.URL
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	s.reads[r.URL.Path]++
	if s.onRead != nil {
		s.onRead(r.URL.Path)
	}
	object, isKnown := s.objects[r.URL.Path]
	switch {
	case r.URL.Path == s.denied:
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"not allowed"}`)
	case r.URL.Path == s.broken:
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500,"message":"not now"}`)
	case r.Method == http.MethodPatch:
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == s.conflict && strings.Contains(string(body), `"resourceVersion":"`) {
			if s.settles--; s.settles == 0 {
				s.conflict = ""
			}
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,"message":"the object has been modified"}`)
			return
		}
		if r.URL.Path == s.replaced && strings.Contains(string(body), `"op":"test"`) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"the server rejected our request due to an error in our request"}`)
			return
		}
		s.writes = append(s.writes, r.URL.String()+" "+string(body))
		fmt.Fprint(w, object)
	case isKnown:
		fmt.Fprint(w, object)
	case kindOf(r) == "":
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"\"%[1]s\" not found","details":{"name":%[1]q}}`, path.Base(r.URL.Path))
	default:
		fmt.Fprintf(w, `{"kind":%q,"apiVersion":%q,"items":[]}`, kindOf(r), versionOf(r))
	}
	if strings.HasSuffix(r.URL.Path, "/deployments") {
		if s.served++; s.onList != nil {
			s.onList(s.served)
		}
	}
}

// kindOf returns the kind of the list that is asked for, empty if it is an object.
func kindOf(r *http.Request) string {
	if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
		return "PartialObjectMetadataList"
	}
	kinds := map[string]string{"deployments": "DeploymentList", "statefulsets": "StatefulSetList", "daemonsets": "DaemonSetList", "events": "EventList"}
	return kinds[path.Base(r.URL.Path)]
}

func versionOf(r *http.Request) string {
	switch {
	case strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList"):
		return "meta.k8s.io/v1"
	case strings.HasPrefix(r.URL.Path, "/apis/"):
		return "apps/v1"
	}
	return "v1"
}

// run runs the plugin in the namespace shop.
func (s *server) run(ctx context.Context, arguments ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	s.t.Setenv("KUBECONFIG", filepath.Join(s.t.TempDir(), "none"))
	var out, complaints bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &complaints}
	all := append([]string{arguments[0], "--server=" + s.address, "--namespace=shop"}, arguments[1:]...)
	code = command.Run(ctx, "1.2.3 (commit 0123abcd)", all, streams)
	return code, out.String(), complaints.String()
}

// deployment is a Deployment that reads the ConfigMap settings.
func deployment(annotations string) string {
	return fmt.Sprintf(`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"shop","resourceVersion":"7","annotations":%s},
		"spec":{"replicas":2,"selector":{"matchLabels":{"app":"web"}},"template":{"spec":{"containers":[{"name":"main","envFrom":[{"configMapRef":{"name":"settings"}}]}]}}},
		"status":{"replicas":2,"updatedReplicas":2,"availableReplicas":2}}`, annotations)
}

func deployments(annotations string) string {
	return `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[` + deployment(annotations) + `]}`
}

const (
	enabled     = `{"com.xing.deployment-restart":"enabled"}`
	held        = `{"com.xing.deployment-restart":"enabled","com.xing.deployment-restart.hold":"migration"}`
	listPath    = "/apis/apps/v1/namespaces/shop/deployments"
	webPath     = listPath + "/web"
	settingPath = "/api/v1/namespaces/shop/configmaps/settings"
	settings    = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"settings","namespace":"shop","resourceVersion":"3"},"data":{"LEVEL":"info"}}`
)

func TestWrongArgumentsSayWhatToDo(t *testing.T) {
	s := newServer(t)
	for want, arguments := range map[string][]string{
		"say what changes":                     {"impact"},
		"--key needs a config":                 {"impact", "-f", "x.yaml", "--key=a"},
		"is not a type of config":              {"impact", "deployment/web"},
		"expected TYPE/NAME":                   {"impact", "settings"},
		"is not json, yaml or wide":            {"impact", "cm/settings", "-o", "name"},
		"does not exist":                       {"impact", "-f", "missing.yaml"},
		"is not a type of workload":            {"history", "cm/settings"},
		"is not json or yaml":                  {"explain", "deploy/web", "-o", "wide"},
		"give a reason":                        {"hold", "deploy/web", " "},
		"neither a type of workload nor":       {"hold", "pod/web", "reason"},
		"is not none, server or client":        {"unhold", "deploy/web", "--dry-run=perhaps"},
		"--interval must be at least":          {"status", "--interval=1ms"},
		"unknown command":                      {"restart"},
		"there is no configmap/x in namespace": {"impact", "cm/x"},
		"not found":                            {"explain", "deploy/x"},
	} {
		code, stdout, stderr := s.run(t.Context(), arguments...)
		if code != 1 || !strings.HasPrefix(stderr, "error: ") || !strings.Contains(stderr, want) || stdout != "" {
			t.Errorf("%v ends with %d, %q, %q, want %q", arguments, code, stdout, stderr, want)
		}
	}
}

func TestThePluginSaysItsVersion(t *testing.T) {
	if code, stdout, stderr := newServer(t).run(t.Context(), "--version"); code != 0 || stdout != "kubectl restarts version 1.2.3 (commit 0123abcd)\n" {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
}

func TestTheImpactOfAFile(t *testing.T) {
	s := newServer(t)
	s.objects[listPath], s.objects[settingPath] = deployments(enabled), settings
	file := filepath.Join(t.TempDir(), "settings.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, text string
		code       int
		want       string
	}{
		{"the same content", `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {LEVEL: info}}`, 0, "Nothing would restart."},
		{"another content", `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {LEVEL: debug}}`, 2, "1 workload, 2 pods would restart."},
		{"another namespace", `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: office}, data: {}}`, 1, "is in namespace office, not in shop"},
		{"twice", "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}", 1, "configmap/shop/settings is there twice"},
		{"nothing to compare", `{apiVersion: v1, kind: Service, metadata: {name: web}}`, 1, "there is no ConfigMap or Secret"},
		{"values that are no texts", `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {LEVEL: 7}}`, 1, "configmap settings cannot be read"},
	} {
		write(test.text)
		code, stdout, stderr := s.run(t.Context(), "impact", "-f", file, "--exit-code")
		if code != test.code || !strings.Contains(stdout+stderr, test.want) {
			t.Errorf("%s: %d, %s%s, want %d and %q", test.name, code, stdout, stderr, test.code, test.want)
		}
	}
	s.denied = listPath
	if code, _, stderr := s.run(t.Context(), "impact", "cm/settings"); code != 1 || !strings.Contains(stderr, "the result would be incomplete") {
		t.Errorf("without permission: %d, %s", code, stderr)
	}
}

func TestTablesHaveHeadersUnlessToldOtherwise(t *testing.T) {
	s := newServer(t)
	s.objects[listPath], s.objects[settingPath] = deployments(held), settings
	s.objects["/apis/apps/v1/deployments"] = deployments(held)
	for _, arguments := range [][]string{{"impact", "cm/settings"}, {"impact", "cm/settings", "-o", "wide"}, {"status", "--leader=false"}, {"status", "--leader=false", "-A"}} {
		for _, has := range []bool{true, false} {
			all := append(slices.Clone(arguments), fmt.Sprintf("--no-headers=%t", !has))
			if code, stdout, stderr := s.run(t.Context(), all...); code != 0 || strings.Contains(stdout, "WORKLOAD") != has || !strings.Contains(stdout, "deployment/web") {
				t.Errorf("%v: %d\n%s%s", all, code, stdout, stderr)
			}
		}
	}
}

func TestAHoldIsWrittenOnceAndChecked(t *testing.T) {
	s := newServer(t)
	s.objects[webPath] = deployment(enabled)
	if code, stdout, stderr := s.run(t.Context(), "hold", "deploy/web", "migration", "--dry-run=client"); code != 0 || len(s.writes) > 0 || !strings.HasPrefix(stdout, "deployment/web held (client dry run)\n") {
		t.Errorf("%d, %s%s, %v", code, stdout, stderr, s.writes)
	}
	for _, arguments := range [][]string{{"hold", "deploy/web", "migration", "--dry-run"}, {"hold", "deploy/web", "migration"}} {
		if code, stdout, stderr := s.run(t.Context(), arguments...); code != 0 {
			t.Errorf("%d, %s%s", code, stdout, stderr)
		}
	}
	const patch = ` {"metadata":{"annotations":{"com.xing.deployment-restart.hold":"migration"},"resourceVersion":"7"}}`
	want := []string{webPath + "?dryRun=All&fieldManager=kubectl-restarts" + patch, webPath + "?fieldManager=kubectl-restarts" + patch}
	if fmt.Sprint(s.writes) != fmt.Sprint(want) {
		t.Errorf("the writes are\n%v, want\n%v", s.writes, want)
	}
	s.objects[webPath] = deployment(held)
	if code, _, stderr := s.run(t.Context(), "hold", "deploy/web", "another"); code != 1 || !strings.Contains(stderr, "is held already: migration") || len(s.writes) != 2 {
		t.Errorf("%d, %s, %v", code, stderr, s.writes)
	}
	s.objects[webPath] = deployment(`{}`)
	if _, _, stderr := s.run(t.Context(), "hold", "deploy/web", "another"); !strings.Contains(stderr, "is not enabled") {
		t.Errorf("nothing says that the workload is not enabled: %s", stderr)
	}
}

func TestOnlyTheHoldIsRemovedThatWasFound(t *testing.T) {
	s := newServer(t)
	s.objects[webPath] = deployment(held)
	if code, stdout, stderr := s.run(t.Context(), "unhold", "deploy/web", "--dry-run=client"); code != 0 || len(s.writes) > 0 || !strings.HasPrefix(stdout, "deployment/web not held any more (client dry run)\n") {
		t.Errorf("%d, %s%s, %v", code, stdout, stderr, s.writes)
	}
	const path = `"path":"/metadata/annotations/com.xing.deployment-restart.hold"`
	want := []string{webPath + `?fieldManager=kubectl-restarts [{"op":"test",` + path + `,"value":"migration"},{"op":"remove",` + path + `}]`}
	if code, stdout, stderr := s.run(t.Context(), "unhold", "deploy/web"); code != 0 || fmt.Sprint(s.writes) != fmt.Sprint(want) {
		t.Errorf("%d, %s%s, the writes are\n%v, want\n%v", code, stdout, stderr, s.writes, want)
	}
	s.replaced = webPath
	if code, stdout, stderr := s.run(t.Context(), "unhold", "deploy/web"); code != 1 || stdout != "" || !strings.Contains(stderr, "the hold of deployment/web (migration) was not removed: it has just changed") {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
}

func TestUnholdSaysWhatHoldsAnObjectThatHasNoHold(t *testing.T) {
	s := newServer(t)
	s.objects[webPath], s.objects[listPath], s.objects[settingPath] = deployment(enabled), deployments(enabled), settings
	if code, _, stderr := s.run(t.Context(), "unhold", "deploy/web"); code != 1 || !strings.Contains(stderr, "deployment/web is not held\n") {
		t.Errorf("%d, %s", code, stderr)
	}
	s.objects[haltsPath] = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"halts"},"data":{"hold":"incident 42"}}`
	for argument, name := range map[string]string{"deploy/web": "deployment/web", "cm/settings": "configmap/settings"} {
		want := name + " has no hold of its own; held: all restarts (release with: kubectl restarts unhold --all-workloads): incident 42"
		if code, _, stderr := s.run(t.Context(), "unhold", argument); code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%d, %s, want %q", code, stderr, want)
		}
	}
}

func TestALongHoldIsNotShownWhole(t *testing.T) {
	s := newServer(t)
	s.objects[webPath] = deployment(strings.Replace(held, "migration", strings.Repeat("migration", 10_000), 1))
	for _, arguments := range [][]string{{"hold", "deploy/web", "another"}, {"unhold", "deploy/web"}} {
		if _, stdout, stderr := s.run(t.Context(), arguments...); !strings.Contains(stdout+stderr, ": migrationmigration") || len(stdout+stderr) > 5000 {
			t.Errorf("%v prints %d bytes", arguments, len(stdout+stderr))
		}
	}
}

func TestUnholdSaysWhatStillHoldsRestarts(t *testing.T) {
	const approval = `"annotations":{"com.xing.deployment-restart.hold":"approval"},`
	everything := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"halts"},"data":{"hold":"incident 42"}}`
	const all = "Still held: all restarts (release with: kubectl restarts unhold --all-workloads): incident 42\n"
	for name, test := range map[string]struct {
		settings, halts, web, argument string
		says                           []string
	}{
		"nothing":                {settings, "", held, "deploy/web", []string{"A restart that is due begins after the grace period, by the usual rules. The reason was: migration\n"}},
		"its config":             {heldSettings(approval), "", held, "deploy/web", []string{"A restart that is due begins, by the usual rules, when nothing else holds it. The reason was: migration\n", "Still held: restarts for configmap/settings (release with: kubectl restarts unhold -n shop configmap/settings): approval\n"}},
		"everything":             {settings, everything, held, "deploy/web", []string{all}},
		"nothing of a config":    {heldSettings(approval), "", enabled, "cm/settings", []string{"Restarts that are due for it begin now, by the usual rules. The reason was: approval\n"}},
		"a workload of a config": {heldSettings(approval), everything, held, "cm/settings", []string{all, "Still held: restarts of deployment/web (release with: kubectl restarts unhold -n shop deployment/web): migration\n"}},
	} {
		s := newServer(t)
		s.objects[webPath], s.objects[listPath], s.objects[settingPath] = deployment(test.web), deployments(test.web), test.settings
		if test.halts != "" {
			s.objects[haltsPath] = test.halts
		}
		code, stdout, stderr := s.run(t.Context(), "unhold", test.argument)
		for _, want := range test.says {
			if code != 0 || !strings.Contains(stdout, want) || strings.Count(stdout, "Still ") != strings.Count(strings.Join(test.says, ""), "Still ") {
				t.Errorf("%s: %d, %s%s, want %q", name, code, stdout, stderr, want)
			}
		}
	}
}

// heldSettings returns the settings with annotations.
func heldSettings(annotations string) string {
	return strings.Replace(settings, `"metadata":{`, `"metadata":{`+annotations, 1)
}

func TestTheStatusIsPrintedAgainWhenItChanges(t *testing.T) {
	s := newServer(t)
	s.objects["/api/v1/namespaces/shop/configmaps"] = `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[{"metadata":{"namespace":"shop","name":"settings"}}]}`
	s.objects[listPath] = deployments(enabled)
	ctx, cancel := context.WithCancel(t.Context())
	s.onList = func(served int) {
		if served == 2 {
			s.objects[listPath] = deployments(held)
		}
		if served == 4 {
			cancel()
		}
	}
	code, stdout, stderr := s.run(ctx, "status", "--watch", "--interval=1s")
	before, after, hasChanged := strings.Cut(stdout, "\n--- ")
	if code != 0 || !hasChanged || strings.Contains(after, "\n--- ") || !strings.Contains(before, "1 workload enabled in shop: 1 unknown.") || !strings.Contains(after, "on hold") {
		t.Errorf("%d\n%s%s", code, stdout, stderr)
	}
}

func TestTheShellCompletesTypesAndNames(t *testing.T) {
	s := newServer(t)
	s.objects["/api/v1/namespaces/shop/configmaps"] = `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[{"metadata":{"name":"settings"}}]}`
	s.objects["/apis/argoproj.io/v1alpha1/namespaces/shop/rollouts"] = `{"kind":"RolloutList","apiVersion":"argoproj.io/v1alpha1","items":[{"metadata":{"name":"web"}}]}`
	for want, arguments := range map[string][]string{
		"configmap/\nsecret/\n:":                                        {"impact", ""},
		"configmap/settings\n:":                                         {"impact", "configmap/"},
		"deployment/\nstatefulset/\ndaemonset/\n:":                      {"history", ""},
		"deployment/\nstatefulset/\ndaemonset/\nconfigmap/\nsecret/\n:": {"explain", ""},
		":4\n":                {"hold", "--all-workloads", ""},
		"json\nyaml\nwide\n:": {"impact", "-o", ""},
		"explain\tExplain why a workload restarted":                                            {"exp"},
		"deployment/\nstatefulset/\ndaemonset/\nrollouts.argoproj.io/\nconfigmap/\nsecret/\n:": {"hold", "--workload=rollouts.v1alpha1.argoproj.io", ""},
		"rollouts.argoproj.io/web\n:":                                                          {"explain", "--workload=rollouts.v1alpha1.argoproj.io", "rollouts.argoproj.io/"},
	} {
		_, stdout, stderr := s.run(t.Context(), append([]string{"__complete"}, arguments...)...)
		if !strings.HasPrefix(stdout, want) {
			t.Errorf("%v completes to %q (%s), want %q", arguments, stdout, stderr, want)
		}
	}
}

func TestAnAnnotationThatNamesAKeyOfASecretDoesNotShowIt(t *testing.T) {
	s := newServer(t)
	s.objects[webPath] = strings.Replace(deployment(`{"com.xing.deployment-restart":"enabled","com.xing.deployment-restart.ignore":"secret/db:swordfish-key"}`),
		`"configMapRef":{"name":"settings"}`, `"secretRef":{"name":"db"}`, 1)
	for _, format := range []string{"", "json", "yaml"} {
		code, stdout, stderr := s.run(t.Context(), "explain", "deploy/web", "-o", format)
		if code != 0 || strings.Contains(stdout+stderr, "swordfish") || !strings.Contains(stdout, "those that only and ignore leave") {
			t.Errorf("%q: %d, %s%s", format, code, stdout, stderr)
		}
	}
}

// The API accepts any text as the name of a config in a pod template.
func TestAConfigWhoseNameCannotBePartOfAPathIsMissing(t *testing.T) {
	s := newServer(t)
	for _, name := range []string{"a%b", ".."} {
		s.objects[webPath] = strings.Replace(deployment(enabled), `"name":"settings"`, fmt.Sprintf(`"name":%q`, name), 1)
		code, stdout, stderr := s.run(t.Context(), "explain", "deploy/web", "--leader=false")
		if code != 0 || !regexp.MustCompile(`configmap/`+regexp.QuoteMeta(name)+` .* missing`).MatchString(stdout) {
			t.Errorf("%q: %d, %s%s", name, code, stdout, stderr)
		}
	}
}

func TestJSONIsValidAndVisible(t *testing.T) {
	s := newServer(t)
	s.objects[webPath], s.objects[settingPath] = deployment(`{"com.xing.deployment-restart":"enabled","com.xing.deployment-restart.hold":"\u001b[2J\u009b\u202e\udb40\udc41"}`), settings
	code, stdout, stderr := s.run(t.Context(), "explain", "deploy/web", "-o", "json")
	var report struct{ Holds []string }
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != 0 || len(report.Holds) != 1 || !strings.HasSuffix(report.Holds[0], "\x1b[2J\u009b\u202e\U000e0041") {
		t.Errorf("%d, %q, %s, %v", code, report.Holds, stderr, err)
	}
	if strings.ContainsAny(stdout, "\x1b\u009b\u202e\U000e0041") {
		t.Errorf("the output is %q", stdout)
	}
	if code, asYAML, _ := s.run(t.Context(), "explain", "deploy/web", "-o", "yaml"); code != 0 || asYAML != stdout {
		t.Errorf("as YAML, the output is %q", asYAML)
	}
}
