package catalogtest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// UnderstandDeployment returns what a Deployment says once the annotations of other tools were understood.
func UnderstandDeployment(rules *optin.Rules, own, template map[string]string) objecttest.Understood {
	parts := dialect.Understand(rules, names.Deployment, workload.Parts{
		Meta:     &metav1.ObjectMeta{Namespace: "ns", Name: "web", Annotations: own},
		Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: template}},
	})
	says := parts.Meta.Annotations
	return objecttest.Understood{Choice: annotation.ChoiceOf(parts.Meta), Only: says[annotation.OnlyAnnotation], Ignore: says[annotation.IgnoreAnnotation], Also: says[annotation.AlsoAnnotation], Grace: says[annotation.GracePeriodAnnotation], Problem: parts.Understood.Problem, Marked: parts.Understood.Marked}
}

// First returns the first of two values.
func First[A, B any](first A, _ B) A { return first }
