package documents

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard is the Grafana dashboard of the chart.
type dashboard struct {
	Panels []struct {
		ID          int
		Type        string
		Title       string
		Description string
		GridPos     struct{ H, W, X, Y int }
		Targets     []struct{ Expr, LegendFormat string }
	}
	Annotations struct{ List []struct{ Expr string } }
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	encoded, err := os.ReadFile("charts/kubernetes-deployment-restart-controller/files/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(encoded, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// queries returns the queries of the dashboard, each with the format of its legend.
func (d *dashboard) queries() [][2]string {
	var all [][2]string
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			all = append(all, [2]string{target.Expr, target.LegendFormat})
		}
	}
	for _, annotation := range d.Annotations.List {
		all = append(all, [2]string{annotation.Expr, ""})
	}
	return all
}

var (
	seriesInQuery   = regexp.MustCompile(`\b([a-z_]+)\{`)
	groupingInQuery = regexp.MustCompile(`\bby \(([a-z_, ]+)\)`)
	matchersInQuery = regexp.MustCompile(`\{([^}]*)\}`)
	matcherInQuery  = regexp.MustCompile(`([a-z_]+)!?=~?"`)
	labelInLegend   = regexp.MustCompile(`\{\{([a-z_]+)\}\}`)
	suffixOfAPart   = regexp.MustCompile(`_(bucket|sum|count)$`)
	labelsOfATarget = []string{"job", "instance"}
)

// A query about a series or a label that does not exist shows nothing, and no error.
func TestTheDashboardAsksForSeriesAndLabelsThatTheControllerExports(t *testing.T) {
	exported, descs := exportedFamilies(t), described(t)
	d := readDashboard(t)
	asked := map[string]bool{}
	for _, query := range d.queries() {
		expr, legend := query[0], query[1]
		known := append([]string{"le"}, labelsOfATarget...)
		names := seriesInQuery.FindAllStringSubmatch(expr, -1)
		if len(names) == 0 {
			t.Errorf("%q asks for no series", expr)
		}
		for _, match := range names {
			name := suffixOfAPart.ReplaceAllString(match[1], "")
			if exported[name] == nil {
				t.Errorf("%q asks for %s, which the controller does not export", expr, name)
			}
			asked[name] = true
			known = append(known, descs[name].labels...)
		}
		for _, label := range labelsOfQuery(expr) {
			if !slices.Contains(known, label) {
				t.Errorf("%q uses the label %s, which its series do not have", expr, label)
			}
		}
		for _, label := range labelInLegend.FindAllStringSubmatch(legend, -1) {
			if !slices.Contains(grouping(expr), label[1]) && strings.Contains(expr, "(") {
				t.Errorf("the legend of %q shows %s, by which it does not group", expr, label[1])
			}
		}
	}
	requireSubjects(t, asked)
}

func grouping(expr string) []string {
	var labels []string
	for _, match := range groupingInQuery.FindAllStringSubmatch(expr, -1) {
		labels = append(labels, strings.Split(match[1], ", ")...)
	}
	return labels
}

func labelsOfQuery(expr string) []string {
	labels := grouping(expr)
	for _, selector := range matchersInQuery.FindAllStringSubmatch(expr, -1) {
		for _, matcher := range matcherInQuery.FindAllStringSubmatch(selector[1], -1) {
			labels = append(labels, matcher[1])
		}
	}
	return labels
}

// requireSubjects requires that the dashboard shows what the alerts are about.
func requireSubjects(t *testing.T, asked map[string]bool) {
	t.Helper()
	rules := readAlertRules(t)
	for _, rule := range rules.Groups[0].Rules {
		for _, name := range seriesInRule.FindAllString(rule.Expr, -1) {
			if !asked[suffixOfAPart.ReplaceAllString(name, "")] {
				t.Errorf("the dashboard does not show %s, which %s is about", name, rule.Alert)
			}
		}
	}
}

// Each query selects the installation, and each panel says what it shows and covers no other.
func TestThePanelsOfTheDashboardAreComplete(t *testing.T) {
	d := readDashboard(t)
	ids := map[int]bool{}
	type cell struct{ x, y int }
	covered := map[cell]string{}
	for _, panel := range d.Panels {
		if ids[panel.ID] {
			t.Errorf("two panels have the id %d", panel.ID)
		}
		ids[panel.ID] = true
		if panel.Type != "row" && (panel.Description == "" || len(panel.Targets) == 0) {
			t.Errorf("%s has no description or no query", panel.Title)
		}
		for x := panel.GridPos.X; x < panel.GridPos.X+panel.GridPos.W; x++ {
			for y := panel.GridPos.Y; y < panel.GridPos.Y+panel.GridPos.H; y++ {
				if other, isCovered := covered[cell{x, y}]; isCovered || x >= 24 {
					t.Errorf("%q covers %q, or exceeds the width", panel.Title, other)
				}
				covered[cell{x, y}] = panel.Title
			}
		}
	}
	for _, query := range d.queries() {
		if strings.Count(query[0], `job=~"$job"`) != len(seriesInQuery.FindAllString(query[0], -1)) {
			t.Errorf("%q does not select the installation", query[0])
		}
	}
}
