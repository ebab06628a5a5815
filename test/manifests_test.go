package test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

// manifestSet is a way to install the controller that the manifests describe. Its files are
// applied as they are, but for what their comments ask for.
type manifestSet struct {
	name  string
	files []string
	// edits are made in the files, such as that of a comment which is to be uncommented.
	edits map[string]string
	// overlay is a kustomization for k8s-manifests, which is applied before the files.
	overlay string
	prefix  string // of the names in it
	engine  bool
}

const (
	plainOverlay = "resources: [k8s-manifests]\n"
	elected      = "            - --leader-elect\n"
	watchedOnly  = elected + "            - --namespace=SCENE\n            - --namespace=" + sharedHome + "\n"
	commented    = "            # - --deployment-engine=on\n"
	uncommented  = "            - --deployment-engine=on\n"
)

var manifestSets = []manifestSet{
	{
		name: "with kustomize", overlay: plainOverlay, files: []string{"rbac-namespaces.yaml", "rbac-workloads.yaml", "rbac-csi.yaml", "rbac-evict.yaml", "admission-policy-evict.yaml"},
	},
	{name: "with kustomize and a prefix", overlay: "namePrefix: team-\n" + plainOverlay + "components: [k8s-manifests/components/network-policy]\n", prefix: "team-"},
	{
		name: "with the engine", engine: true, edits: map[string]string{commented: uncommented},
		files: []string{"rbac.yaml", "rbac-deployment-engine.yaml", "admission-policy.yaml", "deployment.yaml", "metrics-service.yaml", "pod-disruption-budget.yaml"},
	},
	{
		name:  "in one namespace",
		edits: map[string]string{"namespace: default # the watched": "namespace: WATCHED # the watched", elected: watchedOnly},
		files: []string{"rbac-namespaced.yaml", "rbac-evict-namespaced.yaml", "admission-policy.yaml", "deployment.yaml", "metrics-service.yaml", "pod-disruption-budget.yaml"},
	},
	{
		name: "in one namespace with the engine", engine: true,
		edits: map[string]string{"namespace: default # the watched": "namespace: WATCHED # the watched", elected: watchedOnly, commented: uncommented},
		files: []string{"rbac-namespaced.yaml", "rbac-deployment-engine-namespaced.yaml", "admission-policy.yaml", "deployment.yaml", "metrics-service.yaml", "pod-disruption-budget.yaml"},
	},
}

func TestEveryManifestIsPartOfAnInstallationThatIsTested(t *testing.T) {
	root, err := harness.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob(filepath.Join(root, "k8s-manifests", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		name := filepath.Base(path)
		isPart := slices.ContainsFunc(manifestSets, func(m manifestSet) bool { return slices.Contains(m.files, name) })
		// The components are compared with the chart in package chart; most need types that the cluster does not have.
		if !isPart && !strings.HasPrefix(name, "kustom") && name != "components" {
			t.Errorf("nothing tests %s", name)
		}
	}
}

// The controller runs with just the permissions, the arguments and the environment that were
// applied, and nothing is missing.
func TestTheManifestsInstallAControllerThatWorks(t *testing.T) {
	t.Parallel()
	for _, m := range manifestSets {
		t.Run(m.name, func(t *testing.T) {
			s := openSceneOfItsOwn(t, func() (*place, error) { return openBareCluster(m.engine) })
			s.install(&m)
			s.startAsApplied(m.prefix)
			s.requireWork()
			s.requireInstallationRuns(m.prefix)
			for _, complaint := range []string{"forbidden", "missing permission", "level=ERROR"} {
				if lines := s.controller.Log().Containing(complaint); len(lines) > 0 {
					t.Errorf("the log says %q", lines)
				}
			}
		})
	}
}

// openBareCluster starts a cluster where nothing is installed.
func openBareCluster(withoutDeploymentController bool) (*place, error) {
	var arguments []string
	if withoutDeploymentController {
		arguments = []string{"--without-deployment-controller"}
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	cluster, err := harness.StartCluster(ctx, harness.ClusterOptions{Nodes: 3, Arguments: arguments})
	if err != nil {
		return nil, err
	}
	return &place{cluster: cluster}, nil
}

// install applies a set.
func (s *scene) install(m *manifestSet) {
	s.Helper()
	if m.overlay != "" {
		root, err := harness.RepositoryRoot()
		s.must(err)
		directory := s.TempDir()
		s.must(os.CopyFS(filepath.Join(directory, "k8s-manifests"), os.DirFS(filepath.Join(root, "k8s-manifests"))))
		s.must(os.WriteFile(filepath.Join(directory, "kustomization.yaml"), []byte(m.overlay), 0o600))
		_, err = s.cluster.Kubectl(s.Context(), "apply", "-k", directory)
		s.must(err)
	}
	for _, name := range m.files {
		manifest, err := harness.Manifest(name)
		s.must(err)
		for text, replacement := range m.edits {
			manifest = bytes.ReplaceAll(manifest, []byte(text), []byte(replacement))
		}
		manifest = bytes.ReplaceAll(manifest, []byte("SCENE"), []byte(s.namespace))
		// A copy for each watched namespace. An engine drives the controller's own pods, too.
		for _, watched := range []string{s.namespace, sharedHome} {
			_, err = s.cluster.Apply(s.Context(), bytes.ReplaceAll(manifest, []byte("WATCHED"), []byte(watched)))
			s.must(err)
		}
	}
}

// startAsApplied starts the controller as the kubelet would.
func (s *scene) startAsApplied(prefix string) {
	s.Helper()
	applied, err := s.client.AppsV1().Deployments(sharedHome).Get(s.Context(), prefix+controllerName, metav1.GetOptions{})
	s.must(err)
	pod := &applied.Spec.Template.Spec
	s.installation, err = s.cluster.Installation(s.Context(), applied.Namespace, pod.ServiceAccountName)
	s.must(err)
	for _, variable := range pod.Containers[0].Env {
		s.installation.Environment = append(s.installation.Environment, variable.Name+"="+variable.Value)
	}
	arguments := append(slices.Clone(pod.Containers[0].Args), "--status-address=127.0.0.1:0") // the processes here share a network
	s.controller, err = s.installation.StartController(s.Context(), arguments...)
	s.must(err)
	s.Cleanup(func() {
		if err := s.controller.Stop(); err != nil {
			s.Error(err)
		}
	})
}

// requireWork edits a ConfigMap and a Secret, after each of which their workload must restart.
func (s *scene) requireWork() {
	s.Helper()
	s.make(settings, set("used", "v1"))
	s.make(credentials, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings), envFrom(credentials)))
	last := s.started(app)
	for _, c := range []config{settings, credentials} {
		s.edit(c, set("used", "v2"))
		last = s.awaitRestart(app, last)
	}
}

// requireInstallationRuns requires that the controller's own pods are let in and run, that
// the Service finds them, that the key has been made and that the controller may read the halts.
func (s *scene) requireInstallationRuns(prefix string) {
	s.Helper()
	name := prefix + controllerName
	s.eventually("the controller's own pods run", func(ctx context.Context) error {
		d, err := s.client.AppsV1().Deployments(sharedHome).Get(ctx, name, metav1.GetOptions{})
		if err == nil && d.Status.AvailableReplicas != *d.Spec.Replicas {
			err = fmt.Errorf("%d of %d are available: %+v", d.Status.AvailableReplicas, *d.Spec.Replicas, d.Status.Conditions)
		}
		return err
	})
	s.eventually("the Service finds the pods", func(ctx context.Context) error {
		slices, err := s.client.DiscoveryV1().EndpointSlices(sharedHome).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + name + "-metrics"})
		if err == nil && (len(slices.Items) != 1 || len(slices.Items[0].Endpoints) == 0) {
			err = errors.New("it does not")
		}
		return err
	})
	s.eventually("the budget counts the pods", func(ctx context.Context) error {
		budget, err := s.client.PolicyV1().PodDisruptionBudgets(sharedHome).Get(ctx, name, metav1.GetOptions{})
		if err == nil && budget.Status.CurrentHealthy == 0 {
			err = errors.New("it does not")
		}
		return err
	})
	key, err := s.client.CoreV1().Secrets(sharedHome).Get(s.Context(), prefix+keySecret, metav1.GetOptions{})
	s.must(err)
	if len(key.Data["key"]) != 32 {
		s.Errorf("the Secret of the key has %d bytes of it", len(key.Data["key"]))
	}
	_, err = s.asController().CoreV1().ConfigMaps(sharedHome).Get(s.Context(), prefix+haltsConfigMap, metav1.GetOptions{})
	s.must(err)
	namespace, err := s.client.CoreV1().Namespaces().Get(s.Context(), sharedHome, metav1.GetOptions{})
	s.must(err)
	if level := namespace.Labels["pod-security.kubernetes.io/enforce"]; level != "restricted" {
		s.Errorf("the namespace enforces the Pod Security level %q", level)
	}
}
