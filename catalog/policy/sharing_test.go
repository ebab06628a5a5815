package policy_test

import (
	"slices"
	"strings"
	"testing"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/policy"
)

func TestAConfigIsSharedWithTheNamespacesThatItsAnnotationNames(t *testing.T) {
	for text, test := range map[string]struct {
		want, problem string
		with          []string // of team-a, team-b and shop
	}{
		"":                           {},
		"team-a":                     {want: "team-a", with: []string{"team-a"}},
		" team-b,,team-? ,":          {want: "team-?,team-b", with: []string{"team-a", "team-b"}},
		"*":                          {want: "*", with: []string{"team-a", "team-b", "shop"}},
		"team-[ab],shop":             {want: "shop", problem: `cannot use "team-[ab]": a name has a character that no name has`, with: []string{"shop"}},
		"shop/web":                   {problem: `cannot use "shop/web"`},
		strings.Repeat("a,", 50):     {problem: "the limits are 1024 bytes and 50 entries; the config is not shared"},
		strings.Repeat("a", 100<<10): {problem: "the limits are 1024 bytes and 50 entries; the config is not shared"},
	} {
		config := content.NewConfigMap(objecttest.OthersFlags(objecttest.Data{}, text))
		var with []string
		for _, namespace := range []string{"team-a", "team-b", "shop"} {
			if _, isShared := config.SharedSince(namespace); isShared {
				with = append(with, namespace)
			}
		}
		policy := policy.ConfigPolicy{}
		if config.Policy != nil {
			policy = *config.Policy
		}
		if policy.Readers != test.want || !slices.Equal(with, test.with) || !strings.Contains(policy.Problem, test.problem) || (policy.Problem == "") != (test.problem == "") {
			t.Errorf("%.40q: %q with %v, %q", text, policy.Readers, with, policy.Problem)
		}
	}
}
