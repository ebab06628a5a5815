package workload_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

func TestADeploymentIsReducedToWhatMatters(t *testing.T) {
	d := objecttest.Deployment(objecttest.ReadsKey("web", "color", true))
	d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{
		{Key: "tier", Operator: metav1.LabelSelectorOpIn, Values: []string{"b", "a"}},
	}
	d.Spec.Paused = true
	pod, _ := record.Fingerprints(&d.Spec.Template)
	d.Spec.Template.Annotations = map[string]string{annotation.TimestampAnnotation: "now"}
	catalogtest.WriteRecord(d, record.Checksums{objecttest.ConfigMapRef("web"): 1}, objecttest.NoonPlus(10))
	podTemplate, _ := record.Fingerprints(&d.Spec.Template)
	want := workload.Workload{
		Object: workload.Object{
			Ref:             objecttest.DeploymentRef("web"),
			UID:             "uid-1",
			ResourceVersion: "1",
			Selector:        "app=web,tier in (a,b)",
			Template:        pod,
			PodTemplate:     podTemplate,
			Bare:            record.BareFingerprint(pod[:3]),
			Timestamp:       "now",
			References: []template.Reference{{
				Config: objecttest.ConfigMapRef("web"), Keys: template.Selection{Names: []string{"color"}, DataOnly: true}, Container: "app", Optional: true,
			}},
			Hold:    workload.Paused,
			OptedIn: objecttest.Noon,
		},
		Record: record.Record{Checksums: record.Checksums{objecttest.ConfigMapRef("web"): 1}, Trusted: true, Room: int32(record.AnnotationsLimit - record.AnnotationsReserve - len(annotation.EnabledAnnotation) - len(annotation.Enabled))},
	}
	if diff := cmp.Diff(want, catalogtest.MustWorkload(d), cmpopts.IgnoreFields(record.Record{}, "Written")); diff != "" {
		t.Errorf("workload (-want +got):\n%s", diff)
	}
}
