package command_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/command"
)

func TestAMistakeOnTheCommandLineIsNamedInOneLineWithWhatIsAccepted(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for line, want := range map[string]string{
		"statsu":                              `error: unknown command "statsu" for "kubectl restarts"; did you mean status?`,
		"foo":                                 `error: unknown command "foo" for "kubectl restarts"`,
		"status --no-headers=maybe":           `error: --no-headers: "maybe" is not true or false`,
		"status --interval=x":                 `error: --interval: "x" is not a duration such as 90s, 2m or 1h30m, or a number of seconds`,
		"status --interval=0":                 `error: --interval must be at least 1s, not 0s`,
		"status --status-port=x":              `error: --status-port: "x" is not the number of a port`,
		"status --request-timeout=x":          `error: --request-timeout: "x" is not a duration such as 10s, or a number of seconds`,
		"status --controller-namespace=A_b":   `error: --controller-namespace: "A_b" cannot be the name of a namespace`,
		"status --halts-config-map=A_b":       `error: --halts-config-map: "A_b" cannot be the name of an object`,
		"status --lease=":                     `error: --lease: "" cannot be the name of an object`,
		"status --workload=,":                 `error: --workload: "," is not a list such as a,b`,
		"status --workload=rollouts":          `error: --workload: "rollouts" is not a kind of workload; write RESOURCE.VERSION.GROUP or RESOURCE.VERSION.GROUP=PATH, such as rollouts.v1alpha1.argoproj.io`,
		"impact cm/a --key=":                  `error: --key: "" is not a list such as a,b`,
		"impact cm/a --key=a,b/c":             `error: --key: "b/c" cannot be a key; keys have letters, digits, '-', '_' and '.'`,
		"hold deploy/web why --dry-run=yes":   `error: --dry-run: "yes" is not none, server or client`,
		"status --server=127.0.0.1:1":         `error: cannot reach the API server 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused; check --kubeconfig, --context and --server`,
		"status --nosuch":                     `error: unknown flag: --nosuch`,
		"explain":                             `error: got 0 arguments; use kubectl restarts explain TYPE/NAME [flags]`,
		"hold deploy/web":                     `error: got 1 argument; use kubectl restarts hold (TYPE/NAME | --all-workloads) REASON [flags]`,
		"hold --all-workloads":                `error: got 0 arguments; use kubectl restarts hold (TYPE/NAME | --all-workloads) REASON [flags]`,
		"unhold --all-workloads deploy/web":   `error: got 1 argument; use kubectl restarts unhold (TYPE/NAME | --all-workloads) [flags]`,
		"hold --all-workloads deploy/web why": `error: give either --all-workloads or deploy/web, not both`,
		"hold --all-workloads -n shop why":    `error: --all-workloads is about the workloads of all namespaces; leave out --namespace`,
		"status -o xml":                       `error: --output: "xml" is not json, yaml or wide`,
		"explain pod/web":                     `error: "pod" is not a type of workload; use deployment/NAME, statefulset/NAME or daemonset/NAME, or RESOURCE.GROUP/NAME of a kind that --workload names`,
	} {
		var out, errors bytes.Buffer
		code := command.Run(t.Context(), "test", strings.Fields(line), genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errors})
		if got := strings.TrimSuffix(errors.String(), "\n"); got != want || code != 1 || out.Len() > 0 {
			t.Errorf("%s: exit code %d, %s\nwant %s\nstdout: %s", line, code, got, want, out.String())
		}
	}
}

func TestListsAndDurationsAreReadAsTheControllerReadsItsFlags(t *testing.T) {
	s := newServer(t)
	s.objects[listPath], s.objects[settingPath] = deployments(enabled), settings
	const rollouts, sets = "rollouts.v1alpha1.argoproj.io", "clonesets.v1alpha1.apps.kruise.io"
	for _, arguments := range [][]string{
		{"status", "--leader=false", "--interval=10"}, {"status", "--leader=false", "--interval=1m30s"},
		{"impact", "cm/settings", "--key=LEVEL , OTHER"}, {"impact", "cm/settings", "--key=LEVEL", "--key=OTHER"},
		{"impact", "cm/settings", "--workload", rollouts + ", " + sets}, {"impact", "cm/settings", "--workload", rollouts, "--workload", sets},
	} {
		code, stdout, stderr := s.run(t.Context(), arguments...)
		if code != 0 || arguments[0] == "impact" && !strings.Contains(stdout, "1 workload, 2 pods would restart.") {
			t.Errorf("%q: exit code %d, %s%s", arguments, code, stdout, stderr)
		}
		if hasTwoKeys := strings.Contains(arguments[2], "--key"); strings.Contains(stderr, "configmap/settings has no key OTHER: it counts as added") != hasTwoKeys || strings.Contains(stderr, "no key LEVEL") {
			t.Errorf("%q: %s", arguments, stderr)
		}
	}
}

func TestWhatIsMissingOrForbiddenIsNamedWithItsNamespace(t *testing.T) {
	for line, want := range map[string]string{
		"explain deploy/web":              `"web" not found in namespace shop`,
		"hold cm/settings why":            `"settings" not found in namespace shop`,
		"status --leader=false":           "note: there is no namespace shop",
		"status --leader=false denied":    "not allowed; you need permission to list workloads there",
		"status --leader=false -A denied": "without permission to list the workloads of the whole cluster, leave out -A",
	} {
		s := newServer(t)
		if line, isDenied := strings.CutSuffix(line, " denied"); isDenied {
			s.denied = map[bool]string{true: "/apis/apps/v1/deployments", false: listPath}[strings.HasSuffix(line, "-A")]
		}
		_, stdout, stderr := s.run(t.Context(), strings.Fields(strings.TrimSuffix(line, " denied"))...)
		if !strings.Contains(stderr, want) {
			t.Errorf("%s: %s%s, want %s", line, stdout, stderr, want)
		}
	}
	s := newServer(t)
	s.objects["/api/v1/namespaces/shop"] = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"shop"}}`
	if _, stdout, stderr := s.run(t.Context(), "status", "--leader=false"); strings.Contains(stderr, "no namespace") || !strings.Contains(stdout, "No workload is enabled in shop.") {
		t.Errorf("%s%s", stdout, stderr)
	}
}
