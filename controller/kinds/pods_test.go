package kinds_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// secondOf spreads the starts of pods over seconds.
func secondOf(i int) metav1.Time { return metav1.Unix(1_800_000_000+int64(i), 0) }

func TestPodsOfAnEarlierRevisionDoNotCountAndThoseOfAnUnknownOneDo(t *testing.T) {
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "agent", UID: objecttest.Agent},
		Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotation.TimestampAnnotation: "r2"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "agent:2"}}},
		}},
	}
	w := controllertest.WorkloadOf(t, set)
	controlledBy := func(owner types.UID) []metav1.OwnerReference {
		controller := set.DeepCopy()
		controller.UID = owner
		return []metav1.OwnerReference{*metav1.NewControllerRef(controller, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
	}
	revision := func(owner types.UID, hash, data string) appsv1.ControllerRevision {
		r := appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
			Name: "agent-" + hash, Labels: map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: hash}, OwnerReferences: controlledBy(owner),
		}}
		r.Data.Raw = []byte(data)
		return r
	}
	template := func(image string) string {
		return fmt.Sprintf(`{"spec":{"template":{"$patch":"replace","metadata":{"annotations":{%q:"r2"}},"spec":{"containers":[{"name":"main","image":%q}]}}}}`, annotation.TimestampAnnotation, image)
	}
	type revisions = []appsv1.ControllerRevision
	earlier, present := revision(objecttest.Agent, "a", template("agent:1")), revision(objecttest.Agent, "b", template("agent:2"))
	const unreadable = `{"spec":{"template":"none"}}`
	ofStatefulSet := earlier
	ofStatefulSet.Name, ofStatefulSet.Labels = "a", nil
	for name, test := range map[string]struct {
		revisions revisions
		owner     types.UID
		label     string
		restart   string // that the pod is from
		want      bool
	}{
		"of the present template":                          {revisions{earlier, present}, objecttest.Agent, "b", "r2", true},
		"of an earlier one":                                {revisions{earlier, present}, objecttest.Agent, "a", "r2", false},
		"the revision is gone":                             {nil, objecttest.Agent, "b", "r2", true},
		"the revision is that of a former workload":        {revisions{revision("former", "b", template("agent:2"))}, objecttest.Agent, "b", "r2", true},
		"the pod is a former workload's":                   {revisions{present}, "former", "b", "r2", false},
		"the pod has no controller":                        {revisions{present}, "", "b", "r2", false},
		"the pod has no label":                             {revisions{earlier}, objecttest.Agent, "", "r2", true},
		"the revision of a StatefulSet, which has no hash": {revisions{ofStatefulSet}, objecttest.Agent, "a", "r2", false},
		"somebody else's revision cannot be read":          {revisions{revision("stranger", "x", unreadable), earlier}, objecttest.Agent, "a", "r2", false},
		"its revision cannot be read":                      {revisions{revision(objecttest.Agent, "a", unreadable), present}, objecttest.Agent, "a", "r2", true},
		"another revision of its own cannot be read":       {revisions{revision(objecttest.Agent, "x", unreadable), earlier}, objecttest.Agent, "a", "r2", false},
		"the revision of an earlier restart is gone":       {revisions{present}, objecttest.Agent, "a", "r1", false},
		"of the present template, without the restart":     {revisions{present}, objecttest.Agent, "b", "r1", true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: test.label}, Annotations: map[string]string{annotation.TimestampAnnotation: test.restart},
			}}
			if test.owner != "" {
				pod.OwnerReferences = controlledBy(test.owner)
			}
			server := &controllertest.ListServer{Lists: map[string]objecttest.MadeList{
				"pods": {Total: 1, Make: func(_, _ int) apiclient.Page {
					return &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []corev1.Pod{pod}}
				}},
				"controllerrevisions": {Total: 1, Make: func(_, _ int) apiclient.Page {
					return &appsv1.ControllerRevisionList{TypeMeta: metav1.TypeMeta{Kind: "ControllerRevisionList", APIVersion: "apps/v1"}, Items: test.revisions}
				}},
			}}
			reader := server.Reader(t)
			live, err := reader.List(t.Context(), &w)
			if err != nil {
				t.Fatal(err)
			}
			ofPresent, err := reader.OfPresentTemplate(t.Context(), &w, live)
			if err != nil {
				t.Fatal(err)
			}
			if counts := len(ofPresent) == 1; counts != test.want {
				t.Errorf("counts: %t", counts)
			}
		})
	}
}
