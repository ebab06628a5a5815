package chart

import (
	"os/exec"
	"strings"
	"testing"

	"kubernetes-deployment-restart-controller/test/harness"
)

func TestTheChartPassesHelmsLinter(t *testing.T) {
	t.Parallel()
	chart, err := harness.Chart()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []values{nil, {"namespaces": []string{"team-a"}, "engine": "on", "upgradePermissions": true}} {
		if _, err := harness.Helm(t.Context(), t.TempDir(), "lint", "--strict", chart, "--namespace="+namespace, "--values="+fileOf(t, v)); err != nil {
			t.Error(err)
		}
	}
}

func TestAValueThatIsNotKnownOrNotPossibleIsRejected(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values values
		want   []string // in the error
	}{
		{values{"replica": 3}, []string{"replica", "not allowed"}},
		{values{"fanOut": values{"limits": 3}}, []string{"/fanOut", "limits", "not allowed"}},
		{values{"image": values{"name": "x"}}, []string{"/image", "name", "not allowed"}},
		{values{"admissionPolicy": values{"on": true}}, []string{"/admissionPolicy", "not allowed"}},
		{values{"resources": values{"limit": values{}}}, []string{"/resources", "limit", "not allowed"}},
		{values{"engine": "yes"}, []string{"/engine", "standby"}},
		{values{"configs": "configmap"}, []string{"/configs", "configmaps"}},
		{values{"replicas": "two"}, []string{"/replicas", "integer"}},
		{values{"fanOut": values{"limit": 0}}, []string{"/fanOut/limit", "minimum"}},
		{values{"fanOut": values{"groups": []string{"secret/*/a"}}}, []string{"/fanOut/groups/0", "configmap/"}},
		{values{"namespaces": []string{"Team_A"}}, []string{"/namespaces/0"}},
		{values{"image": values{"digest": "latest"}}, []string{"/image/digest", "sha256"}},
		{values{"extraFlags": []string{"verbose"}}, []string{"/extraFlags/0"}},
		{values{"extraFlags": []string{"--restart-grace-period 10"}}, []string{"/extraFlags/0", "="}},
		{values{"extraFlags": []string{"--namespace=a"}}, []string{"extraFlags must not contain --namespace: set the value namespaces instead"}},
		{values{"extraFlags": []string{"--listen-address=:8080"}}, []string{"--listen-address=:8080", "use port 10254"}},
		{values{"statusAddress": "0.0.0.0:10255"}, []string{"/statusAddress", "localhost"}},
		{values{"statusAddress": "127.0.0.1"}, []string{"/statusAddress", "localhost"}},
		{values{"statusAddress": "127.0.0.1:10254"}, []string{"statusAddress must not be 127.0.0.1:10254", "use port 10254"}},
		{values{"extraFlags": []string{"--status-address=127.0.0.1:10255"}}, []string{"extraFlags must not contain --status-address: set the value statusAddress instead"}},
		{values{"extraFlags": []string{"--dry-run"}}, []string{"extraFlags must not contain --dry-run: set the value dryRun instead"}},
		{values{"monitors": values{"interval": "often"}}, []string{"/monitors/interval"}},
		{values{"networkPolicy": values{"from": []values{{"pods": values{}}}}}, []string{"/networkPolicy/from/0", "pods", "not allowed"}},
		{
			values{"monitors": values{"serviceMonitor": values{"enabled": true}}, "metricsService": values{"enabled": false}},
			[]string{"serviceMonitor needs metricsService"},
		},
		{
			values{"monitors": values{"serviceMonitor": values{"enabled": true}, "podMonitor": values{"enabled": true}}},
			[]string{"scrape each replica twice"},
		},
		{values{"dryRun": true, "engine": "on"}, []string{"dryRun", "excludes engine"}},
		{values{"dryRun": true, "upgradePermissions": true}, []string{"dryRun", "excludes upgradePermissions"}},
		{values{"image": values{"repository": "registry.example.com/a:2.0.0"}}, []string{"must not contain a tag", "set image.tag"}},
		{values{"image": values{"repository": "registry.example.com:5000/a@sha256:0"}}, []string{"must not contain", "digest"}},
		{values{"replicas": 99_999_999_999}, []string{"/replicas", "maximum"}}, // the API server would take the lower 32 bits
		{values{"engine": nil}, []string{"missing", "engine"}},
		{values{"fanOut": nil}, []string{"missing", "fanOut"}},
		{values{"image": values{"repository": nil}}, []string{"/image", "missing", "repository"}},
	} {
		t.Run(strings.Join(test.want, " "), func(t *testing.T) {
			t.Parallel()
			_, err := template(t, test.values)
			for _, text := range test.want {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("%v does not say %q", err, text)
				}
			}
		})
	}
}

// The flags of all combinations of values are flags that the controller has.
func TestAllCombinationsOfValuesAreValid(t *testing.T) {
	t.Parallel()
	controller, err := harness.ControllerBinary()
	if err != nil {
		t.Fatal(err)
	}
	combinations := []values{{}}
	for _, choices := range []struct {
		value   string
		choices []any
	}{
		{"engine", []any{"off", "standby"}},
		{"namespaces", []any{[]string{}, []string{"team-a", "team-b"}}},
		{"configs", []any{"all", "configmaps", "secrets"}},
		{"upgradePermissions", []any{false, true}},
		{"fanOut", []any{values{"mode": "all-at-once"}, values{"limit": 7, "failures": 2, "groups": []string{"configmap/*/ca"}}}},
	} {
		var next []values
		for _, c := range combinations {
			for _, choice := range choices.choices {
				extended := values{choices.value: choice}
				for key, value := range c {
					extended[key] = value
				}
				next = append(next, extended)
			}
		}
		combinations = next
	}
	for _, v := range combinations {
		args := container(t, render(t, v)).Args
		// With --version, the controller reads its flags and ends.
		if out, err := exec.CommandContext(t.Context(), controller, append(args, "--version")...).CombinedOutput(); err != nil {
			t.Errorf("%v: %q: %v: %s", v, args, err, out)
		}
	}
}
