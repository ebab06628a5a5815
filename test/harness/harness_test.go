package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

func TestAMissingBinaryIsAnErrorThatNamesTheMakeTarget(t *testing.T) {
	for variable, c := range map[string]struct {
		find   func() (string, error)
		target string
	}{
		LocalClusterVariable: {LocalClusterBinary, "make localcluster"},
		ControllerVariable:   {ControllerBinary, "make build"},
		HelmVariable:         {HelmBinary, "make bin/helm"},
		PromtoolVariable:     {PromtoolBinary, "make bin/promtool"},
		PluginVariable:       {PluginBinary, "make plugin"},
	} {
		missing := filepath.Join(t.TempDir(), "missing")
		t.Setenv(variable, missing)
		_, err := c.find()
		if err == nil || !strings.Contains(err.Error(), c.target) || !strings.Contains(err.Error(), missing) {
			t.Errorf("%s: %v, want the path and %q", variable, err, c.target)
		}
		t.Setenv(variable, t.TempDir())
		if _, err := c.find(); err == nil {
			t.Errorf("%s: a directory is taken for a binary", variable)
		}
	}
}

func TestTheRepositoryIsFoundFromBelow(t *testing.T) {
	root, err := RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "test", "harness", "harness_test.go")); err != nil {
		t.Error(err)
	}
	t.Chdir(t.TempDir())
	if root, err := RepositoryRoot(); err == nil {
		t.Errorf("found %s from outside", root)
	}
}

func TestTheAddressIsReadFromEitherLogFormat(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`time=2026-01-02T03:04:05Z level=INFO msg="serving metrics and health" address=127.0.0.1:41234`:      "127.0.0.1:41234",
		`time=2026-01-02T03:04:05Z level=INFO msg="serving metrics and health" address="[::1]:41234" x=y`:    "[::1]:41234",
		`{"time":"2026-01-02","level":"INFO","msg":"serving metrics and health","address":"127.0.0.1:4123"}`: "127.0.0.1:4123",
		`time=2026-01-02T03:04:05Z level=INFO msg=starting address=127.0.0.1:41234`:                          "",
		`msg="serving metrics and health"`: "",
	} {
		var c Controller
		if found := c.readAddress(line); found != (want != "") || c.address != want {
			t.Errorf("%s: found %t, address %q, want %q", line, found, c.address, want)
		}
	}
}

func TestAMetricIsTheSumOfTheSeriesThatBearTheLabels(t *testing.T) {
	t.Parallel()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(`
# TYPE deployment_restart_controller_restarts_total counter
deployment_restart_controller_restarts_total{kind="Deployment",color="red"} 2
deployment_restart_controller_restarts_total{kind="DaemonSet",color="red"} 3
# TYPE deployment_restart_controller_change_to_patch_seconds histogram
deployment_restart_controller_change_to_patch_seconds_bucket{le="+Inf"} 4
deployment_restart_controller_change_to_patch_seconds_sum 1.5
deployment_restart_controller_change_to_patch_seconds_count 4
# TYPE go_goroutines gauge
go_goroutines 17
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		labels map[string]string
		want   float64
	}{
		{"restarts_total", nil, 5},
		{"deployment_restart_controller_restarts_total", nil, 5},
		{"restarts_total", map[string]string{"kind": "DaemonSet"}, 3},
		{"restarts_total", map[string]string{"color": "red"}, 5},
		{"restarts_total", map[string]string{"kind": "Deployment", "color": "blue"}, 0},
		{"change_to_patch_seconds", nil, 4},
		{"go_goroutines", nil, 17},
	} {
		if got, err := Metrics(families).Value(c.name, c.labels); err != nil || got != c.want {
			t.Errorf("%s%v is %v, %v, want %v", c.name, c.labels, got, err, c.want)
		}
	}
	if _, err := Metrics(families).Value("missing", nil); err == nil {
		t.Error("a metric that is not there has a value")
	}
}

func TestTheServiceAccountIsFoundInTheManifests(t *testing.T) {
	t.Parallel()
	account, err := serviceAccountOf([]byte("kind: Namespace\nmetadata:\n  name: home\n---\nkind: ServiceAccount\nmetadata:\n  name: a\n  namespace: home\n"))
	if err != nil || account.Name != "a" || account.Namespace != "home" {
		t.Errorf("found %s/%s, %v", account.Namespace, account.Name, err)
	}
	if _, err := serviceAccountOf([]byte("kind: Namespace\n")); err == nil {
		t.Error("no error where there is none")
	}
}
