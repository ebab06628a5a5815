package chart

import (
	"maps"
	"slices"
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
	for _, v := range []values{nil, {"namespaces": []string{"team-a"}, "engine": "on"}} {
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
		{values{"extraFlags": []int{1}}, []string{"/extraFlags/0", "string"}},
		{values{"extraFlags": []string{"--namespace=a"}}, []string{"extraFlags must not contain --namespace: set the value namespaces instead"}},
		{values{"extraFlags": []string{"--listen-address=:8080"}}, []string{"--listen-address=:8080", "use port 10254"}},
		{values{"statusAddress": "0.0.0.0:10255"}, []string{"/statusAddress", "localhost"}},
		{values{"statusAddress": "127.0.0.1"}, []string{"/statusAddress", "localhost"}},
		{values{"statusAddress": "127.0.0.1:65536"}, []string{"/statusAddress", "localhost"}},
		{values{"statusAddress": "127.0.0.256:80"}, []string{"/statusAddress", "localhost"}},
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
		{values{"image": values{"repository": "registry.example.com/a:2.0.0"}}, []string{"must not contain a tag", "set image.tag"}},
		{values{"image": values{"repository": "registry.example.com:5000/a@sha256:0"}}, []string{"must not contain", "digest"}},
		{values{"replicas": 99_999_999_999}, []string{"/replicas", "maximum"}}, // the API server would take the lower 32 bits
		{values{"engine": nil}, []string{"missing", "engine"}},
		{values{"statusAddress": nil}, []string{"missing", "statusAddress"}},
		{values{"optIn": values{"ignoredNamespaces": []string{"payments-"}}}, []string{"/ignoredNamespaces", "pattern"}},
		{values{"optIn": values{"ignoredNamespaces": []string{"grafana,payments"}}}, []string{"/ignoredNamespaces", "pattern"}},
		{values{"optIn": values{"ignoredNamespaces": []string{"grafana, payments"}}}, []string{"/ignoredNamespaces", "pattern"}},
		{values{"optIn": values{"namespaceSelector": "tier in web"}}, []string{"/namespaceSelector", "pattern"}},
		{values{"fanOut": values{"groups": []string{"configmap/*/a,configmap/*/b"}}}, []string{"/fanOut/groups/0", "pattern"}},
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

// With any two values together, the chart renders what the API knows, and flags that the controller accepts.
func TestAllPairsOfValuesAreValid(t *testing.T) {
	t.Parallel()
	for _, v := range allPairs([][]values{
		// A dry run excludes the engine.
		{{}, {"dryRun": true}, {"engine": "standby"}, {"engine": "on"}},
		{{}, {"namespaces": []string{"team-a", "team-b"}}},
		{{}, {"configs": "configmaps"}, {"configs": "secrets"}},
		{{}, {"fanOut": values{"mode": "all-at-once"}}, {"fanOut": values{"limit": 7, "failures": 2, "groups": []string{"configmap/*/ca"}}}},
		{
			{},
			{"optIn": values{"byDefault": true, "ignoredNamespaces": []string{"preview-*", "b"}}},
			{"optIn": values{"byNamespace": true, "understand": []string{"reloader", "wave"}}},
			{"optIn": values{"namespaceSelector": "tier in (web, api)", "understand": []string{"wave"}}},
		},
		{{}, {"workloads": append([]string{"gadgets.v1.example.com=.spec.job.template"}, presetKinds...)}},
		{{}, {"restartWindow": "CRON_TZ=Europe/Berlin 0 22 * * 1-5 6h"}},
		{{}, {"csi": true}},
		{{}, {"evict": true}},
		{{}, {"admissionPolicy": values{"enabled": false}}},
		{{}, {"logFormat": "json"}},
		{{}, {"statusAddress": ""}, {"statusAddress": "[::1]:10255"}},
	}) {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			t.Logf("values: %v", v)
			requireAccepted(t, container(t, render(t, v)).Args)
		})
	}
}

// allPairs returns combinations of one choice of each factor, in which any two choices of different factors meet. They
// are few, because each adds the choices that have met fewest of the others.
func allPairs(factors [][]values) []values {
	type choice struct{ factor, number int }
	met := map[[2]choice]bool{} // in both orders
	var combinations []values
	combine := func(first, second choice) {
		row := []choice{first, second}
		for factor, choices := range factors {
			if factor == first.factor || factor == second.factor {
				continue
			}
			best, most := choice{}, -1
			for number := range choices {
				c, news := choice{factor, number}, 0
				for _, other := range row {
					if !met[[2]choice{other, c}] {
						news++
					}
				}
				if news > most {
					best, most = c, news
				}
			}
			row = append(row, best)
		}
		combination := values{}
		for _, c := range row {
			maps.Copy(combination, factors[c.factor][c.number])
			for _, other := range row {
				met[[2]choice{c, other}] = true
			}
		}
		combinations = append(combinations, combination)
	}
	for factor, choices := range factors {
		for number := range choices {
			for other, choices := range factors[:factor] {
				for n := range choices {
					if first, second := (choice{factor, number}), (choice{other, n}); !met[[2]choice{first, second}] {
						combine(first, second)
					}
				}
			}
		}
	}
	return combinations
}

// requireAccepted requires that the controller has these flags and takes their values. It says so by finding no cluster,
// which is the next thing that it looks for.
func requireAccepted(t *testing.T, args []string) {
	t.Helper()
	if isAccepted, said := accepts(t, args...); !isAccepted {
		t.Errorf("the controller does not accept %q: %s", args, said)
	}
}

func accepts(t *testing.T, args ...string) (isAccepted bool, said string) {
	t.Helper()
	const nowhere = "/does/not/exist"
	code, _, said, err := harness.RunController(t.Context(), slices.Concat(args, []string{"--controller-namespace=" + namespace, "--kubeconfig=" + nowhere})...)
	if err != nil {
		t.Fatal(err)
	}
	return code == 2 && strings.Contains(said, nowhere) && !strings.Contains(said, "--help"), said
}
