package chart

import (
	"slices"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"
)

// What the controller would refuse at its start, in a pod that crashes again and again, the chart refuses before.
func TestTheChartSaysWhatIsWrongWithAFlag(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ flag, want string }{
		{"verbose", `extraFlags: "verbose" is no flag: it must begin with two dashes, as --restart-grace-period=10s does`},
		{"--restart-grace=10", "extraFlags: the controller has no flag --restart-grace: docs/flags.md lists the flags"},
		{"--Verbose=1", "extraFlags: the controller has no flag --Verbose: docs/flags.md"},
		{"-x=1", "extraFlags: the controller has no flag -x: docs/flags.md"},
		{"--help", "extraFlags: the controller has no flag --help: docs/flags.md"},
		{"--restart-grace-period 10", "extraFlags: the controller has no flag --restart-grace-period 10: write the value after an =, as in"},
		{"--restart-grace-period", "extraFlags: --restart-grace-period needs a value after an =, as in"},
		{"-v", "extraFlags: -v needs a value after an =, as in"},
		{"--restart-grace-period=soon", `extraFlags: --restart-grace-period: "soon" is not a duration such as 90s, 2m or 1h30m, or a number of seconds`},
		{"--restart-check-period=1d", `extraFlags: --restart-check-period: "1d" is not a duration such as 90s, 2m or 1h30m, or a number of milliseconds`},
		{"-r=soon", `extraFlags: -r: "soon" is not a duration`},
		{"--restart-soak=25h", "extraFlags: --restart-soak must be at most 24h, not 25h"},
		{"--restart-soak=-1s", "extraFlags: --restart-soak must not be negative, but is -1s"},
		{"--restart-deadline=0", "extraFlags: --restart-deadline must be more than 0"},
		{"--restart-check-period=0", "extraFlags: --restart-check-period must be at least 1ms, not 0"},
		{"--verbose=all", `extraFlags: --verbose: "all" is not a whole number`},
		{"--deployment-workers=0", "extraFlags: --deployment-workers must be at least 1, not 0"},
		{"--kube-api-qps=many", `extraFlags: --kube-api-qps: "many" is not a number`},
		{"--kube-api-qps=0", "extraFlags: --kube-api-qps must be more than 0 and at most 2147483647, not 0"},
		{"--exit-on-error=yes", `extraFlags: --exit-on-error: "yes" is not true or false`},
		{"--ignored-errors=\"a", `extraFlags: --ignored-errors: "a has a quotation mark at its beginning only`},
		{"--leader-elect-renew-deadline=2s", "--leader-elect-renew-deadline must be more than 1.2 times --leader-elect-retry-period"},
		{"--leader-elect-lease-duration=10s", "--leader-elect-lease-duration must be more than --leader-elect-renew-deadline"},
		{"--leader-elect-lease-name=other", "extraFlags must not contain --leader-elect-lease-name: the controller has permissions only for"},
		{"--version", "extraFlags must not contain --version: the controller would print its version and exit"},
	} {
		t.Run(test.flag, func(t *testing.T) {
			t.Parallel()
			if _, err := template(t, values{"extraFlags": []string{test.flag}}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v does not say %q", err, test.want)
			}
		})
	}
}

func TestTheChartSaysWhatIsWrongWithAVariable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, value, want string }{
		{"RESTART_GRACE_PERIOD", "soon", `extraEnv: RESTART_GRACE_PERIOD: "soon" is not a duration`},
		{"RESTART_SOAK", `"5s"`, `extraEnv: RESTART_SOAK: "\"5s\"" is not a duration`},
		{"IGNORED_ERRORS", `"a`, ""},
		{"VERBOSE", "-1", "extraEnv: VERBOSE must be at least 0, not -1"},
		{"LEADER_ELECT_LEASE_DURATION", "5s", "--leader-elect-lease-duration must be more than --leader-elect-renew-deadline"},
		{"DRY_RUN", "true", "extraEnv must not contain DRY_RUN: set the value dryRun instead"},
		{"LISTEN_ADDRESS", ":8080", "extraEnv must not contain LISTEN_ADDRESS=:8080: probes and Prometheus use port 10254"},
		{"HALTS_CONFIG_MAP", "other", "extraEnv must not contain HALTS_CONFIG_MAP: the controller has permissions only for"},
		{"RESTART_GRACE_PERIOD", "", ""}, // counts as not set
		{"RESTART_GRACE_PERIOD", "90", ""},
		{"RESTART", "soon", ""}, // another program's
	} {
		t.Run(test.name+"="+test.value, func(t *testing.T) {
			t.Parallel()
			_, err := template(t, values{"extraEnv": []values{{"name": test.name, "value": test.value}}})
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v does not say %q", err, test.want)
			}
		})
	}
}

// textsOfTypes are texts with which the controller accepts a flag of a type, or does not: it decides.
var textsOfTypes = map[string][]string{
	"switch":       {"", "=", "=true", "=F", "=yes", "=2", "=tRUE"},
	"integer":      {"", "=", "=1", "=+007", "=0", "=-1", "=1.5", "=1_0", "= 1", "=\"3\""},
	"number":       {"=", "=1", "=.5", "=5.", "=1e3", "=0", "=3e9", "=inf", "=."},
	"seconds":      {"", "=", "=12", "= 13s ", "=.2m", "=0", "=-1s", "=-", "=1h30", "=1d", "=24h", "=24h1ns", "=9999999h", "=\"12\""},
	"milliseconds": {"=", "=5", "=1", "=0.5", "=999us", "=1000µs", "=24h", "=86400001", "=soon"},
	"text":         {"", "=", "=a", "=\"a\"", "=\"a"},
}

func TestTheChartAcceptsTheFlagsThatTheControllerAccepts(t *testing.T) {
	t.Parallel()
	var flags map[string]struct{ Type, Short string }
	if err := sigsyaml.Unmarshal(chartFile(t, "files/flags.yaml"), &flags); err != nil {
		t.Fatal(err)
	}
	tried := map[string]int{}
	for name, flag := range flags {
		for _, text := range textsOfTypes[flag.Type] {
			arguments := []string{"--" + name + text}
			if flag.Short != "" && text != "" {
				arguments = append(arguments, "-"+flag.Short+text, "-"+flag.Short+strings.TrimPrefix(text, "="))
			}
			_, err := template(t, values{"extraFlags": arguments[:1]})
			if err != nil && strings.Contains(err.Error(), "must not contain") { // the chart sets it itself
				break
			}
			tried[flag.Type]++
			for _, argument := range arguments {
				t.Run(argument, func(t *testing.T) {
					t.Parallel()
					requireSameJudgement(t, values{"extraFlags": []string{argument}}, argument)
				})
			}
		}
	}
	for kind := range textsOfTypes {
		if tried[kind] == 0 {
			t.Errorf("no flag has the type %s", kind)
		}
	}
}

// requireSameJudgement requires that the chart accepts values if the controller accepts the flag that they become.
func requireSameJudgement(t *testing.T, v values, flag string) {
	t.Helper()
	isAccepted, said := accepts(t, "--leader-elect", flag)
	if _, err := template(t, v); (err == nil) != isAccepted {
		t.Errorf("the chart says %v, the controller %q", err, said)
	}
}

// The last time zone exists nowhere, but the chart cannot know.
func TestTheChartAcceptsTheWindowsThatTheControllerAccepts(t *testing.T) {
	t.Parallel()
	for _, window := range []string{
		"CRON_TZ=Europe/Berlin 0 22 * * 1-5 6h", "TZ=UTC 0 22 * * 1-5 6h", "  0\t22 * * 1-5\n6h\n", "0\u00a022 * * 1-5 6h",
		"*/5,7 0-4/2 ? jan,FEB mon-FRI 1m", "0 0 * * 0 168h", "0 0 * * 0 10080m0s", "007 +1 08 09 0 1h", "*-9/9 0 * * * 1h", "5/10 0 * * * 1h",
		"@hourly 90s", "@midnight 1.5h", "TZ=Asia/Tokyo @weekly 24h", "@monthly 1h", "@annually 1h", "@daily +6h", ",1, 0 * * * 1h",
		"0 0 29 2 * 1h", "0 0 31 2 1 1h", "0 0 31 */2 * 1h", "0 0 31 4,feb-3 ? 1h", "0 0 1-31/30 2 * 1h", "TZ=Etc/GMT+5 @daily 1h",

		" ", "22:00-06:00", "0 22 * * 1-5", "0 0 22 * * 1-5 6h", "0 22 * * 1-5 6", "0 22 * * 1-5 2d", "0 22 * * 1-5 -6h",
		"0 22 * * 1-5 59s", "0 22 * * 1-5 168h1ns", "0 22 * * 1-5 9999999h", "0 25 * * * 6h", "0 0 * * 7 6h", "0 0 0 * * 6h", "*/0 * * * * 6h",
		"0 0 * FOO * 6h", "x * * * * 6h", "5-1 * * * * 6h", "1-2-3 * * * * 6h", "1/2/3 * * * * 6h", "1/ * * * * 6h", "/2 * * * * 6h", "*5 * * * * 6h",
		"-1 * * * * 6h", "1- * * * * 6h", "0 0 * mon * 6h", "0 0 * * jan 6h", "0 0 * , * 6h", ", * * * * 6h", "\u00e9 0 * * * 6h",
		"@every 2h 1h", "@every 2h", "@sometimes 2h", "@Daily 2h", "daily 2h", "0 0 30 2 * 168h", "TZ=UTC 0 0 31 2,4,6,9,11 * 1h", "0 0 31 */13 * 1h",
		"TZ=Europe/Berlin", "TZ=Europe/Berlin 6h", "TZ= 0 0 * * * 6h", "TZ=Local 0 0 * * * 6h", "TZ=../../etc/passwd @daily 6h", "TZ=/etc/localtime @daily 6h",
		"TZ=UTC TZ=UTC 0 0 * * * 6h", "TZ=UTC TZ=UTC 6h", "CRON_TZ=UTC CRON_TZ=UTC 0 0 * * 6h", strings.Repeat("0", 257),
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			t.Logf("window: %q", window)
			requireSameJudgement(t, values{"restartWindow": window}, "--restart-window="+window)
		})
	}
	if _, err := template(t, values{"restartWindow": "CRON_TZ=Europe/Atlantis @daily 6h"}); err != nil {
		t.Error(err)
	}
}

func TestTheChartSaysWhatIsWrongWithAWindow(t *testing.T) {
	t.Parallel()
	const example = `; an example is "CRON_TZ=Europe/Berlin 0 22 * * 1-5 6h"`
	for window, want := range map[string]string{
		"22:00-06:00":               `restartWindow: "22:00-06:00": expected six words (five fields and a duration), found 1`,
		"0 25 * * * 6h":             `restartWindow: "0 25 * * * 6h": "25" is no hour: 0 to 23, *, or a list, range or step of these`,
		"0 0 * FOO * 6h":            `"FOO" is no month: 1 to 12 or JAN to DEC, *, or a list`,
		"0 22 * * 1-5 2d":           `"2d" is not a duration from 1m to 168h, such as 90m or 6h`,
		"0 0 30 2 * 6h":             "it never opens",
		"TZ=Local 0 0 * * * 6h":     `"Local" is no time zone such as Europe/Berlin`,
		"@sometimes 2h":             `"@sometimes" is no macro such as @daily`,
		"0 0 * * , 6h":              "one of its fields has no values",
		"0 0 * * \u00e9 6h":         "its schedule has characters other than printable ASCII",
		strings.Repeat(" ", 4):      "it is empty",
		"TZ=Europe/Berlin @daily 6": `"6" is not a duration`,
	} {
		if _, err := template(t, values{"restartWindow": window}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), example) {
			t.Errorf("%q: %v does not say %q", window, err, want)
		}
	}
}

// A flag for which there is a value, or that belongs to the release, has the name that the controller has.
func TestTheChartNamesOnlyFlagsOfTheController(t *testing.T) {
	t.Parallel()
	var flags map[string]any
	if err := sigsyaml.Unmarshal(chartFile(t, "files/flags.yaml"), &flags); err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(chartFile(t, "templates/_validate.tpl")), `get (dict "leader-elect"`)
	named, _, isThere := strings.Cut(`"leader-elect"`+after, ")")
	words := strings.Fields(named)
	if !isThere || len(words) < 20 {
		t.Fatalf("the flags are not where they were: %q", words)
	}
	for pair := range slices.Chunk(words, 2) {
		if _, isFlag := flags[strings.Trim(pair[0], `"`)]; !isFlag {
			t.Errorf("the controller has no flag %s", pair[0])
		}
	}
}
