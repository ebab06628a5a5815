package command_test

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/command"
)

func TestAMistakeOnTheCommandLineIsNamedInOneLineWithWhatIsAccepted(t *testing.T) {
	for line, want := range map[string]string{
		"statsu":                    `error: unknown command "statsu" for "kubectl restarts"; did you mean status?`,
		"foo":                       `error: unknown command "foo" for "kubectl restarts"`,
		"status --no-headers=maybe": `error: --no-headers: "maybe" is not true or false`,
		"status --interval=5":       `error: --interval: "5" is not a duration such as 10s`,
		"status --nosuch":           `error: unknown flag: --nosuch`,
		"explain":                   `error: got 0 arguments; use kubectl restarts explain TYPE/NAME [flags]`,
		"hold deploy/web":           `error: got 1 argument; use kubectl restarts hold TYPE/NAME REASON [flags]`,
		"status -o xml":             `error: unknown output format "xml"; use one of json, yaml, wide`,
		"explain pod/web":           `error: "pod" is not a type of workload; use deployment/NAME, statefulset/NAME or daemonset/NAME, or RESOURCE.GROUP/NAME of a kind that --workload names`,
	} {
		var out, errors bytes.Buffer
		code := command.Run(t.Context(), "test", strings.Fields(line), genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errors})
		if got := strings.TrimSuffix(errors.String(), "\n"); got != want || code != 1 || out.Len() > 0 {
			t.Errorf("%s: exit code %d, %s\nwant %s\nstdout: %s", line, code, got, want, out.String())
		}
	}
}
