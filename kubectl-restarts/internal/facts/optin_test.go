package facts

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/optin"
)

func TestWorkloadsFollowTheRulesThatTheControllerHasNoted(t *testing.T) {
	namespaces := map[string]*metav1.ObjectMeta{
		"in":    {Name: "in", Annotations: map[string]string{annotation.EnabledAnnotation: annotation.Enabled}},
		"out":   {Name: "out", Annotations: map[string]string{annotation.EnabledAnnotation: "no"}},
		"typo":  {Name: "typo", Annotations: map[string]string{"com.xing.deployment-restrat": annotation.Enabled}},
		"plain": {Name: "plain"}, "elsewhere": {Name: "elsewhere"},
	}
	byNamespace, byDefault := &optin.Rules{ByNamespace: true}, &optin.Rules{ByDefault: true}
	ignoring := &optin.Rules{Ignored: []string{"p*"}}
	selected, err := labels.Parse("tier=web")
	if err != nil {
		t.Fatal(err)
	}
	selecting := &optin.Rules{Selector: selected}
	const own = "its annotation com.xing.deployment-restart"
	for name, test := range map[string]struct {
		rules     *optin.Rules
		choice    annotation.Choice
		namespace string
		enabled   bool
		why       string
		doubtful  bool
	}{
		"nothing is noted":            {nil, annotation.OptsIn, "plain", true, own, false},
		"nothing is noted or said":    {nil, annotation.Unsaid, "in", false, own + " is missing", false},
		"by its namespace":            {byNamespace, annotation.Unsaid, "in", true, "the annotation com.xing.deployment-restart of its Namespace", false},
		"not by its namespace":        {byNamespace, annotation.Unsaid, "plain", false, own + " and that of its Namespace are missing", false},
		"misspelled there":            {byNamespace, annotation.Unsaid, "typo", false, "on its Namespace, annotation com.xing.deployment-restrat looks like a misspelling of com.xing.deployment-restart, so it enables nothing", false},
		"by default":                  {byDefault, annotation.Unsaid, "plain", true, "default (--enable-by-default)", false},
		"by default, but not there":   {byDefault, annotation.Unsaid, "out", false, `the annotation com.xing.deployment-restart of its Namespace is not "enabled"`, false},
		"by default, but not it":      {byDefault, annotation.OptsOut, "plain", false, own + ` is not "enabled"`, false},
		"another controller's":        {byDefault, annotation.Unsaid, "elsewhere", false, own + " is missing", false},
		"ignored":                     {ignoring, annotation.OptsIn, "plain", false, "its namespace is ignored by --ignore-namespace", false},
		"ignored, but not read":       {ignoring, annotation.OptsIn, "private", false, "its namespace is ignored by --ignore-namespace", false},
		"not selected":                {selecting, annotation.OptsIn, "plain", false, "its namespace is not selected by --namespace-selector", false},
		"perhaps not selected":        {selecting, annotation.OptsIn, "private", true, own, true},
		"a namespace it may not read": {byDefault, annotation.Unsaid, "private", false, own + " is missing", true},
		"its own, there, too":         {byDefault, annotation.OptsIn, "private", true, own, false},
	} {
		t.Run(name, func(t *testing.T) {
			annotations := make(map[string]string)
			if test.rules != nil {
				encoded, err := json.Marshal(map[string]optin.Note{
					optin.NamespaceSet([]string{"in", "out", "plain", "private", "typo"}): test.rules.Note(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
				})
				if err != nil {
					t.Fatal(err)
				}
				annotations[annotation.OptInsAnnotation] = string(encoded)
			}
			w := Workload{Choice: test.choice}
			w.Ref.Namespace = test.namespace
			all := []Workload{w}
			isDoubtful := Follow(all, RulesIn(annotations), namespaces)
			if got := all[0]; got.Enabled != test.enabled || got.Why() != test.why || isDoubtful != test.doubtful || got.EnabledUnknown != (test.doubtful && !test.enabled) {
				t.Errorf("enabled: %t, %s; in doubt: %t; want %+v", got.Enabled, got.Why(), isDoubtful, test)
			}
		})
	}
}
