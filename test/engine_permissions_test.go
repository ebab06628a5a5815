package test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/test/harness"
)

// namespacedPermissions are the manifests of the permissions of both engines, see
// [scene.manifestsApart].
func (s *scene) namespacedPermissions() (manifests []byte, home string) {
	s.Helper()
	return s.manifestsApart("rbac-namespaced.yaml", "rbac-deployment-engine-namespaced.yaml")
}

// rulesOf reads the first rules in a manifest.
func (s *scene) rulesOf(manifest string) []rbacv1.PolicyRule {
	s.Helper()
	content, err := harness.Manifest(manifest)
	s.must(err)
	var role rbacv1.Role // a ClusterRole has its rules in the same place
	s.must(yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096).Decode(&role))
	if len(role.Rules) == 0 {
		s.Fatalf("no rules in %s", manifest)
	}
	return role.Rules
}

// Both manifests of the engine's permissions grant the same. Nothing is missing from them
// and, so that no obsolete permission is kept, nothing is in them that the
// engine does not use.
func TestTheEngineHasThePermissionsThatItUsesAndNoOthers(t *testing.T) {
	s := newEngineSceneApart(t)
	rules := s.rulesOf("rbac-deployment-engine-namespaced.yaml")
	if diff := cmp.Diff(s.rulesOf("rbac-deployment-engine.yaml"), rules); diff != "" {
		t.Errorf("permissions in all namespaces and in one (-all +one):\n%s", diff)
	}
	probe := s.probePermissions("rbac-deployment-engine-namespaced.yaml")
	if whole := s.probePermissions("rbac-deployment-engine.yaml"); !cmp.Equal(whole, probe) {
		t.Errorf("permissions in the own namespace (-all +one):\n%s", cmp.Diff(whole, probe))
	}
	s.kubectl("delete", "deployment", markerName) // the restart controller would use permissions for it
	s.awaitGone(deployment(markerName))
	manifests, home := s.namespacedPermissions()
	var err error
	s.installation, err = s.cluster.Install(t.Context(), manifests)
	s.must(err)
	engine := s.startEngine()
	s.useAllPermissions()

	s.requireUsed(s.namespace, home, rules)
	for _, r := range s.requests(func(*request) bool { return true }) {
		if r.code == http.StatusForbidden {
			t.Errorf("lacks the permission to %s %s", r.verb, r.resource)
		}
		if r.isOfWorkloads() && r.isWrite() && r.verb != "delete" && r.manager != fieldManager {
			t.Errorf("%s %s %s is by the field manager %q, want %q", r.verb, r.resource, r.name, r.manager, fieldManager)
		}
	}
	s.requireNoErrors(engine)

	s.standDown(engine)
	s.must(engine.Stop()) // and deletes its probe
	s.requireUsed(home, home, probe.Rules)
	for _, r := range s.requestsIn(home, func(r *request) bool { return r.code == http.StatusForbidden }) {
		t.Errorf("lacks the permission to %s %s %s", r.verb, r.resource, r.name)
	}
}

// requireUsed fails the test unless the account of the namespace home has made use in a
// namespace of all that the rules grant.
func (s *scene) requireUsed(namespace, home string, rules []rbacv1.PolicyRule) {
	s.Helper()
	s.eventually("all permissions in "+namespace+" are used", func(context.Context) error {
		used := map[string]bool{}
		for _, r := range s.requestsIn(namespace, func(r *request) bool { return strings.Contains(r.account, ":"+home+":") }) {
			used[r.verb+" "+r.resource] = true
		}
		var unused []string
		for _, permission := range permissions(rules) {
			if !used[permission] {
				unused = append(unused, permission)
			}
		}
		if len(unused) > 0 {
			return fmt.Errorf("no use was made of %q", unused)
		}
		return nil
	})
}

// standDown makes an engine stand by, by answering its probe, and take over again.
func (s *scene) standDown(engine *harness.Controller) {
	s.Helper()
	home := s.installation.Namespace
	s.must(engine.AwaitDriving(s.Context(), waitLimit))
	_, err := s.client.AppsV1().Deployments(home).Patch(s.Context(), probeName, types.MergePatchType, []byte(`{"status":{"observedGeneration":1}}`),
		metav1.PatchOptions{FieldManager: "somebody"}, "status")
	s.must(err)
	s.requireEvent(home, "RivalEngine", "somebody wrote the status of deployment "+home+"/"+probeName)
	s.must(engine.AwaitDriving(s.Context(), waitLimit))
}

// permissions lists what rules grant, apart from lists, which are watches with servers that
// stream them, and from finalizers: an admission plugin demands the permission to update
// those, and nobody writes them.
func permissions(rules []rbacv1.PolicyRule) (granted []string) {
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				if verb != "list" && !strings.HasSuffix(resource, "/finalizers") {
					granted = append(granted, verb+" "+resource)
				}
			}
		}
	}
	return granted
}

// useAllPermissions lets everything happen that the engine has a permission for.
func (s *scene) useAllPermissions() {
	s.Helper()
	app := s.deploy("app", 1, func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(1)) })
	s.awaitRollout(app)
	for _, image := range []string{"example/main:2", "example/main:3"} { // one ReplicaSet is too many then
		s.patchImage(app, image)
		s.awaitRollout(app)
	}
	s.awaitSizes(app, 0, 1)
	s.annotate(app, appsv1.DeprecatedRollbackTo, "2")
	s.awaitEvent(app, "DeploymentRollback", "Rolled back deployment")
	d := s.awaitDeployment(app, "is rolled back", func(d *appsv1.Deployment) error { return deploymentRollout(d) })
	for _, replicas := range []string{"0", "1", "0", "1"} { // the same Events twice
		s.kubectl("scale", app.ref(), "--replicas="+replicas)
		s.awaitRollout(app)
	}
	s.kubectl("delete", app.ref(), "--cascade=orphan")
	s.awaitGone(app)
	again := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: app.name}, Spec: d.Spec}
	_, err := s.client.AppsV1().Deployments(s.namespace).Create(s.Context(), again, metav1.CreateOptions{})
	s.must(err)
	s.awaitRollout(app)
	s.awaitRollout(s.deploy("again", 1, recreated))
}

func TestAPermissionThatTheEngineLacksIsReportedAndWaitedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, line string // the line of the manifest that is left out
		complaint  string
		condition  string
		scales     bool // only then is the permission needed
	}{
		{"to create ReplicaSets", "- create # one for each new template", `cannot create resource \"replicasets\"`, "ReplicaSetCreateError", false},
		{"to own ReplicaSets", "- update # own ReplicaSets: the admission plugin OwnerReferencesPermissionEnforcement requires it; the engine never writes finalizers", "cannot set blockOwnerDeletion", "ReplicaSetCreateError", false},
		{"to write the status", "- patch # report the counts, the conditions and the revision", `cannot patch resource \"deployments/status\"`, "", false},
		{"to change ReplicaSets", "- patch # scale, annotate, adopt and release them", `cannot patch resource \"replicasets\"`, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newEngineSceneApart(t)
			manifests, _ := s.namespacedPermissions()
			var err error
			s.installation, err = s.cluster.Install(t.Context(), withoutLine(t, manifests, c.line))
			s.must(err)
			engine := s.startEngine()
			app := s.deploy("app", 2)
			if c.scales {
				s.awaitSizes(app, 2)
				s.kubectl("scale", app.ref(), "--replicas=4")
			}
			s.eventually("the missing permission is logged", func(context.Context) error {
				if len(engine.Log().Containing("level=WARN", s.namespace+"/app", c.complaint)) == 0 {
					return errors.New("the log does not say so")
				}
				return nil
			})
			s.eventually("the metrics show it", func(ctx context.Context) error {
				refused, err := engine.Metric(ctx, "deployment_engine_write_errors_total", map[string]string{"reason": "forbidden"})
				if err == nil && refused == 0 {
					err = errors.New("they do not")
				}
				return err
			})
			if c.condition != "" {
				s.awaitCondition(app, appsv1.DeploymentProgressing, c.condition)
				s.awaitEvent(app, c.condition, "Failed to create new replica set")
			}
			if status, body, err := engine.Get(t.Context(), "/healthz"); err != nil || status != http.StatusOK {
				t.Errorf("/healthz answers %d %s %v", status, body, err)
			}
			_, err = s.cluster.Apply(t.Context(), manifests)
			s.must(err)
			s.awaitRollout(app)
			s.kubectl("scale", app.ref(), "--replicas=3")
			s.awaitRollout(app)
		})
	}
}

func withoutLine(t *testing.T, manifest []byte, line string) []byte {
	t.Helper()
	lines := strings.Split(string(manifest), "\n")
	kept := slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return strings.TrimSpace(l) == line })
	if len(kept) != len(lines)-1 {
		t.Fatalf("%d lines are %q, want one", len(lines)-len(kept), line)
	}
	// A rule without verbs grants nothing, and is not let in.
	return []byte(strings.ReplaceAll(strings.Join(kept, "\n"), "    verbs:\n  -", "    verbs: [none]\n  -"))
}

// An engine that cannot make sure that it is alone does not begin to drive. This one is a
// standby, which is no different.
func TestAnEngineThatMayNotMakeItsProbeSaysSoAndWaits(t *testing.T) {
	s := newEngineSceneApart(t)
	manifests, home := s.namespacedPermissions()
	var err error
	s.installation, err = s.cluster.Install(t.Context(), withoutLine(t, manifests, "- create # create the probe; RBAC cannot limit this to a name"))
	s.must(err)
	engine := s.startController("--deployment-engine=standby")
	app := s.deploy("app", 2)
	s.eventually("/readyz reports the missing permission", func(ctx context.Context) error {
		status, body, err := engine.Get(ctx, "/readyz")
		want := "standing by for another deployment controller; cannot make its probe: create deployment " + home + "/" + probeName + ": deployments.apps is forbidden"
		if err == nil && (status != http.StatusOK || !strings.Contains(body, want)) {
			err = fmt.Errorf("it answers %d: %s", status, body)
		}
		return err
	})
	if len(engine.Log().Containing("level=WARN", "cannot make sure that no other controller drives deployments", "forbidden")) == 0 {
		t.Error("the log does not say so")
	}
	s.requireUndriven(app)
	_, err = s.cluster.Apply(t.Context(), manifests)
	s.must(err)
	s.must(engine.AwaitDriving(t.Context(), waitLimit))
	s.awaitRollout(app)
	s.eventually("/readyz complains no more", func(ctx context.Context) error {
		_, body, err := engine.Get(ctx, "/readyz")
		if err == nil && strings.Contains(body, "cannot") {
			err = errors.New(body)
		}
		return err
	})
}

// Nothing is driven on half of what there is.
func TestAnEngineThatMayNotWatchSaysSoAndWaits(t *testing.T) {
	s := newEngineSceneApart(t)
	manifests, _ := s.namespacedPermissions()
	lacking := manifests
	for _, line := range []string{ // all that is about ReplicaSets
		"- list # find all ReplicaSets at the start",
		"- watch # notice the progress of their pods, and changes made by others",
		"- list # find the pods of a Deployment's present template",
	} {
		lacking = withoutLine(t, lacking, line)
	}
	var err error
	s.installation, err = s.cluster.Install(t.Context(), lacking)
	s.must(err)
	s.controller, err = s.installation.LaunchController(t.Context(), nil, "--namespace", s.namespace, "-r", "1", "-v", "1", engineOn)
	s.must(err)
	t.Cleanup(func() {
		if err := s.controller.Stop(); err != nil {
			t.Error(err)
		}
	})
	app := s.deploy("app", 2)
	s.eventually("/readyz reports the missing permission", func(ctx context.Context) error {
		status, body, err := s.controller.Get(ctx, "/readyz")
		if err != nil {
			return err
		}
		for line := range strings.Lines(body) {
			if status == http.StatusServiceUnavailable && strings.Contains(line, "replicasets") && strings.Contains(line, "forbidden") &&
				strings.Contains(line, "(deployment engine)") {
				return nil
			}
		}
		return fmt.Errorf("it answers %d: %s", status, body)
	})
	s.awaitMetric("deployment_engine_watch_up", map[string]string{"resource": "replicasets"}, 0)
	s.awaitMetric("deployment_engine_watch_up", map[string]string{"resource": "deployments"}, 1)
	s.requireUndriven(app)
	_, err = s.cluster.Apply(t.Context(), manifests)
	s.must(err)
	s.must(s.controller.AwaitReady(t.Context(), waitLimit))
	s.awaitRollout(app)
}

// Only the strategy Recreate waits for pods that their ReplicaSet does not count any more.
func TestAnEngineThatMayNotWatchPodsHoldsUpTheStrategyRecreateOnly(t *testing.T) {
	s := newEngineSceneApart(t)
	manifests, _ := s.namespacedPermissions()
	lacking := manifests
	for _, line := range []string{
		"- list # check whether a pod of an old template still runs (Recreate), and whether a release that may fall back has failed",
		"- watch # notice when the last of them is gone",
		"- list # without a trusted record: check whether containers started before the config changed",
	} {
		lacking = withoutLine(t, lacking, line)
	}
	var err error
	s.installation, err = s.cluster.Install(t.Context(), lacking)
	s.must(err)
	engine := s.startEngine()
	rolled, app := s.deploy("rolled", 2), s.deploy("app", 2, recreated)
	s.awaitRollout(rolled)
	s.awaitRollout(app)
	s.patchImage(app, "example/main:2")
	s.patchImage(rolled, "example/main:2")
	s.awaitRollout(rolled)
	s.awaitSizes(app, 0)
	s.eventually("/readyz reports the missing permission", func(ctx context.Context) error {
		status, body, err := engine.Get(ctx, "/readyz")
		want := "watch pods in " + s.namespace + ": not synced yet, broken since "
		if err == nil && (status != http.StatusOK || !strings.Contains(body, want) || !strings.Contains(body, "(deployment engine, for the strategy Recreate)")) {
			err = fmt.Errorf("it answers %d: %s", status, body)
		}
		return err
	})
	s.awaitMetric("deployment_engine_watch_up", map[string]string{"resource": "pods"}, 0)
	_, err = s.cluster.Apply(t.Context(), manifests)
	s.must(err)
	s.awaitRollout(app)
	s.awaitMetric("deployment_engine_watch_up", map[string]string{"resource": "pods"}, 1)
}
