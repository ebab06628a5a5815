package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"

	"kubernetes-deployment-restart-controller/internal/origin"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/history"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// source is a revision of the image that was made some minutes before noon.
func source(number int64, image string, minutes int, edit func(*history.Source)) history.Source {
	s := history.Source{Number: number, Template: &corev1.PodTemplateSpec{}, Pods: new(int32)}
	s.Meta = &metav1.ObjectMeta{Name: fmt.Sprint("web-", number), UID: "uid", Annotations: map[string]string{}, CreationTimestamp: metav1.Time{Time: noon.Add(-time.Duration(minutes) * time.Minute)}}
	s.Template.Annotations = map[string]string{}
	s.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: image}}
	edit(&s)
	return s
}

func noted(o origin.Origin) func(*history.Source) {
	return func(s *history.Source) { s.Meta.Annotations[origin.Annotation] = o.Encode(s.Meta.Name) }
}

func ended(uid, outcome string) func(*history.Source) {
	return func(s *history.Source) {
		s.Meta.Annotations["com.xing.deployment-restart.outcome"] = `{"uid":"` + uid + `",` + outcome + `}`
	}
}

func TestAHistoryNamesWhoMadeEachRevisionAndWhatItChanged(t *testing.T) {
	restarted := func(s *history.Source) {
		s.Template.Annotations[origin.TimestampAnnotation], s.Template.Annotations[origin.CauseAnnotation] = "now", "configmap/settings: LEVEL"
	}
	revisions := history.Of([]history.Source{
		source(5, "v3", 1, func(s *history.Source) {
			*s.Pods = 3
			noted(origin.Origin{Manager: "helm", Changes: []string{"image of web: v2 to v3"}})(s)
			ended("uid", `"ended":"failed","why":"container web of pod web-1: CrashLoopBackOff"`)(s)
		}),
		source(1, "v1", 90, noted(origin.Origin{Manager: "kubectl-create"})),
		source(2, "v2", 80, ended("uid", `"ended":"completed"`)),
		source(3, "v2", 70, func(s *history.Source) { restarted(s); ended("other", `"ended":"failed"`)(s); s.Pods = nil }),
		source(4, "v2", 5, noted(origin.Origin{Manager: "evil\x1b[2J", Restart: "kubectl rollout restart"})),
	})
	var out strings.Builder
	if err := history.Print(&out, revisions, printers.PrintOptions{}, noon); err != nil {
		t.Fatal(err)
	}
	const want = `REVISION   AGE   PODS   BY               WHAT                                 ENDED
1          90m   0      kubectl-create   -                                    -
2          80m   0      -                image of web: v1 to v2               completed
3          70m   -      -                restart: configmap/settings: LEVEL   -
4          5m    0      evil\u001b[2J    restart: kubectl rollout restart     -
5          60s   3      helm             image of web: v2 to v3               failed: container web of pod web-1: CrashLoopBackOff
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
	again := history.Of([]history.Source{source(7, "v3", 1, noted(origin.Origin{})), source(8, "v1", 90, func(s *history.Source) {
		noted(origin.Origin{Manager: "helm", Changes: []string{"image of web: v0 to v1"}})(s)
		s.Meta.Annotations["deployment.kubernetes.io/revision-history"] = "1"
	})})[1]
	if again.Manager != "" || !again.Compared || len(again.Changes) != 1 || again.Changes[0] != "image of web: v3 to v1" {
		t.Errorf("after a rollback: %+v", again)
	}
	for i, want := range []bool{false, true, true, false, false} {
		if revisions[i].Compared != want {
			t.Errorf("revision %d follows from a comparison: %t", i+1, !want)
		}
	}
}
