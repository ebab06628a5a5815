package optin

import (
	"testing"

	"kubernetes-deployment-restart-controller/catalog/annotation"
)

func TestAGroundSaysWhyAWorkloadCountsOrDoesNot(t *testing.T) {
	const own = "its annotation com.xing.deployment-restart"
	byNamespace, byDefault, selected := Rules{ByNamespace: true}, Rules{ByDefault: true}, Rules{Selector: selecting(t, "tier=web")}
	ignored := Rules{ByDefault: true, Ignored: []string{"a*"}}
	says := func(choice annotation.Choice) *Namespace { return &Namespace{Choice: choice, IsSelected: true} }
	for _, test := range []struct {
		rules     Rules
		choice    annotation.Choice
		tools     string
		name      string
		namespace *Namespace
		counts    bool
		want      string
	}{
		{Rules{}, annotation.OptsIn, "", "a", nil, true, own},
		{Rules{}, annotation.OptsIn, "reloader and wave", "a", nil, true, "its annotations of reloader and wave"},
		{byDefault, annotation.OptsIn, "", "a", says(annotation.OptsOut), true, own},
		{byNamespace, annotation.Unsaid, "", "a", says(annotation.OptsIn), true, "the annotation com.xing.deployment-restart of its Namespace"},
		{byDefault, annotation.Unsaid, "", "a", says(annotation.OptsIn), true, "the annotation com.xing.deployment-restart of its Namespace"},
		{byDefault, annotation.Unsaid, "", "a", says(annotation.Unsaid), true, "default (--enable-by-default)"},
		{selected, annotation.OptsIn, "", "a", says(annotation.Unsaid), true, own},
		{Rules{}, annotation.Unsaid, "", "a", nil, false, own + " is missing"},
		{selected, annotation.Unsaid, "", "a", nil, false, own + " is missing"},
		{byNamespace, annotation.Unsaid, "", "a", says(annotation.Unsaid), false, own + " and that of its Namespace are missing"},
		{byDefault, annotation.Unsaid, "", "kube-system", says(annotation.Unsaid), false, own + " and that of its Namespace are missing"},
		{Rules{}, annotation.OptsOut, "", "a", nil, false, own + ` is not "enabled"`},
		{byDefault, annotation.OptsOut, "reloader", "a", nil, false, "its annotations of reloader disable it"},
		{byDefault, annotation.Unsaid, "", "a", says(annotation.OptsOut), false, `the annotation com.xing.deployment-restart of its Namespace is not "enabled"`},
		{ignored, annotation.OptsIn, "", "a1", says(annotation.OptsIn), false, "its namespace is ignored by --ignore-namespace"},
		{ignored, annotation.OptsIn, "", "a1", nil, false, "its namespace is ignored by --ignore-namespace"},
		{selected, annotation.OptsIn, "", "a", &Namespace{}, false, "its namespace is not selected by --namespace-selector"},
		{selected, annotation.OptsIn, "", "a", nil, false, "what its Namespace says is not known"},
		{byNamespace, annotation.Unsaid, "", "a", nil, false, "what its Namespace says is not known"},
	} {
		ground := test.rules.Ground(test.choice, test.name, test.namespace)
		if got := ground.Describe(test.tools); got != test.want || ground.Counts() != test.counts {
			t.Errorf("%+v: it counts: %t by %q, want %t by %q", test, ground.Counts(), got, test.counts, test.want)
		}
	}
}
