package test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// plain removes the annotation by which a Deployment opts in.
func plain(d *appsv1.Deployment) { delete(d.Annotations, enabledAnnotation) }

// says sets an annotation of the scene's Namespace, or removes it if the value is empty.
func (s *scene) says(annotation, value string) { s.patchNamespace("annotations", annotation, value) }

func (s *scene) patchNamespace(member, key, value string) {
	s.Helper()
	var wanted any
	if value != "" {
		wanted = value
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{member: map[string]any{key: wanted}}})
	s.must(err)
	_, err = s.client.CoreV1().Namespaces().Patch(s.Context(), s.namespace, types.MergePatchType, patch, metav1.PatchOptions{})
	s.must(err)
}

// awaitEnabled waits until the controller has recorded a workload.
func (s *scene) awaitEnabled(w workload) state {
	s.Helper()
	return s.await("is recorded", w, func(now state) error {
		if now.Annotations[basisAnnotation] == "" {
			return errors.New("it has no record")
		}
		return nil
	})
}

func TestANamespaceEnablesItsWorkloads(t *testing.T) {
	s := newSceneApart(t)
	s.startController("--namespace-annotations")
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)), plain)
	out := s.run("out", podOf(envFrom(settings)), func(d *appsv1.Deployment) { d.Annotations[enabledAnnotation] = "disabled" })
	outBefore := s.awaitRollout(out)
	appBefore := s.awaitRollout(app)
	s.edit(settings, set("used", "v2")) // before the namespace opts in: nobody's concern
	s.settle()
	s.requireUntouched(app, appBefore)

	s.letTimePass()
	s.says(enabledAnnotation, "enabled")
	before := s.awaitEnabled(app)
	s.settle()
	s.requireWrites(app, appBefore, 0, 1)
	s.requireUntouched(out, outBefore)

	outcomes := s.impact(2, "configmap/"+settings.name, "--key=used", "--controller-namespace="+s.installation.Namespace)
	if outcomes["app"] != "restarts" || outcomes["out"] == "restarts" {
		t.Errorf("the plugin expects %v", outcomes)
	}

	s.edit(settings, set("used", "v3"))
	s.awaitRestart(app, before)
	s.settle()
	s.requireRestarts(app, before, 1)
	s.requireUntouched(out, outBefore)

	s.says(enabledAnnotation, "")
	s.eventually("the workload is no longer enabled", func(context.Context) error {
		if len(s.controller.Log().Containing("no_longer_enabled=1")) == 0 {
			return errors.New("the log does not say so")
		}
		return nil
	})
	s.edit(settings, set("used", "v4"))
	s.settle()
	s.requireRestarts(app, before, 1)
}

// Since when the rules apply outlives the process that they were first given to: pods that were older then have
// read what they had to read.
func TestWorkloadsThatAreEnabledByDefaultRestartForLaterEditsOnly(t *testing.T) {
	s := newSceneApart(t)
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)), plain)
	out := s.run("out", podOf(envFrom(settings)), func(d *appsv1.Deployment) { d.Annotations[enabledAnnotation] = "no" })
	outBefore := s.awaitRollout(out)
	s.awaitRollout(app)
	s.letTimePass()
	s.edit(settings, set("used", "v2"))
	s.letTimePass()

	controller := s.startController("--enable-by-default")
	before := s.awaitEnabled(app)
	s.settle()
	s.requireRestarts(app, before, 0)
	s.must(controller.Stop())

	// Later edits count although no controller runs, also for a workload without a record.
	late := s.run("late", podOf(envFrom(settings)), plain)
	lateBefore := s.awaitRollout(late)
	s.letTimePass()
	s.edit(settings, set("used", "v3"))
	s.startController("--enable-by-default")
	s.awaitRestart(app, before)
	s.awaitRestart(late, lateBefore)
	s.settle()
	s.requireRestarts(app, before, 1)
	s.requireUntouched(out, outBefore)
}

// The namespaces of Kubernetes itself are left alone unless --namespace names them.
func TestByDefaultNoWorkloadOfKubernetesItselfIsEnabled(t *testing.T) {
	s := newSceneApart(t)
	s.installApart(nil)
	s.allowEverywhere("kubernetes-deployment-restart-controller", "kubernetes-deployment-restart-controller-namespaces")
	system := enterNamed(t, &place{cluster: s.cluster, installation: s.installation}, "kube-"+s.namespace)
	app, both := deployment("app"), []*scene{s, system}
	before := make(map[*scene]state)
	for _, each := range both {
		each.patchNamespace("labels", "of", s.namespace) // so that this controller leaves other tests alone
		each.make(settings, set("used", "v1"))
		each.run(app.name, podOf(envFrom(settings)), plain)
		before[each] = each.awaitRollout(app)
	}
	system.controller = s.startControllerForAll("--enable-by-default", "--namespace-selector=of="+s.namespace)
	before[s] = s.awaitEnabled(app)
	for _, each := range both {
		each.edit(settings, set("used", "v2"))
	}
	s.awaitRestart(app, before[s])
	system.settle()
	system.requireUntouched(app, before[system])
	s.must(s.controller.Stop())

	system.startController("--enable-by-default")
	before[system] = system.awaitEnabled(app)
	system.edit(settings, set("used", "v3"))
	system.awaitRestart(app, before[system])
}

// allowEverywhere grants the controller of this scene in all namespaces what ClusterRoles of the manifests grant.
func (s *scene) allowEverywhere(clusterRoles ...string) {
	s.Helper()
	for _, role := range clusterRoles {
		_, err := s.client.RbacV1().ClusterRoleBindings().Create(s.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: s.namespace + "-" + role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.installation.Namespace, Name: s.installation.ServiceAccount}},
		}, metav1.CreateOptions{})
		s.must(err)
	}
}

func TestOnlyNamespacesThatAreSelectedAndNotIgnoredAreLookedAt(t *testing.T) {
	s := newSceneApart(t)
	other := enter(t, &place{cluster: s.cluster, installation: s.installation})
	ignored := enter(t, &place{cluster: s.cluster, installation: s.installation})
	s.patchNamespace("labels", "restarts", "yes")
	ignored.patchNamespace("labels", "restarts", "yes")
	pattern := ignored.namespace[:len(ignored.namespace)-1] + "?"
	s.startController("--namespace", other.namespace, "--namespace", ignored.namespace, "--namespace-selector=restarts in (yes)", "--ignore-namespace="+pattern)
	apps := make(map[*scene]workload)
	before := make(map[*scene]state)
	for _, each := range []*scene{s, other, ignored} {
		each.make(settings, set("used", "v1"))
		apps[each] = each.run("app", podOf(envFrom(settings)))
	}
	for each, app := range apps {
		before[each] = each.awaitRollout(app)
	}
	before[s] = s.awaitEnabled(apps[s])
	s.letTimePass()
	for each := range apps {
		each.edit(settings, set("used", "v2"))
	}
	s.awaitRestart(apps[s], before[s])
	s.settle()
	s.requireRestarts(apps[s], before[s], 1)
	other.requireUntouched(apps[other], before[other])
	ignored.requireUntouched(apps[ignored], before[ignored])

	// Its workload opted in itself, so the edit is made up for.
	other.patchNamespace("labels", "restarts", "yes")
	other.awaitRestart(apps[other], before[other])
	s.settle()
	other.requireRestarts(apps[other], before[other], 1)
	ignored.requireUntouched(apps[ignored], before[ignored])
}

// A missing permission is named, and workloads that opt in themselves do not depend on it.
func TestWithoutThePermissionToReadNamespacesOwnAnnotationsCount(t *testing.T) {
	s := newSceneApart(t)
	manifests, _ := s.namespacedPermissions()
	var err error
	s.installation, err = s.cluster.Install(t.Context(), manifests)
	s.must(err)
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)))
	s.awaitRollout(app)
	s.controller, err = s.installation.LaunchController(t.Context(), nil, "--namespace", s.namespace, "-r", "1", "--namespace-annotations")
	s.must(err)
	t.Cleanup(func() { s.must(s.controller.Stop()) })
	before := s.awaitEnabled(app)
	s.edit(settings, set("used", "v2"))
	s.awaitRestart(app, before)
	s.eventually("the log names the permission", func(context.Context) error {
		for _, line := range s.controller.Log().Containing("missing permission") {
			if strings.Contains(line, "list namespaces") {
				return nil
			}
		}
		return errors.New("no line about namespaces")
	})
}
