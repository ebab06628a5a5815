package optin

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

func selecting(t *testing.T, text string) labels.Selector {
	t.Helper()
	selector, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return selector
}

func TestWhatAWorkloadAndItsNamespaceSayDecidesWhetherItCounts(t *testing.T) {
	byNamespace, byDefault := Rules{ByNamespace: true}, Rules{ByDefault: true}
	selected := Rules{Selector: selecting(t, "tier=web")}
	says := func(choice annotation.Choice) *Namespace { return &Namespace{Choice: choice, IsSelected: true} }
	for name, test := range map[string]struct {
		rules     Rules
		choice    annotation.Choice
		name      string
		namespace *Namespace
		want      bool
	}{
		"its own annotation":                           {Rules{}, annotation.OptsIn, "a", nil, true},
		"no annotation":                                {Rules{}, annotation.Unsaid, "a", says(annotation.OptsIn), false},
		"another value":                                {Rules{}, annotation.OptsOut, "a", says(annotation.OptsIn), false},
		"its namespace opts in":                        {byNamespace, annotation.Unsaid, "a", says(annotation.OptsIn), true},
		"its namespace opts in, it opts out":           {byNamespace, annotation.OptsOut, "a", says(annotation.OptsIn), false},
		"its namespace opts out, it opts in":           {byNamespace, annotation.OptsIn, "a", says(annotation.OptsOut), true},
		"its namespace says nothing":                   {byNamespace, annotation.Unsaid, "a", says(annotation.Unsaid), false},
		"its namespace is not known":                   {byNamespace, annotation.Unsaid, "a", nil, false},
		"its namespace is not known, it opts in":       {byNamespace, annotation.OptsIn, "a", nil, true},
		"kube-system opts in":                          {byNamespace, annotation.Unsaid, "kube-system", says(annotation.OptsIn), true},
		"by default":                                   {byDefault, annotation.Unsaid, "a", says(annotation.Unsaid), true},
		"by default, its namespace opts out":           {byDefault, annotation.Unsaid, "a", says(annotation.OptsOut), false},
		"by default, it opts out":                      {byDefault, annotation.OptsOut, "a", says(annotation.Unsaid), false},
		"by default, its namespace is not known":       {byDefault, annotation.Unsaid, "a", nil, false},
		"by default in kube-system":                    {byDefault, annotation.Unsaid, "kube-system", says(annotation.Unsaid), false},
		"by default in kube-system, which is named":    {Rules{ByDefault: true, Named: []string{"kube-system"}}, annotation.Unsaid, "kube-system", says(annotation.Unsaid), true},
		"by default in kube-system, which opts in":     {byDefault, annotation.Unsaid, "kube-system", says(annotation.OptsIn), true},
		"in a selected namespace":                      {selected, annotation.OptsIn, "a", &Namespace{IsSelected: true}, true},
		"in another namespace":                         {selected, annotation.OptsIn, "a", &Namespace{}, false},
		"in a namespace that may not be selected":      {selected, annotation.OptsIn, "a", nil, false},
		"the selector alone enables nothing":           {selected, annotation.Unsaid, "a", says(annotation.OptsIn), false},
		"in an ignored namespace":                      {Rules{Ignored: []string{"b", "preview-*"}}, annotation.OptsIn, "preview-7", nil, false},
		"in a namespace that is not ignored":           {Rules{Ignored: []string{"b", "preview-*"}}, annotation.OptsIn, "review-7", nil, true},
		"in an ignored namespace that says it opts in": {Rules{ByNamespace: true, Ignored: []string{"a"}}, annotation.Unsaid, "a", says(annotation.OptsIn), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.rules.Counts(test.choice, test.name, test.namespace); got != test.want {
				t.Errorf("it counts: %v, want %v", got, test.want)
			}
			if test.want && !test.rules.MayCount(test.choice, test.name) {
				t.Error("it would not even be kept")
			}
		})
	}
}

func TestANamespaceIsDatedByWhoeverWroteWhatItSays(t *testing.T) {
	at := func(hour int) *metav1.Time { return &metav1.Time{Time: time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC)} }
	entry := func(manager string, hour int, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Time: at(hour), FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
	}
	namespace := metav1.ObjectMeta{
		Name: "a", Annotations: map[string]string{annotation.EnabledAnnotation: annotation.Enabled}, Labels: map[string]string{"tier": "web"},
		ManagedFields: []metav1.ManagedFieldsEntry{
			entry("creator", 1, `{"f:metadata":{"f:labels":{".":{}}}}`),
			entry("annotator", 2, `{"f:metadata":{"f:annotations":{"f:`+annotation.EnabledAnnotation+`":{}}}}`),
			entry("labeller", 3, `{"f:metadata":{"f:labels":{"f:tier":{}}}}`),
		},
	}
	byNamespace := Rules{ByNamespace: true}
	if n := byNamespace.ReadNamespace(&namespace); n.Choice != annotation.OptsIn || !n.IsSelected || !n.Since.Equal(at(2).Time) {
		t.Errorf("the annotation: %+v", n)
	}
	selected := Rules{ByNamespace: true, Selector: selecting(t, "tier=web")}
	if n := selected.ReadNamespace(&namespace); !n.IsSelected || !n.Since.Equal(at(3).Time) {
		t.Errorf("the annotation and the label: %+v", n)
	}
	other := Rules{Selector: selecting(t, "tier=db")}
	if n := other.ReadNamespace(&namespace); n.IsSelected {
		t.Errorf("another label: %+v", n)
	}
}

func TestAWorkloadThatFollowsItsNamespaceOptedInWhenTheRulesApplied(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC) }
	for name, test := range map[string]struct{ record, namespace, rules, want time.Time }{
		"the namespace came later":  {namespace: at(3), rules: at(2), want: at(3)},
		"the rules came later":      {namespace: at(2), rules: at(3), want: at(3)},
		"there is an older record":  {record: at(1), namespace: at(2), rules: at(3), want: at(1)},
		"there is a younger record": {record: at(5), namespace: at(2), rules: at(3), want: at(3)},
	} {
		w := &workload.Workload{Object: workload.Object{OptedIn: test.record}}
		got := Following(w, &Namespace{Since: test.namespace}, test.rules)
		if !got.OptedIn.Equal(test.want) || !w.OptedIn.Equal(test.record) {
			t.Errorf("%s: opted in at %s, want %s; the workload itself says %s", name, got.OptedIn, test.want, w.OptedIn)
		}
	}
}

func TestANoteIsAboutTheRulesThatItWasMadeOf(t *testing.T) {
	all := []Rules{
		{},
		{ByNamespace: true},
		{ByDefault: true},
		{ByDefault: true, Named: []string{"kube-system"}},
		{Selector: selecting(t, "tier=web")},
		{Selector: selecting(t, "tier=db")},
		{Ignored: []string{"a"}},
		{Ignored: []string{"a", "b"}},
		{Dialects: []Dialect{Reloader}},
		{Dialects: []Dialect{Reloader, Wave}},
	}
	for i := range all {
		encoded, err := json.Marshal(map[string]Note{"*": all[i].Note(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))})
		if err != nil {
			t.Fatal(err)
		}
		note := ReadOptInNotes(string(encoded))["*"]
		rules, err := note.Rules()
		if err != nil || !note.IsAbout(&rules) {
			t.Errorf("%s was read as %+v: %v", encoded, rules, err)
		}
		for j := range all {
			if note.IsAbout(&all[j]) != (i == j) {
				t.Errorf("%s is about %+v: %v", encoded, all[j], i != j)
			}
		}
	}
	for _, unreadable := range []string{"", "{", `{"*":7}`} {
		if notes := ReadOptInNotes(unreadable); len(notes) != 0 {
			t.Errorf("%q was read as %v", unreadable, notes)
		}
	}
}

func TestASetOfNamespacesHasAShortName(t *testing.T) {
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprint("team-", i))
	}
	if all := NamespaceSet(nil); all != "*" || !IsInSet("a", all) {
		t.Errorf("all namespaces are %q", all)
	}
	if set := NamespaceSet([]string{"a", "b"}); !IsInSet("b", set) || IsInSet("c", set) || IsInSet("a,b", set) {
		t.Errorf("two namespaces are %q", set)
	}
	set := NamespaceSet(many)
	if len(set) > 100 || set == NamespaceSet(many[1:]) || IsInSet("team-1", set) {
		t.Errorf("many namespaces are %q", set)
	}
}
