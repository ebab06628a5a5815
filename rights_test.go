package main

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
)

// grants reads what the Roles and ClusterRoles of manifests grant: each right once, with the
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

// What a start looks for is what the manifests grant, so that a right that is added
// to the one cannot be forgotten in the other.
func TestTheRightsThatAreLookedForAreThoseOfTheManifests(t *testing.T) {
	for name, test := range map[string]struct {
		args      string
		manifests []string
		unneeded  string // a resource
	}{
		"in all namespaces":             {"", []string{"rbac.yaml"}, ""},
		"in some":                       {"--namespace=a --namespace=b", []string{"rbac-namespaced.yaml"}, ""},
		"with the engine":               {"--deployment-engine=on", []string{"rbac.yaml", "rbac-deployment-engine.yaml"}, ""},
		"with the engine, in some only": {"--deployment-engine=on --namespace=a", []string{"rbac-namespaced.yaml", "rbac-deployment-engine-namespaced.yaml"}, ""},
		"of ConfigMaps only":            {"--configs=configmaps", []string{"rbac.yaml"}, "secrets"},
		"of Secrets only":               {"--configs=secrets", []string{"rbac.yaml"}, "configmaps"},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := parseOptions(append(strings.Fields(test.args), "--leader-elect", "--controller-namespace=deployment-restart-controller"))
			if err != nil {
				t.Fatal(err)
			}
			all, err := newEngines(o, &rest.Config{Host: "http://127.0.0.1"}, newLogger(o, io.Discard))
			if err != nil {
				t.Fatal(err)
			}
			needed := map[string]bool{}
			for _, right := range neededRights(o, all) {
				needed[strings.Join([]string{right.Verb, right.Group, right.Resource, right.Name}, " ")] = true
				if right.Impact == "" {
					t.Errorf("nothing tells what does not work without the right to %s", right)
				}
			}
			granted := slices.DeleteFunc(grants(t, test.manifests...), func(right string) bool { return strings.Fields(right)[1] == test.unneeded })
			if diff := cmp.Diff(granted, slices.Sorted(maps.Keys(needed))); diff != "" {
				t.Errorf("rights (-granted +needed):\n%s", diff)
			}
		})
	}
}
