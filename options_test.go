package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/optin"
)

func TestWrongCommandLinesAreOneLineAndExitCode2(t *testing.T) {
	for _, test := range []struct{ args, message string }{
		{"--restart-check-period=0", "--restart-check-period must be at least 1ms, not 0s"},
		{"-c often", "--restart-check-period: \"often\" is not a duration such as 90s, 2m or 1h30m, or a number of milliseconds"},
		{"--restart-grace-period=-1", "--restart-grace-period must not be negative, but is -1s"},
		{"--restart-grace-period=soon", "--restart-grace-period: \"soon\" is not a duration such as 90s, 2m or 1h30m, or a number of seconds"},
		{"--restart-backoff-limit=-1s", "--restart-backoff-limit must not be negative"},
		{"--leader-elect=maybe", "--leader-elect: \"maybe\" is not true or false"},
		{"--fan-out-limit=many", "--fan-out-limit: \"many\" is not a whole number"},
		{"--kube-api-qps=fast", "--kube-api-qps: \"fast\" is not a number"},
		{"--leader-elect-retry-period=2x", "--leader-elect-retry-period: \"2x\" is not a duration"},
		{"--restart-backoff-limit=1000000h", "--restart-backoff-limit must be at most 24h0m0s, not 1000000h0m0s"},
		{"--restart-soak=-1s", "--restart-soak must not be negative"},
		{"--restart-deadline=0", "--restart-deadline must be more than 0"},
		{"--restart-deadline=25h", "at most 24h0m0s"},
		{"--verbose=-1", "--verbose must not be negative"},
		{"--listen-address=10254", "--listen-address must be host:port"},
		{"--listen-address=:99999", "--listen-address must be host:port"},
		{"--status-address=127.0.0.1", "--status-address must be host:port"},
		{"--status-address=0.0.0.0:10255", "--status-address must be a loopback address"},
		{"--status-address=:10255", "--status-address must be a loopback address"},
		{"--status-address=10.1.2.3:10255", "--status-address must be a loopback address"},
		{"--status-address=page.example:10255", "--status-address must be a loopback address"},
		{"--namespace=Not_A_Name", "--namespace \"Not_A_Name\" cannot be the name of a namespace"},
		{"--log-format=xml", "log-format"},
		{"--namespace-selector=(", "--namespace-selector \"(\" is not a label selector such as restarts=enabled or tier in (web, api)"},
		{"--ignore-namespace=preview-[z-a]", "--ignore-namespace \"preview-[z-a]\" can match no namespace"},
		{"--ignore-namespace=[a", "--ignore-namespace \"[a\" can match no namespace"},
		{"--ignore-namespace=", "--ignore-namespace: \"\" is not a list such as a,b"},
		{"--ignore-namespace=payments,Grafana", "--ignore-namespace \"Grafana\" can match no namespace; write names or patterns such as preview-*"},
		{"--ignore-namespace=" + strings.Repeat("a", 64), "can match no namespace"},
		{"--ignore-namespace=a;b", "--ignore-namespace \"a;b\" can match no namespace"},
		{"--namespace=,", "--namespace: \",\" is not a list"},
		{"--namespace=a,B", "--namespace \"B\" cannot be the name of a namespace"},
		{"--leader-elect-lease-name=Not_A_Name", "--leader-elect-lease-name \"Not_A_Name\" cannot be the name of an object"},
		{"--understand=wave,helm", "--understand \"helm\" is not a tool whose annotations can count; write reloader or wave"},
		{"--workload=rollouts", "--workload: \"rollouts\" is not a kind of workload; write RESOURCE.VERSION.GROUP"},
		{"--workload=gadgets.v1.example.com=template", "--workload: \"gadgets.v1.example.com=template\": \"template\" is not the path of a pod template"},
		{"--workload=cronjobs.v1.batch", "--workload: cronjobs.batch need no restart"},
		{"--workload=a.v1.b --workload=a.v2.b", "--workload: a.b is there twice"},
		{"--kube-api-qps=0", "--kube-api-qps must be more than 0"},
		{"--kube-api-qps=NaN", "--kube-api-qps must be more than 0"},
		{"--kube-api-qps=+Inf", "--kube-api-qps must be more than 0"},
		{"-r 9223372037", "--restart-grace-period: \"9223372037\" is not a duration"},
		{"-r 86401", "--restart-grace-period must be at most 24h0m0s, not 24h0m1s"},
		{"-c 9223372036855", "--restart-check-period: \"9223372036855\" is not a duration"},
		{"--kube-api-burst=0", "--kube-api-burst must be at least 1"},
		{"--deployment-engine=maybe", "deployment-engine"},
		{"--deployment-engine", "deployment-engine"},
		{"--deployment-engine=on --dry-run", "--dry-run writes nothing to workloads, so it excludes --deployment-engine=on"},
		{"--deployment-engine=standby --dry-run", "--dry-run writes nothing to workloads, so it excludes --deployment-engine=standby"},
		{"--deployment-engine=on", "--deployment-engine=on needs --controller-namespace outside a cluster"},
		{"--deployment-engine=standby", "--deployment-engine=standby needs --controller-namespace outside a cluster"},
		{"--deployment-workers=0", "--deployment-workers must be at least 1"},
		{"--deployment-workers=many", "deployment-workers"},
		{"--leader-elect --leader-elect-lease-duration=5s", "--leader-elect-lease-duration (5s) must be more"},
		{"--leader-elect --leader-elect-renew-deadline=2s", "--leader-elect-renew-deadline (2s) must be more"},
		{"--leader-elect --leader-elect-retry-period=0s", "--leader-elect-retry-period must be more than 0"},
		{"--leader-elect --leader-elect-lease-name=", "--leader-elect-lease-name \"\" cannot be the name of an object"},
		{"--leader-elect", "--leader-elect needs --controller-namespace outside a cluster"},
		{"--controller-namespace=Not_A_Name", "--controller-namespace \"Not_A_Name\" cannot be the name of a namespace"},
		{"--configs=none", "configs"},
		{"--checksum-key-secret=Not_A_Name", "--checksum-key-secret \"Not_A_Name\" cannot be the name of an object"},
		{"--halts-config-map=Not_A_Name", "--halts-config-map \"Not_A_Name\" cannot be the name of an object"},
		{"--fan-out=slowly", "fan-out"},
		{"--fan-out-limit=0", "--fan-out-limit must be at least 1"},
		{"--fan-out-failures=-1", "--fan-out-failures must not be negative"},
		{"--fan-out-group=configmap/ns/ca-bundle", "--fan-out-group: \"configmap/ns/ca-bundle\" does not name ConfigMaps in all namespaces"},
		{"--fan-out-group=secret/*/tls", "--fan-out-group: \"secret/*/tls\" does not name ConfigMaps"},
		{"--restart-window=sometimes", "--restart-window: window \"sometimes\""},
		{"--kubeconfig=/does/not/exist", "--kubeconfig or KUBECONFIG, which is \"/does/not/exist\""},
		{"--context=nowhere --kubeconfig=/dev/null", "nowhere"},
		{"--no-such-flag", "unknown flag"},
		{"serve", "unexpected argument \"serve\""},
	} {
		t.Run(test.args, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(context.Background(), strings.Fields(test.args), &stdout, &stderr)
			if code != 2 || stdout.Len() > 0 {
				t.Errorf("exit code %d, stdout %q", code, stdout.String())
			}
			if got := stderr.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, test.message) {
				t.Errorf("got %q, want one line with %q", got, test.message)
			}
		})
	}
}

func TestOptionsComeFromTheEnvironmentUnlessGiven(t *testing.T) {
	t.Setenv("RESTART_GRACE_PERIOD", "7")
	t.Setenv("RESTART_CHECK_PERIOD", "100")
	t.Setenv("IGNORED_ERRORS", "first one;second .*")
	t.Setenv("WATCH_NAMESPACES", "b,a,b")
	t.Setenv("VERBOSE", "1")
	t.Setenv("LEADER_ELECT_RETRY_PERIOD", "3s")
	t.Setenv("DEPLOYMENT_ENGINE", "on")
	t.Setenv("DEPLOYMENT_WORKERS", "3")
	t.Setenv("CONTROLLER_NAMESPACE", "own")
	t.Setenv("UNDERSTAND", "wave,reloader,wave")
	o, err := parseOptions([]string{"-c", "200"})
	if err != nil {
		t.Fatal(err)
	}
	if o.RestartGracePeriod.Seconds() != 7 || o.RestartCheckPeriod.Milliseconds() != 200 || o.Verbose != 1 || o.LeaderElectRetryPeriod.Seconds() != 3 {
		t.Errorf("got %+v", o)
	}
	if got := strings.Join(o.Namespaces, " "); got != "a b" {
		t.Errorf("namespaces: %s", got)
	}
	if got := o.optIns().Dialects; !slices.Equal(got, []optin.Dialect{optin.Reloader, optin.Wave}) {
		t.Errorf("understood: %v", got)
	}
	if !o.drivesDeployments() || o.DeploymentWorkers != 3 {
		t.Errorf("deployment engine: %s with %d workers", o.DeploymentEngine, o.DeploymentWorkers)
	}
	if got := strings.Join(o.IgnoredErrors, "|"); got != "first one|second .*" {
		t.Errorf("texts of ignored errors: %s", got)
	}
}

func TestListsOfNamesAreSplitAlikeEverywhere(t *testing.T) {
	const names = " b , a"
	t.Setenv("WATCH_NAMESPACES", names)
	t.Setenv("IGNORE_NAMESPACES", names)
	t.Setenv("UNDERSTAND", " wave , reloader")
	fromEnvironment, err := parseOptions([]string{"--fan-out-group=configmap/*/a, configmap/*/b", "--workload=a.v1.b, c.v1.d"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"WATCH_NAMESPACES", "IGNORE_NAMESPACES", "UNDERSTAND"} {
		t.Setenv(name, "")
	}
	t.Setenv("FAN_OUT_GROUPS", "configmap/*/a ,configmap/*/b")
	t.Setenv("WORKLOADS", "a.v1.b ,c.v1.d,")
	fromFlags, err := parseOptions([]string{"--namespace=" + names, "--ignore-namespace=b", "--ignore-namespace", "a", "--understand=wave,reloader"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []*options{fromEnvironment, fromFlags} {
		if got := fmt.Sprint(o.Namespaces, o.IgnoredNamespaces, o.dialects(), len(o.groups), len(o.workloads)); got != "[a b] [b a] [reloader wave] 2 2" {
			t.Errorf("got %s", got)
		}
	}
}

func TestPatternsThatCanMatchANamespaceAreAccepted(t *testing.T) {
	for _, pattern := range []string{"grafana", "preview-*", "*", "team-[a-f]", "team-[^x]?", "a1"} {
		if o, err := parseOptions([]string{"--ignore-namespace=" + pattern}); err != nil || !slices.Equal(o.IgnoredNamespaces, list{pattern}) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

func TestDurationsAndSwitchesAreReadAsPeopleWriteThem(t *testing.T) {
	for arg, want := range map[string]string{"-r 10": "10s", "--restart-grace-period=10s": "10s", "-r 2m": "2m0s", "-r 010": "10s"} {
		if o, err := parseOptions(strings.Fields(arg)); err != nil || o.RestartGracePeriod.String() != want {
			t.Errorf("%s: %v", arg, err)
		}
	}
	o, err := parseOptions([]string{"-c", "1s", "--restart-backoff-limit=600", "--restart-soak=20", "--restart-deadline=60", "--fan-out-limit=010", "--dry-run=false", "--csi=true", "--evict"})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(o.RestartCheckPeriod, o.RestartBackoffLimit, o.RestartSoak, o.RestartDeadline, o.FanOutLimit, o.DryRun, o.CSI, o.Evict); got != "1s 10m0s 20s 1m0s 10 false true true" {
		t.Errorf("got %s", got)
	}
	t.Setenv("LEADER_ELECT", "true")
	if o, err := parseOptions([]string{"--leader-elect=false"}); err != nil || o.LeaderElect {
		t.Errorf("a flag does not turn off what the environment turns on: %v", err)
	}
}

// Version 1.3.0 took any text, and looked for it as it is.
func TestAnyTextCanBeAnIgnoredError(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(
			rapid.SampledFrom([]string{"", "[", "a(b", "*", `\`, "a{2,1}", "(?P<", "\xff", " "}),
			rapid.StringMatching(`[^"\x00][^\x00]*`), // the library of the flags takes quotes away, as it did
		).Draw(rt, "text")
		o, err := parseOptions([]string{"--ignored-errors=" + text})
		if err != nil {
			rt.Fatalf("%q as a flag: %v", text, err)
		}
		var want []string // an empty text is left out: it would match every error
		if text != "" {
			want = []string{text}
		}
		if !slices.Equal(o.IgnoredErrors, want) {
			rt.Errorf("%q as a flag: got %q", text, o.IgnoredErrors)
		}
		t.Setenv("IGNORED_ERRORS", text+";;more")
		o, err = parseOptions(nil)
		if err != nil {
			rt.Fatalf("%q in the environment: %v", text, err)
		}
		want = slices.DeleteFunc(strings.Split(text+";more", ";"), func(part string) bool { return part == "" })
		if !slices.Equal(o.IgnoredErrors, want) {
			rt.Errorf("%q in the environment: got %q", text, o.IgnoredErrors)
		}
	})
}

func TestADryRunNeedsNoLease(t *testing.T) {
	o, err := parseOptions([]string{"--dry-run", "--leader-elect"})
	if err != nil {
		t.Fatal(err)
	}
	if o.elects() {
		t.Error("it takes part in the election")
	}
	if permissions := neededPermissions(o, nil); len(permissions) > 0 {
		t.Errorf("it needs %v", permissions)
	}
}

func TestTheDefaultsAreThoseOfTheOriginal(t *testing.T) {
	o, err := parseOptions(nil)
	if err != nil {
		t.Fatal(err)
	}
	if o.RestartCheckPeriod.Milliseconds() != 500 || o.RestartGracePeriod.Seconds() != 5 || o.ListenAddress != "0.0.0.0:10254" || o.LeaderElect || o.DryRun {
		t.Errorf("got %+v", o)
	}
}

func TestDeploymentsAreDrivenOnlyIfAskedFor(t *testing.T) {
	for args, want := range map[string]bool{
		"": false, "--deployment-engine=off": false,
		"--deployment-engine=on --controller-namespace=own": true, "--deployment-engine=standby --controller-namespace=own": true,
		"--deployment-engine=off --dry-run": false, "--deployment-workers=3": false,
	} {
		o, err := parseOptions(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		if got := o.drivesDeployments(); got != want {
			t.Errorf("%q: drives Deployments: %t, want %t", args, got, want)
		}
	}
}

func TestHelpAndVersionGoToStandardOutput(t *testing.T) {
	for arg, want := range map[string]string{
		"--help":    "Usage:",
		"-h":        "[$RESTART_GRACE_PERIOD]",
		"--version": programName + " " + version,
	} {
		var stdout, stderr bytes.Buffer
		if code := run(context.Background(), []string{arg}, &stdout, &stderr); code != 0 || stderr.Len() > 0 {
			t.Errorf("%s: exit code %d, stderr %q", arg, code, stderr.String())
		}
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%s: got %q", arg, stdout.String())
		}
	}
}

func TestAnEmptyVariableCountsAsUnset(t *testing.T) {
	for _, name := range []string{"DRY_RUN", "EXIT_ON_ERROR", "LEADER_ELECT", "RESTART_GRACE_PERIOD", "WATCH_NAMESPACES", "DEPLOYMENT_ENGINE", "LOG_FORMAT"} {
		t.Setenv(name, "")
	}
	o, err := parseOptions(nil)
	if err != nil {
		t.Fatal(err)
	}
	if o.DryRun || o.ExitOnError || o.LeaderElect || o.RestartGracePeriod.Seconds() != 5 || len(o.Namespaces) > 0 || o.drivesDeployments() || o.LogFormat != "text" {
		t.Errorf("got %+v", o)
	}
}
