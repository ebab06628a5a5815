package decide

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// joinEdits joins the edits that a catalog knows of a config, but for the last ones.
func joinEdits(c *catalog.Catalog, ref names.ConfigRef, but int) {
	config := c.Config(ref)
	config.Edits = content.FoldEdits(config.Edits, config.Keys, but, but) // of a value that no view has yet
}

// retold is a story that is told twice: to a catalog that remembers each edit, and to one that joins all but a few.
type retold struct {
	exact, joined *story
	but           int
	content       objecttest.Data
	now           float64
	pods          []Pod
}

func (r *retold) tell(happens func(*story)) {
	happens(r.exact)
	happens(r.joined)
}

// edit gives a key another content, or removes it.
func (r *retold) edit(t *rapid.T) {
	key := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "key")
	if value := rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "content"); value == "" {
		delete(r.content, key)
	} else {
		r.content[key] = value
	}
	r.tell(func(s *story) { s.config("web", maps.Clone(r.content), r.now) })
	joinEdits(r.joined.catalog, objecttest.ConfigMapRef("web"), r.but)
}

func (r *retold) startPod(*rapid.T) { r.pods = append(r.pods, startedAt(objecttest.NoonPlus(r.now))) }

// release replaces the pod template, and thereby the pods.
func (r *retold) release(*rapid.T) {
	r.pods = []Pod{startedAt(objecttest.NoonPlus(r.now + 1))}
	r.tell(func(s *story) {
		s.deployment.Spec.Template.Spec.Containers[0].Image = fmt.Sprint(r.now)
		s.catalog.ObserveWorkload(s.reduced())
	})
}

func (r *retold) decide(t *rapid.T) {
	decisionOf := func(s *story) (catalog.View, Decision) {
		view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
		decision := Decide(view)
		if decision.Outcome == AskPods {
			decision = ByPods(view, r.pods)
		}
		return view, decision
	}
	_, exact := decisionOf(r.exact)
	_, joined := decisionOf(r.joined)
	if exact.Outcome == Restart && joined.Outcome != Restart {
		t.Fatalf("lost a restart: %+v, because of\n%+v", joined, exact)
	}
	if exact.Contradicts && (!joined.Contradicts || joined.Contradicted.After(exact.Contradicted)) {
		t.Fatalf("contradicted since %+v, want %+v or earlier", joined.Contradicted, exact.Contradicted)
	}
	if exact.Outcome == Keep || rapid.Bool().Draw(t, "put off") {
		return
	}
	if exact.Outcome == Restart {
		r.pods = []Pod{startedAt(objecttest.NoonPlus(r.now + 1))}
	}
	r.tell(func(s *story) {
		view, _ := decisionOf(s)
		if exact.Outcome == Restart {
			objecttest.SetTimestamp(s.deployment, objecttest.NoonPlus(r.now).Format("2006-01-02T15:04:05Z"))
		}
		catalogtest.WriteRecordWithout(s.deployment, exact.Checksums, exact.Without, objecttest.NoonPlus(r.now))
		s.catalog.ObserveWritten(s.reduced(), view.Sequence)
	})
}

func TestNoRestartIsLostBecauseEditsAreJoined(t *testing.T) {
	playHistories(t, "5000")
	rapid.Check(t, func(t *rapid.T) {
		container := rapid.SampledFrom([]func() *story{
			func() *story { return begin(objecttest.Deployment(objecttest.ReadsAll("web", false))) },
			func() *story { return begin(objecttest.Deployment(objecttest.ReadsKey("web", "a", true))) },
		}).Draw(t, "reader")
		r := retold{exact: container(), joined: container(), but: rapid.IntRange(0, 2).Draw(t, "remembered"), content: objecttest.Data{"a": "1", "b": "1"}}
		r.pods = []Pod{startedAt(objecttest.NoonPlus(1))}
		r.tell(func(s *story) { s.listed(objecttest.ConfigMap("web", maps.Clone(r.content))) })
		actions := map[string]func(*rapid.T){"edit": r.edit, "edit again": r.edit, "start a pod": r.startPod, "release": r.release, "decide": r.decide}
		for range rapid.IntRange(5, 40).Draw(t, "steps") {
			r.now += 10
			actions[rapid.SampledFrom(slices.Sorted(maps.Keys(actions))).Draw(t, "action")](t)
		}
		r.now += 10
		r.decide(t)
	})
}

// editOneByOne edits more keys of a config than the catalog remembers, but not "a", one each second from the given one on.
func (s *story) editOneByOne(state objecttest.Data, value string, from float64) {
	for i := range content.MaxEdits + 5 {
		state[fmt.Sprintf("key-%04d", i)] = value
		s.config("web", state, from+float64(i))
	}
}

func manyKeysAnd(a string) objecttest.Data {
	state := objecttest.Data{"a": a}
	for i := range content.MaxEdits + 10 {
		state[fmt.Sprintf("key-%04d", i)] = "1"
	}
	return state
}

func TestAnEditIsNotLostAmongVeryManyLaterOnes(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsKey("web", "a", false)))
	s.listed(objecttest.ConfigMap("web", manyKeysAnd("1")))
	data := manyKeysAnd("2")
	s.config("web", data, 10)
	s.editOneByOne(data, "2", 100)
	if got := len(s.catalog.Config(objecttest.ConfigMapRef("web")).Edits); got != content.MaxEdits+1 {
		t.Errorf("%d edits are kept, want %d", got, content.MaxEdits+1)
	}
	requireOutcome(t, s, Restart, startedAt(objecttest.NoonPlus(5)))
	requireOutcome(t, s, RecordOnly, startedAt(objecttest.NoonPlus(110)))
}

func TestContentThatCameBackIsNotLostAmongVeryManyEdits(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsKey("web", "a", false)))
	s.listed(objecttest.ConfigMap("web", manyKeysAnd("1")))
	s.recorded(5)
	content := manyKeysAnd("2")
	s.config("web", content, 10)
	s.editOneByOne(content, "2", 100)
	content["a"] = "1"
	s.config("web", content, 2000)
	for started, want := range map[float64]Outcome{2: Keep, 50: Restart, 2010: Keep} {
		view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
		decision := ByPods(view, []Pod{startedAt(objecttest.NoonPlus(started))})
		if decision.Outcome != want {
			t.Errorf("pods since %v: %+v, want %s", started, decision, want)
		}
	}
}

func TestTheLastEditOfAKeyMayBeOneOfThoseThatAreJoined(t *testing.T) {
	edits := []annotation.Edit{{Seen: 3}, {Key: "b", Seen: 4}}
	if a, b := lastOfKey(edits, "a"), lastOfKey(edits, "b"); a != edits[0] || b != edits[1] {
		t.Errorf("the last edits are %+v and %+v, want %+v", a, b, edits)
	}
}

func TestAnEditOfAKeyThatBeganToCountIsNotLostAmongVeryManyOthers(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.deployment.Annotations[annotation.OnlyAnnotation] = "configmap/web:key-0000"
	s.listed(objecttest.ConfigMap("web", manyKeysAnd("1")))
	s.recorded(1)
	s.deployment.Annotations[annotation.OnlyAnnotation] = "configmap/web:key-0000,configmap/web:a"
	s.catalog.ObserveWorkload(s.reduced())
	data := manyKeysAnd("2")
	s.config("web", data, 10)
	for i := range content.MaxEdits + 5 { // neither the record nor the filter has them
		data[fmt.Sprintf("key-%04d", i+1)] = "2"
		s.config("web", data, 100+float64(i))
	}
	requireOutcome(t, s, Restart, startedAt(objecttest.NoonPlus(5)))
}

// losesKeys removes more keys from a config than the catalog remembers.
func (s *story) losesKeys(state objecttest.Data, from float64) {
	for i := range 2 * (content.MaxLostKeys + 2) {
		lost := maps.Clone(state)
		if i%2 == 0 {
			lost[fmt.Sprint("lost-", i)] = "1"
		}
		s.config("web", lost, from+float64(i))
	}
}

// The watch shows late that keys were gone, more than it remembers removals of, and are back.
func TestPodsRestartThatStartedWhileKeysWereGoneAmongManyOthers(t *testing.T) {
	keys, gone := objecttest.ManyKeys(content.MaxLostKeys+8, "1"), objecttest.ManyKeys(content.MaxLostKeys+8, "-")
	for name, plays := range map[string]func(at func(second float64, label, cell string), writes func(second float64, cells objecttest.Data)){
		"all of them": func(at func(float64, string, string), writes func(float64, objecttest.Data)) {
			writes(1, keys)
			at(10, "record", "made")
			at(19, "watch of configs", "behind")
			writes(20, gone)
			writes(22, keys)
			at(26, "watch of configs", "shows")
		},
		"one, before a release is recorded": func(at func(float64, string, string), writes func(float64, objecttest.Data)) {
			at(15, "deployment", "image=x")
			at(19, "watch of configs", "behind")
			writes(20, objecttest.Data{"a": "-"})
			at(22, "record", "made")
			writes(23, keys)
			writes(24, gone)
			writes(25, objecttest.Data{"a": "1"})
			at(30, "watch of configs", "shows")
		},
	} {
		s := newStage(t, "app reads web")
		s.writes("web", objecttest.Data{"a": "1", "z": "1"})
		s.start()
		plays(func(second float64, label, cell string) { s.now = second; s.happens(label, cell) },
			func(second float64, cells objecttest.Data) { s.now = second; s.writes("web", cells) })
		if decision, meaning := s.decide(podOf(s.deployment, 20.5, func(string) float64 { return 20.5 })); decision.Outcome != Restart {
			t.Errorf("%s: %s", name, meaning)
		}
	}
}

// A mixture of the contents of many keys has the recorded ones, too.
func TestAnEditOfManyKeysContradictsTheRecordSinceThen(t *testing.T) {
	s := newStage(t, "app reads web")
	s.writes("web", objecttest.ManyKeys(content.MaxPast+6, "1"))
	s.start()
	s.now = 5
	s.writes("web", objecttest.ManyKeys(content.MaxPast+6, "2"))
	s.now = 10
	s.happens("record", "made")
	s.now = 100
	s.writes("web", objecttest.ManyKeys(content.MaxPast+6, "3"))
	s.now = 101
	if decision, meaning := s.decide(podOf(s.deployment, 50, func(string) float64 { return 50 })); !decision.Contradicted.Equal(objecttest.NoonPlus(100)) {
		t.Errorf("contradicted since %v: %s", decision.Contradicted, meaning)
	}
}

func TestEditsOfLostKeysRestartNothingThatDidNotSeeThem(t *testing.T) {
	before := objecttest.ManyKeys(2*content.MaxPast, "1")
	before["a"] = "1"
	for name, test := range map[string]struct {
		happens func(*story)
		want    Outcome
	}{
		"and all other keys change and come back": {func(s *story) {
			changed := objecttest.ManyKeys(2*content.MaxPast, "2")
			changed["a"] = "2"
			s.config("web", changed, 1000)
			s.config("web", before, 1010)
		}, Keep},
		"and the filter changes": {func(s *story) {
			s.deployment.Annotations[annotation.OnlyAnnotation] = "configmap/web"
			s.catalog.ObserveWorkload(s.reduced())
		}, RecordOnly},
	} {
		s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
		s.deployment.Annotations[annotation.OnlyAnnotation] = "configmap/web:a"
		s.listed(objecttest.ConfigMap("web", before))
		s.recorded(1)
		s.losesKeys(before, 10)
		test.happens(s)
		t.Log(name)
		requireOutcome(t, s, test.want, startedAt(objecttest.NoonPlus(5)))
	}
}

func TestOfABinaryKeyAnEditIsNotLostAmongVeryManyOthers(t *testing.T) {
	edits := []annotation.Edit{{Seen: 2}, {Key: "b", Seen: 3}}
	for binary, want := range map[bool]int{true: 1, false: 0} {
		config := content.Config{Keys: names.NewKeys([]names.Key{{Name: "a", Binary: binary}}), Edits: edits}
		if got := config.Binary().Edits; len(got) != want {
			t.Errorf("with a key of binaryData %t: edits %+v, want %d", binary, got, want)
		}
	}
}

// BenchmarkEditAllKeysOfTheLargestConfigMap is an edit of each of 140,000 keys, with short names.
func BenchmarkEditAllKeysOfTheLargestConfigMap(b *testing.B) {
	const n = 140000
	state := func(value string) objecttest.Data {
		keys := make(objecttest.Data, n)
		for i := range n {
			keys[strconv.FormatInt(int64(36*36*36+i), 36)] = value
		}
		return keys
	}
	for b.Loop() {
		_, bytes := objecttest.Retained(func() *catalog.Catalog {
			c := catalog.New()
			c.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap("large", state("1"))), objecttest.Noon)
			c.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap("large", state("2"))), objecttest.NoonPlus(10))
			return c
		})
		b.ReportMetric(float64(bytes)/n, "B/key")
	}
}
