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
	documentedAlert = regexp.MustCompile("(?m)^`([A-Za-z]+)` \\| (critical|warning|info) \\|")
	seriesInRule    = regexp.MustCompile(`\b(deployment_restart_controller|deployment_engine)_([a-z_]+)`)
	labelInRule     = regexp.MustCompile(`\bby \(([a-z_, ]+)\)|\{([a-z_]+)!?[=~]|\$labels\.([a-z_]+)`)
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

func TestTheAlertsAreDocumentedWithTheirSeverity(t *testing.T) {
	page, err := os.ReadFile("docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	rules := readAlertRules(t)
	var documented, existing []string
	for _, row := range documentedAlert.FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, row[1]+" "+row[2])
	}
	for _, rule := range rules.Groups[0].Rules {
		existing = append(existing, rule.Alert+" "+rule.Labels["severity"])
	}
	if diff := cmp.Diff(existing, documented); diff != "" {
		t.Errorf("alerts (-rules +docs/metrics.md):\n%s", diff)
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
