package test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/test/harness"
)

const release = "restarts"

// The release is upgraded, uninstalled and installed again, and takes over from the plain
// manifests. The controller works after each installation, and what it keeps survives.
func TestTheChartIsInstalledUpgradedAndRemovedAndTheKeyAndTheHaltsSurvive(t *testing.T) {
	s := openSceneOfItsOwn(t, func() (*place, error) { return openBareCluster(false) })
	s.makeRestrictedNamespace(sharedHome)
	s.make(credentials, set("used", "v0"))
	app := s.run("app", podOf(envFrom(credentials)))

	s.helm("install", release, s.chart(), "--wait")
	s.requirePodOfTheChartsTestIsAdmitted()
	s.requireReleaseRestarts(app, "v1")
	s.putDataIntoHalts()
	kept := s.kept()

	s.helm("upgrade", release, s.chart(), "--wait", "--set", "fanOut.limit=7,dashboard.enabled=true,networkPolicy.enabled=true")
	s.requireArgument("--fan-out-limit=7")
	s.requireKept("an upgrade", kept)

	s.helm("uninstall", release, "--wait")
	s.requireNothingElseIsLeft()
	s.requireKept("an uninstall", kept)

	s.helm("install", release, s.chart(), "--wait")
	s.requireKept("another installation", kept)
	s.requireReleaseRestarts(app, "v2")
}

// The plain manifests and the chart have the same names.
func TestTheChartTakesOverFromTheManifests(t *testing.T) {
	s := openSceneOfItsOwn(t, func() (*place, error) { return openBareCluster(false) })
	s.make(credentials, set("used", "v0"))
	app := s.run("app", podOf(envFrom(credentials)))
	s.install(&manifestSets[0])
	s.requireReleaseRestarts(app, "v1")
	s.putDataIntoHalts()
	kept := s.kept()

	s.helm("install", release, s.chart(), "--wait", "--take-ownership", "--force-conflicts", "--set", "fanOut.limit=7")
	s.requireArgument("--fan-out-limit=7")
	s.requireKept("the change to the chart", kept)
	s.requireReleaseRestarts(app, "v2")
}

func (s *scene) chart() string {
	s.Helper()
	chart, err := harness.Chart()
	s.must(err)
	return chart
}

// helm runs Helm as the administrator in the controller's namespace.
func (s *scene) helm(arguments ...string) []byte {
	s.Helper()
	return s.helmIn(sharedHome, arguments...)
}

// helmIn runs Helm as the administrator in a namespace.
func (s *scene) helmIn(namespace string, arguments ...string) []byte {
	s.Helper()
	arguments = append(arguments, "--kubeconfig="+s.cluster.Kubeconfig(), "--namespace="+namespace)
	out, err := harness.Helm(s.Context(), s.TempDir(), arguments...)
	s.must(err)
	return out
}

// makeRestrictedNamespace makes a namespace as rbac.yaml does.
func (s *scene) makeRestrictedNamespace(name string) {
	s.Helper()
	_, err := s.client.CoreV1().Namespaces().Create(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	s.must(err)
}

// requireReleaseRestarts runs the controller with the permissions and arguments that were
// installed, and edits the Secret, for which the workload must restart.
func (s *scene) requireReleaseRestarts(app workload, value string) {
	s.Helper()
	s.startAsApplied("")
	last := s.running(app)
	s.edit(credentials, set("used", value))
	s.awaitRestart(app, last)
	s.requireInstallationRuns("")
	for _, complaint := range []string{"forbidden", "missing permission", "level=ERROR"} {
		if lines := s.controller.Log().Containing(complaint); len(lines) > 0 {
			s.Errorf("the log says %q", lines)
		}
	}
	s.must(s.controller.Stop())
}

// requirePodOfTheChartsTestIsAdmitted asks the API server about the pod of `helm test`, whose
// end KWOK does not play.
func (s *scene) requirePodOfTheChartsTestIsAdmitted() {
	s.Helper()
	path := filepath.Join(s.TempDir(), "pod.yaml")
	s.must(os.WriteFile(path, s.helm("template", release, s.chart(), "--show-only=templates/tests/version.yaml"), 0o600))
	_, err := s.cluster.Kubectl(s.Context(), "create", "--dry-run=server", "-f", path)
	s.must(err)
}

// keptObjects are what survives: their UIDs, and their data as text.
type keptObjects struct{ KeyUID, Key, HaltsUID, Halts string }

func (s *scene) kept() keptObjects {
	s.Helper()
	key, err := s.client.CoreV1().Secrets(sharedHome).Get(s.Context(), keySecret, metav1.GetOptions{})
	s.must(err)
	halts, err := s.client.CoreV1().ConfigMaps(sharedHome).Get(s.Context(), haltsConfigMap, metav1.GetOptions{})
	s.must(err)
	return keptObjects{string(key.UID), fmt.Sprint(key.Data), string(halts.UID), fmt.Sprint(halts.Data)}
}

func (s *scene) requireKept(after string, want keptObjects) {
	s.Helper()
	if diff := cmp.Diff(want, s.kept()); diff != "" {
		s.Errorf("after %s (-before +after):\n%s", after, diff)
	}
}

// putDataIntoHalts adds an entry, for which no halt is needed.
func (s *scene) putDataIntoHalts() {
	s.Helper()
	patch := []byte(`{"data":{"entry":"of the test"}}`)
	_, err := s.client.CoreV1().ConfigMaps(sharedHome).Patch(s.Context(), haltsConfigMap, types.MergePatchType, patch, metav1.PatchOptions{})
	s.must(err)
}

func (s *scene) requireArgument(argument string) {
	s.Helper()
	deployment, err := s.client.AppsV1().Deployments(sharedHome).Get(s.Context(), controllerName, metav1.GetOptions{})
	s.must(err)
	if args := deployment.Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, argument) {
		s.Errorf("the arguments are %q", args)
	}
}

// requireNothingElseIsLeft requires that all objects with the release's label are gone, except
// for those that are kept.
func (s *scene) requireNothingElseIsLeft() {
	s.Helper()
	const kinds = "clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts,deployments,services,poddisruptionbudgets," +
		"networkpolicies,secrets,configmaps,validatingadmissionpolicies,validatingadmissionpolicybindings"
	left, err := s.cluster.Kubectl(s.Context(), "get", kinds, "-A", "-o", "name", "-l", "app.kubernetes.io/instance="+release)
	s.must(err)
	names := strings.Fields(left)
	slices.Sort(names)
	if diff := cmp.Diff([]string{"configmap/" + haltsConfigMap, "secret/" + keySecret}, names); diff != "" {
		s.Errorf("what is left (-want +got):\n%s", diff)
	}
}
