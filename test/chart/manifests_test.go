package chart

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/test/harness"
)

// An installation is what some plain manifests install, and what the chart installs with some
// values. A manifest is the same as the chart, but for what its comments ask for.
type installation struct {
	name   string
	values values
	files  []string
	edits  []string // old and new texts in the manifests
}

const (
	elected      = "            - --leader-elect\n"
	commented    = "            # - --deployment-engine=on\n"
	uncommented  = "            - --deployment-engine=on\n"
	watchedOnly  = elected + "            - --namespace=default\n"
	optionalOnes = "metrics-service.yaml pod-disruption-budget.yaml"
)

var installations = []installation{
	{name: "by default", files: strings.Fields("rbac.yaml admission-policy.yaml deployment.yaml " + optionalOnes)},
	{
		name:   "for an upgrade",
		values: values{"upgradePermissions": true},
		files:  strings.Fields("rbac.yaml rbac-upgrade.yaml admission-policy.yaml deployment.yaml " + optionalOnes),
	},
	{
		name:   "with the engine",
		values: values{"engine": "on"},
		files:  strings.Fields("rbac.yaml rbac-deployment-engine.yaml admission-policy.yaml deployment.yaml " + optionalOnes),
		edits:  []string{commented, uncommented},
	},
	{
		name:   "in one namespace",
		values: values{"namespaces": []string{"default"}, "upgradePermissions": true},
		files:  strings.Fields("rbac-namespaced.yaml rbac-upgrade-namespaced.yaml admission-policy.yaml deployment.yaml " + optionalOnes),
		edits:  []string{elected, watchedOnly},
	},
	{
		name:   "in one namespace with the engine",
		values: values{"namespaces": []string{"default"}, "engine": true},
		files:  strings.Fields("rbac-namespaced.yaml rbac-deployment-engine-namespaced.yaml admission-policy.yaml deployment.yaml " + optionalOnes),
		edits:  []string{elected, watchedOnly, commented, uncommented},
	},
	{
		name: "without what is optional",
		values: values{
			"admissionPolicy": values{"enabled": false}, "metricsService": values{"enabled": false}, "podDisruptionBudget": values{"enabled": false},
		},
		files: strings.Fields("rbac.yaml deployment.yaml"),
	},
}

func TestTheChartInstallsWhatTheManifestsInstall(t *testing.T) {
	t.Parallel()
	for _, i := range installations {
		t.Run(i.name, func(t *testing.T) {
			t.Parallel()
			manifests, err := harness.Manifests(i.files...)
			if err != nil {
				t.Fatal(err)
			}
			plain := decode(t, []byte(strings.NewReplacer(i.edits...).Replace(string(manifests))))
			// Helm keeps its release in the namespace, so a chart cannot create it.
			delete(plain, "Namespace /"+namespace)
			compare(t, plain, render(t, i.values, "--no-hooks"))
		})
	}
}

// compare requires that the objects are the same. It changes those of the chart.
func compare(t *testing.T, plain, charted objects) {
	t.Helper()
	if diff := cmp.Diff(plain.names(), charted.names()); diff != "" {
		t.Errorf("objects (-manifests +chart):\n%s", diff)
	}
	for id, object := range plain {
		counterpart, isThere := charted[id]
		if !isThere {
			continue
		}
		withoutAdditions(counterpart, object)
		if diff := cmp.Diff(object.Object, counterpart.Object); diff != "" {
			t.Errorf("%s (-manifest +chart):\n%s", id, diff)
		}
	}
}

func TestEveryManifestIsComparedWithTheChart(t *testing.T) {
	t.Parallel()
	root, err := harness.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob(filepath.Join(root, "k8s-manifests", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		file := filepath.Base(path)
		isCompared := slices.ContainsFunc(installations, func(i installation) bool { return slices.Contains(i.files, file) })
		if !isCompared && !strings.HasPrefix(file, "kustom") {
			t.Errorf("nothing compares %s with the chart", file)
		}
	}
}
