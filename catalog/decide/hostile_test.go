package decide

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// Objects that any user who may create a Deployment can make, as large as the API takes
// them. What they cost is in the benchmarks that are named after them.

// manyContainersAndSources is a Deployment that wants no pods, whose containers all mount
// one volume that is made of many configs.
func manyContainersAndSources(containers, sources int) *appsv1.Deployment {
	projected := &corev1.ProjectedVolumeSource{}
	for i := range sources {
		projected.Sources = append(projected.Sources, corev1.VolumeProjection{
			ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: fmt.Sprint("config-", i)}},
		})
	}
	d := objecttest.Deployment(corev1.Container{}, corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Projected: projected}})
	d.Spec.Replicas = objecttest.Pointer[int32](0)
	d.Spec.Template.Spec.Containers = nil
	for i := range containers {
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{
			Name: fmt.Sprint("c-", i), Image: "registry.example.com/app:1", VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/etc/config"}},
		})
	}
	return d
}

// withManagedFields adds to a Deployment what the API server notes of who wrote it: the
// fields of each container, by its owner and by this controller.
func withManagedFields(d *appsv1.Deployment) *appsv1.Deployment {
	var fields strings.Builder
	for i, container := range d.Spec.Template.Spec.Containers {
		if i > 0 {
			fields.WriteString(",")
		}
		fmt.Fprintf(&fields, `"k:{\"name\":\"%s\"}":{".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{},`+
			`"f:terminationMessagePath":{},"f:terminationMessagePolicy":{},"f:volumeMounts":{".":{},"k:{\"mountPath\":\"/etc/config\"}":`+
			`{".":{},"f:mountPath":{},"f:name":{}}}}`, container.Name)
	}
	entry := d.ManagedFields[0]
	entry.FieldsV1 = metav1.NewFieldsV1(fmt.Sprintf(`{"f:metadata":{"f:annotations":{".":{},"f:%s":{},"f:%s":{}}},`+
		`"f:spec":{"f:template":{"f:metadata":{"f:annotations":{".":{},"f:%s":{}}},"f:spec":{"f:containers":{%s}}}}}`,
		annotation.EnabledAnnotation, annotation.BasisAnnotation, annotation.TimestampAnnotation, fields.String()))
	ours := entry
	ours.Manager = annotation.FieldManager
	d.ManagedFields = []metav1.ManagedFieldsEntry{entry, ours}
	return d
}

// manyPods started one after the other, the first at the given time.
func manyPods(n int, first time.Time) []Pod {
	pods := make([]Pod, n)
	for i := range pods {
		pods[i] = startedAt(first.Add(time.Duration(i) * time.Second))
	}
	return pods
}

func TestVolumesThatAllContainersMountAreKeptOnce(t *testing.T) {
	d := manyContainersAndSources(1000, 2500)
	c, bytes := objecttest.Retained(func() *catalog.Catalog {
		c := catalog.New()
		c.ObserveWorkload(catalogtest.MustWorkload(d))
		return c
	})
	view, _ := c.View(objecttest.DeploymentRef("web"))
	if got := len(view.Workload.References); got != 2500 || bytes > 4<<20 {
		t.Errorf("%d references in %d KiB, want 2500 in 4 MiB at most", got, bytes>>10)
	}
}

func TestATemplateMayReferToConfigsAsOftenAsTheLimitSays(t *testing.T) {
	variables := func(n int) *appsv1.Deployment {
		return objecttest.ManyVariables(n, func(i int) (string, string) { return "web", objecttest.KeyNamed(i) })
	}
	// Of each source the mounts show so many keys, which are the same for all sources.
	shownKeys := func(sources, keys int) *appsv1.Deployment {
		d := manyContainersAndSources(2*keys, sources)
		for i := range d.Spec.Template.Spec.Containers {
			d.Spec.Template.Spec.Containers[i].VolumeMounts[0].SubPath = objecttest.KeyNamed(i % keys)
		}
		return d
	}
	for name, test := range map[string]struct {
		deployment *appsv1.Deployment
		want       int // references; 0 if there are too many
	}{
		"as many variables":                 {variables(template.MaxReferences), 1},
		"one more":                          {variables(template.MaxReferences + 1), 0},
		"as many keys in files":             {shownKeys(100, template.MaxReferences/100), 100},
		"one config more":                   {shownKeys(101, template.MaxReferences/100), 0},
		"as many configs in a volume":       {manyContainersAndSources(1, template.MaxReferences), template.MaxReferences},
		"one more, and many containers":     {manyContainersAndSources(100, template.MaxReferences+1), 0},
		"one volume, many containers":       {manyContainersAndSources(template.MaxReferences+1, 1), 1},
		"millions of keys in files, shared": {shownKeys(2500, 1000), 0},
	} {
		w := catalogtest.MustWorkload(test.deployment)
		if len(w.References) != test.want || (w.Excess == workload.TooManyReferences) != (test.want == 0) {
			t.Errorf("%s: %d references, too many: %t; want %d", name, len(w.References), w.Excess == workload.TooManyReferences, test.want)
		}
	}
}

func TestAWorkloadOfTooManyReferencesIsLeftAloneUntilItChanges(t *testing.T) {
	many := objecttest.ManyVariables(template.MaxReferences+1, func(i int) (string, string) { return "web", objecttest.KeyNamed(i) })
	few := objecttest.Deployment(objecttest.ReadsAll("web", false))
	s := begin(few)
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
	s.recorded(10)
	few.Spec.Template, many.Spec.Template = many.Spec.Template, few.Spec.Template
	if !s.catalog.ObserveWorkload(s.reduced()) {
		t.Error("that there are too many references calls for no decision")
	}
	s.config("web", objecttest.Data{"a": "2"}, 60)
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	if got := Decide(view); got.Outcome != Keep || len(got.Checksums) > 0 || len(s.catalog.WorkloadsReferencing(objecttest.ConfigMapRef("web"))) > 0 || view.Workload.Record.Checksums != nil {
		t.Errorf("decision %+v, record %+v", got, view.Workload.Record)
	}
	few.Spec.Template = many.Spec.Template
	if !s.catalog.ObserveWorkload(s.reduced()) {
		t.Error("that they are fewer again calls for no decision")
	}
	if got := s.decide(t, startedAt(objecttest.NoonPlus(30))); got.Outcome != Restart {
		t.Errorf("with few references again: %+v", got)
	}
}

// writeChecksums writes a record into the annotations and leaves the managedFields alone.
func writeChecksums(d *appsv1.Deployment, checksums record.Checksums) {
	fields := d.ManagedFields
	catalogtest.WriteRecord(d, checksums, objecttest.Noon)
	d.ManagedFields = fields
}

// A decision stays in memory while its restart is put off, and appears in logs and Events.
func TestADecisionNamesAFewOfManyConfigsKeysAndWriters(t *testing.T) {
	const configs, keys = 15, 40
	container := corev1.Container{Name: "app"}
	for i := range configs {
		container.EnvFrom = append(container.EnvFrom, objecttest.ReadsAll(fmt.Sprintf("web-%02d", i), false).EnvFrom...)
	}
	edit := func(s *story, value string, at float64) {
		for i := range configs {
			cm := objecttest.ConfigMap(fmt.Sprintf("web-%02d", i), objecttest.ManyKeys(keys, value))
			for j := range keys {
				cm.ManagedFields = append(cm.ManagedFields, objecttest.Owns(fmt.Sprintf("writer-%02d", j), objecttest.NoonPlus(at), "f:data/f:"+objecttest.KeyNamed(j)))
			}
			s.catalog.ObserveConfig(content.NewConfigMap(cm), objecttest.NoonPlus(at))
		}
	}
	for name, record := range map[string]bool{"by the record": true, "by the pods": false} {
		s := begin(objecttest.Deployment(container))
		s.listed()
		edit(s, "1", 5)
		if record {
			s.recorded(10)
		}
		edit(s, "2", 60)
		view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
		got := Decide(view)
		if got.Outcome == AskPods {
			got = ByPods(view, []Pod{startedAt(objecttest.NoonPlus(20))})
		}
		if len(got.Causes) != names.MaxNamed || got.MoreCauses != configs-names.MaxNamed || got.Causes[0].Config != objecttest.ConfigMapRef("web-00") {
			t.Fatalf("%s: %d causes and %d more, first %v", name, len(got.Causes), got.MoreCauses, got.Causes[0].Config)
		}
		cause := got.Causes[names.MaxNamed-1]
		if len(cause.Keys) != names.MaxNamed || cause.MoreKeys != keys-names.MaxNamed || cause.Keys[0] != objecttest.KeyNamed(0) || cap(cause.Keys) > 2*names.MaxNamed {
			t.Errorf("%s: keys %q and %d more", name, cause.Keys, cause.MoreKeys)
		}
		if len(cause.Writers) != names.MaxNamed || cause.MoreWriters != keys-names.MaxNamed || cause.Writers[0] != "writer-00" {
			t.Errorf("%s: writers %q and %d more", name, cause.Writers, cause.MoreWriters)
		}
	}
}
