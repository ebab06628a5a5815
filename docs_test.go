package main

import (
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kubernetes-deployment-restart-controller/internal/permissions"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
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
	documentedSeries = regexp.MustCompile("^`([a-z_]+)` \\| (counter|gauge|histogram) \\|(.*)")
	documentedAlert  = regexp.MustCompile("(?m)^`([A-Za-z]+)` \\| (critical|warning|info) \\|")
	quotedWord       = regexp.MustCompile("`([a-z_]+)`")
	seriesInRule     = regexp.MustCompile(`\b(deployment_restart_controller|deployment_engine)_([a-z_]+)`)
	labelInRule      = regexp.MustCompile(`\bby \(([a-z_, ]+)\)|\{([a-z_]+)!?[=~]|\$labels\.([a-z_]+)`)
)

// readMetricsPage returns the rows of the tables in docs/metrics.md by full name, and the alert rules.
func readMetricsPage(t *testing.T) (rows map[string]string, rules alertRules) {
	t.Helper()
	page, err := os.ReadFile("docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	rows = make(map[string]string)
	prefix := ""
	for line := range strings.Lines(string(page)) {
		if _, rest, found := strings.Cut(line, "All names begin with `"); found {
			prefix, _, _ = strings.Cut(rest, "`")
		}
		if row := documentedSeries.FindStringSubmatch(line); row != nil {
			rows[prefix+row[1]] = row[3]
		}
	}
	encoded, err := os.ReadFile("charts/kubernetes-deployment-restart-controller/files/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(encoded, &rules); err != nil {
		t.Fatal(err)
	}
	return rows, rules
}

func TestTheAlertsAreDocumentedWithTheirSeverity(t *testing.T) {
	page, err := os.ReadFile("docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rules := readMetricsPage(t)
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

func TestTheAlertsAreAboutSeriesAndLabelsThatAreDocumented(t *testing.T) {
	rows, rules := readMetricsPage(t)
	if len(rules.Groups) != 1 || len(rules.Groups[0].Rules) < 8 {
		t.Fatalf("not all rules were found: %v", rules)
	}
	for _, rule := range rules.Groups[0].Rules {
		known := []string{"le"}
		for _, name := range seriesInRule.FindAllString(rule.Expr, -1) {
			row, found := rows[strings.TrimSuffix(name, "_bucket")]
			if !found {
				t.Errorf("%s: %s is not documented", rule.Alert, name)
			}
			for _, word := range quotedWord.FindAllStringSubmatch(row, -1) {
				known = append(known, word[1])
			}
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

func idleEngines(t *testing.T) engines {
	t.Helper()
	o := &options{ControllerNamespace: "own", DeploymentEngine: engineStandby, DeploymentWorkers: 1, KubeAPIQPS: 1, KubeAPIBurst: 1}
	all, err := newEngines(o, &rest.Config{Host: "http://127.0.0.1:1"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// described returns what the engines export, by name, with the labels.
func described(t *testing.T) map[string]string {
	t.Helper()
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		for _, e := range idleEngines(t) {
			e.Describe(descs)
		}
		(&permissions.Missing{}).Describe(descs)
	}()
	found := map[string]string{"deployment_restart_controller_build_info": "commit go_version version"} // which is no engine's
	for desc := range descs {
		parts := descriptionOf.FindStringSubmatch(desc.String())
		labels := strings.FieldsFunc(parts[2], func(r rune) bool { return r == ',' })
		slices.Sort(labels)
		found[parts[1]] = strings.Join(labels, " ")
	}
	return found
}

var descriptionOf = regexp.MustCompile(`^Desc\{fqName: "([a-z_]+)", .* variableLabels: \{([a-z_,]*)\}\}$`)

func TestAllSeriesAreDocumentedWithTheirLabels(t *testing.T) {
	rows, _ := readMetricsPage(t)
	documented := make(map[string]string)
	for name, row := range rows {
		labelCell, _, hasLabelCell := strings.Cut(row, " | ")
		var labels []string
		if names, _, _ := strings.Cut(labelCell, ":"); hasLabelCell {
			for _, word := range quotedWord.FindAllStringSubmatch(names, -1) {
				labels = append(labels, word[1])
			}
		}
		slices.Sort(labels)
		documented[name] = strings.Join(labels, " ")
	}
	if diff := cmp.Diff(documented, described(t)); diff != "" {
		t.Errorf("series and their labels (-documented +exported):\n%s", diff)
	}
}

// startingValues returns the label values of the series with one label that the engines export at
// their start, by name.
func startingValues(t *testing.T) map[string]string {
	t.Helper()
	registry := prometheus.NewRegistry()
	for _, e := range idleEngines(t) {
		registry.MustRegister(e)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	for _, family := range families {
		var values []string
		for _, metric := range family.GetMetric() {
			if labels := metric.GetLabel(); len(labels) == 1 {
				values = append(values, labels[0].GetValue())
			}
		}
		found[family.GetName()] = joinValues(values)
	}
	return found
}

// joinValues joins label values, except the one that some labels have only once there are too many
// values for a series each.
func joinValues(values []string) string {
	values = slices.DeleteFunc(values, func(value string) bool { return value == "other" })
	slices.Sort(values)
	return strings.Join(values, " ")
}

var quotedValue = regexp.MustCompile("`([A-Za-z-]+)`")

func TestTheDocumentedLabelValuesAreThoseOfTheSeriesAtTheStart(t *testing.T) {
	rows, _ := readMetricsPage(t)
	starting := startingValues(t)
	documented, exported := make(map[string]string), make(map[string]string)
	for name, row := range rows {
		labelCell, _, hasLabelCell := strings.Cut(row, " | ")
		_, list, hasList := strings.Cut(labelCell, ":")
		if !hasLabelCell || !hasList {
			continue
		}
		var values []string
		for _, value := range quotedValue.FindAllStringSubmatch(list, -1) {
			values = append(values, value[1])
		}
		documented[name], exported[name] = joinValues(values), starting[name]
	}
	if len(documented) < 5 {
		t.Errorf("not all lists of label values were found: %v", documented)
	}
	if diff := cmp.Diff(documented, exported); diff != "" {
		t.Errorf("label values (-documented +exported):\n%s", diff)
	}
}
