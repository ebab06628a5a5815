package documents

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"
)

// The chart is released with the controller, and by default installs the same version.
func TestTheChartHasTheVersionOfTheController(t *testing.T) {
	encoded, err := os.ReadFile("charts/kubernetes-deployment-restart-controller/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var chart struct{ Version, AppVersion string }
	if err := yaml.Unmarshal(encoded, &chart); err != nil {
		t.Fatal(err)
	}
	if version := programVersion(t); chart.Version != version || chart.AppVersion != version {
		t.Errorf("the chart has the version %s and the appVersion %s, the controller %s", chart.Version, chart.AppVersion, version)
	}
}
