package dialect

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// It does not restart, which its owner must learn if it is enabled. There may be no pod template to read.
func TestAWorkloadThatCannotBeRestartedIsEnabledByOtherToolsAllTheSame(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	fields := metav1.FieldsV1{}
	fields.SetRawBytes([]byte(`{"f:metadata":{"f:annotations":{"f:` + objecttest.Auto + `":{}}}}`))
	managed := []metav1.ManagedFieldsEntry{{Manager: "helm", Time: &metav1.Time{Time: at}, FieldsV1: &fields}}
	templateOf := func(said objecttest.Annotations) *corev1.PodTemplateSpec {
		return &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: said}}
	}
	rules := optin.Rules{Dialects: []optin.Dialect{optin.Reloader, optin.Wave}}
	for name, test := range map[string]struct {
		own      objecttest.Annotations
		template *corev1.PodTemplateSpec
		want     annotation.Choice
		says     policy.Understood
	}{
		"nothing":                        {},
		"auto":                           {own: objecttest.Annotations{objecttest.Auto: "true", objecttest.PausePeriod: "soon", objecttest.ConfigMapExcluded: "a"}, want: annotation.OptsIn, says: policy.Understood{By: "reloader", Since: at}},
		"an opt-out":                     {own: objecttest.Annotations{objecttest.Auto: "false"}, want: annotation.OptsOut, says: policy.Understood{By: "reloader"}},
		"wave":                           {own: objecttest.Annotations{objecttest.WaveOptIn: "true"}, want: annotation.OptsIn, says: policy.Understood{By: "wave"}},
		"only how long to wait":          {own: objecttest.Annotations{objecttest.PausePeriod: "5m"}},
		"its own opt-out":                {own: objecttest.Annotations{objecttest.Auto: "true", annotation.EnabledAnnotation: "no"}, want: annotation.OptsOut},
		"auto on a template that it has": {template: templateOf(objecttest.Annotations{objecttest.Auto: "true"}), want: annotation.OptsIn, says: policy.Understood{By: "reloader"}},
		"its own word before that":       {own: objecttest.Annotations{objecttest.Auto: "false"}, template: templateOf(objecttest.Annotations{objecttest.Auto: "true"}), want: annotation.OptsOut, says: policy.Understood{By: "reloader"}},
		"what wave leaves on a template": {template: templateOf(objecttest.Annotations{waveHash: "0"})},
	} {
		t.Run(name, func(t *testing.T) {
			meta := &metav1.ObjectMeta{Annotations: test.own, ManagedFields: managed}
			parts := Understand(&rules, "rollouts.argoproj.io", workload.Parts{Meta: meta, Template: test.template, Problem: "it has none"})
			if got := annotation.ChoiceOf(parts.Meta); got != test.want || parts.Understood != test.says {
				t.Errorf("its choice is %d, understood %+v, want %d and %+v", got, parts.Understood, test.want, test.says)
			}
			if parts.Problem != "it has none" || parts.Template != test.template || len(meta.Annotations) != len(test.own) {
				t.Errorf("it has changed: %+v", parts)
			}
		})
	}
}

// Each tool restarts a workload for the configs that it counts, whatever the other one says.
func TestWhatOneOfTwoToolsLetsCountCounts(t *testing.T) {
	for name, test := range map[string]struct {
		theirs, want map[string]string
	}{
		"one names configs, the other counts all": {
			map[string]string{"configmap.reloader.stakater.com/reload": "a", waveExtraSecrets: "s"},
			map[string]string{annotation.EnabledAnnotation: annotation.Enabled, annotation.AlsoAnnotation: "configmap/a,secret/s"},
		},
		"one counts what is marked": {
			map[string]string{"reloader.stakater.com/search": "true"}, map[string]string{annotation.EnabledAnnotation: annotation.Enabled},
		},
		"one says that it does not count": {
			map[string]string{"reloader.stakater.com/auto": "false"}, map[string]string{annotation.EnabledAnnotation: annotation.Enabled},
		},
		"one only excludes a config": {
			map[string]string{"configmaps.exclude.reloader.stakater.com/reload": "a"}, map[string]string{annotation.EnabledAnnotation: annotation.Enabled},
		},
		"one only sets a period": {
			map[string]string{"deployment.reloader.stakater.com/pause-period": "5m"},
			map[string]string{annotation.EnabledAnnotation: annotation.Enabled, annotation.GracePeriodAnnotation: "5m"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rules := optin.Rules{Dialects: []optin.Dialect{optin.Reloader, optin.Wave}}
			meta := &metav1.ObjectMeta{Namespace: "n", Annotations: map[string]string{WaveEnabled: "true"}}
			maps.Copy(meta.Annotations, test.theirs)
			parts := Understand(&rules, names.Deployment, workload.Parts{Meta: meta, Template: &corev1.PodTemplateSpec{}})
			got := maps.Clone(parts.Meta.Annotations)
			maps.DeleteFunc(got, func(name, _ string) bool { return meta.Annotations[name] != "" })
			if !maps.Equal(got, test.want) || parts.Understood.Marked != 0 {
				t.Errorf("it says %v, want %v", got, test.want)
			}
		})
	}
}
