package facts

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog"
)

func TestWorkloadsFollowTheRulesThatTheControllerHasNoted(t *testing.T) {
	namespaces := map[string]*metav1.ObjectMeta{
		"in":    {Name: "in", Annotations: map[string]string{catalog.EnabledAnnotation: catalog.Enabled}},
		"out":   {Name: "out", Annotations: map[string]string{catalog.EnabledAnnotation: "no"}},
		"plain": {Name: "plain"}, "elsewhere": {Name: "elsewhere"},
	}
	byNamespace, byDefault := &catalog.OptInRules{ByNamespace: true}, &catalog.OptInRules{ByDefault: true}
	ignoring := &catalog.OptInRules{Ignored: []string{"p*"}}
	for name, test := range map[string]struct {
		rules     *catalog.OptInRules
		choice    catalog.Choice
		namespace string
		want      bool
	}{
		"nothing is noted":            {nil, catalog.OptsIn, "plain", true},
		"nothing is noted or said":    {nil, catalog.Unsaid, "in", false},
		"by its namespace":            {byNamespace, catalog.Unsaid, "in", true},
		"not by its namespace":        {byNamespace, catalog.Unsaid, "plain", false},
		"by default":                  {byDefault, catalog.Unsaid, "plain", true},
		"by default, but not there":   {byDefault, catalog.Unsaid, "out", false},
		"by default, but not it":      {byDefault, catalog.OptsOut, "plain", false},
		"another controller's":        {byDefault, catalog.Unsaid, "elsewhere", false},
		"ignored":                     {ignoring, catalog.OptsIn, "plain", false},
		"a namespace it may not read": {byDefault, catalog.Unsaid, "unknown", false},
		"its own, there, too":         {byDefault, catalog.OptsIn, "unknown", true},
	} {
		t.Run(name, func(t *testing.T) {
			annotations := make(map[string]string)
			if test.rules != nil {
				encoded, err := json.Marshal(map[string]catalog.OptInNote{
					catalog.NamespaceSet([]string{"in", "out", "plain", "unknown"}): test.rules.Note(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
				})
				if err != nil {
					t.Fatal(err)
				}
				annotations[catalog.OptInsAnnotation] = string(encoded)
			}
			w := Workload{Choice: test.choice, Enabled: test.choice == catalog.OptsIn}
			w.Ref.Namespace = test.namespace
			all := []Workload{w}
			Follow(all, RulesIn(annotations), namespaces)
			if all[0].Enabled != test.want {
				t.Errorf("enabled: %t, want %t", all[0].Enabled, test.want)
			}
		})
	}
}
