package test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"kubernetes-deployment-restart-controller/test/harness"
)

func TestAWrongCommandLineEndsWithOneLineAndExitCode2(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	for name, c := range map[string]struct {
		arguments []string
		// names is what the line must contain.
		names string
	}{
		"an unknown flag":                {[]string{"--no-such-flag"}, "no-such-flag"},
		"an argument":                    {[]string{"start"}, "start"},
		"a grace period that is text":    {[]string{"-r", "soon"}, "restart-grace-period"},
		"a negative grace period":        {[]string{"--restart-grace-period=-1"}, "restart-grace-period"},
		"a check period of 0":            {[]string{"-c", "0"}, "restart-check-period"},
		"a check period that is text":    {[]string{"-c", "often"}, "restart-check-period"},
		"no level of verbosity":          {[]string{"-v", "loud"}, "verbose"},
		"an unknown log format":          {[]string{"--log-format", "xml"}, "log-format"},
		"an address without a port":      {[]string{"--listen-address", "localhost"}, "listen-address"},
		"no name of a namespace":         {[]string{"--namespace", "No Such"}, "namespace"},
		"a rate of 0":                    {[]string{"--kube-api-qps", "0"}, "kube-api-qps"},
		"a burst that is text":           {[]string{"--kube-api-burst", "all"}, "kube-api-burst"},
		"a lease shorter than a renewal": {[]string{"--leader-elect", "--leader-elect-lease-duration", "1s"}, "leader-elect-lease-duration"},
		"an engine between on and off":   {[]string{"--deployment-engine", "maybe"}, "deployment-engine"},
		"an engine in a dry run":         {[]string{"--deployment-engine=on", "--dry-run"}, "--dry-run"},
		"an engine without a namespace":  {[]string{"--deployment-engine=on"}, "--controller-namespace"},
		"an engine without workers":      {[]string{"--deployment-engine=on", "--deployment-workers=0"}, "deployment-workers"},
		"no duration":                    {[]string{"--leader-elect-retry-period", "two"}, "leader-elect-retry-period"},
		"a kubeconfig that is not there": {[]string{"--kubeconfig", "/no/such/file"}, "/no/such/file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arguments := append([]string{"--listen-address", "127.0.0.1:0"}, c.arguments...)
			code, stdout, stderr, err := harness.RunController(t.Context(), arguments...)
			if err != nil {
				t.Fatal(err)
			}
			if lines := strings.Count(stderr, "\n"); code != 2 || lines != 1 || stdout != "" {
				t.Errorf("exit code %d, %d lines on stderr, stdout %q; want 2, one, nothing; stderr:\n%s", code, lines, stdout, stderr)
			}
			if !strings.Contains(stderr, c.names) {
				t.Errorf("the line does not name %q: %s", c.names, stderr)
			}
		})
	}
}

func TestEachFlagHasItsEnvironmentVariable(t *testing.T) {
	skipIfShort(t)
	for variable, value := range map[string]string{
		"RESTART_CHECK_PERIOD": "often", "RESTART_GRACE_PERIOD": "soon", "VERBOSE": "loud",
		"KUBECONFIG": "/no/such/file", "WATCH_NAMESPACES": "good,No Such", "LISTEN_ADDRESS": "localhost", "LOG_FORMAT": "xml",
		"KUBE_API_QPS": "fast", "KUBE_API_BURST": "all",
		"DEPLOYMENT_ENGINE": "maybe", "DEPLOYMENT_WORKERS": "many",
		"LEADER_ELECT_LEASE_DURATION": "long", "LEADER_ELECT_RENEW_DEADLINE": "long", "LEADER_ELECT_RETRY_PERIOD": "long",
	} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, value)
			code, _, stderr, err := harness.RunController(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if code != 2 || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit code %d, want 2 and one line: %s", code, stderr)
			}
		})
	}
}

func TestHelpAndVersionGoToStdout(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	for _, c := range []struct {
		flag string
		says *regexp.Regexp
	}{
		{"--help", regexp.MustCompile(`(?s)Usage:.*RESTART_GRACE_PERIOD.*LEADER_ELECT_RETRY_PERIOD`)},
		{"-h", regexp.MustCompile(`Usage:`)},
		{"--version", regexp.MustCompile(`\d+\.\d+\.\d+`)},
	} {
		code, stdout, stderr, err := harness.RunController(t.Context(), c.flag)
		if err != nil {
			t.Fatal(err)
		}
		if code != 0 || stderr != "" || !c.says.MatchString(stdout) {
			t.Errorf("%s: exit code %d, stderr %q, stdout:\n%s", c.flag, code, stderr, stdout)
		}
	}
}

func TestAProcessThatIsAskedToStopFinishesAndExitsWith0(t *testing.T) {
	s := newSceneApart(t)
	controller := s.startController()
	s.settle()
	s.must(controller.Stop()) // an exit code other than 0 is an error
	if lines := controller.Log().Containing("level=ERROR"); len(lines) != 0 {
		t.Errorf("errors in the log: %q", lines)
	}
}

func TestTheLogIsJSONIfAskedFor(t *testing.T) {
	s := newSceneApart(t)
	controller := s.startController("--log-format", "json", "-v", "4")
	s.settle()
	for _, line := range controller.Log().Lines() {
		var record struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.Level == "" || record.Msg == "" {
			t.Errorf("not a JSON record: %s (%v)", line, err)
		}
	}
	var restarted bool
	for _, line := range controller.Log().Containing(`"msg":"restarted"`, `"workload":"deployment/`+s.namespace+`/marker"`) {
		restarted = restarted || strings.Contains(line, `"reason":`)
	}
	if !restarted {
		t.Errorf("no record of the restart with its reason:\n%s", controller.Log())
	}
}

func TestTheHTTPServerReportsHealthAndReadiness(t *testing.T) {
	s := newScene(t)
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/nothing": 404} {
		status, body, err := s.controller.Get(t.Context(), path)
		s.must(err)
		if status != want {
			t.Errorf("%s answers %d, want %d: %s", path, status, want, body)
		}
	}
	response, err := http.Post("http://"+s.controller.Address()+"/healthz", "text/plain", strings.NewReader("x"))
	s.must(err)
	s.must(response.Body.Close())
	if response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST /healthz answers %d", response.StatusCode)
	}
	_, ready, err := s.controller.Get(t.Context(), "/readyz")
	s.must(err)
	for _, resource := range []string{"configmaps", "secrets", "deployments", "statefulsets", "daemonsets"} {
		if !strings.Contains(ready, resource) {
			t.Errorf("/readyz has no detail of %s:\n%s", resource, ready)
		}
	}
}
