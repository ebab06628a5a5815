package dialect_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

func TestWhatOtherToolsLeaveBehindIsNamedWithTheRemedy(t *testing.T) {
	variable := corev1.PodSpec{Containers: []corev1.Container{{Env: []corev1.EnvVar{{Name: "STAKATER_SETTINGS_CONFIGMAP", Value: "0"}}}}}
	for name, test := range map[string]struct {
		parts     workload.Parts
		template  corev1.PodTemplateSpec
		want      string
		isHarmful bool
	}{
		"nothing":                  {parts: workload.Parts{Meta: &metav1.ObjectMeta{}}},
		"a pause of Reloader":      {parts: workload.Parts{Meta: &metav1.ObjectMeta{Annotations: objecttest.Annotations{objecttest.ReloaderPausedAt: "2026-01-01T00:00:00Z"}}, Hold: workload.Paused}, want: "kubectl rollout resume", isHarmful: true},
		"a pause that is over":     {parts: workload.Parts{Meta: &metav1.ObjectMeta{Annotations: objecttest.Annotations{objecttest.ReloaderPausedAt: "2026-01-01T00:00:00Z"}}}},
		"a pause of somebody else": {parts: workload.Parts{Meta: &metav1.ObjectMeta{}, Hold: workload.Paused}},
		"a variable of Reloader":   {parts: workload.Parts{Meta: &metav1.ObjectMeta{}}, template: corev1.PodTemplateSpec{Spec: variable}, want: "with the next release"},
		"an annotation of Reloader": {
			parts:    workload.Parts{Meta: &metav1.ObjectMeta{}},
			template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: objecttest.Annotations{objecttest.ReloaderLast: "{}"}}}, want: "with the next release",
		},
		"a finalizer of wave": {parts: workload.Parts{Meta: &metav1.ObjectMeta{Finalizers: []string{objecttest.WaveFinalizer}}}, want: "metadata.finalizers", isHarmful: true},
		"a scheduler of wave": {parts: workload.Parts{Meta: &metav1.ObjectMeta{}}, template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{SchedulerName: "wave.pusher.com/invalid"}}, want: "schedulerName", isHarmful: true},
		"a scheduler of an earlier wave": {
			parts:    workload.Parts{Meta: &metav1.ObjectMeta{Annotations: objecttest.Annotations{objecttest.WaveDisabled: ""}}},
			template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{SchedulerName: "invalid"}}, want: "schedulerName", isHarmful: true,
		},
		"a scheduler of wave that was restored": {
			parts:    workload.Parts{Meta: &metav1.ObjectMeta{Annotations: objecttest.Annotations{objecttest.WaveDisabled: "own"}}},
			template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{SchedulerName: "own"}},
		},
		"an annotation of wave beside the default scheduler": {
			parts:    workload.Parts{Meta: &metav1.ObjectMeta{Annotations: objecttest.Annotations{objecttest.WaveDisabled: ""}}},
			template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName}},
		},
		"a hash of wave": {
			parts:    workload.Parts{Meta: &metav1.ObjectMeta{}},
			template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: objecttest.Annotations{objecttest.WaveHash: "0"}}}, want: "with the next release",
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.parts.Template, test.parts.Selector = &test.template, &metav1.LabelSelector{}
			for _, rules := range []optin.Rules{{}, catalogtest.Understanding} {
				parts := dialect.Understand(&rules, names.Deployment, test.parts)
				w, err := workload.NewWorkload(names.Deployment, &parts)
				if err != nil {
					t.Fatal(err)
				}
				left := policy.WorkloadPolicy{}
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
