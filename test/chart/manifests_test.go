package chart

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

var presetKinds = []string{
	"rollouts.v1alpha1.argoproj.io", "clonesets.v1alpha1.apps.kruise.io", "statefulsets.v1beta1.apps.kruise.io", "deploymentconfigs.v1.apps.openshift.io",
}

var installations = []installation{
	{name: "by default", files: strings.Fields("rbac.yaml admission-policy.yaml deployment.yaml " + optionalOnes)},
	{
		name:   "with the engine",
		values: values{"engine": "on"},
		files:  strings.Fields("rbac.yaml rbac-deployment-engine.yaml admission-policy.yaml deployment.yaml " + optionalOnes),
		edits:  []string{commented, uncommented},
	},
	{
		name:   "without the status page",
		values: values{"statusAddress": ""},
		files:  strings.Fields("rbac.yaml admission-policy.yaml deployment.yaml " + optionalOnes),
		edits:  []string{"            - --status-address=127.0.0.1:10255\n", ""},
	},
	{
		name:   "with other kinds of workloads",
		values: values{"workloads": presetKinds},
		files:  strings.Fields("rbac.yaml rbac-workloads.yaml admission-policy.yaml deployment.yaml " + optionalOnes),
		edits:  []string{elected, elected + "            - --workload=" + strings.Join(presetKinds, "\n            - --workload=") + "\n"},
	},
	{
		name:   "by namespace",
		values: values{"optIn": values{"byNamespace": true}},
		files:  strings.Fields("rbac.yaml rbac-namespaces.yaml admission-policy.yaml deployment.yaml " + optionalOnes),
		edits:  []string{elected, elected + "            - --namespace-annotations\n"},
	},
	{
		name:   "with CSI volumes",
		values: values{"csi": true},
		files:  strings.Fields("rbac.yaml rbac-csi.yaml admission-policy.yaml deployment.yaml " + optionalOnes),
		edits:  []string{elected, elected + "            - --csi\n"},
	},
	{
		name:   "with evictions",
		values: values{"evict": true},
		files:  strings.Fields("rbac.yaml rbac-evict.yaml admission-policy.yaml admission-policy-evict.yaml deployment.yaml " + optionalOnes),
		edits:  []string{elected, elected + "            - --evict\n"},
	},
	{
		name:   "with evictions in one namespace",
		values: values{"namespaces": []string{"default"}, "evict": true},
		files:  strings.Fields("rbac-namespaced.yaml rbac-evict-namespaced.yaml admission-policy.yaml admission-policy-evict.yaml deployment.yaml " + optionalOnes),
		edits:  []string{elected, watchedOnly + "            - --evict\n"},
	},
	{
		name:   "by default in one namespace",
		values: values{"namespaces": []string{"default"}, "optIn": values{"byDefault": true}},
		files:  strings.Fields("rbac-namespaced.yaml rbac-namespaces.yaml admission-policy.yaml deployment.yaml " + optionalOnes),
		edits:  []string{elected, watchedOnly + "            - --enable-by-default\n", "# resourceNames: [default]", "resourceNames: [default]"},
	},
	{
		name:   "in one namespace",
		values: values{"namespaces": []string{"default"}},
		files:  strings.Fields("rbac-namespaced.yaml admission-policy.yaml deployment.yaml " + optionalOnes),
		edits:  []string{elected, watchedOnly},
	},
	{
		name:   "in one namespace with the engine",
		values: values{"namespaces": []string{"default"}, "engine": true},
		files:  strings.Fields("rbac-namespaced.yaml rbac-deployment-engine-namespaced.yaml admission-policy.yaml deployment.yaml " + optionalOnes),
		edits:  []string{elected, watchedOnly, commented, uncommented},
	},
	{
		name: "with a ServiceMonitor",
		values: values{
			"monitors":      values{"serviceMonitor": values{"enabled": true}, "prometheusRule": values{"enabled": true}},
			"networkPolicy": values{"enabled": true},
		},
		files: strings.Fields("rbac.yaml admission-policy.yaml deployment.yaml components/service-monitor/service-monitor.yaml " +
			"components/prometheus-rule/prometheus-rule.yaml components/network-policy/network-policy.yaml " + optionalOnes),
	},
	{
		name:   "with a PodMonitor",
		values: values{"monitors": values{"podMonitor": values{"enabled": true}}},
		files:  strings.Fields("rbac.yaml admission-policy.yaml deployment.yaml components/pod-monitor/pod-monitor.yaml " + optionalOnes),
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
	manifests := manifestsDirectory(t)
	err := filepath.WalkDir(manifests, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := filepath.Rel(manifests, path)
		isCompared := slices.ContainsFunc(installations, func(i installation) bool { return slices.Contains(i.files, file) })
		if !isCompared && !strings.HasPrefix(filepath.Base(file), "kustom") {
			t.Errorf("nothing compares %s with the chart", file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Whoever installs with kubectl or kustomize learns from these two what else there is.
func TestEachOptionalManifestIsListed(t *testing.T) {
	t.Parallel()
	manifests := manifestsDirectory(t)
	paths, err := filepath.Glob(filepath.Join(manifests, "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d manifests, %v", len(paths), err)
	}
	for _, list := range []string{"kustomization.yaml", "../docs/installation.md"} {
		text, err := os.ReadFile(filepath.Join(manifests, list))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range paths {
			if name := filepath.Base(file); !regexp.MustCompile(`[^-a-z]`+regexp.QuoteMeta(name)).Match(text) && !strings.HasPrefix(name, "kustom") {
				t.Errorf("%s does not list %s", list, name)
			}
		}
	}
}

func manifestsDirectory(t *testing.T) string {
	t.Helper()
	root, err := harness.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "k8s-manifests")
}

// kustomize builds an overlay that adds these components to the manifests, without a cluster.
func kustomize(t *testing.T, components ...string) objects {
	t.Helper()
	binary, err := harness.LocalClusterBinary()
	if err != nil {
		t.Fatal(err)
	}
	overlay := t.TempDir()
	if err := os.CopyFS(filepath.Join(overlay, "k8s-manifests"), os.DirFS(manifestsDirectory(t))); err != nil {
		t.Fatal(err)
	}
	text := "resources: [k8s-manifests]\ncomponents:\n"
	for _, component := range components {
		text += "  - k8s-manifests/components/" + component + "\n"
	}
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	built, err := exec.CommandContext(t.Context(), binary, "kubectl", "kustomize", overlay).Output()
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, built)
}

// The content of the objects is compared where kustomize does not write it anew.
func TestAComponentOfKustomizeIsASwitchOfTheChart(t *testing.T) {
	t.Parallel()
	on := values{"enabled": true}
	for component, v := range map[string]values{
		"service-monitor":          {"monitors": values{"serviceMonitor": on}},
		"pod-monitor":              {"monitors": values{"podMonitor": on}},
		"prometheus-rule":          {"monitors": values{"prometheusRule": on}},
		"network-policy":           {"networkPolicy": on},
		"without-admission-policy": {"admissionPolicy": values{"enabled": false}},
	} {
		t.Run(component, func(t *testing.T) {
			t.Parallel()
			built := kustomize(t, component)
			delete(built, "Namespace /"+namespace)
			if diff := cmp.Diff(built.names(), render(t, v, "--no-hooks").names()); diff != "" {
				t.Errorf("objects (-kustomize +chart):\n%s", diff)
			}
		})
	}
}
