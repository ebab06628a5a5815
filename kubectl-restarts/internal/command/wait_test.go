package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const podsPath = "/api/v1/namespaces/shop/pods"

// written is a config whose only key was written some seconds ago, an hour after the config was made. Its value and its key are
// what nobody may see of a Secret.
func written(kind, name, annotations, value string, secondsAgo int) string {
	at := time.Now().Add(-time.Duration(secondsAgo) * time.Second).UTC()
	return fmt.Sprintf(`{"kind":%q,"apiVersion":"v1","metadata":{"name":%q,"namespace":"shop","uid":"u-%[2]s","annotations":%s,"creationTimestamp":%q,
		"managedFields":[{"manager":"kubectl-edit","operation":"Update","time":%q,"fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:swordfish-key":{}}}}]},
		"data":{"swordfish-key":%q}}`, kind, name, annotations, at.Add(-time.Hour).Format(time.RFC3339), at.Format(time.RFC3339), value)
}

// editedSecret is edited a minute ago.
func editedSecret(value string) string { return written("Secret", "db", "{}", value, 60) }

// podOf is a pod that was created some seconds ago, and has read from the given source since then.
func podOf(name, owner, source string, secondsAgo int) string {
	at := time.Now().Add(-time.Duration(secondsAgo) * time.Second).UTC().Format(time.RFC3339)
	return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":"shop","creationTimestamp":%q,"labels":{"app":"web","pod-template-hash":"5d4c8bb5f9"},"ownerReferences":[%s]},
		"spec":{"containers":[{"name":"main","envFrom":[{%s}]}]},
		"status":{"phase":"Running","startTime":%[2]q,"containerStatuses":[{"name":"main","state":{"running":{"startedAt":%[2]q}}}]}}`, name, at, owner, source)
}

const (
	ofWeb        = `{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5d4c8bb5f9","uid":"1","controller":true}`
	ofJob        = `{"apiVersion":"batch/v1","kind":"Job","name":"nightly","uid":"2","controller":true}`
	fromSecret   = `"secretRef":{"name":"db"}`
	fromSettings = `"configMapRef":{"name":"settings"}`
)

func podsIn(items ...string) string {
	return `{"kind":"PodList","apiVersion":"v1","items":[` + strings.Join(items, ",") + `]}`
}

// readsSecret makes the Deployment read the Secret.
func readsSecret(workloads string) string {
	return strings.ReplaceAll(workloads, fromSettings, fromSecret)
}

// waitScene is a namespace where the Secret was edited, and its reader is not enabled.
func waitScene(t *testing.T, pods ...string) *server {
	t.Helper()
	s := newServer(t)
	s.objects[secretPath], s.objects[listPath], s.objects[podsPath] = editedSecret("c3dvcmRmaXNo"), readsSecret(deployments("{}")), podsIn(pods...)
	return s
}

// wait runs the command without a leader, with the shortest interval, and checks that it shows nothing of the Secret.
func (s *server) wait(ctx context.Context, arguments ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	code, stdout, stderr = s.run(ctx, append([]string{"wait", "--leader=false", "--interval=1s"}, arguments...)...)
	if said := stdout + stderr; strings.Contains(said, "swordfish") || strings.Contains(said, "c3dvcmRmaXNo") {
		s.t.Errorf("%v shows something of the Secret: %s", arguments, said)
	}
	return code, stdout, stderr
}

func TestAWaitForNothingSaysWhatToDo(t *testing.T) {
	s := waitScene(t)
	for line, want := range map[string]string{
		"":                          "error: say what to wait for: configs such as secret/db-credentials, or files with -f, or labels with -l",
		"secret/db -l app=web":      "error: say what to wait for: ",
		"-f x.yaml -l app=web":      "error: say what to wait for: ",
		"secret/db -f x.yaml":       "error: say what to wait for: ",
		"-f missing.yaml":           "does not exist",
		"deployment/web":            `error: "deployment" is not a type of config; use configmap/NAME or secret/NAME`,
		"db":                        `error: expected TYPE/NAME or TYPE NAME, got "db"`,
		"secret/db other":           `error: expected TYPE/NAME or TYPE NAME, got "other"`,
		"secret/":                   `error: expected TYPE/NAME or TYPE NAME, got "secret/"`,
		"secret/db --interval=10ms": "error: --interval must be at least 1s, not 10ms",
		"secret/db --timeout=soon":  `error: --timeout: "soon" is not a duration such as 90s, 2m or 1h30m, or a number of seconds`,
		"secret/db -o wide":         `error: --output: "wide" is not json or yaml`,
		"secret/other":              `"other" not found`,
		"secret/db secret/other":    `"other" not found`,
		"-l app=web":                "error: there is no ConfigMap or Secret to wait for",
	} {
		if code, stdout, stderr := s.wait(t.Context(), strings.Fields(line)...); code != 1 || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: %d, %s%s, want %s", line, code, stdout, stderr, want)
		}
	}
}

func TestAWaitEndsAtOnceWhereTheContentIsDelivered(t *testing.T) {
	for want, pods := range map[string][]string{
		"Delivered: 1 pod reads it, and no running pod has read an earlier content of secret/db.": {podOf("web-1", ofWeb, fromSecret, 30)},
		"Delivered: 2 pods read it, and no running pod has read an earlier content of secret/db.": {podOf("web-1", ofWeb, fromSecret, 30), podOf("job-1", ofJob, fromSecret, 20), podOf("other", ofWeb, fromSettings, 90)},
		"No running pod reads secret/db.": {podOf("other", ofWeb, fromSettings, 90)},
	} {
		for _, named := range [][]string{{"secret/db"}, {"secret", "db"}, {"secrets/db", "secret/db"}} {
			code, stdout, stderr := waitScene(t, pods...).wait(t.Context(), named...)
			if code != 0 || !strings.HasSuffix(stdout, "\n"+want+"\n") || !strings.HasPrefix(stdout, "secret/db in shop was last edited at 20") || !strings.Contains(stdout, " by kubectl-edit\n") || stderr != "" {
				t.Errorf("%v: %d, %s%s, want %s", named, code, stdout, stderr, want)
			}
		}
	}
}

func TestAWaitEndsIfNobodyRestartsAPod(t *testing.T) {
	s := waitScene(t, podOf("web-1", ofWeb, fromSecret, 90), podOf("debug", "", fromSecret, 90), podOf("job-1", ofJob, fromSecret, 90), podOf("web-2", ofWeb, fromSecret, 30))
	code, stdout, stderr := s.wait(t.Context(), "secret/db")
	for _, want := range []string{
		"deployment/web: 1 of 2 pods left: not enabled: its annotation com.xing.deployment-restart is missing\n", // while it waits
		"Not delivered: 3 of 4 pods may have read an earlier content of secret/db.\n",
		"  deployment/web, 1 pod left: not enabled: its annotation com.xing.deployment-restart is missing. Try: kubectl rollout restart -n shop deployment/web\n",
		"  job/nightly, 1 pod left: it runs until its Job ends\n",
		"  pod/debug, 1 pod left: it is a pod that no controller owns, so nobody replaces it. Try: kubectl delete -n shop pod/debug\n",
	} {
		if code != 2 || strings.Count(stdout, want) != 1 || stderr != "" {
			t.Errorf("%d, %s%s, want %q once", code, stdout, stderr, want)
		}
	}
}

// What is seen once may be about to change.
func TestAWaitGoesOnIfAWorkloadDoesNotStayAfterAll(t *testing.T) {
	s := waitScene(t, podOf("web-1", ofWeb, fromSecret, 90))
	s.onList = func(served int) {
		if served == 1 {
			s.objects[listPath] = readsSecret(deployments(enabled))
		}
	}
	s.onRead = func(path string) {
		if path == podsPath && s.reads[path] == 4 {
			s.objects[podsPath] = podsIn(podOf("web-2", ofWeb, fromSecret, 1))
		}
	}
	code, stdout, stderr := s.wait(t.Context(), "secret/db")
	if code != 0 || !strings.Contains(stdout, "deployment/web: 1 of 1 pod left: not enabled: its annotation com.xing.deployment-restart is missing\ndeployment/web: 1 of 1 pod left: unknown: ") || !strings.Contains(stdout, "Delivered: 1 pod reads it") {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
}

func TestAWaitSaysWhatChanges(t *testing.T) {
	s := waitScene(t, podOf("web-1", ofWeb, fromSecret, 90), podOf("job-1", ofJob, fromSecret, 90))
	s.onRead = func(path string) {
		if path == podsPath && s.reads[path] > 1 {
			s.objects[podsPath] = podsIn(podOf("web-2", ofWeb, fromSecret, 1), podOf("job-1", ofJob, fromSecret, 90))
		}
	}
	code, stdout, stderr := s.wait(t.Context(), "secret/db", "--timeout=2s")
	const want = `deployment/web: 1 of 1 pod left: not enabled: its annotation com.xing.deployment-restart is missing
job/nightly: 1 of 1 pod left: it runs until its Job ends
deployment/web: no pod is left
Not delivered within 2s: 1 of 2 pods may have read an earlier content of secret/db.
  job/nightly, 1 pod left: it runs until its Job ends
`
	if _, said, _ := strings.Cut(stdout, " by kubectl-edit\n"); code != 3 || said != want {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
}

func TestAWaitEndsAtItsTimeout(t *testing.T) {
	s := waitScene(t, podOf("web-1", ofWeb, fromSecret, 90))
	for _, arguments := range [][]string{{"--keep-waiting"}, {"--keep-waiting", "-o", "json"}} {
		code, stdout, stderr := s.wait(t.Context(), append([]string{"secret/db", "--timeout=1s"}, arguments...)...)
		if isJSON := len(arguments) > 1; code != 3 || isJSON != strings.Contains(stdout, `"verdict": "timeout"`) || isJSON == strings.Contains(stdout, "Not delivered within 1s: 1 of 1 pod may have read an earlier content of secret/db.\n") {
			t.Errorf("%d, %s%s", code, stdout, stderr)
		}
	}
}

func TestOnlyEnabledReadersCountIfAskedFor(t *testing.T) {
	s := waitScene(t, podOf("web-1", ofWeb, fromSecret, 90), podOf("debug", "", fromSecret, 90))
	if code, stdout, stderr := s.wait(t.Context(), "secret/db", "--enabled-only"); code != 0 || !strings.HasSuffix(stdout, "\nNo pod that the controller restarts reads secret/db.\n") {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
	s.objects[listPath] = readsSecret(deployments(enabled))
	if code, stdout, stderr := s.wait(t.Context(), "secret/db", "--enabled-only", "--timeout=1s"); code != 3 || strings.Contains(stdout, "debug") || !strings.Contains(stdout, "deployment/web, 1 pod left: ") {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
}

func TestAWaitIsOverIfTheConfigIsEditedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		arguments    []string
		code         int
		says, saysNo string
	}{
		"superseded":          {nil, 2, ", during the wait: what it waited for is not there any more. With --latest, it waits for what is\n", "o running pod"},
		"superseded, as JSON": {[]string{"-o", "json"}, 2, `"verdict": "superseded"`, "delivered"},
		"the latest":          {[]string{"--latest"}, 0, ", during the wait, which goes on with this content\n", "any more"},
	} {
		s := waitScene(t, podOf("web-1", ofWeb, fromSecret, 90))
		s.onRead = func(path string) {
			if path == podsPath && s.reads[path] == 1 {
				s.objects[secretPath] = editedSecret("c3dvcmRmaXNoLW90aGVy")
			} else if path == podsPath {
				s.objects[podsPath] = podsIn(podOf("web-2", ofWeb, fromSecret, 20))
			}
		}
		code, stdout, stderr := s.wait(t.Context(), append([]string{"secret/db"}, test.arguments...)...)
		if code != test.code || !strings.Contains(stdout, test.says) || strings.Contains(stdout, test.saysNo) {
			t.Errorf("%s: %d, %s%s", name, code, stdout, stderr)
		}
	}
}

// It may also be a content that came and went between two looks, and pods that started meanwhile may have read that.
func TestAWriteDuringTheWaitMakesEarlierPodsDoubtfulAlthoughTheContentIsTheSame(t *testing.T) {
	s := waitScene(t, podOf("web-1", ofWeb, fromSecret, 90))
	s.onRead = func(path string) {
		if path != podsPath {
			return
		}
		switch s.reads[path] {
		case 1:
			s.objects[secretPath] = written("Secret", "db", "{}", "c3dvcmRmaXNo", 10)
		case 2:
			s.objects[podsPath] = podsIn(podOf("web-2", ofWeb, fromSecret, 30)) // after the first date, and before the second one
		case 3:
			s.objects[podsPath] = podsIn(podOf("web-3", ofWeb, fromSecret, 1))
		}
	}
	const says = " by kubectl-edit, during the wait, with the same content: pods that started before may have read another one that came and went\n"
	code, stdout, stderr := s.wait(t.Context(), "secret/db", "--keep-waiting")
	if code != 0 || strings.Count(stdout, says) != 1 || s.reads[podsPath] != 3 {
		t.Errorf("%d after %d looks, %s%s", code, s.reads[podsPath], stdout, stderr)
	}
}

func TestWhatIsNotKnownIsNotDelivered(t *testing.T) {
	shared := written("Secret", "db", `{"com.xing.deployment-restart.readers":"office"}`, "c3dvcmRmaXNo", 60)
	before, _, _ := strings.Cut(editedSecret("c3dvcmRmaXNo"), `"managedFields"`)
	undated := before + `"resourceVersion":"3"},"data":{"swordfish-key":"c3dvcmRmaXNo"}}`
	for name, test := range map[string]struct {
		secret    string
		arguments []string
		code      int
		says      string
	}{
		"shared with other namespaces":            {shared, nil, 1, "Not known: no pod is left that is known to have read an earlier content, but secret/db is shared with other namespaces, of which only -A sees the readers\n"},
		"shared, and all namespaces are seen":     {shared, []string{"-A"}, 0, "Delivered: 1 pod reads it"},
		"no managedFields":                        {undated, nil, 1, "the managedFields of secret/db do not say when it was edited\n"},
		"no managedFields, however long it waits": {undated, []string{"--keep-waiting"}, 1, "Not delivered: 1 of 1 pod may have read an earlier content of secret/db.\n"},
	} {
		s := waitScene(t, podOf("web-1", ofWeb, fromSecret, 30))
		s.objects[secretPath], s.objects["/api/v1/pods"] = test.secret, s.objects[podsPath]
		code, stdout, stderr := s.wait(t.Context(), append([]string{"secret/db"}, test.arguments...)...)
		if code != test.code || !strings.Contains(stdout, test.says) || test.code != 0 && strings.Contains(stdout, "Delivered") {
			t.Errorf("%s: %d, %s%s, want %d and %q", name, code, stdout, stderr, test.code, test.says)
		}
		if code, stdout, _ := s.wait(t.Context(), append([]string{"secret/db", "-o", "json"}, test.arguments...)...); test.code == 1 && (code != 1 || !strings.Contains(stdout, `"verdict": "unknown"`)) {
			t.Errorf("%s: %d, %s", name, code, stdout)
		}
	}
}

func TestAWaitNeedsToSeeConfigsAndPods(t *testing.T) {
	for denied, want := range map[string]string{
		secretPath: "not allowed; you need permission to get what you wait for",
		podsPath:   "not allowed; you need permission to list the pods, without which nothing is known",
	} {
		s := waitScene(t, podOf("web-1", ofWeb, fromSecret, 30))
		s.denied = denied
		if code, stdout, stderr := s.wait(t.Context(), "secret/db"); code != 1 || !strings.Contains(stderr, want) || strings.Contains(stdout, "Delivered") {
			t.Errorf("%s: %d, %s%s", denied, code, stdout, stderr)
		}
	}
}

func TestWhoMayNotListWorkloadsDoesNotKnow(t *testing.T) {
	const note = "note: you may not list workloads, so it is not known which of them are not going to restart, nor which of them read it through the API\n"
	s := waitScene(t, podOf("web-1", ofWeb, fromSecret, 90))
	s.denied = listPath
	code, stdout, stderr := s.wait(t.Context(), "secret/db", "--timeout=3s")
	if code != 3 || strings.Count(stderr, note) != 1 || !strings.Contains(stdout, "  deployment/web, 1 pod left: whether it restarts is not known: you may not list the workloads\n") {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
	s.objects[podsPath] = podsIn(podOf("web-2", ofWeb, fromSecret, 30))
	if code, stdout, stderr := s.wait(t.Context(), "secret/db"); code != 1 || stderr != note || !strings.Contains(stdout, "Not known: ") {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
}

// A node goes on with an immutable config as long as one of its pods refers to it, also if another one has its name by now.
func TestAnImmutableConfigThatWasReplacedIsNotKnown(t *testing.T) {
	s := waitScene(t, podOf("web-1", ofWeb, fromSecret, 90))
	s.objects[secretPath] = strings.Replace(s.objects[secretPath], `"data":`, `"immutable":true,"data":`, 1)
	s.onRead = func(string) {
		if s.reads[podsPath] == 2 {
			s.objects[podsPath] = podsIn(podOf("web-2", ofWeb, fromSecret, 30))
		}
	}
	if code, stdout, stderr := s.wait(t.Context(), "secret/db", "--keep-waiting"); code != 1 || !strings.Contains(stdout, "secret/db is immutable and was replaced") {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := s.wait(t.Context(), "secret/db"); code != 0 {
		t.Errorf("without a pod from before: %d, %s%s", code, stdout, stderr)
	}
}

func TestAWaitForSeveralConfigs(t *testing.T) {
	s := waitScene(t, podOf("web-1", ofWeb, fromSecret, 30), podOf("web-2", ofWeb, fromSettings, 20))
	s.objects[settingPath] = written("ConfigMap", "settings", "{}", "info", 60)
	meta := func(name string) string {
		return `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[{"metadata":{"namespace":"shop","name":"` + name + `"}}]}`
	}
	s.objects["/api/v1/namespaces/shop/configmaps"], s.objects["/api/v1/namespaces/shop/secrets"] = meta("settings"), meta("db")
	file := filepath.Join(t.TempDir(), "configs.yaml")
	if err := os.WriteFile(file, []byte("{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}, {apiVersion: v1, kind: Secret, metadata: {name: db}}, {apiVersion: v1, kind: Service, metadata: {name: web}}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{{"cm/settings", "secret/db"}, {"-f", file}, {"-l", "app=web"}} {
		code, stdout, stderr := s.wait(t.Context(), arguments...)
		if code != 0 || !strings.Contains(stdout, "Delivered: 2 pods read them, and no running pod has read an earlier content of configmap/settings, secret/db.\n") || stderr != "" {
			t.Errorf("%v: %d, %s%s", arguments, code, stdout, stderr)
		}
	}
	s.objects[podsPath] = podsIn(podOf("web-1", ofWeb, fromSecret, 30), podOf("web-2", ofWeb, fromSettings, 90))
	if code, stdout, stderr := s.wait(t.Context(), "cm/settings", "secret/db", "--timeout=1s", "--keep-waiting"); code != 3 || !strings.Contains(stdout, "1 of 2 pods may have read") {
		t.Errorf("one is not delivered: %d, %s%s", code, stdout, stderr)
	}
	if code, _, stderr := s.wait(t.Context(), "-f", manifest(t, "a: b"), "-n", "office"); code != 1 || !strings.Contains(stderr, `"settings" not found`) {
		t.Errorf("a file of what is not there: %d, %s", code, stderr)
	}
}

func TestTheResultOfAWaitIsForProgramsToo(t *testing.T) {
	s := waitScene(t, podOf("web-1", ofWeb, fromSecret, 90), podOf("job-1", ofJob, fromSecret, 30))
	code, stdout, stderr := s.wait(t.Context(), "secret/db", "-o", "json")
	var result struct {
		Verdict    string
		Configs    []struct{ Namespace, Name, By string }
		Readers    []struct{ Namespace, Name, Verdict, Why, Remedy string }
		Pods, Left int
	}
	if err := json.Unmarshal([]byte(stdout), &result); err != nil || code != 2 || result.Verdict != "not delivered" || result.Pods != 2 || result.Left != 1 || len(result.Configs) != 1 || result.Configs[0].By != "kubectl-edit" ||
		len(result.Readers) != 2 || result.Readers[0].Verdict != "not delivered" || result.Readers[0].Remedy == "" || result.Readers[1].Verdict != "delivered" {
		t.Errorf("%d, %v, %s", code, err, stdout)
	}
	if !strings.Contains(stderr, "secret/db in shop was last edited at ") { // what people see of the progress
		t.Errorf("%s", stderr)
	}
	s.objects[podsPath] = podsIn()
	if code, stdout, stderr := s.wait(t.Context(), "secret/db", "-o", "yaml"); code != 0 || !strings.HasPrefix(stdout, "configs:\n- by: kubectl-edit\n") || !strings.HasSuffix(stdout, "\nreaders: []\nverdict: delivered\n") {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
}

// What the leader said before an edit says nothing about it, however long ago it is when the command looks at the pods.
func TestTheWordOfTheLeaderCountsOnceItHasSeenTheSecret(t *testing.T) {
	s := waitScene(t, podOf("web-1", ofWeb, fromSecret, 90))
	s.objects[secretPath] = strings.Replace(s.objects[secretPath], `"metadata":{`, `"metadata":{"resourceVersion":"9",`, 1)
	s.objects[listPath] = readsSecret(deployments(enabled))
	const known = `{"workload":"deployment/shop/web","state":"settled","resourceVersion":"7","decision":{"outcome":"keep"},"reads":{"total":1,"items":[{"config":"secret/shop/db","exists":true,"resourceVersion":%q}]}}`
	for name, test := range map[string]struct {
		first, then string // of the leader about the workload
		code        int
		says        string
	}{
		"it has seen the edit later":  {fmt.Sprintf(known, "8"), fmt.Sprintf(known, "9"), 0, "deployment/web: 1 of 1 pod left: nothing shows yet that it restarts\nDelivered: 1 pod reads it"},
		"it never sees the edit":      {fmt.Sprintf(known, "8"), fmt.Sprintf(known, "8"), 3, "  deployment/web, 1 pod left: nothing shows yet that it restarts\n"},
		"it knows no such workload":   {"", "", 2, "  deployment/web, 1 pod left: the leader does not watch it, or not what it reads. Try: kubectl rollout restart -n shop deployment/web\n"},
		"it speaks of something else": {strings.Replace(fmt.Sprintf(known, "9"), "/web", "/other", 1), "{}", 3, "  deployment/web, 1 pod left: nothing shows yet that it restarts\n"},
	} {
		asked := 0
		page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := `{"leads":true,"namespace":"shop"}`
			if r.URL.Path == "/workload/deployment/shop/web/status.json" {
				if asked++; asked == 1 {
					answer = test.first
				} else {
					answer = test.then
				}
			}
			if answer == "" {
				http.Error(w, `{"error":"no enabled workload"}`, http.StatusNotFound)
				return
			}
			_, _ = io.WriteString(w, answer)
		}))
		code, stdout, stderr := s.run(t.Context(), "wait", "secret/db", "--interval=1s", "--timeout=5s", "--status-url="+page.URL)
		page.Close()
		if code != test.code || !strings.Contains(stdout, test.says) || strings.Contains(stdout, "Delivered") != (code == 0) {
			t.Errorf("%s: %d, %s%s", name, code, stdout, stderr)
		}
	}
}

// How long nobody has led changes with each look.
func TestAWaitSaysOnceThatNobodyLeads(t *testing.T) {
	s := waitScene(t, podOf("web-1", ofWeb, fromSecret, 90))
	s.objects["/apis/coordination.k8s.io/v1/namespaces/deployment-restart-controller/leases/kubernetes-deployment-restart-controller"] = fmt.Sprintf(
		`{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"l"},"spec":{"holderIdentity":"","leaseDurationSeconds":15,"renewTime":%q}}`, time.Now().Add(-20*time.Second).UTC().Format("2006-01-02T15:04:05.000000Z"))
	code, stdout, stderr := s.run(t.Context(), "wait", "secret/db", "--interval=1s")
	if code != 2 || strings.Count(stderr, "leads, so nothing restarts") != 1 {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
}

func TestAWaitGoesOnIfARequestFails(t *testing.T) {
	s := waitScene(t, podOf("web-1", ofWeb, fromSecret, 90))
	s.onRead = func(path string) {
		switch s.reads[podsPath] {
		case 2:
			s.broken = podsPath
		case 3:
			s.broken, s.objects[podsPath] = "", podsIn()
		}
	}
	code, stdout, stderr := s.wait(t.Context(), "secret/db", "--keep-waiting")
	if code != 0 || !strings.Contains(stderr, "note: it goes on, although a request has failed: ") || s.reads[podsPath] != 3 {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
	s.onRead, s.broken = nil, podsPath
	if code, stdout, stderr := s.wait(t.Context(), "secret/db"); code != 1 || strings.Contains(stdout, "elivered") {
		t.Errorf("without any answer: %d, %s%s", code, stdout, stderr)
	}
}

func TestAWaitThatIsInterruptedIsNotDelivered(t *testing.T) {
	s := waitScene(t, podOf("web-1", ofWeb, fromSecret, 90))
	ctx, cancel := context.WithCancel(t.Context())
	s.onRead = func(path string) {
		if path == podsPath {
			cancel()
		}
	}
	if code, stdout, stderr := s.wait(ctx, "secret/db"); code != 1 || strings.Contains(stdout, "Delivered") {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
}

// However many pages the pods take.
func TestAWaitAsksAtMostFiveTimesASecond(t *testing.T) {
	s := waitScene(t)
	const pages, pageOfPods = 25, `{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"next"},"items":[]}`
	s.onRead = func(path string) {
		if path == podsPath {
			s.objects[path] = pageOfPods
			if s.reads[path] >= pages {
				s.objects[path] = podsIn()
			}
		}
	}
	began := time.Now()
	code, stdout, stderr := s.wait(t.Context(), "secret/db")
	requests := 0
	for _, reads := range s.reads {
		requests += reads
	}
	if took := time.Since(began); code != 0 || s.reads[podsPath] != pages || float64(requests) > 11+5*took.Seconds() {
		t.Errorf("%d, %d requests in %s, %s%s", code, requests, took, stdout, stderr)
	}
}

// A namespace may have any number of readers. Those that need a person are named first.
func TestAWaitNamesAFewOfVeryManyReaders(t *testing.T) {
	const jobs, bare = 60, 30
	var pods []string
	for i := range jobs {
		pods = append(pods, podOf(fmt.Sprintf("job-%d", i), strings.ReplaceAll(ofJob, "nightly", fmt.Sprintf("a-%d", i)), fromSecret, 90))
	}
	for i := range bare {
		pods = append(pods, podOf(fmt.Sprintf("debug-%d", i), "", fromSecret, 90))
	}
	s := waitScene(t, pods...)
	code, stdout, stderr := s.wait(t.Context(), "secret/db")
	meanwhile, result, _ := strings.Cut(stdout, "Not delivered: 90 of 90 pods may have read an earlier content of secret/db.\n")
	if code != 2 || strings.Count(meanwhile, " left: ") != 50 || !strings.HasSuffix(meanwhile, "\nand 40 further readers; 90 of 90 pods left\n") {
		t.Errorf("%d, it says during the wait\n%s%s", code, meanwhile, stderr)
	}
	if strings.Count(result, " left: ") != 50 || strings.Count(result, "  pod/debug-") != bare || !strings.HasSuffix(result, "\nand 40 further readers; -o json names them all\n") {
		t.Errorf("it ends with\n%s", result)
	}
}

// A look at many pods takes long.
func TestALookEndsAtTheTimeoutUnlessItIsTheFirst(t *testing.T) {
	s := waitScene(t, podOf("web-1", ofWeb, fromSecret, 90))
	s.onRead = func(path string) {
		if path == podsPath && s.reads[path] > 1 { // page after page, without an end
			s.objects[path] = `{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"next"},"items":[]}`
		}
	}
	code, stdout, stderr := s.wait(t.Context(), "secret/db", "--keep-waiting", "--timeout=4s")
	if code != 3 || !strings.Contains(stdout, "Not delivered within 4s: 1 of 1 pod may have read an earlier content of secret/db.\n") || s.reads[podsPath] < 3 || stderr != "" {
		t.Errorf("%d after %d pages, %s%s", code, s.reads[podsPath], stdout, stderr)
	}
}
