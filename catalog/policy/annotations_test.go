package policy

import (
	"strings"
	"testing"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/annotation"
)

// Anyone who may write objects may write any annotations, on very many of them.
func TestNoAnnotationMakesAPolicyLong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(rapid.String().Draw(t, "text"), rapid.IntRange(0, 100).Draw(t, "times"))
		})
		names := rapid.SampledFrom([]string{annotation.WaveAnnotation, annotation.WindowAnnotation, annotation.HoldAnnotation, annotation.FanOutAnnotation, annotation.UrgentAnnotation, annotation.ResumeAnnotation})
		meta := &metav1.ObjectMeta{Annotations: rapid.MapOf(names, value).Draw(t, "annotations")}
		var workload WorkloadPolicy
		if read, _ := ReadWorkloadPolicy(meta, Understood{}); read != nil {
			workload = *read
		}
		var config ConfigPolicy
		if read := ReadConfigPolicy(meta); read != nil {
			config = *read
		}
		for _, text := range []string{
			workload.Window, workload.Hold, workload.Problem, string(config.FanOut), config.Window, config.Hold, config.Urgent, config.Resume, config.Problem,
		} {
			if len(text) > 1500 || !utf8.ValidString(text) {
				t.Fatalf("%d bytes, %q", len(text), text)
			}
		}
		if _, held := meta.Annotations[annotation.HoldAnnotation]; held != (workload.Hold != "") || held != (config.Hold != "") {
			t.Fatalf("held by %q: %q, %q", meta.Annotations[annotation.HoldAnnotation], workload.Hold, config.Hold)
		}
	})
}
