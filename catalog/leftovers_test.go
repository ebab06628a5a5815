package catalog

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhatOtherToolsLeaveBehindIsNamedWithTheRemedy(t *testing.T) {
	variable := corev1.PodSpec{Containers: []corev1.Container{{Env: []corev1.EnvVar{{Name: "STAKATER_SETTINGS_CONFIGMAP", Value: "0"}}}}}
	for name, test := range map[string]struct {
		parts     Parts
		template  corev1.PodTemplateSpec
		want      string
		isHarmful bool
	}{
		"nothing":                  {parts: Parts{Meta: &metav1.ObjectMeta{}}},
		"a pause of Reloader":      {parts: Parts{Meta: &metav1.ObjectMeta{Annotations: annotations{reloaderPausedAt: "2026-01-01T00:00:00Z"}}, Hold: Paused}, want: "kubectl rollout resume", isHarmful: true},
		"a pause that is over":     {parts: Parts{Meta: &metav1.ObjectMeta{Annotations: annotations{reloaderPausedAt: "2026-01-01T00:00:00Z"}}}},
		"a pause of somebody else": {parts: Parts{Meta: &metav1.ObjectMeta{}, Hold: Paused}},
		"a variable of Reloader":   {parts: Parts{Meta: &metav1.ObjectMeta{}}, template: corev1.PodTemplateSpec{Spec: variable}, want: "with the next release"},
		"an annotation of Reloader": {
			parts:    Parts{Meta: &metav1.ObjectMeta{}},
			template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: annotations{reloaderLast: "{}"}}}, want: "with the next release",
		},
		"a finalizer of wave": {parts: Parts{Meta: &metav1.ObjectMeta{Finalizers: []string{waveFinalizer}}}, want: "metadata.finalizers", isHarmful: true},
		"a scheduler of wave": {parts: Parts{Meta: &metav1.ObjectMeta{}}, template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{SchedulerName: "wave.pusher.com/invalid"}}, want: "schedulerName", isHarmful: true},
		"a scheduler of an earlier wave": {
			parts:    Parts{Meta: &metav1.ObjectMeta{Annotations: annotations{waveDisabled: ""}}},
			template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{SchedulerName: "invalid"}}, want: "schedulerName", isHarmful: true,
		},
		"a scheduler of wave that was restored": {
			parts:    Parts{Meta: &metav1.ObjectMeta{Annotations: annotations{waveDisabled: "own"}}},
			template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{SchedulerName: "own"}},
		},
		"an annotation of wave beside the default scheduler": {
			parts:    Parts{Meta: &metav1.ObjectMeta{Annotations: annotations{waveDisabled: ""}}},
			template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName}},
		},
		"a hash of wave": {
			parts:    Parts{Meta: &metav1.ObjectMeta{}},
			template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: annotations{waveHash: "0"}}}, want: "with the next release",
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.parts.Template, test.parts.Selector = &test.template, &metav1.LabelSelector{}
			for _, rules := range []OptInRules{{}, understanding} {
				parts := rules.Understand(Deployment, test.parts)
				w, err := NewWorkload(Deployment, &parts)
				if err != nil {
					t.Fatal(err)
				}
				left := WorkloadPolicy{}
				if w.Policy != nil {
					left = *w.Policy
				}
				wants := test.want != "" && len(rules.Dialects) > 0
				if (left.Left != "") != wants || wants && !strings.Contains(left.Left, test.want) || left.IsLeftHarmful != (wants && test.isHarmful) {
					t.Errorf("with %v: %+v", rules.Dialects, left)
				}
			}
		})
	}
}
