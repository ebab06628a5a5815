package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	sigsyaml "sigs.k8s.io/yaml"

	"kubernetes-deployment-restart-controller/test/harness"
)

const alertStories = "testdata/alerts.yaml"

// readYAML reads a file into a Go value.
func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	encoded, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := sigsyaml.Unmarshal(encoded, into); err != nil {
		t.Fatal(err)
	}
}

// alert is an alerting rule, as far as the tests look at it.
type alert struct {
	Alert       string
	Annotations struct{ Summary, Description string }
}

// alerts returns the alerts in the chart's file of rules.
func alerts(t *testing.T) []alert {
	t.Helper()
	chart, err := harness.Chart()
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Groups []struct{ Rules []alert } }
	readYAML(t, filepath.Join(chart, "files", "alerts.yaml"), &file)
	return file.Groups[0].Rules
}

// alertNames returns the names of the alerts in the chart's file of rules.
func alertNames(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, rule := range alerts(t) {
		names = append(names, rule.Alert)
	}
	return names
}

func TestEachAlertSaysWhatItIsAboutAndWhereToLook(t *testing.T) {
	t.Parallel()
	for _, rule := range alerts(t) {
		if rule.Annotations.Summary == "" || rule.Annotations.Description == "" {
			t.Errorf("%s: %+v", rule.Alert, rule.Annotations)
		}
	}
}

func TestPrometheusFiresTheAlertsWhenItShould(t *testing.T) {
	t.Parallel()
	promtool, err := harness.PromtoolBinary()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", alertStories).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestEachAlertFiresInAStoryAndIsSilentInOne(t *testing.T) {
	t.Parallel()
	var stories struct {
		Tests []struct {
			AlertRuleTest []struct {
				AlertName string `json:"alertname"`
				Expected  []any  `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		} `json:"tests"`
	}
	readYAML(t, alertStories, &stories)
	fires, isSilent := map[string]bool{}, map[string]bool{}
	for _, story := range stories.Tests {
		for _, moment := range story.AlertRuleTest {
			fires[moment.AlertName] = fires[moment.AlertName] || len(moment.Expected) > 0
			isSilent[moment.AlertName] = isSilent[moment.AlertName] || len(moment.Expected) == 0
		}
	}
	for _, alert := range alertNames(t) {
		if !fires[alert] || !isSilent[alert] {
			t.Errorf("%s fires: %t, is silent: %t", alert, fires[alert], isSilent[alert])
		}
	}
}

// renderedAlerts returns the names of the alerts in the PrometheusRule.
func renderedAlerts(t *testing.T, v values) []string {
	t.Helper()
	v["monitors"] = values{"prometheusRule": values{"enabled": true}}
	groups, _, err := unstructured.NestedSlice(render(t, v)["PrometheusRule "+namespace+"/"+name].Object, "spec", "groups")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, rule := range groups[0].(map[string]any)["rules"].([]any) {
		names = append(names, rule.(map[string]any)["alert"].(string))
	}
	return names
}

func TestAlertsThatAlwaysFireAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values  values
		without string
	}{
		{values{}, ""},
		{values{"engine": "on"}, ""},
		{values{"engine": "standby"}, "DeploymentEngineStandsBy"},
		{values{"dryRun": true}, "RestartControllerHasNoLeader"},
	} {
		want := slices.DeleteFunc(alertNames(t), func(alert string) bool { return alert == test.without })
		if diff := cmp.Diff(want, renderedAlerts(t, test.values)); diff != "" {
			t.Errorf("%v: alerts (-want +got):\n%s", test.values, diff)
		}
	}
}

func TestAMonitorHasTheLabelsAndTheIntervalOfTheValues(t *testing.T) {
	t.Parallel()
	for monitor, endpoints := range map[string]string{"serviceMonitor": "endpoints", "podMonitor": "podMetricsEndpoints"} {
		all := render(t, values{"monitors": values{
			monitor: values{"enabled": true}, "interval": "30s", "labels": values{"release": "prometheus"},
		}})
		kind := map[string]string{"serviceMonitor": "ServiceMonitor", "podMonitor": "PodMonitor"}[monitor]
		object := all[kind+" "+namespace+"/"+name]
		found, _, err := unstructured.NestedSlice(object.Object, "spec", endpoints)
		if err != nil {
			t.Fatal(err)
		}
		if found[0].(map[string]any)["interval"] != "30s" || object.GetLabels()["release"] != "prometheus" {
			t.Errorf("%s: %v", monitor, object)
		}
		if label := all[deploymentID].GetLabels()["release"]; label != "" {
			t.Errorf("the Deployment has the label of the monitor, too: %s", label)
		}
	}
}

func TestTheNetworkPolicyLetsInWhomTheValuesName(t *testing.T) {
	t.Parallel()
	all := render(t, values{"networkPolicy": values{"enabled": true, "from": []values{
		{"namespaceSelector": values{"matchLabels": values{"kubernetes.io/metadata.name": "monitoring"}}},
	}}})
	spec := as[networkingv1.NetworkPolicy](t, all, "NetworkPolicy "+namespace+"/"+name).Spec
	if len(spec.Ingress) != 1 || len(spec.Ingress[0].From) != 1 || len(spec.Ingress[0].Ports) != 1 ||
		spec.Ingress[0].Ports[0].Port.StrVal != "http" || !slices.Equal(spec.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}) {
		t.Errorf("the policy is %+v", spec)
	}
}

// Prometheus parses the queries of the dashboard as it would those of recording rules.
func TestPrometheusUnderstandsTheQueriesOfTheDashboard(t *testing.T) {
	t.Parallel()
	promtool, err := harness.PromtoolBinary()
	if err != nil {
		t.Fatal(err)
	}
	all := render(t, values{"dashboard": values{"enabled": true}})
	object := as[corev1.ConfigMap](t, all, "ConfigMap "+namespace+"/"+name+"-dashboard")
	if object.Labels["grafana_dashboard"] != "1" {
		t.Errorf("the ConfigMap has the labels %v", object.Labels)
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal([]byte(object.Data[name+".json"]), &dashboard); err != nil {
		t.Fatal(err)
	}
	var rules []values
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")
			rules = append(rules, values{"record": fmt.Sprintf("query:%d", len(rules)), "expr": expr})
		}
	}
	if len(rules) < 40 {
		t.Errorf("only %d queries were found", len(rules))
	}
	file := fileOf(t, values{"groups": []values{{"name": "dashboard", "rules": rules}}})
	if out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
