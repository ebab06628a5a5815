package chart

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

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

// Each value must be known to the schema, and have a comment.
func TestEachValueHasADefaultACommentAndASchema(t *testing.T) {
	t.Parallel()
	chart, err := harness.Chart()
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var defaults map[string]any
	if err := sigsyaml.UnmarshalStrict(encoded, &defaults); err != nil {
		t.Fatal(err)
	}
	var schema node
	encoded, err = os.ReadFile(filepath.Join(chart, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(encoded, &schema); err != nil {
		t.Fatal(err)
	}
	requireSameKeys(t, "", &schema, defaults)
}

// node is a part of a JSON schema.
type node struct {
	Properties           map[string]*node
	Required             []string
	AdditionalProperties any
	Description          string
}

// requireSameKeys requires that the schema knows the keys of the chart, and no others.
func requireSameKeys(t *testing.T, path string, schema *node, defaults map[string]any) {
	t.Helper()
	for key, value := range defaults {
		below, isKnown := schema.Properties[key]
		if !isKnown {
			t.Errorf("the schema does not know %s/%s", path, key)
			continue
		}
		// null in a values file removes the default.
		if needsDefault(value, below) != slices.Contains(schema.Required, key) {
			t.Errorf("null for %s/%s is rejected: %t", path, key, slices.Contains(schema.Required, key))
		}
		if member, isMap := value.(map[string]any); isMap && len(below.Properties) > 0 && key != "resources" && key != "affinity" {
			requireSameKeys(t, path+"/"+key, below, member)
		}
	}
	for key, below := range schema.Properties {
		if _, isThere := defaults[key]; !isThere && key != "global" {
			t.Errorf("values.yaml does not have %s/%s", path, key)
		}
		if len(below.Properties) > 0 && below.AdditionalProperties != false {
			t.Errorf("the schema allows keys below %s/%s that it does not know", path, key)
		}
	}
}

// needsDefault reports whether the templates need a value, because empty is not the default.
func needsDefault(value any, schema *node) bool {
	switch value := value.(type) {
	case nil:
		return false
	case string:
		return value != ""
	case []any:
		return false
	case map[string]any:
		return len(schema.Properties) > 0 && len(schema.Required) > 0
	}
	return true
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
