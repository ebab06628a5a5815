package catalog

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestARecordIsUndoneIfItWasTrustedForTheSameTemplateBefore(t *testing.T) {
	stripped := func(s *story) {
		s.strip(ChecksumsAnnotation, BasisAnnotation)
		s.catalog.ObserveWorkload(s.reduced())
	}
	for name, test := range map[string]struct {
		happens func(*story)
		want    bool
	}{
		"the record is there":                    {func(*story) {}, false},
		"it was removed":                         {stripped, true},
		"its basis was removed":                  {func(s *story) { s.strip(BasisAnnotation); s.catalog.ObserveWorkload(s.reduced()) }, true},
		"it was removed, and then scaled":        {func(s *story) { stripped(s); s.scale(3) }, true},
		"it was removed with the timestamp":      {func(s *story) { setTimestamp(s.deployment, ""); stripped(s) }, true},
		"it was removed, and written again":      {func(s *story) { stripped(s); s.recorded(130) }, false},
		"it was removed, written, and removed":   {func(s *story) { stripped(s); s.recorded(130); stripped(s) }, true},
		"it was removed along with a release":    {func(s *story) { s.strip(BasisAnnotation); s.release("v2") }, false},
		"it is not trusted because of a release": {func(s *story) { s.release("v2") }, false},
		"a release came after it was removed":    {func(s *story) { stripped(s); s.release("v2") }, false},
		"it was removed while nobody watched":    {func(s *story) { s.strip(BasisAnnotation); s.restartController(editedAtSecond95()) }, false},
		"it was removed during a gap, and listed": {func(s *story) {
			s.strip(BasisAnnotation)
			listWorkloads(s.catalog, Deployment, "", listOf(s.reduced()), 0)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := restarted()
			test.happens(s)
			view, _ := s.catalog.View(deploymentRef("web"))
			if got := view.Workload.RecordUndone; got != test.want {
				t.Errorf("undone: %t, want %t", got, test.want)
			}
		})
	}
}

func TestTheBudgetOfRestartsOutlivesARecordThatIsUndone(t *testing.T) {
	s := begin(deployment(readsAll("web", false)))
	s.listed(configMap("web", data{"a": "1"}))
	spent := Budget{Restarts: 5, Last: noonPlus(90)}
	view, _ := s.catalog.View(deploymentRef("web"))
	annotations, err := Decide(view).Checksums.Annotations(Basis{Template: view.Workload.Template, Key: testKey, Written: noonPlus(100), Budget: spent})
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range annotations {
		s.deployment.Annotations[name] = value
	}
	s.deployment.ManagedFields = append(s.deployment.ManagedFields, owns(FieldManager, noonPlus(100), annotationField(BasisAnnotation)))
	s.catalog.ObserveWritten(s.reduced(), view.Sequence)
	for _, step := range []func(){func() { s.strip(BasisAnnotation) }, func() { s.strip(ChecksumsAnnotation) }, func() {}} {
		step()
		s.catalog.ObserveWorkload(s.reduced())
		if view, _ := s.catalog.View(deploymentRef("web")); view.Workload.Applied.Trusted || view.Workload.Applied.Budget != spent {
			t.Fatalf("the record is %+v, want the budget %+v", view.Workload.Applied, spent)
		}
	}
	s.release("v2")
	if view, _ := s.catalog.View(deploymentRef("web")); view.Workload.Applied.Budget != (Budget{}) {
		t.Errorf("after a release the budget is %+v", view.Workload.Applied.Budget)
	}
}

func TestTheWriterOfAnUntrustedRecordIsNamedOnlyIfTheAPIShowsIt(t *testing.T) {
	checksums, basis := annotationField(ChecksumsAnnotation), annotationField(BasisAnnotation)
	other := owns("operator", noonPlus(200), "f:spec/f:replicas", annotationField(EnabledAnnotation))
	type entries = []metav1.ManagedFieldsEntry
	for name, test := range map[string]struct {
		entries entries
		want    string
	}{
		"nobody owns it":                          {entries{other}, ""},
		"only we own a part":                      {entries{other, owns(FieldManager, noonPlus(100), checksums)}, ""},
		"another one owns both":                   {entries{other, owns("argocd", noonPlus(110), checksums, basis)}, "argocd"},
		"another one owns a part, and wrote last": {entries{owns("argocd", noonPlus(110), basis), owns(FieldManager, noonPlus(100), checksums)}, "argocd"},
		"both wrote within a second":              {entries{owns(FieldManager, noonPlus(100), checksums), owns("argocd", noonPlus(100), basis)}, "argocd"},
		"another one owns a part from before":     {entries{owns("argocd", noonPlus(50), basis), owns(FieldManager, noonPlus(100), checksums)}, ""},
		"the last of several":                     {entries{owns("argocd", noonPlus(110), basis), owns("helm", noonPlus(120), checksums)}, "helm"},
		"an entry has no time":                    {entries{{Manager: "x", FieldsType: "FieldsV1", FieldsV1: owns("x", noon, basis).FieldsV1}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := deployment(readsAll("web", false))
			d.Annotations[ChecksumsAnnotation] = "{}"
			d.ManagedFields = test.entries
			w := mustWorkload(d)
			if got := w.RecordWriter(); got != test.want {
				t.Errorf("written by %q, want %q", got, test.want)
			}
		})
	}
}
