package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// marked does what the controller does that puts a restart off for long.
func (s *story) marked(t *testing.T, seconds float64) {
	t.Helper()
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	annotations, marks, err := Mark(&view, objecttest.NoonPlus(seconds))
	if err != nil || !marks {
		t.Fatalf("no mark: %t, %v", marks, err)
	}
	maps.Copy(s.deployment.Annotations, annotations)
	s.catalog.ObserveMarked(s.reduced(), Decide(view).Contradicted.Seen > 0)
}

func TestDecisionsWhenTheContentComesBackToWhatIsRecorded(t *testing.T) {
	keep, record := verdict{Asked: true, Outcome: Keep}, verdict{Asked: true, Outcome: RecordOnly}
	again := askedRestartFor("web", "a")
	again.Causes[0].Writers = nil
	unnamed := verdict{Asked: true, Outcome: Restart}
	changed := func(*testing.T, *story) {}
	allOfWeb := func() *story { return begin(objecttest.Deployment(objecttest.ReadsAll("web", false))) }
	keyB := func() *story { return begin(objecttest.Deployment(objecttest.ReadsKey("web", "b", false))) }
	one, two := objecttest.Data{"a": "1", "b": "1"}, objecttest.Data{"a": "2", "b": "1"}
	for name, test := range map[string]struct {
		story   func() *story
		happens func(*testing.T, *story) // between the edit at second 60 and the return at second 80
		then    func(*testing.T, *story)
		started float64
		want    verdict
	}{
		"the pod is older": {allOfWeb, changed, changed, 58, keep},
		"the pod is older by less than the clocks tell":   {allOfWeb, changed, changed, 59.5, again},
		"the pod started in between":                      {allOfWeb, changed, changed, 70, again},
		"the pod is younger by less than the clocks tell": {allOfWeb, changed, changed, 80.5, again},
		"the pod is younger":                              {allOfWeb, changed, changed, 82, keep},
		"the pod has not started":                         {allOfWeb, changed, changed, -1, keep},
		"of another key than the workload sees":           {keyB, changed, changed, 70, verdict{Outcome: Keep}},
		"and the content was recorded in between":         {allOfWeb, func(_ *testing.T, s *story) { s.recorded(65) }, changed, 64, restartFor("web", "a")},
		"and the recorded content was there for a while": {allOfWeb, func(_ *testing.T, s *story) {
			s.config("web", one, 62)
			s.config("web", two, 78)
		}, changed, 70, keep},
		"and another content, too": {allOfWeb, func(_ *testing.T, s *story) { s.config("web", objecttest.Data{"a": "3", "b": "1"}, 62) }, changed, 70, again},
		"and the pods were looked at": {allOfWeb, changed, func(_ *testing.T, s *story) {
			view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
			s.catalog.ObserveKept(view)
		}, 70, verdict{Outcome: Keep}},
		"and the pods of another template were looked at": {allOfWeb, changed, func(_ *testing.T, s *story) {
			view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
			s.catalog.ObserveKept(view)
			objecttest.SetTimestamp(s.deployment, "2026-03-01T11:00:00Z")
			s.catalog.ObserveWorkload(s.reduced())
		}, 70, again},
		"and the template was shown after that": {allOfWeb, changed, func(_ *testing.T, s *story) {
			s.restart(80.2)
		}, 80.5, verdict{Outcome: Keep}},
		"and somebody else wrote to the workload": {allOfWeb, changed, func(_ *testing.T, s *story) { s.scale(3) }, 70, again},
		"marked":                         {allOfWeb, func(t *testing.T, s *story) { s.marked(t, 60) }, changed, 70, again},
		"marked, and the pod is older":   {allOfWeb, func(t *testing.T, s *story) { s.marked(t, 60) }, changed, 50, record},
		"marked, and the pod is younger": {allOfWeb, func(t *testing.T, s *story) { s.marked(t, 60) }, changed, 90, record},
		"marked, before the controller was replaced": {allOfWeb, func(t *testing.T, s *story) {
			s.marked(t, 60)
			s.restartController(objecttest.ConfigMap("web", two))
		}, changed, 70, unnamed},
		"marked, before the controller was replaced, and the pod is older": {allOfWeb, func(t *testing.T, s *story) {
			s.marked(t, 60)
			s.restartController(objecttest.ConfigMap("web", two))
		}, changed, 50, record},
		"marked, before the controller was replaced, and the pod is younger": {allOfWeb, func(t *testing.T, s *story) {
			s.marked(t, 60)
			s.restartController(objecttest.ConfigMap("web", two))
		}, changed, 90, record},
		"marked, and the controller was replaced after that": {allOfWeb, func(t *testing.T, s *story) { s.marked(t, 60) }, func(_ *testing.T, s *story) {
			s.restartController(objecttest.ConfigMap("web", one))
		}, 70, unnamed},
		"marked, and the controller was replaced after that, and it cannot know that the pod is younger": {allOfWeb, func(t *testing.T, s *story) { s.marked(t, 60) }, func(_ *testing.T, s *story) {
			s.restartController(objecttest.ConfigMap("web", one))
		}, 90, unnamed},
		"not marked, and the controller was replaced": {allOfWeb, changed, func(_ *testing.T, s *story) {
			s.restartController(objecttest.ConfigMap("web", one))
		}, 70, verdict{Outcome: Keep}},
		"nobody saw the edit, but a restart was put off": {allOfWeb, func(_ *testing.T, s *story) {
			s.restartController(objecttest.ConfigMap("web", two))
			view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
			s.catalog.ObserveContradicted(view, objecttest.NoonPlus(65))
		}, changed, 70, unnamed},
		"nobody saw the edit, but a restart was put off later": {allOfWeb, func(_ *testing.T, s *story) {
			s.restartController(objecttest.ConfigMap("web", two))
			view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
			s.catalog.ObserveContradicted(view, objecttest.NoonPlus(75))
		}, changed, 70, keep},
		"marked, and the config is gone": {allOfWeb, func(t *testing.T, s *story) { s.marked(t, 60) }, func(_ *testing.T, s *story) {
			s.deleted("web", 90)
		}, 70, verdict{Outcome: Keep}},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.story()
			s.listed(objecttest.ConfigMap("web", one))
			s.recorded(10)
			s.config("web", two, 60)
			test.happens(t, s)
			s.config("web", one, 80)
			test.then(t, s)
			pod := Pod{}
			if test.started > 0 {
				pod = startedAt(objecttest.NoonPlus(test.started))
			}
			if diff := cmp.Diff(test.want, s.decide(t, pod), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

// An environment sees nothing of binaryData.
func TestEditsOfBinaryDataDoNotDateWhatAnEnvironmentSaw(t *testing.T) {
	config := func(a, binary string) *corev1.ConfigMap {
		cm := objecttest.ConfigMap("web", objecttest.Data{"a": a})
		cm.BinaryData = map[string][]byte{"bin": []byte(binary)}
		return cm
	}
	shows := func(s *story, a, binary string, seconds float64) {
		s.catalog.ObserveConfig(content.NewConfigMap(config(a, binary)), objecttest.NoonPlus(seconds))
	}
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(config("1", "1"))
	s.recorded(10)
	s.restartController(config("1", "1"))
	shows(s, "1", "2", 40)
	shows(s, "2", "2", 60)
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	if since := Decide(view).Contradicted.At; !since.Equal(objecttest.NoonPlus(60)) {
		t.Errorf("contradicted since %s", since)
	}
	s.marked(t, 60)
	s.restartController(config("2", "2"))
	shows(s, "1", "2", 80)
	shows(s, "1", "3", 100)
	for started, want := range map[float64]Outcome{50: RecordOnly, 70: Restart, 90: RecordOnly} {
		if got := s.decide(t, startedAt(objecttest.NoonPlus(started))); got.Outcome != want {
			t.Errorf("a pod that started at second %.0f: %v, want %v", started, got.Outcome, want)
		}
	}
}

// What was edited before the process started is known from the managed fields.
func TestAnEditOfBinaryDataAfterOneThatNoWatchShowedRestartsNoEnvironment(t *testing.T) {
	config := func(binary string, edited float64) *corev1.ConfigMap {
		cm := objecttest.ConfigMap("web", objecttest.Data{"a": "1"})
		cm.BinaryData = map[string][]byte{"bin": []byte(binary)}
		cm.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(edited), "f:binaryData/f:bin")}
		return cm
	}
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(config("1", 20))
	s.catalog.ObserveConfig(reducedConfigMap(config("2", 60)), objecttest.NoonPlus(60))
	if got := s.decide(t, startedAt(objecttest.NoonPlus(40))); got.Outcome != RecordOnly {
		t.Errorf("%v", got.Outcome)
	}
}

// The last edit of a key stands for those before it.
func TestAKeyThatMovedToBinaryDataAndIsEditedThereHidesNoPodThatSawItBefore(t *testing.T) {
	shows := func(s *story, text objecttest.Data, binary string, seconds float64) {
		cm := objecttest.ConfigMap("web", text)
		if binary != "" {
			cm.BinaryData = map[string][]byte{"a": []byte(binary)}
		}
		s.catalog.ObserveConfig(content.NewConfigMap(cm), objecttest.NoonPlus(seconds))
	}
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"b": "1"}))
	s.recorded(10)
	other := objecttest.Data{"a": "x", "b": "2"}
	s.restartController(objecttest.ConfigMap("web", objecttest.Data{"b": "1"}))
	shows(s, other, "", 50)
	s.marked(t, 50)
	s.restartController(objecttest.ConfigMap("web", other))
	shows(s, objecttest.Data{"a": "x", "b": "1"}, "", 70)
	shows(s, objecttest.Data{"b": "1"}, "x", 80) // what is recorded, for variables
	shows(s, objecttest.Data{"b": "1"}, "y", 100)
	if got := s.decide(t, startedAt(objecttest.NoonPlus(75))); got.Outcome != Restart {
		t.Errorf("a pod that started with other content: %v", got.Outcome)
	}
}

func TestAMarkLeavesTheRecordAsItIs(t *testing.T) {
	s := restarted() // at second 100
	s.config("web", objecttest.Data{"a": "3"}, 120)
	before := catalogtest.MustWorkload(s.deployment)
	checksums, basis := s.deployment.Annotations[annotation.ChecksumsAnnotation], s.deployment.Annotations[annotation.BasisAnnotation]
	s.marked(t, 120)
	want := before
	want.Record.Contradicted, want.Record.Marked, want.ResourceVersion = objecttest.NoonPlus(120), true, s.deployment.ResourceVersion
	if diff := cmp.Diff(want, catalogtest.MustWorkload(s.deployment)); diff != "" {
		t.Errorf("workload (-want +got):\n%s", diff)
	}
	if s.deployment.Annotations[annotation.ChecksumsAnnotation] != checksums {
		t.Errorf("the checksums are %s, were %s", s.deployment.Annotations[annotation.ChecksumsAnnotation], checksums)
	}
	if unmarked := strings.Replace(s.deployment.Annotations[annotation.BasisAnnotation], `,"contradicted":"2026-03-01T12:02:00Z"`, "", 1); unmarked != basis {
		t.Errorf("the basis without the mark is %s, was %s", unmarked, basis)
	}
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	if !view.Workload.OwnRecord || view.Workload.RecordSeen >= view.Sequence {
		t.Errorf("own record: %t, seen at %d of %d", view.Workload.OwnRecord, view.Workload.RecordSeen, view.Sequence)
	}
}

func TestARecordThatCannotBeReadCompletelyIsNotMarked(t *testing.T) {
	for name, record := range map[string]record.Record{
		"is not trusted": {}, "of another key": {Trusted: true, Key: "other"},
	} {
		view := catalog.View{Workload: &workload.Workload{Record: record}, Key: catalogtest.TestKey}
		if annotations, marks, err := Mark(&view, objecttest.Noon); marks || err != nil {
			t.Errorf("%s: %v, %v", name, annotations, err)
		}
	}
}

// A config is edited at random. What it was between two edits is compared with what is kept of
// it, as far as there is room.
func TestThePastOfAConfigIsWhatItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
		keys := []string{"a", "b", "c"}
		draw := func() objecttest.Data {
			content := objecttest.Data{}
			for _, key := range keys {
				if version := rapid.IntRange(0, 3).Draw(t, key); version > 0 {
					content[key] = fmt.Sprint(version)
				}
			}
			return content
		}
		s.listed(objecttest.ConfigMap("web", draw()))
		history := []objecttest.Data{nil} // by second; what was there at first does not count
		state := map[string]names.Checksum{}
		for second := 1; second <= rapid.IntRange(1, content.MaxPastOfKey).Draw(t, "edits"); second++ {
			history = append(history, draw())
			s.config("web", history[second], float64(second))
		}
		view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
		past := view.Past[objecttest.ConfigMapRef("web")]
		for _, key := range keys {
			var want, got []string
			from := 0 // since when the key has had its content; 0 if that was there at first
			for second := 1; second < len(history); second++ {
				if second > 1 && history[second][key] == history[second-1][key] || second == 1 && !isEdited(view, key, 1) {
					continue
				}
				if from > 0 {
					state[key] = contentOf(history[second-1], key)
					want = append(want, fmt.Sprint(state[key], from, second))
				}
				from = second
			}
			for _, p := range past {
				if p.Key == key {
					got = append(got, fmt.Sprint(p.Content, int(p.From.At.Sub(objecttest.Noon).Seconds()), int(p.Until.At.Sub(objecttest.Noon).Seconds())))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("past of %s (-want +got):\n%s", key, diff)
			}
		}
	})
}

// isEdited reports whether the first edit that was seen changed a key.
func isEdited(view catalog.View, key string, second float64) bool {
	for _, p := range view.Past[objecttest.ConfigMapRef("web")] {
		if p.Key == key && p.From.At.Equal(objecttest.NoonPlus(second)) {
			return true
		}
	}
	return slices.ContainsFunc(view.Configs[objecttest.ConfigMapRef("web")].Edits, func(edit annotation.Edit) bool {
		return edit.Key == key && edit.At.Equal(objecttest.NoonPlus(second))
	})
}

func contentOf(state objecttest.Data, key string) names.Checksum {
	value, found := state[key]
	if !found {
		return 0
	}
	return content.KeyChecksum(key, value)
}

func TestWhatIsKeptOfThePastIsBounded(t *testing.T) {
	s := begin(objecttest.Deployment(corev1.Container{Name: "app", EnvFrom: objecttest.ReadsAll("web", false).EnvFrom}))
	many := func(value int) objecttest.Data {
		state := objecttest.Data{"calm": "1"}
		for i := range 10 * content.MaxPast {
			state[fmt.Sprint("key-", i)] = fmt.Sprint(value)
		}
		return state
	}
	s.listed(objecttest.ConfigMap("web", many(0)))
	s.recorded(1)
	requireBounded := func() []content.Past {
		t.Helper()
		view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
		past := view.Past[objecttest.ConfigMapRef("web")]
		if len(past) > content.MaxPast {
			t.Fatalf("%d past contents are kept", len(past))
		}
		return past
	}
	for second := range 20 {
		s.config("web", many(second), float64(10+second))
		requireBounded()
	}
	for second := range 100 {
		content := many(0)
		content["hot"] = fmt.Sprint(second)
		s.config("web", content, float64(100+second))
		requireBounded()
	}
	hot := slices.DeleteFunc(slices.Clone(requireBounded()), func(p content.Past) bool { return p.Key != "hot" })
	if len(hot) != content.MaxPastOfKey || !hot[0].Mixed || hot[1].Mixed {
		t.Errorf("%d past contents of the key that changes all the time, the first ones %+v", len(hot), hot[:2])
	}
	s.config("web", many(0), 300)
	if diff := cmp.Diff(verdict{Asked: true, Outcome: Restart, Causes: []Cause{{Config: objecttest.ConfigMapRef("web"), Keys: []string{"hot"}}}},
		s.decide(t, startedAt(objecttest.NoonPlus(150))), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}

// A hundred keys are edited one after the other, and taken back at once.
func TestEachOfVeryManyEditsIsRemembered(t *testing.T) {
	many := func(edited int) objecttest.Data {
		content := objecttest.Data{}
		for i := range 100 {
			content[fmt.Sprint("key-", i)] = fmt.Sprint(i < edited)
		}
		return content
	}
	for _, started := range []float64{110, 150, 199.9, 205} {
		s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
		s.listed(objecttest.ConfigMap("web", many(0)))
		s.recorded(1)
		for i := range 100 {
			s.config("web", many(i+1), float64(100+i))
		}
		s.config("web", many(0), 210)
		if got := s.decide(t, startedAt(objecttest.NoonPlus(started))); got.Outcome != Restart {
			t.Errorf("a pod that started at %v: %s, want a restart", started, got.Outcome)
		}
	}
}

func TestThePastBeforeAllRecordsIsForgotten(t *testing.T) {
	web, other := objecttest.Deployment(objecttest.ReadsAll("web", false)), objecttest.Deployment(objecttest.ReadsAll("web", false))
	other.Name, other.UID = "other", "other"
	s := begin(web)
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "0"}))
	record := func(second float64) {
		other.ResourceVersion += "1"
		catalogtest.WriteRecord(other, record.Checksums{objecttest.ConfigMapRef("web"): names.Checksum(second)}, objecttest.NoonPlus(second))
		s.catalog.ObserveWorkload(catalogtest.MustWorkload(other))
	}
	record(5)
	edit := func(second int) int {
		s.config("web", objecttest.Data{"a": fmt.Sprint(second)}, float64(second))
		view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
		return len(view.Past[objecttest.ConfigMapRef("web")])
	}
	edit(10)
	s.recorded(11)
	for i, want := range []int{1, 2, 3} {
		if got := edit(100 + 200*i); got != want {
			t.Fatalf("%d past contents are kept, want %d: the other workload has an older record", got, want)
		}
	}
	s.recorded(601)
	record(601)
	if got := edit(602); got != 2 {
		t.Errorf("%d past contents are kept, want this one and that of less than two minutes ago", got)
	}
	if got := edit(800); got != 2 {
		t.Errorf("%d past contents are kept, want the two since the records", got)
	}
}

// BenchmarkDecideByPodsAfterAContentCameBack is a decision about a thousand containers that read a
// config of 40,000 keys, of which as many were edited and taken back as are remembered.
func BenchmarkDecideByPodsAfterAContentCameBack(b *testing.B) {
	d := objecttest.Deployment(corev1.Container{})
	d.Spec.Template.Spec.Containers = nil
	for i := range 1000 {
		all := objecttest.ReadsAll("large", false)
		all.Name = fmt.Sprint("c-", i)
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, all)
	}
	s := begin(d)
	data := objecttest.ManyKeys(40000, "1")
	s.listed(objecttest.ConfigMap("large", data))
	s.recorded(10)
	for i := range content.MaxPast - 1 {
		data[objecttest.KeyNamed(i)] = "2"
		s.config("large", data, float64(60+i))
	}
	s.config("large", objecttest.ManyKeys(40000, "1"), 200)
	var pods []Pod
	for i := range 100 {
		pod := Pod{Mounted: objecttest.NoonPlus(float64(100 + i))}
		for j := range 1000 {
			pod.Started = append(pod.Started, Start{Container: fmt.Sprint("c-", j), At: pod.Mounted})
		}
		pods = append(pods, pod)
	}
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	if past := len(view.Past[objecttest.ConfigMapRef("large")]); past != content.MaxPast-1 {
		b.Fatalf("%d past contents are kept", past)
	}
	b.ReportAllocs()
	for b.Loop() {
		if got := ByPods(view, pods); got.Outcome != Restart {
			b.Fatal(got.Reason)
		}
	}
}
