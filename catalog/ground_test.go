package catalog

import "testing"

func TestAGroundSaysWhyAWorkloadCountsOrDoesNot(t *testing.T) {
	const own = "its annotation com.xing.deployment-restart"
	byNamespace, byDefault, selected := OptInRules{ByNamespace: true}, OptInRules{ByDefault: true}, OptInRules{Selector: selecting(t, "tier=web")}
	ignored := OptInRules{ByDefault: true, Ignored: []string{"a*"}}
	says := func(choice Choice) *Namespace { return &Namespace{Choice: choice, IsSelected: true} }
	for _, test := range []struct {
		rules     OptInRules
		choice    Choice
		tools     string
		name      string
		namespace *Namespace
		counts    bool
		want      string
	}{
		{OptInRules{}, OptsIn, "", "a", nil, true, own},
		{OptInRules{}, OptsIn, "reloader and wave", "a", nil, true, "its annotations of reloader and wave"},
		{byDefault, OptsIn, "", "a", says(OptsOut), true, own},
		{byNamespace, Unsaid, "", "a", says(OptsIn), true, "the annotation com.xing.deployment-restart of its Namespace"},
		{byDefault, Unsaid, "", "a", says(OptsIn), true, "the annotation com.xing.deployment-restart of its Namespace"},
		{byDefault, Unsaid, "", "a", says(Unsaid), true, "default (--enable-by-default)"},
		{selected, OptsIn, "", "a", says(Unsaid), true, own},
		{OptInRules{}, Unsaid, "", "a", nil, false, own + " is missing"},
		{selected, Unsaid, "", "a", nil, false, own + " is missing"},
		{byNamespace, Unsaid, "", "a", says(Unsaid), false, own + " and that of its Namespace are missing"},
		{byDefault, Unsaid, "", "kube-system", says(Unsaid), false, own + " and that of its Namespace are missing"},
		{OptInRules{}, OptsOut, "", "a", nil, false, own + ` is not "enabled"`},
		{byDefault, OptsOut, "reloader", "a", nil, false, "its annotations of reloader disable it"},
		{byDefault, Unsaid, "", "a", says(OptsOut), false, `the annotation com.xing.deployment-restart of its Namespace is not "enabled"`},
		{ignored, OptsIn, "", "a1", says(OptsIn), false, "its namespace is ignored by --ignore-namespace"},
		{ignored, OptsIn, "", "a1", nil, false, "its namespace is ignored by --ignore-namespace"},
		{selected, OptsIn, "", "a", &Namespace{}, false, "its namespace is not selected by --namespace-selector"},
		{selected, OptsIn, "", "a", nil, false, "what its Namespace says is not known"},
		{byNamespace, Unsaid, "", "a", nil, false, "what its Namespace says is not known"},
	} {
		ground := test.rules.Ground(test.choice, test.name, test.namespace)
		if got := ground.Describe(test.tools); got != test.want || ground.Counts() != test.counts {
			t.Errorf("%+v: it counts: %t by %q, want %t by %q", test, ground.Counts(), got, test.counts, test.want)
		}
	}
}
