package decide

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/podtemplate"
)

// fallBack lets the deployment engine run pods with this spec, because the release of the present template has failed.
func fallBack(d *appsv1.Deployment, runs *corev1.PodSpec) {
	d.Annotations[podtemplate.RunsAnnotation] = podtemplate.EncodeReads("uid", runs)
	d.Status.Conditions = []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "It has failed."},
		{Type: "FallenBack", Status: corev1.ConditionTrue, Reason: "ReleaseCrashed", Message: "It has failed.", LastTransitionTime: *objecttest.Stamp(objecttest.NoonPlus(70))},
	}
}

func reducedDeployment(t rapid.TB, d *appsv1.Deployment) workload.Workload {
	t.Helper()
	parts := workload.PartsOfDeployment(d)
	w, err := workload.NewWorkload(names.Deployment, &parts)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestADeploymentThatHasFallenBackReadsWhatTheEarlierPodTemplateReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := drawTemplate(t)
		for i := range runs.Containers {
			runs.Containers[i].Env = append(runs.Containers[i].Env, corev1.EnvVar{Name: "PASSWORD", Value: "hunter2 $(a) $(hunter2)"})
		}
		for _, driver := range []string{podtemplate.SecretsStoreDriver, "csi.example.com"} {
			csi := &corev1.CSIVolumeSource{Driver: driver, VolumeAttributes: map[string]string{podtemplate.ClassAttribute: "class", "password": "hunter2"}}
			runs.Volumes = append(runs.Volumes, corev1.Volume{Name: driver, VolumeSource: corev1.VolumeSource{CSI: csi}})
			runs.Containers[0].VolumeMounts = append(runs.Containers[0].VolumeMounts, corev1.VolumeMount{Name: driver})
		}
		earlier, present := objecttest.Deployment(corev1.Container{Name: "app"}), objecttest.Deployment(objecttest.ReadsAll("new", false))
		earlier.Spec.Template.Spec = runs
		ignored := rapid.SampledFrom([]string{"", "web", "configmap/other"}).Draw(t, "ignored")
		earlier.Annotations[annotation.IgnoreAnnotation], present.Annotations[annotation.IgnoreAnnotation] = ignored, ignored
		fallBack(present, &runs)
		if diff := cmp.Diff(reducedDeployment(t, earlier).References, reducedDeployment(t, present).References); diff != "" {
			t.Fatalf("references (-earlier +fallen back):\n%s", diff)
		}
		if strings.Contains(present.Annotations[podtemplate.RunsAnnotation], "hunter2") {
			t.Fatal("the annotation has the value of a variable")
		}
	})
}

func TestADeploymentThatHasFallenBackToAnUnreadableTemplateReadsWhatThePresentOneReads(t *testing.T) {
	for name, value := range map[string]string{
		"none": "", "none that fits": "uid", "no JSON": "uid {", "a quantity that takes all memory": `uid {"overhead":{"cpu":"1e-2000000000"}}`,
		"too long": "uid " + strings.Repeat(" ", 16<<10) + "{}",
	} {
		d := objecttest.Deployment(objecttest.ReadsAll("web", false))
		fallBack(d, &corev1.PodSpec{})
		d.Annotations[podtemplate.RunsAnnotation] = value
		if w := reducedDeployment(t, d); !w.IsFallenBack() || len(w.References) != 1 {
			t.Errorf("%s: %+v", name, w.References)
		}
	}
}

// An edit comes along with a release, and a process that did not watch it takes over. The owner's last write is later than the
// edit, but the workload has had a record before.
func TestAnEditThatCameWithAFailedReleaseReachesTheEarlierPods(t *testing.T) {
	for name, play := range map[string]func(d *appsv1.Deployment){
		"fallen back": func(d *appsv1.Deployment) { fallBack(d, &d.Spec.Template.Spec) },
		"rolled back": func(*appsv1.Deployment) {},
	} {
		d := objecttest.Deployment(objecttest.ReadsAll("web", false))
		annotations, err := record.Checksums{objecttest.ConfigMapRef("web"): 1}.Annotations(record.Basis{Template: record.Fingerprint{7}, Written: objecttest.NoonPlus(57), OptedIn: objecttest.NoonPlus(5)})
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(d.Annotations, annotations)
		d.ManagedFields = []metav1.ManagedFieldsEntry{
			objecttest.Owns("kubectl", objecttest.NoonPlus(60), objecttest.AnnotationField(annotation.EnabledAnnotation)),
			objecttest.Owns(annotation.FieldManager, objecttest.NoonPlus(57), objecttest.AnnotationField(annotation.ChecksumsAnnotation), objecttest.AnnotationField(annotation.BasisAnnotation)),
		}
		play(d)
		cm := objecttest.ConfigMap("web", objecttest.Data{"a": "2", "b": "1"})
		cm.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(50), "f:data/f:a")}
		s := begin(d)
		listConfigs(s.catalog, names.ConfigMap, "", objecttest.ListOf(reducedConfigMap(cm)), objecttest.Noon, true)
		listWorkloads(s.catalog, names.Deployment, "", objecttest.ListOf(reducedDeployment(t, d)), 0)
		for started, want := range map[float64]Outcome{10: Restart, 55: RecordOnly} {
			if got := s.decide(t, startedAt(objecttest.NoonPlus(started))); got.Outcome != want {
				t.Errorf("%s, a pod from second %v: %+v, want %v", name, started, got, want)
			}
		}
	}
}

func TestAFallBackMakesNoEditCountFromBeforeTheOptIn(t *testing.T) {
	d := objecttest.Deployment(objecttest.ReadsAll("web", false))
	d.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(60), objecttest.AnnotationField(annotation.EnabledAnnotation))}
	fallBack(d, &d.Spec.Template.Spec)
	cm := objecttest.ConfigMap("web", objecttest.Data{"a": "2", "b": "1"})
	cm.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(50), "f:data/f:a")}
	s := begin(d)
	listConfigs(s.catalog, names.ConfigMap, "", objecttest.ListOf(reducedConfigMap(cm)), objecttest.Noon, true)
	listWorkloads(s.catalog, names.Deployment, "", objecttest.ListOf(reducedDeployment(t, d)), 0)
	if got := s.decide(t, startedAt(objecttest.NoonPlus(10))); got.Outcome != RecordOnly {
		t.Errorf("%+v", got)
	}
}
