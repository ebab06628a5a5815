package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
)

func TestARecordIsUndoneIfItWasTrustedForTheSameTemplateBefore(t *testing.T) {
	stripped := func(s *story) {
		s.strip(annotation.ChecksumsAnnotation, annotation.BasisAnnotation)
		s.catalog.ObserveWorkload(s.reduced())
	}
	for name, test := range map[string]struct {
		happens func(*story)
		want    bool
	}{
		"the record is there":                    {func(*story) {}, false},
		"it was removed":                         {stripped, true},
		"its basis was removed":                  {func(s *story) { s.strip(annotation.BasisAnnotation); s.catalog.ObserveWorkload(s.reduced()) }, true},
		"it was removed, and then scaled":        {func(s *story) { stripped(s); s.scale(3) }, true},
		"it was removed with the timestamp":      {func(s *story) { objecttest.SetTimestamp(s.deployment, ""); stripped(s) }, true},
		"it was removed, and written again":      {func(s *story) { stripped(s); s.recorded(130) }, false},
		"it was removed, written, and removed":   {func(s *story) { stripped(s); s.recorded(130); stripped(s) }, true},
		"it was removed along with a release":    {func(s *story) { s.strip(annotation.BasisAnnotation); s.release("v2") }, false},
		"it is not trusted because of a release": {func(s *story) { s.release("v2") }, false},
		"a release came after it was removed":    {func(s *story) { stripped(s); s.release("v2") }, false},
		"it was removed while nobody watched":    {func(s *story) { s.strip(annotation.BasisAnnotation); s.restartController(editedAtSecond95()) }, false},
		"it was removed during a gap, and listed": {func(s *story) {
			s.strip(annotation.BasisAnnotation)
			listWorkloads(s.catalog, names.Deployment, "", objecttest.ListOf(s.reduced()), 0)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := restarted()
			test.happens(s)
			view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
			if got := view.Workload.RecordUndone; got != test.want {
				t.Errorf("undone: %t, want %t", got, test.want)
			}
		})
	}
}

func TestTheBudgetOfRestartsOutlivesARecordThatIsUndone(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
	spent := policy.Budget{Restarts: 5, Last: objecttest.NoonPlus(90)}
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	annotations, err := Decide(view).Checksums.Annotations(record.Basis{Template: view.Workload.Template, Key: catalogtest.TestKey, Written: objecttest.NoonPlus(100), Budget: spent})
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range annotations {
		s.deployment.Annotations[name] = value
	}
	s.deployment.ManagedFields = append(s.deployment.ManagedFields, objecttest.Owns(annotation.FieldManager, objecttest.NoonPlus(100), objecttest.AnnotationField(annotation.BasisAnnotation)))
	s.catalog.ObserveWritten(s.reduced(), view.Sequence)
	for _, step := range []func(){func() { s.strip(annotation.BasisAnnotation) }, func() { s.strip(annotation.ChecksumsAnnotation) }, func() {}} {
		step()
		s.catalog.ObserveWorkload(s.reduced())
		if view, _ := s.catalog.View(objecttest.DeploymentRef("web")); view.Workload.Record.Trusted || view.Workload.Record.Budget != spent {
			t.Fatalf("the record is %+v, want the budget %+v", view.Workload.Record, spent)
		}
	}
	s.release("v2")
	if view, _ := s.catalog.View(objecttest.DeploymentRef("web")); view.Workload.Record.Budget != (policy.Budget{}) {
		t.Errorf("after a release the budget is %+v", view.Workload.Record.Budget)
	}
}

func TestTheWriterOfAnUntrustedRecordIsNamedOnlyIfTheAPIShowsIt(t *testing.T) {
	checksums, basis := objecttest.AnnotationField(annotation.ChecksumsAnnotation), objecttest.AnnotationField(annotation.BasisAnnotation)
	other := objecttest.Owns("operator", objecttest.NoonPlus(200), "f:spec/f:replicas", objecttest.AnnotationField(annotation.EnabledAnnotation))
	type entries = []metav1.ManagedFieldsEntry
	for name, test := range map[string]struct {
		entries entries
		want    string
	}{
		"nobody owns it":                          {entries{other}, ""},
		"only we own a part":                      {entries{other, objecttest.Owns(annotation.FieldManager, objecttest.NoonPlus(100), checksums)}, ""},
		"another one owns both":                   {entries{other, objecttest.Owns("argocd", objecttest.NoonPlus(110), checksums, basis)}, "argocd"},
		"another one owns a part, and wrote last": {entries{objecttest.Owns("argocd", objecttest.NoonPlus(110), basis), objecttest.Owns(annotation.FieldManager, objecttest.NoonPlus(100), checksums)}, "argocd"},
		"both wrote within a second":              {entries{objecttest.Owns(annotation.FieldManager, objecttest.NoonPlus(100), checksums), objecttest.Owns("argocd", objecttest.NoonPlus(100), basis)}, "argocd"},
		"another one owns a part from before":     {entries{objecttest.Owns("argocd", objecttest.NoonPlus(50), basis), objecttest.Owns(annotation.FieldManager, objecttest.NoonPlus(100), checksums)}, ""},
		"the last of several":                     {entries{objecttest.Owns("argocd", objecttest.NoonPlus(110), basis), objecttest.Owns("helm", objecttest.NoonPlus(120), checksums)}, "helm"},
		"an entry has no time":                    {entries{{Manager: "x", FieldsType: "FieldsV1", FieldsV1: objecttest.Owns("x", objecttest.Noon, basis).FieldsV1}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := objecttest.Deployment(objecttest.ReadsAll("web", false))
			d.Annotations[annotation.ChecksumsAnnotation] = "{}"
			d.ManagedFields = test.entries
			w := catalogtest.MustWorkload(d)
			if got := w.RecordWriter(); got != test.want {
				t.Errorf("written by %q, want %q", got, test.want)
			}
		})
	}
}

func editedAtSecond95() *corev1.ConfigMap {
	cm := objecttest.ConfigMap("web", objecttest.Data{"a": "2"})
	cm.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(95), "f:data/f:a")}
	return cm
}
