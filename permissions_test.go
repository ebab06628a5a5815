package main

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
)

// grants reads what the Roles and ClusterRoles of manifests grant: each permission once, with the
// name that it is limited to.
func grants(t *testing.T, names ...string) []string {
	t.Helper()
	granted := map[string]bool{}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join("k8s-manifests", name))
		if err != nil {
			t.Fatal(err)
		}
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
		for {
			var role rbacv1.ClusterRole // a Role has its rules in the same place
			if err := decoder.Decode(&role); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			for _, rule := range role.Rules {
				addGrants(granted, rule)
			}
		}
	}
	return slices.Sorted(maps.Keys(granted))
}

func addGrants(granted map[string]bool, rule rbacv1.PolicyRule) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, verb := range rule.Verbs {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					granted[strings.Join([]string{verb, group, resource, name}, " ")] = true
				}
			}
		}
	}
}

// What a start looks for is what the manifests grant, so that a permission that is added
// to the one cannot be forgotten in the other.
func TestTheCheckedPermissionsAreThoseOfTheManifests(t *testing.T) {
	for name, test := range map[string]struct {
		args      string
		manifests []string
		unneeded  []string // permissions that the manifests grant
	}{
		"in all namespaces":             {"", []string{"rbac.yaml"}, nil},
		"in some":                       {"--namespace=a --namespace=b", []string{"rbac-namespaced.yaml"}, nil},
		"with the engine":               {"--deployment-engine=on", []string{"rbac.yaml", "rbac-deployment-engine.yaml"}, nil},
		"with the engine, in some only": {"--deployment-engine=on --namespace=a", []string{"rbac-namespaced.yaml", "rbac-deployment-engine-namespaced.yaml"}, nil},
		"of ConfigMaps only": {"--configs=configmaps", []string{"rbac.yaml"}, []string{
			"list  secrets ", "watch  secrets ",
			"get  secrets kubernetes-deployment-restart-controller-checksum-key", "update  secrets kubernetes-deployment-restart-controller-checksum-key",
		}},
		"with CSI volumes":                         {"--csi", []string{"rbac.yaml", "rbac-csi.yaml"}, nil},
		"with CSI volumes, and of ConfigMaps only": {"--csi --configs=configmaps", []string{"rbac.yaml", "rbac-csi.yaml"}, []string{"list  secrets ", "watch  secrets "}},
		"of Secrets only":                          {"--configs=secrets", []string{"rbac.yaml"}, []string{"list  configmaps ", "watch  configmaps "}},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := parseOptions(append(strings.Fields(test.args), "--leader-elect", "--controller-namespace=deployment-restart-controller"))
			if err != nil {
				t.Fatal(err)
			}
			all, err := newEngines(o, &rest.Config{Host: "http://127.0.0.1"}, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			needed := map[string]bool{}
			for _, permission := range neededPermissions(o, all) {
				needed[strings.Join([]string{permission.Verb, permission.Group, permission.Resource, permission.Name}, " ")] = true
				if permission.Impact == "" {
					t.Errorf("no impact is given for the permission to %s", permission)
				}
				if one := strings.Join([]string{permission.Verb, permission.Group, permission.Resource, permission.Name}, " "); !slices.Contains(grants(t, cmp.Or(permission.Manifest, "rbac.yaml")), one) {
					t.Errorf("the manifest that is named does not grant the permission to %s", permission)
				}
			}
			granted := slices.DeleteFunc(grants(t, test.manifests...), func(permission string) bool { return slices.Contains(test.unneeded, permission) })
			if differs := diff.Diff(granted, slices.Sorted(maps.Keys(needed))); differs != "" {
				t.Errorf("permissions (-granted +needed):\n%s", differs)
			}
		})
	}
}

// fenced reads the resources whose updates an admission policy of the manifests covers.
func fenced(t *testing.T, policy string) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("k8s-manifests", "admission-policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		var p admissionv1.ValidatingAdmissionPolicy
		if err := decoder.Decode(&p); err != nil {
			t.Fatalf("read policy %s: %v", policy, err)
		}
		if p.Kind != "ValidatingAdmissionPolicy" || p.Name != policy {
			continue
		}
		var resources []string
		for _, rule := range p.Spec.MatchConstraints.ResourceRules {
			if slices.Contains(rule.Operations, admissionv1.Update) && slices.Contains(rule.APIGroups, "apps") {
				resources = append(resources, rule.Resources...)
			}
		}
		return resources
	}
}

// RBAC lets the controller patch whole workloads, so the fence must cover each kind.
func TestTheFenceCoversEachKindOfWorkloadThatMayBePatched(t *testing.T) {
	o, err := parseOptions(nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := newEngines(o, &rest.Config{Host: "http://127.0.0.1"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var patched []string
	for _, permission := range neededPermissions(o, all) {
		if permission.Verb == "patch" && permission.Group == "apps" {
			patched = append(patched, permission.Resource)
		}
	}
	slices.Sort(patched)
	covered := fenced(t, "kubernetes-deployment-restart-controller-workloads")
	slices.Sort(covered)
	if differs := diff.Diff(patched, covered); differs != "" || len(patched) == 0 {
		t.Errorf("kinds of workloads (-patched +fenced):\n%s", differs)
	}
}
