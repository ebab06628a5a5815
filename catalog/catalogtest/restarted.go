package catalogtest

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
)

// BasisFor returns the basis annotation of a restart for the given causes.
func BasisFor(t rapid.TB, checksums record.Checksums, restarted []record.Restarted) string {
	annotations, err := checksums.Annotations(record.Basis{
		Key: TestKey, Written: objecttest.NoonPlus(0.123456789), Timestamp: "2026-03-01T12:00:00.1Z", WasWhole: true, RestartedFor: restarted,
		Budget: policy.Budget{Restarts: 4, Last: objecttest.NoonPlus(0.123456789)}, Contradicted: objecttest.NoonPlus(0.123456789),
	})
	if err != nil {
		t.Fatal(err)
	}
	return annotations[annotation.BasisAnnotation]
}

// RecordedFor is a Deployment that reads the ConfigMap web and the Secret tls, and whose record has
// the given member.
func RecordedFor(member string) *appsv1.Deployment {
	d := objecttest.Deployment(corev1.Container{Name: "app", EnvFrom: append(objecttest.ReadsAll("web", false).EnvFrom, objecttest.ReadsSecret("tls").EnvFrom...)})
	WriteRecord(d, record.Checksums{objecttest.ConfigMapRef("web"): 1}, objecttest.NoonPlus(10))
	d.Annotations[annotation.BasisAnnotation] = strings.Replace(d.Annotations[annotation.BasisAnnotation], `{`, `{`+member+`,`, 1)
	return d
}
