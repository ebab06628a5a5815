package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/policy"
)

func holdsAllTheSame(value string) string {
	return fmt.Sprintf("annotation com.xing.deployment-restart.hold: %q holds all the same; to release the hold, remove the annotation", value)
}

func TestAWorkloadSaysByAnnotationsWhenItsRestartsMayBegin(t *testing.T) {
	long := strings.Repeat("x", 300)
	for name, test := range map[string]struct {
		annotations objecttest.Data
		want        *policy.WorkloadPolicy
	}{
		"nothing":               {nil, nil},
		"only what configs say": {objecttest.Data{annotation.FanOutAnnotation: "gradual", annotation.UrgentAnnotation: "1", annotation.ResumeAnnotation: "1"}, nil},
		"everything": {
			objecttest.Data{annotation.WaveAnnotation: "-1", annotation.WindowAnnotation: "0 22 * * 1-5 6h", annotation.HoldAnnotation: "incident 7"},
			&policy.WorkloadPolicy{Wave: -1, Window: "0 22 * * 1-5 6h", Hold: "incident 7"},
		},
		"the first wave":          {objecttest.Data{annotation.WaveAnnotation: "-1000"}, &policy.WorkloadPolicy{Wave: -1000}},
		"the last wave":           {objecttest.Data{annotation.WaveAnnotation: "1000"}, &policy.WorkloadPolicy{Wave: 1000}},
		"the default wave":        {objecttest.Data{annotation.WaveAnnotation: "0"}, nil},
		"an empty hold":           {objecttest.Data{annotation.HoldAnnotation: ""}, &policy.WorkloadPolicy{Hold: "no reason given", Problem: holdsAllTheSame("")}},
		"a hold of false":         {objecttest.Data{annotation.HoldAnnotation: "False"}, &policy.WorkloadPolicy{Hold: "False", Problem: holdsAllTheSame("False")}},
		"a hold for no release":   {objecttest.Data{annotation.HoldAnnotation: "no release on Fridays"}, &policy.WorkloadPolicy{Hold: "no release on Fridays"}},
		"a hold of spaces":        {objecttest.Data{annotation.HoldAnnotation: " \n"}, &policy.WorkloadPolicy{Hold: "no reason given", Problem: holdsAllTheSame("")}},
		"a hold with a long text": {objecttest.Data{annotation.HoldAnnotation: long}, &policy.WorkloadPolicy{Hold: long[:194] + " [cut]"}},
		"a wave that is too late": {
			objecttest.Data{annotation.WaveAnnotation: "1001"},
			&policy.WorkloadPolicy{Problem: `annotation com.xing.deployment-restart.wave: "1001" is not an integer from -1000 to 1000, so wave 0 is used`},
		},
		"wrong values, beside one that counts": {
			objecttest.Data{annotation.WaveAnnotation: "first" + long, annotation.WindowAnnotation: long, annotation.HoldAnnotation: "why"},
			&policy.WorkloadPolicy{
				Hold: "why", Window: long[:250] + " [cut]", // which is no window
				Problem: `annotation com.xing.deployment-restart.wave: "first` + long[:35] + `" is not an integer from -1000 to 1000, so wave 0 is used`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := objecttest.Deployment(corev1.Container{Name: "app"})
			for annotation, value := range test.annotations {
				d.Annotations[annotation] = value
			}
			if diff := cmp.Diff(test.want, catalogtest.MustWorkload(d).Policy); diff != "" {
				t.Errorf("policy (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAConfigSaysByAnnotationsHowItsChangesSpread(t *testing.T) {
	long := strings.Repeat("x", 65)
	for name, test := range map[string]struct {
		annotations objecttest.Data
		want        *policy.ConfigPolicy
	}{
		"nothing":                  {nil, nil},
		"only what workloads say":  {objecttest.Data{annotation.WaveAnnotation: "1"}, nil},
		"gradual":                  {objecttest.Data{annotation.FanOutAnnotation: "gradual"}, &policy.ConfigPolicy{FanOut: policy.Gradual}},
		"all at once":              {objecttest.Data{annotation.FanOutAnnotation: "all-at-once"}, &policy.ConfigPolicy{FanOut: policy.AllAtOnce}},
		"a hold without a reason":  {objecttest.Data{annotation.HoldAnnotation: ""}, &policy.ConfigPolicy{Hold: "no reason given", Problem: holdsAllTheSame("")}},
		"a window, a hold and ids": {objecttest.Data{annotation.WindowAnnotation: "w", annotation.HoldAnnotation: "h", annotation.UrgentAnnotation: "9f161f04f7ef4b51", annotation.ResumeAnnotation: "r"}, &policy.ConfigPolicy{Window: "w", Hold: "h", Urgent: "9f161f04f7ef4b51", Resume: "r"}},
		"what is no content":       {objecttest.Data{annotation.UrgentAnnotation: "yes"}, &policy.ConfigPolicy{Problem: `annotation com.xing.deployment-restart.urgent: "yes" is the id of no content, which has 16 hexadecimal digits, so nothing is urgent; kubectl restarts urgent sets that of the present content`}},
		"wrong values": {
			objecttest.Data{annotation.FanOutAnnotation: "slow", annotation.UrgentAnnotation: long, annotation.ResumeAnnotation: long},
			&policy.ConfigPolicy{Problem: `annotation com.xing.deployment-restart.fan-out: "slow" is neither "gradual" nor "all-at-once", so --fan-out of the controller is used; ` +
				`annotation com.xing.deployment-restart.urgent: 65 bytes are too many, the limit is 64, so it counts as absent; ` +
				`annotation com.xing.deployment-restart.resume: 65 bytes are too many, the limit is 64, so it counts as absent`},
		},
		"no way at all": {
			objecttest.Data{annotation.FanOutAnnotation: ""},
			&policy.ConfigPolicy{Problem: `annotation com.xing.deployment-restart.fan-out: "" is neither "gradual" nor "all-at-once", so --fan-out of the controller is used`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cm, tls := objecttest.ConfigMap("web", nil), objecttest.Secret("tls", nil)
			cm.Annotations, tls.Annotations = test.annotations, test.annotations
			if diff := cmp.Diff(test.want, content.NewConfigMap(cm).Policy); diff != "" {
				t.Errorf("policy of a ConfigMap (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, content.NewSecret(tls).Policy); diff != "" {
				t.Errorf("policy of a Secret (-want +got):\n%s", diff)
			}
		})
	}
}
