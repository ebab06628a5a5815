package test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var missingPermission = regexp.MustCompile(`msg="missing permission" right="([^"]+)" without_it="[^"]+"`)

// Each permission that the manifests grant is taken away once. A start then names it,
// with what will not work, and nothing else.
func TestAStartNamesMissingPermissions(t *testing.T) {
	s := newEngineSceneApart(t)
	manifests, home := s.namespacedPermissions()
	var err error
	s.installation, err = s.cluster.Install(t.Context(), manifests)
	s.must(err)
	s.requireMissing(home, "")
	for _, namespace := range []string{s.namespace, home} {
		role, rules := s.inOneRole(namespace)
		for i, rule := range rules {
			s.setRules(role, slices.Delete(slices.Clone(rules), i, i+1))
			s.awaitAccess(namespace, rule, false)
			s.requireMissing(home, nameOf(namespace, rule))
		}
		s.setRules(role, rules)
		for _, rule := range rules {
			s.awaitAccess(namespace, rule, true)
		}
	}
}

// inOneRole moves all permissions that Roles of a namespace grant into one of them, with a
// rule for each.
func (s *scene) inOneRole(namespace string) (role *rbacv1.Role, rules []rbacv1.PolicyRule) {
	s.Helper()
	roles, err := s.client.RbacV1().Roles(namespace).List(s.Context(), metav1.ListOptions{})
	s.must(err)
	known := map[string]bool{}
	for _, role := range roles.Items {
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					single := rbacv1.PolicyRule{
						Verbs: []string{verb}, APIGroups: rule.APIGroups, Resources: []string{resource}, ResourceNames: rule.ResourceNames,
					}
					if name := nameOf(namespace, single); !known[name] {
						known[name] = true
						rules = append(rules, single)
					}
				}
			}
		}
		s.setRules(&role, nil)
	}
	return &roles.Items[0], rules
}

func (s *scene) setRules(role *rbacv1.Role, rules []rbacv1.PolicyRule) {
	s.Helper()
	roles := s.client.RbacV1().Roles(role.Namespace)
	present, err := roles.Get(s.Context(), role.Name, metav1.GetOptions{})
	s.must(err)
	present.Rules = rules
	_, err = roles.Update(s.Context(), present, metav1.UpdateOptions{})
	s.must(err)
}

// awaitAccess waits until the API server heeds a Role that was changed.
func (s *scene) awaitAccess(namespace string, rule rbacv1.PolicyRule, want bool) {
	s.Helper()
	resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
	review := &authorizationv1.LocalSubjectAccessReview{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: fmt.Sprintf("system:serviceaccount:%s:%s", s.installation.Namespace, s.installation.ServiceAccount),
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: resource, Subresource: subresource,
				Name: strings.Join(rule.ResourceNames, ""),
			},
		},
	}
	s.eventually(fmt.Sprintf("the permission to %s is %t", nameOf(namespace, rule), want), func(ctx context.Context) error {
		answer, err := s.client.AuthorizationV1().LocalSubjectAccessReviews(namespace).Create(ctx, review, metav1.CreateOptions{})
		if err == nil && answer.Status.Allowed != want {
			err = errors.New("not yet")
		}
		return err
	})
}

// nameOf is what the controller calls the permission that a rule grants.
func nameOf(namespace string, rule rbacv1.PolicyRule) string {
	name := rule.Verbs[0] + " " + rule.Resources[0]
	if group := rule.APIGroups[0]; group != "" {
		name += "." + group
	}
	if len(rule.ResourceNames) > 0 {
		name += " " + rule.ResourceNames[0]
	}
	return name + " in namespace " + namespace
}

// requireMissing starts a controller with everything on, and fails the test unless it
// names exactly this permission, or no permission if that is empty.
func (s *scene) requireMissing(home, want string) {
	s.Helper()
	controller, err := s.installation.LaunchController(s.Context(), nil, "--namespace", s.namespace, "-v", "1", engineOn,
		"--controller-namespace", home, "--leader-elect", "--listen-address=127.0.0.1:0")
	s.must(err)
	s.eventually("the permissions checked", func(context.Context) error {
		if len(controller.Log().Containing(`msg="permissions checked"`)) == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	s.must(controller.Kill())
	named := false
	for _, line := range controller.Log().Containing("missing permission") {
		if match := missingPermission.FindStringSubmatch(line); len(match) != 2 || match[1] != want {
			s.Errorf("without %q the log says %s", want, line)
		}
		named = true
	}
	if want != "" && !named {
		s.Errorf("the log does not name %q, which is missing", want)
	}
}

// What the optional manifests of evictions and of Namespaces grant is used, and suffices.
func TestTheOptionalManifestsGrantWhatIsUsedAndNothingElse(t *testing.T) {
	s := newEngineSceneApart(t)
	manifests, home := s.manifestsApart("rbac-namespaced.yaml", "rbac-evict-namespaced.yaml", "rbac-namespaces.yaml")
	var err error
	s.installation, err = s.cluster.Install(t.Context(), manifests)
	s.must(err)
	s.startController("--evict", "--namespace-annotations")
	s.make(settings, set("used", "v1"))
	app := s.runStateful("app", podOf(envFrom(settings)), evictedOnDelete)
	s.awaitRollout(app)
	s.awaitRecorded(app)
	old := s.awaitPods(app, 3, nil)
	s.letTimePass()
	s.edit(settings, set("used", "v2"))
	s.awaitPods(app, 3, old)

	s.requireUsed(s.namespace, home, s.rulesOf("rbac-evict-namespaced.yaml"))
	s.requireUsed("", home, s.rulesOf("rbac-namespaces.yaml"))
	for _, namespace := range []string{s.namespace, ""} {
		for _, r := range s.requestsIn(namespace, func(r *request) bool {
			return r.code == http.StatusForbidden && strings.Contains(r.account, ":"+home+":")
		}) {
			t.Errorf("lacks the permission to %s %s", r.verb, r.resource)
		}
	}
}
