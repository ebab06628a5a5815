package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/intake"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/notes"
	"kubernetes-deployment-restart-controller/internal/status"
)

// hearing returns a function that returns the warnings about annotations since its last call, sorted, each with the
// kind of the object.
func (w *world) hearing() func() []string {
	recorder := record.NewFakeRecorder(1000)
	recorder.IncludeObject = true
	w.controller.recordOwn(recorder)
	return func() (heard []string) {
		for {
			select {
			case e := <-recorder.Events:
				text, isOne := strings.CutPrefix(e, "Warning "+events.Invalid+" annotation ")
				text, object, _ := strings.Cut(text, " involvedObject{kind=")
				kind, _, _ := strings.Cut(object, ",")
				if isOne {
					heard = append(heard, kind+" "+text)
				}
			default:
				slices.Sort(heard)
				return heard
			}
		}
	}
}

func (w *world) misspelt(name string) metav1.ObjectMeta {
	meta := w.meta(name)
	meta.Annotations = map[string]string{"com.xing.deployment-restart.hodl": "x"}
	return meta
}

func TestAMistakeIsReportedOnceOnEachKindOfObjectThatIsWatched(t *testing.T) {
	w := ruled(t, optin.Rules{ByNamespace: true})
	heard := w.hearing()
	for resource, object := range map[string]any{
		"deployments": &appsv1.Deployment{ObjectMeta: w.misspelt("a/x")}, "statefulsets": &appsv1.StatefulSet{ObjectMeta: w.misspelt("a/x")},
		"daemonsets": &appsv1.DaemonSet{ObjectMeta: w.misspelt("a/x")}, "configmaps": &corev1.ConfigMap{ObjectMeta: w.misspelt("a/x")},
		"secrets": &corev1.Secret{ObjectMeta: w.misspelt("a/x")}, "namespaces": &corev1.Namespace{ObjectMeta: w.misspelt("/a")},
	} {
		w.show(resource, object)
		w.show(resource, object)
	}
	var want []string
	for _, kind := range []string{"ConfigMap", "DaemonSet", "Deployment", "Secret", "StatefulSet"} {
		want = append(want, kind+" com.xing.deployment-restart.hodl looks like a misspelling of com.xing.deployment-restart.hold, so nothing is held by it")
	}
	want = slices.Insert(want, 3, "Namespace com.xing.deployment-restart.hodl looks like a misspelling of com.xing.deployment-restart.hold; "+
		"it counts only on a workload, ConfigMap or Secret, so nothing is held by it")
	if got := heard(); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if list := w.controller.Overview("a", time.Now()).Mistakes; list.Total != 6 {
		t.Errorf("the page shows %v", list)
	}
}

func TestAMistakeIsReportedAgainOnlyIfItIsAnotherOneOrByTheNextLeader(t *testing.T) {
	w := ruled(t, optin.Rules{})
	heard := w.hearing()
	require := func(when string, want int) {
		t.Helper()
		if got := heard(); len(got) != want {
			t.Errorf("%s: the Events are %q, want %d", when, got, want)
		}
	}
	cm := &corev1.ConfigMap{ObjectMeta: w.misspelt("a/c")}
	w.configMaps["a/c"] = cm
	list(w, "configmaps", w.configMaps)
	require("a list", 1)
	list(w, "configmaps", w.configMaps)
	require("the same list", 0)
	cm.Annotations = map[string]string{annotation.WaveAnnotation: "1"}
	w.show("configmaps", cm)
	require("another mistake", 1)
	w.controller.role.Leading.Store(false)
	w.controller.beginToLead()
	require("the next leader", 1)
	cm.Annotations = nil
	log := w.log()
	w.show("configmaps", cm)
	w.show("configmaps", cm)
	if n := strings.Count(log.String(), `level=INFO msg="all annotations and labels can be used again" object=configmap/a/c`); n != 1 {
		t.Errorf("the log says %d times that it is corrected:\n%s", n, log)
	}
	w.controller.beginToLead()
	require("after it is corrected", 0)
	cm.Annotations = map[string]string{annotation.WaveAnnotation: "1"}
	w.show("configmaps", cm)
	require("the mistake again", 1)
	delete(w.configMaps, "a/c")
	list(w, "configmaps", w.configMaps)
	w.controller.beginToLead()
	require("a list without the object", 0)
	w.show("configmaps", cm)
	w.hide("configmaps", cm)
	heard()
	w.controller.beginToLead()
	require("a deletion", 0)
	if w.controller.intake.Mistakes.Known.Size() != 0 {
		t.Error("the namespace is not forgotten")
	}
}

// Anyone who may make objects can make very many.
func TestTheMistakesOfANamespaceAreLimitedAndOthersAreStillReported(t *testing.T) {
	w := ruled(t, optin.Rules{})
	heard := w.hearing()
	for i := range 3 * notes.MaxOf {
		w.show("configmaps", &corev1.ConfigMap{ObjectMeta: w.misspelt(fmt.Sprintf("hostile/c-%d", i))})
	}
	if got := heard(); len(got) != notes.MaxOf {
		t.Errorf("%d Events", len(got))
	}
	w.show("configmaps", &corev1.ConfigMap{ObjectMeta: w.misspelt("a/c")})
	if got := heard(); len(got) != 1 {
		t.Errorf("in another namespace, the Events are %q", got)
	}
	if n := len(w.controller.intake.Mistakes.Known.All()) - 1; n != notes.MaxOf {
		t.Errorf("%d mistakes are kept", n)
	}
}

func TestAStandbyReportsNoMistakeAndTheOthersNothing(t *testing.T) {
	w := newWorld(t)
	heard := w.hearing()
	w.show("configmaps", &corev1.ConfigMap{ObjectMeta: w.misspelt("a/c")})
	if got := heard(); len(got) > 0 {
		t.Errorf("the Events are %q", got)
	}
	for i := range 1000 {
		w.show("configmaps", &corev1.ConfigMap{ObjectMeta: w.meta(fmt.Sprintf("b/c-%d", i))})
	}
	if n := w.controller.intake.Mistakes.Known.Size(); n != 1 {
		t.Errorf("notes about %d objects, want one about that with a mistake", n)
	}
}

func TestAMistakeIsSinceItWasNoticedUnlessAListShowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := ruled(t, optin.Rules{})
		w.configMaps["a/listed"] = &corev1.ConfigMap{ObjectMeta: w.misspelt("a/listed")}
		list(w, "configmaps", w.configMaps)
		start := time.Now()
		time.Sleep(time.Minute)
		list(w, "configmaps", w.configMaps)
		web := &appsv1.Deployment{ObjectMeta: w.misspelt("a/web")} // which is not enabled
		w.show("deployments", web)
		time.Sleep(time.Minute)
		web.Labels = map[string]string{"another": "event"}
		w.show("deployments", web)
		o := w.controller.Overview("a", time.Now())
		for object, want := range map[string]status.Beginning{
			"configmap/a/listed": {Since: start.UTC(), AtLeast: true}, "deployment/a/web": {Since: start.Add(time.Minute).UTC()},
		} {
			i := slices.IndexFunc(o.Mistakes.Items, func(m status.Mistake) bool { return m.Object == object })
			if m := &o.Mistakes.Items[max(i, 0)]; i < 0 || !m.Since.Equal(want.Since) || m.AtLeast != want.AtLeast {
				t.Errorf("%s: %+v, want %+v", object, m, want)
			}
		}
	})
}

func TestAValueThatCannotBeUsedIsToldLikeAMisspelledName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t)
		heard := w.hearing()
		log := w.log()
		start := time.Now()
		w.annotate("a/c", annotation.FanOutAnnotation, "at night")
		w.show("configmaps", w.configMaps["a/c"])
		w.runs("a/web", map[string]string{annotation.WaveAnnotation: "first", annotation.WindowAnnotation: "every night", annotation.GracePeriodAnnotation: "soon", "com.xing.deployment-restart.hodl": "x"}, "c")
		settle(w)
		time.Sleep(time.Hour)
		w.show("deployments", w.deployments["a/web"])
		w.show("configmaps", w.configMaps["a/c"])
		settle(w)
		if events := heard(); len(events) != 2 {
			t.Errorf("the Events are %q", events)
		}
		if lines := strings.Count(log.String(), "cannot be used"); lines != 2 {
			t.Errorf("the log is %s", log)
		}
		list := w.overview().Mistakes
		if list.Total != 2 {
			t.Fatalf("the list is %v", list)
		}
		for i, parts := range [][]string{
			{`.fan-out: "at night" is neither "gradual" nor "all-at-once", so --fan-out of the controller is used`},
			{"hodl looks like a misspelling", `.grace-period: "soon" is not a duration`, "is used instead", `.wave: "first" is not an integer from -1000 to 1000, so wave 0 is used`, ".window: ", "Restarts wait until it is corrected"},
		} {
			for _, part := range parts {
				if m := list.Items[i]; !strings.Contains(m.Problem, part) || !m.Since.Equal(start) {
					t.Errorf("%s is not in %+v", part, m)
				}
			}
		}
		explained := w.controller.ExplainWorkload("deployment/a/web", time.Now()).Mistakes
		if len(explained) != 2 || explained[0] != list.Items[1] || explained[1] != list.Items[0] || *w.controller.Mistakes.OnWorkload("deployment/a/web") != list.Items[1] {
			t.Errorf("explained as %v", explained)
		}
		w.deployments["a/web"].Annotations = map[string]string{annotation.EnabledAnnotation: annotation.Enabled, annotation.WaveAnnotation: "1"}
		w.show("deployments", w.deployments["a/web"])
		w.annotate("a/c", annotation.FanOutAnnotation, string(policy.Gradual))
		w.show("configmaps", w.configMaps["a/c"])
		if list := w.overview().Mistakes; list.Total != 0 {
			t.Errorf("corrected, the list is %v", list)
		}
	})
}

func TestAnIDThatResumesNothingIsReportedWithTheOneThatDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other")
		pass := w.takeOver(t, &objecttest.HaltServer{}, nil)
		pass(time.Second)
		heard := w.hearing()
		resume := func(id string) {
			w.annotate("a/c", annotation.ResumeAnnotation, id)
			w.show("configmaps", w.configMaps["a/c"])
		}
		resume("of-an-earlier-one")
		if events := heard(); len(events) > 0 {
			t.Errorf("without a halt, the Events are %q", events)
		}
		w.edited("a/c", "2")
		settle(w)
		w.fails(t, w.restarted()[0])
		id := w.controller.gate.ActiveHalts()[0].ID
		resume("wrong")
		want := `annotation com.xing.deployment-restart.resume: "wrong" ends no halt of this config. To end the halt ` + id +
			": kubectl annotate --overwrite -n a configmap/c com.xing.deployment-restart.resume=" + id
		if events := heard(); !slices.Equal(events, []string{"ConfigMap " + strings.TrimPrefix(want, "annotation ")}) {
			t.Errorf("the Events are %q, want %q", events, want)
		}
		if problem := w.controller.ExplainConfig(aConfig.String(), time.Now()).Mistake; problem == nil || problem.Problem != want || problem.Since.IsZero() {
			t.Errorf("the page says %+v", problem)
		}
		if list := w.overview().Mistakes; list.Total != 1 || list.Items[0].Problem != want {
			t.Errorf("the list is %v", list)
		}
		w.controller.gate.ResumeByID(id) // without an event of the config
		if list := w.overview().Mistakes; list.Total != 0 {
			t.Errorf("after the halt, the list is %v", list)
		}
		recorder := record.NewFakeRecorder(10)
		w.controller.recordOwn(recorder)
		resume(id)
		if recorded := objecttest.EventsOf(recorder); len(recorded) != 1 || !strings.HasPrefix(recorded[0], "Normal "+events.Invalid+" nothing is wrong with") || len(w.controller.gate.ActiveHalts()) > 0 {
			t.Errorf("with the right id, the Events are %q", recorded)
		}
	})
}

func TestAWorkloadIsExplainedWithTheMistakesOnItsConfigsAndItsNamespace(t *testing.T) {
	w := gradual(t)
	w.runs("a/web", nil, "c")
	settle(w)
	w.annotate("a/c", "com.xing.deployment-restart.hodl", "x")
	w.show("configmaps", w.configMaps["a/c"])
	w.show("configmaps", &corev1.ConfigMap{ObjectMeta: w.misspelt("a/other")})
	for _, name := range []string{"a", "b"} {
		o := kinds.Observation{Namespace: &optin.Namespace{Name: name}}
		w.controller.intake.Mistakes.Note(o.Name(), kinds.NewMistake("u", "label x"), false)
	}
	problems := w.controller.ExplainWorkload("deployment/a/web", time.Now()).Mistakes
	if len(problems) != 2 || problems[0].Object != "configmap/a/c" || !strings.HasPrefix(problems[0].Problem, "annotation com.xing.deployment-restart.hodl") || problems[1].Object != "namespace//a" {
		t.Errorf("got %+v", problems)
	}
}

// BenchmarkMistakeOnAWorkloadThatIsNotEnabled is what the page of such a workload costs, which a stream looks at once a second.
func BenchmarkMistakeOnAWorkloadThatIsNotEnabled(b *testing.B) {
	c := &Controller{intake: &intake.Intake{Mistakes: new(intake.Mistakes)}}
	for i := range 2 * notes.MaxOf {
		object := kinds.NameOfWorkload(objecttest.DeploymentNamed(fmt.Sprintf("a/w-%d", i)))
		c.intake.Mistakes.Known.Put("a", object, kinds.Mistake{Text: "a typo"})
	}
	b.ReportAllocs()
	for b.Loop() {
		if c.Mistakes.OnWorkload("deployment/a/w-7") == nil {
			b.Fatal("not found")
		}
	}
}
