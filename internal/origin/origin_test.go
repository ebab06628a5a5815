package origin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// templateOf is a template with an image and with annotations, as pairs of a name and a value.
func templateOf(image string, annotations ...string) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
	t.Spec.Containers = []corev1.Container{{Name: "web", Image: image}}
	for i := 0; i < len(annotations); i += 2 {
		t.Annotations[annotations[i]] = annotations[i+1]
	}
	return t
}

func TestAnOriginIsAReleaseOrARestart(t *testing.T) {
	for name, test := range map[string]struct {
		before, after *corev1.PodTemplateSpec
		want          string
	}{
		"the first":                   {nil, templateOf("v1"), ""},
		"a release":                   {templateOf("v1"), templateOf("v2"), "image of web: v1 to v2"},
		"a restart":                   {templateOf("v1"), templateOf("v1", TimestampAnnotation, "now", CauseAnnotation, "configmap/c: KEY"), "restart: configmap/c: KEY"},
		"a restart without a cause":   {templateOf("v1"), templateOf("v1", TimestampAnnotation, "now"), "restart: a config"},
		"a restart by kubectl":        {templateOf("v1", TimestampAnnotation, "now"), templateOf("v1", TimestampAnnotation, "now", RestartedAt, "now"), "restart: kubectl rollout restart"},
		"a release with a restart":    {templateOf("v1"), templateOf("v2", TimestampAnnotation, "now", CauseAnnotation, "configmap/c"), "image of web: v1 to v2"},
		"a cause that is not of this": {templateOf("v1", CauseAnnotation, "old"), templateOf("v1", CauseAnnotation, "old", RestartedAt, "now"), "restart: kubectl rollout restart"},
	} {
		if got := Of(test.before, test.after, nil).String(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestAnOriginNamesWhoWroteThePodTemplateLast(t *testing.T) {
	entry := func(manager, subresource, fields string, seconds int64) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields), Time: &metav1.Time{Time: time.Unix(seconds, 0)}}
	}
	const template, scale = `{"f:spec":{"f:template":{}}}`, `{"f:spec":{"f:replicas":{}}}`
	entries := []metav1.ManagedFieldsEntry{
		entry("helm", "", template, 10), entry("kubectl-set", "", template, 20), entry("argocd", "", template, 15), entry("hpa", "scale", scale, 30),
		entry("kubectl-annotate", "", scale, 40), entry("odd", "status", template, 50), {Manager: "none"},
	}
	if got := Of(nil, templateOf("v1"), entries).Manager; got != "kubectl-set" {
		t.Errorf("%q", got)
	}
	if got := Of(nil, templateOf("v1"), entries[3:]).Manager; got != "" {
		t.Errorf("without a known one: %q", got)
	}
}

func TestAnOriginIsReadAsItWasWritten(t *testing.T) {
	want := Origin{Of: "web-5d4", Manager: "helm", Changes: []string{"image of web: v1 to v2"}}
	if got, isValid := Decode(want.Encode("web-5d4"), "web-5d4"); !isValid || got.String() != want.String() || got.Manager != want.Manager {
		t.Errorf("%+v, %t", got, isValid)
	}
	if got, isValid := Decode(want.Encode("web-5d4"), "web-6c5"); isValid {
		t.Errorf("of another ReplicaSet: %+v", got)
	}
	for _, value := range []string{"", "x", "[]", `{"manager":"` + strings.Repeat("x", 32<<10) + `"}`} {
		if got, isValid := Decode(value, ""); isValid {
			t.Errorf("%.20q: %+v", value, got)
		}
	}
}

// Anyone may choose the names in a template, its annotations and a field manager.
func TestAnOriginIsShort(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	entries := []metav1.ManagedFieldsEntry{{Manager: long, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:template":{}}}`), Time: &metav1.Time{}}}
	escaped := templateOf("v1")
	for i := range 20 {
		escaped.Spec.InitContainers = append(escaped.Spec.InitContainers, corev1.Container{Name: fmt.Sprint(i), Image: strings.Repeat("<", 4000)})
	}
	for _, after := range []*corev1.PodTemplateSpec{escaped, templateOf(long), templateOf("v1", TimestampAnnotation, "now", CauseAnnotation, long+"\n"), templateOf("v1", long[:253], "a")} {
		if text := Of(templateOf("v1"), after, entries).Encode("web"); len(text) > longest/2 || !json.Valid([]byte(text)) {
			t.Errorf("%d bytes", len(text))
		}
	}
}
