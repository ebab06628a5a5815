package content_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/template"
)

func TestWhatAnyoneMayWriteIntoAStatusIsBounded(t *testing.T) {
	for name, change := range map[string]func(meta *metav1.ObjectMeta, class *string){
		"no class":          func(_ *metav1.ObjectMeta, class *string) { *class = "" },
		"a class elsewhere": func(_ *metav1.ObjectMeta, class *string) { *class = "other/db" },
		"no name":           func(_ *metav1.ObjectMeta, class *string) { *class = "db prod" },
		"a long class":      func(_ *metav1.ObjectMeta, class *string) { *class = strings.Repeat("x", 1000) },
		"a long UID": func(meta *metav1.ObjectMeta, _ *string) {
			meta.OwnerReferences[0].UID = types.UID(strings.Repeat("x", 1000))
		},
		"an owner that is no pod":    func(meta *metav1.ObjectMeta, _ *string) { meta.OwnerReferences[0].Kind = "Node" },
		"an owner of another group":  func(meta *metav1.ObjectMeta, _ *string) { meta.OwnerReferences[0].APIVersion = "example.com/v1" },
		"no owner":                   func(meta *metav1.ObjectMeta, _ *string) { meta.OwnerReferences = nil },
		"no owner and a long object": func(meta *metav1.ObjectMeta, class *string) { meta.OwnerReferences, *class = nil, "/" },
	} {
		t.Run(name, func(t *testing.T) {
			meta, class := objecttest.StatusMeta("a"), "db"
			change(&meta, &class)
			m := content.NewCSIMount(&meta, class, catalogtest.VersionsOf([]string{"v1"}))
			if m.Pod != "" || len(m.Class.Name) > names.LongestName {
				t.Errorf("it is kept as %+v", m)
			}
		})
	}
	for _, class := range []string{"other/db", "db prod", "", strings.Repeat("x", 1000)} {
		if references, _ := template.ReferencesOf("ns", &corev1.PodSpec{
			Containers: []corev1.Container{objecttest.Mounts(corev1.VolumeMount{Name: "v"})}, Volumes: []corev1.Volume{catalogtest.VolumeOfClass(class)},
		}, template.Filter{}); len(references) > 0 {
			t.Errorf("the class %.20q is referenced: %v", class, references)
		}
	}
}
