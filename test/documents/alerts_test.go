package documents

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// alertRules are the alert rules in the chart.
type alertRules struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []struct {
			Alert       string            `json:"alert"`
			Expr        string            `json:"expr"`
			For         string            `json:"for"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"rules"`
	} `json:"groups"`
}

var (
	runbook      = regexp.MustCompile(`(?m)^## (.+)\n+(?:\*\*(Critical|Warning|Info)\.\*\*)?`)
	seriesInRule = regexp.MustCompile(`\b(deployment_restart_controller|deployment_engine)_([a-z_]+)`)
	labelInRule  = regexp.MustCompile(`\bby \(([a-z_, ]+)\)|\{([a-z_]+)!?[=~]|\$labels\.([a-z_]+)`)
)

func readAlertRules(t *testing.T) (rules alertRules) {
	t.Helper()
	encoded, err := os.ReadFile("charts/kubernetes-deployment-restart-controller/files/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(encoded, &rules); err != nil {
		t.Fatal(err)
	}
	return rules
}

func TestEachAlertHasARunbookWithItsSeverityAndNoOtherExists(t *testing.T) {
	var documented, existing []string
	for _, section := range runbook.FindAllStringSubmatch(readDocument(t, "docs/runbooks.md"), -1) {
		documented = append(documented, section[1]+" "+strings.ToLower(section[2]))
	}
	for _, rule := range readAlertRules(t).Groups[0].Rules {
		existing = append(existing, rule.Alert+" "+rule.Labels["severity"])
	}
	if diff := cmp.Diff(existing, documented); diff != "" {
		t.Errorf("alerts (-rules +docs/runbooks.md):\n%s", diff)
	}
}

// Where the runbooks are comes first, in the form that the chart replaces by its value runbooksURL.
func TestEachAlertNamesItsRunbook(t *testing.T) {
	for _, rule := range readAlertRules(t).Groups[0].Rules {
		if want := "docs/runbooks.md#" + anchorOf(rule.Alert); rule.Annotations["runbook_url"] != want {
			t.Errorf("%s: the annotation runbook_url is %q, not %q", rule.Alert, rule.Annotations["runbook_url"], want)
		}
	}
}

// labelsIn returns the labels that an expression or a text of a rule uses.
func labelsIn(text string) []string {
	var labels []string
	for _, match := range labelInRule.FindAllStringSubmatch(text, -1) {
		labels = append(labels, strings.Split(match[1]+match[2]+match[3], ", ")...)
	}
	return labels
}

func TestTheAlertsAreAboutSeriesAndLabelsThatAreExported(t *testing.T) {
	exported, rules := described(t), readAlertRules(t)
	if len(rules.Groups) != 1 || len(rules.Groups[0].Rules) < 8 {
		t.Fatalf("not all rules were found: %v", rules)
	}
	for _, rule := range rules.Groups[0].Rules {
		known := []string{"le"}
		for _, name := range seriesInRule.FindAllString(rule.Expr, -1) {
			desc, found := exported[strings.TrimSuffix(name, "_bucket")]
			if !found {
				t.Errorf("%s: %s is not exported", rule.Alert, name)
			}
			known = append(known, desc.labels...)
		}
		for _, label := range labelsIn(rule.Expr + rule.Annotations["summary"] + rule.Annotations["description"]) {
			if !slices.Contains(known, label) {
				t.Errorf("%s: its series have no label %s", rule.Alert, label)
			}
		}
		if rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || strings.Count(rule.Expr, "(") != strings.Count(rule.Expr, ")") {
			t.Errorf("%s is incomplete", rule.Alert)
		}
	}
}
