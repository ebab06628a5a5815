package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
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
func (s *story) marked(t rapid.TB, since time.Time, unseen bool) {
	t.Helper()
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	annotations, marks, err := Mark(&view, since, unseen)
	if err != nil || !marks && !view.Workload.Record.Marked {
		t.Fatalf("no mark: %t, %v", marks, err)
	}
	if marks {
		maps.Copy(s.deployment.Annotations, annotations)
		s.catalog.ObserveMarked(s.reduced())
	}
}

func TestAMarkLeavesTheRecordAsItIs(t *testing.T) {
	s := restarted() // at second 100
	s.config("web", objecttest.Data{"a": "3"}, 120)
	before := catalogtest.MustWorkload(s.deployment)
	checksums, basis := s.deployment.Annotations[annotation.ChecksumsAnnotation], s.deployment.Annotations[annotation.BasisAnnotation]
	s.marked(t, objecttest.NoonPlus(120), false)
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
		if annotations, marks, err := Mark(&view, objecttest.Noon, false); marks || err != nil {
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
