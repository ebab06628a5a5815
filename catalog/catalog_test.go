package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// model is the catalog as one would write it without an index, and without a
// thought for its cost: every question is answered by looking at everything.
type model struct {
	moment    Sequence
	complete  Sequence
	configs   map[ConfigRef]Config // deleted ones that are referenced included
	workloads map[WorkloadRef]Workload
}

func (m *model) referenced(ref ConfigRef) bool { return len(m.referencing(ref)) > 0 }

func (m *model) referencing(ref ConfigRef) []WorkloadRef {
	var found []WorkloadRef
	for name, workload := range m.workloads {
		for _, reference := range workload.References {
			if reference.Config == ref {
				found = append(found, name)
				break
			}
		}
	}
	return found
}

// sweep forgets the deleted configs that nobody references.
func (m *model) sweep() {
	for ref, config := range m.configs {
		if config.Deleted && !m.referenced(ref) {
			delete(m.configs, ref)
		}
	}
}

func (m *model) putConfig(config Config, at time.Time, listed, first bool) (news bool) {
	previous, known := m.configs[config.Ref]
	exists := known && !previous.Deleted
	news = (!exists || !cmp.Equal(previous.Keys, config.Keys)) && m.referenced(config.Ref)
	if first {
		m.configs[config.Ref] = config
		return false
	}
	if known {
		config.Edits = m.edits(previous, config, at)
		isDated := previous.Deleted && !listed && int64(config.Created) <= at.Unix()
		for i := range config.Edits {
			if edit := &config.Edits[i]; isDated && edit.Seen == m.moment && hasKey(config.Keys, edit.Key) {
				edit.dated = config.Created
			}
		}
	}
	if exists {
		config.Created, config.Appeared = previous.Created, previous.Appeared
	} else {
		config.Appeared = m.moment
	}
	m.configs[config.Ref] = config
	return news
}

// edits is the last edit of every key that the two contents do not share, and
// of every other key what was known before.
func (m *model) edits(previous, present Config, at time.Time) []Edit {
	before, after, last := map[string]Key{}, map[string]Key{}, map[string]Edit{}
	for _, edit := range previous.Edits {
		last[edit.Key] = edit
	}
	for _, key := range previous.Keys {
		before[key.Name] = key
	}
	for _, key := range present.Keys {
		after[key.Name] = key
	}
	for _, keys := range []map[string]Key{before, after} {
		for name := range keys {
			if before[name] != after[name] {
				isData := func(key Key) bool { return key.Name != "" && !key.Binary }
				last[name] = Edit{Key: name, At: at, Seen: m.moment, binary: !isData(before[name]) && !isData(after[name]) && (last[name].Key == "" || last[name].binary)}
			}
		}
	}
	var edits []Edit
	for _, edit := range last {
		edits = append(edits, edit)
	}
	return edits
}

func (m *model) removeConfig(ref ConfigRef) (gone bool) {
	config, found := m.configs[ref]
	exists := found && !config.Deleted
	if found {
		config.Deleted = true
		m.configs[ref] = config
	}
	m.sweep()
	_, isReferenced := m.configs[ref]
	return exists && isReferenced
}

func (m *model) putWorkload(workload Workload, templateSeen, shown Sequence) (news bool) {
	previous, known := m.workloads[workload.Ref]
	if known && previous.UID != workload.UID {
		m.removeWorkload(workload.Ref)
		known = false
	}
	workload.EnabledAfter, workload.EnabledSeen = shown, m.moment
	workload.PodTemplateSeen, workload.RecordSeen = templateSeen, m.moment
	news = true
	if known {
		sameRecord := cmp.Equal(previous.Applied, workload.Applied, cmpopts.EquateEmpty())
		// A new record that is trusted is the controller's own.
		news = previous.Template != workload.Template || (!sameRecord && !workload.Applied.Trusted)
		workload.EnabledAfter, workload.EnabledSeen = previous.EnabledAfter, previous.EnabledSeen
		if previous.PodTemplate == workload.PodTemplate {
			workload.PodTemplateSeen = previous.PodTemplateSeen
		}
		if sameRecord {
			workload.RecordSeen, workload.OwnRecord = previous.RecordSeen, previous.OwnRecord
		}
		workload.RecordUndone = !workload.Applied.Trusted && previous.Template == workload.Template && (previous.Applied.Trusted || previous.RecordUndone)
		workload.Woke = previous.Woke
		if previous.Idle && !workload.Idle {
			workload.Woke = m.moment
		}
	}
	m.workloads[workload.Ref] = workload
	m.sweep()
	return news
}

func (m *model) removeWorkload(ref WorkloadRef) (known bool) {
	_, known = m.workloads[ref]
	delete(m.workloads, ref)
	m.sweep()
	return known
}

func (m *model) size() (configs, workloads int) {
	for _, config := range m.configs {
		if !config.Deleted {
			configs++
		}
	}
	return configs, len(m.workloads)
}

var (
	someConfigs = []ConfigRef{
		{ConfigMap, "a", "x"}, {ConfigMap, "a", "y"}, {ConfigMap, "b", "x"}, {Secret, "a", "x"},
	}
	someWorkloads = []WorkloadRef{
		{Deployment, "a", "w"}, {Deployment, "a", "v"}, {StatefulSet, "a", "w"}, {Deployment, "b", "w"},
	}
)

func drawConfig(t *rapid.T, ref ConfigRef) Config {
	config := Config{Ref: ref, Created: uint32(noonPlus(float64(rapid.IntRange(0, 9).Draw(t, "created"))).Unix())}
	for _, name := range []string{"k1", "k2", "k3"} {
		if version := rapid.IntRange(0, 2).Draw(t, name); version > 0 {
			config.Keys = append(config.Keys, Key{Name: name, Checksum: Checksum(version), Binary: name == "k3"})
		}
	}
	return config
}

// drawWorkload draws one of four templates, and the references apart from it: templates
// with one fingerprint need not be equal.
func drawWorkload(t *rapid.T, ref WorkloadRef, version int) Workload {
	template := rapid.IntRange(0, 3).Draw(t, "template")
	workload := Workload{
		Ref: ref, UID: types.UID(rapid.SampledFrom([]string{"1", "1", "1", "2"}).Draw(t, "uid")),
		ResourceVersion: strconv.Itoa(version),
		Template:        Fingerprint{byte(template)},
		PodTemplate:     Fingerprint{byte(template), byte(rapid.IntRange(0, 1).Draw(t, "restarts"))},
		Applied: AppliedState{
			Checksums: Checksums{someConfigs[0]: Checksum(rapid.IntRange(0, 1).Draw(t, "recorded"))},
			Trusted:   rapid.Bool().Draw(t, "trusted"),
		},
		Idle: rapid.Bool().Draw(t, "idle"),
	}
	references := rapid.SampledFrom([][]int{{}, {0}, {0, 0, 1}, {1, 2, 3}}).Draw(t, "references")
	for _, i := range references {
		workload.References = append(workload.References, Reference{Config: someConfigs[i], Container: "app"})
	}
	return workload
}

func TestTheCatalogAnswersLikeOneThatLooksAtEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := New()
		m := &model{configs: map[ConfigRef]Config{}, workloads: map[WorkloadRef]Workload{}}
		version, listed := 100, false
		now := noon
		tick := func() time.Time {
			now = now.Add(time.Second)
			m.moment++
			return now
		}
		config := func() ConfigRef { return rapid.SampledFrom(someConfigs).Draw(t, "config") }
		workload := func() WorkloadRef { return rapid.SampledFrom(someWorkloads).Draw(t, "workload") }
		namespace := func() string { return rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "namespace") }
		inScope := func(scope, namespace string) bool { return scope == "" || scope == namespace }

		listConfigs := func(first bool) {
			at, kind, scope := tick(), rapid.SampledFrom([]ConfigKind{ConfigMap, Secret}).Draw(t, "kind"), namespace()
			m.moment-- // each of the list has one of its own
			var list []Config
			var want, missing, wantGone []ConfigRef
			for _, ref := range someConfigs {
				if ref.Kind != kind || !inScope(scope, ref.Namespace) {
					continue
				}
				if !rapid.Bool().Draw(t, "listed") {
					missing = append(missing, ref)
					continue
				}
				config := drawConfig(t, ref)
				list = append(list, config)
				m.moment++
				if m.putConfig(config, at, true, first) {
					want = append(want, ref)
				}
			}
			for _, ref := range missing {
				if _, known := m.configs[ref]; known {
					m.moment++
				}
				if m.removeConfig(ref) {
					wantGone = append(wantGone, ref)
				}
			}
			if first {
				m.complete = m.moment
			}
			got, gone := listConfigs(c, kind, scope, listOf(list...), at, first)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("news of list (-want +got):\n%s", diff)
			}
			slices.SortFunc(gone, compareConfigRefs)
			slices.SortFunc(wantGone, compareConfigRefs)
			if diff := cmp.Diff(wantGone, gone, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("gone from list (-want +got):\n%s", diff)
			}
		}

		t.Repeat(map[string]func(*rapid.T){
			"observe config": func(t *rapid.T) {
				config := drawConfig(t, config())
				at := tick()
				if got, want := c.ObserveConfig(config, at), m.putConfig(config, at, false, false); got != want {
					t.Fatalf("news: %v, want %v", got, want)
				}
			},
			"forget config": func(*rapid.T) {
				ref := config()
				tick()
				m.removeConfig(ref)
				c.ForgetConfig(ref, noon)
			},
			"list configs for the first time": func(t *rapid.T) {
				if listed || len(m.configs) > 0 {
					t.Skip()
				}
				listed = true
				listConfigs(true)
			},
			"list configs": func(*rapid.T) { listConfigs(false) },
			"observe workload": func(t *rapid.T) {
				version++
				workload := drawWorkload(t, workload(), version)
				tick()
				if got, want := c.ObserveWorkload(workload), m.putWorkload(workload, m.moment, m.moment); got != want {
					t.Fatalf("news: %v, want %v", got, want)
				}
			},
			"observe stale workload": func(t *rapid.T) {
				ref := workload()
				if known, found := m.workloads[ref]; !found || known.UID == "" {
					t.Skip()
				}
				tick()
				if c.ObserveWorkload(drawWorkload(t, ref, rapid.IntRange(1, 100).Draw(t, "version"))) {
					t.Fatal("a stale workload is news")
				}
			},
			"observe written": func(t *rapid.T) {
				ref := workload()
				version++
				written := drawWorkload(t, ref, version)
				decided := Sequence(rapid.Uint64Range(0, uint64(m.moment)).Draw(t, "decided"))
				if known, found := m.workloads[ref]; found && known.UID == written.UID {
					tick()
					m.putWorkload(written, m.moment, m.moment)
					known = m.workloads[ref]
					known.RecordSeen, known.OwnRecord = decided, true
					m.workloads[ref] = known
				}
				c.ObserveWritten(written, decided)
			},
			"observe read": func(t *rapid.T) {
				ref := workload()
				version++
				read := drawWorkload(t, ref, version)
				if known, found := m.workloads[ref]; found && known.UID == read.UID {
					tick()
					m.putWorkload(read, m.moment, m.moment)
				}
				c.ObserveRead(read)
			},
			"observe written too late": func(t *rapid.T) {
				c.ObserveWritten(drawWorkload(t, workload(), rapid.IntRange(1, 100).Draw(t, "version")), 1)
			},
			"list workloads": func(t *rapid.T) {
				shown := m.moment
				kind, scope := rapid.SampledFrom([]WorkloadKind{Deployment, StatefulSet}).Draw(t, "kind"), namespace()
				var list []Workload
				var want, gone []WorkloadRef
				for _, ref := range someWorkloads {
					switch {
					case ref.Kind != kind || !inScope(scope, ref.Namespace):
					case rapid.Bool().Draw(t, "listed"):
						version++
						list = append(list, drawWorkload(t, ref, version))
					default:
						gone = append(gone, ref)
					}
				}
				for _, workload := range list {
					m.moment++
					if m.putWorkload(workload, 0, shown) {
						want = append(want, workload.Ref)
					}
				}
				gone = slices.DeleteFunc(gone, func(ref WorkloadRef) bool { _, known := m.workloads[ref]; return !known })
				for _, ref := range gone {
					m.moment++
					m.removeWorkload(ref)
				}
				gotNews, gotGone := listWorkloads(c, kind, scope, listOf(list...), shown)
				if diff := cmp.Diff(want, gotNews, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("news of list (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(gone, gotGone, cmpopts.EquateEmpty(), cmpopts.SortSlices(func(a, b WorkloadRef) bool { return a.String() < b.String() })); diff != "" {
					t.Fatalf("gone from list (-want +got):\n%s", diff)
				}
			},
			"forget workload": func(t *rapid.T) {
				ref := workload()
				tick()
				if got, want := c.ForgetWorkload(ref), m.removeWorkload(ref); got != want {
					t.Fatalf("known: %v, want %v", got, want)
				}
			},
			"": func(t *rapid.T) { compareWithModel(t, c, m) },
		})
	})
}

func compareWithModel(t *rapid.T, c *Catalog, m *model) {
	inAnyOrder := []cmp.Option{
		cmpopts.EquateEmpty(), cmp.AllowUnexported(Edit{}, Past{}),
		cmpopts.SortSlices(func(a, b WorkloadRef) bool { return a.String() < b.String() }),
		cmpopts.SortSlices(func(a, b Edit) bool { return a.Key < b.Key }),
	}
	configs, workloads := c.Size()
	wantConfigs, wantWorkloads := m.size()
	if configs != wantConfigs || workloads != wantWorkloads {
		t.Fatalf("size %d and %d, want %d and %d", configs, workloads, wantConfigs, wantWorkloads)
	}
	var all []WorkloadRef
	for _, ref := range someWorkloads {
		workload, found := m.workloads[ref]
		view, got := c.View(ref)
		if got != found {
			t.Fatalf("%s is there: %v, want %v", ref, got, found)
		}
		if !found {
			continue
		}
		all = append(all, ref)
		want := View{Workload: &workload, Configs: map[ConfigRef]*Config{}, Sequence: m.moment, Complete: m.complete}
		for _, reference := range workload.References {
			if config, found := m.configs[reference.Config]; found {
				want.Configs[reference.Config] = &config
			}
		}
		want.Past = view.Past // see TestThePastOfAConfigIsWhatItWas
		if diff := cmp.Diff(want, view, inAnyOrder...); diff != "" {
			t.Fatalf("view of %s (-want +got):\n%s", ref, diff)
		}
	}
	if diff := cmp.Diff(all, c.Workloads(), inAnyOrder...); diff != "" {
		t.Fatalf("workloads (-want +got):\n%s", diff)
	}
	for _, ref := range someConfigs {
		if diff := cmp.Diff(m.referencing(ref), refsOf(c.WorkloadsReferencing(ref)), inAnyOrder...); diff != "" {
			t.Fatalf("workloads that reference %s (-want +got):\n%s", ref, diff)
		}
	}
}

func TestADeletedConfigIsKeptOnlyWhileItIsReferenced(t *testing.T) {
	kept := func(c *Catalog) int { return c.configs.size }
	c := New()
	web := NewConfigMap(configMap("web", map[string]string{"a": "1"}))
	c.ObserveConfig(web, noon)
	c.ForgetConfig(web.Ref, noon)
	if kept(c) != 0 {
		t.Error("a config that nobody references is kept")
	}
	c.ObserveWorkload(mustWorkload(deployment(readsAll("web", false))))
	c.ObserveConfig(web, noon)
	c.ForgetConfig(web.Ref, noon)
	c.ForgetConfig(web.Ref, noon)
	if configs, _ := c.Size(); kept(c) != 1 || configs != 0 {
		t.Errorf("%d kept, %d counted, want one that does not count", kept(c), configs)
	}
	c.ForgetWorkload(deploymentRef("web"))
	if configs, _ := c.Size(); kept(c) != 0 || configs != 0 {
		t.Errorf("%d kept, %d counted after the last reference is gone", kept(c), configs)
	}
}

func TestTheFirstListChangesNothingAndALaterOneDoes(t *testing.T) {
	c := New()
	c.ObserveWorkload(mustWorkload(deployment(readsAll("web", false))))
	web := configMap("web", map[string]string{"a": "1", "b": "1", "c": "1"})
	if news, _ := listConfigs(c, ConfigMap, "", listOf(NewConfigMap(web)), noon, true); len(news) > 0 {
		t.Errorf("first list: news of %v", news)
	}
	if news, _ := listConfigs(c, ConfigMap, "", listOf(NewConfigMap(web)), noonPlus(1), false); len(news) > 0 {
		t.Errorf("the same list again: news of %v", news)
	}
	web.Data = map[string]string{"a": "2", "b": "2"}
	web.ManagedFields = append(web.ManagedFields, owns("kubectl", noonPlus(30), "f:data/f:a"), owns("late", noonPlus(90), "f:data/f:b"))
	other := NewConfigMap(configMap("other", nil))
	news, _ := listConfigs(c, ConfigMap, "", listOf(NewConfigMap(web), other), noonPlus(60), false)
	if diff := cmp.Diff([]ConfigRef{configMapRef("web")}, news); diff != "" {
		t.Errorf("news (-want +got):\n%s", diff)
	}
	view, _ := c.View(deploymentRef("web"))
	want := []Edit{
		{Key: "a", At: noonPlus(30), Seen: 4, Writer: "kubectl", dated: uint32(noonPlus(30).Unix())}, // as its managed fields show
		{Key: "b", At: noonPlus(60), Seen: 4, Writer: "late"},                                        // they show a time in the future
		{Key: "c", At: noonPlus(60), Seen: 4},                                                        // gone, without a trace
	}
	if diff := cmp.Diff(want, view.Configs[configMapRef("web")].Edits, cmp.AllowUnexported(Edit{})); diff != "" {
		t.Errorf("edits (-want +got):\n%s", diff)
	}
}

func TestAConfigThatComesBackAppearsAgain(t *testing.T) {
	c := New()
	c.ObserveWorkload(mustWorkload(deployment(readsAll("web", true)))) // moment 1
	web := configMap("web", map[string]string{"a": "1"})
	c.ObserveConfig(NewConfigMap(web), noon)
	web.Data["a"] = "2"
	c.ObserveConfig(NewConfigMap(web), noonPlus(10)) // moment 3
	c.ForgetConfig(configMapRef("web"), noon)
	web.CreationTimestamp.Time = noonPlus(60)
	web.Data["b"] = "1"
	if !c.ObserveConfig(NewConfigMap(web), noonPlus(60)) { // moment 5
		t.Error("no news")
	}
	view, _ := c.View(deploymentRef("web"))
	want := &Config{
		Ref: configMapRef("web"), Keys: NewConfigMap(web).Keys, Created: uint32(noonPlus(60).Unix()), Appeared: 5,
		Edits: []Edit{{Key: "a", At: noonPlus(10), Seen: 3}, {Key: "b", At: noonPlus(60), Seen: 5, dated: uint32(noonPlus(60).Unix())}},
	}
	if diff := cmp.Diff(want, view.Configs[configMapRef("web")], cmp.AllowUnexported(Edit{})); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func TestResourceVersionsOrderWorkloads(t *testing.T) {
	for _, test := range []struct {
		known, observed string
		want            bool
	}{
		{"9", "10", true}, {"10", "9", false}, {"10", "10", false},
		// Not comparable: any other one is taken for newer.
		{"10", "", true}, {"", "", false}, {"x", "y", true}, {"x", "x", false},
	} {
		if got := IsLaterVersion(test.observed, test.known); got != test.want {
			t.Errorf("%q after %q is newer: %v", test.observed, test.known, got)
		}
	}
}

func TestWhatAKeyChangedLastIsNeverDatedTooEarly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := New()
		c.ObserveWorkload(mustWorkload(deployment(readsAll("web", false))))
		data := map[string]string{}
		last := map[string]time.Time{}
		c.ObserveConfig(NewConfigMap(configMap("web", data)), noon)
		for i := range rapid.IntRange(1, 100).Draw(t, "edits") {
			now := noonPlus(float64(i))
			for range rapid.IntRange(1, 5).Draw(t, "at once") {
				key := strconv.Itoa(rapid.IntRange(0, 99).Draw(t, "key"))
				if _, found := data[key]; found {
					delete(data, key)
				} else {
					data[key] = fmt.Sprint(i)
				}
			}
			before, _ := c.View(deploymentRef("web"))
			present := NewConfigMap(configMap("web", data))
			for _, key := range changedKeys(before.Configs[present.Ref].Keys, present.Keys) {
				last[key] = now
			}
			c.ObserveConfig(present, now)
		}
		view, _ := c.View(deploymentRef("web"))
		edits := view.Configs[configMapRef("web")].Edits
		if bound := len(data) + maxLostKeys + 1; len(edits) > bound {
			t.Fatalf("%d edits are kept, at most %d should", len(edits), bound)
		}
		for key, at := range last {
			selection := Selection{Names: []string{key}}
			if !slices.ContainsFunc(edits, func(edit Edit) bool { return edit.concerns(selection) && !edit.At.Before(at) }) {
				t.Fatalf("key %s changed at %v, but the edits are %+v", key, at, edits)
			}
			// While the config has a key, its edit is known exactly.
			if _, found := data[key]; found && !slices.ContainsFunc(edits, func(edit Edit) bool { return edit.Key == key && edit.At.Equal(at) }) {
				t.Fatalf("key %s changed at %v, but the edits are %+v", key, at, edits)
			}
		}
	})
}

func TestTheEditsOfAConfigThatAlwaysGetsNewKeysStayFew(t *testing.T) {
	c := New()
	c.ObserveWorkload(mustWorkload(deployment(readsAll("web", false))))
	for i := range 1000 {
		c.ObserveConfig(NewConfigMap(configMap("web", map[string]string{fmt.Sprintf("%04d", i): ""})), noonPlus(float64(i)))
	}
	view, _ := c.View(deploymentRef("web"))
	edits := view.Configs[configMapRef("web")].Edits
	if len(edits) != maxLostKeys+2 { // one of unknown keys, the lost ones, the present one
		t.Fatalf("%d edits", len(edits))
	}
	// Key 0966 was the last to be folded: it was lost at second 967.
	if want := (Edit{At: noonPlus(967), Seen: 969, onlyLost: true}); edits[0] != want {
		t.Errorf("the oldest are %+v, want %+v", edits[0], want)
	}
}

// A warning is due for each.
func TestARecordThatIsUnreadableInAnotherWayIsNews(t *testing.T) {
	c := New()
	d := deployment(readsAll("web", false))
	observe := func(version, checksums string) bool {
		d.ResourceVersion, d.Annotations[ChecksumsAnnotation] = version, checksums
		return c.ObserveWorkload(mustWorkload(d))
	}
	writeRecord(d, Checksums{}, noon)
	observe("1", "{}")
	got := []bool{observe("2", "{"), observe("3", "{"), observe("4", `{"web":""}`)}
	if want := []bool{true, false, true}; !slices.Equal(got, want) {
		t.Errorf("news: %v, want %v", got, want)
	}
}

func TestAViewStaysAsItWas(t *testing.T) {
	c := New()
	d := deployment(readsAll("web", false))
	c.ObserveWorkload(mustWorkload(d))
	observe := func(a, b string, seconds float64) {
		c.ObserveConfig(NewConfigMap(configMap("web", map[string]string{"a": a, "b": b})), noonPlus(seconds))
	}
	other := *d
	other.Name = "another"
	c.ObserveWorkload(mustWorkload(&other))
	observe("1", "1", 0)
	observe("2", "2", 10)
	view, _ := c.View(deploymentRef("web"))
	referencing := c.WorkloadsReferencing(configMapRef("web"))
	config := *view.Configs[configMapRef("web")]
	config.Edits, config.Keys = slices.Clone(config.Edits), slices.Clone(config.Keys)
	want := View{Workload: pointer(*view.Workload), Configs: map[ConfigRef]*Config{config.Ref: &config}, Sequence: view.Sequence, Complete: view.Complete}
	want.Past = map[ConfigRef][]Past{config.Ref: slices.Clone(view.Past[config.Ref])}

	observe("3", "2", 20)
	c.ForgetConfig(configMapRef("web"), noon)
	d.ResourceVersion = "2"
	c.ObserveWritten(mustWorkload(d), 1)
	c.ForgetWorkload(deploymentRef("web"))
	if want := []WorkloadRef{deploymentRef("web"), deploymentRef("another")}; !slices.Equal(refsOf(referencing), want) {
		t.Errorf("referencing: %v, want %v", referencing, want)
	}
	if diff := cmp.Diff(want, view, cmp.AllowUnexported(Edit{}, Past{})); diff != "" {
		t.Errorf("view (-want +got):\n%s", diff)
	}
}

func TestAWorkloadThatWasTakenInHalfwayIsPurged(t *testing.T) {
	c := New()
	config := ConfigRef{Kind: ConfigMap, Namespace: "ns", Name: "config"}
	whole, half := Workload{Ref: deploymentRef("whole"), ResourceVersion: "1"}, Workload{Ref: deploymentRef("half"), ResourceVersion: "1"}
	whole.References, half.References = []Reference{{Config: config}}, []Reference{{Config: config}}
	c.ObserveWorkload(whole)
	c.reference(config, &half.Ref) // and then it panicked
	c.reference(ConfigRef{Kind: Secret, Namespace: "ns", Name: "secret"}, &half.Ref)
	if got := refsOf(c.WorkloadsReferencing(config)); len(got) != 1 || got[0] != whole.Ref {
		t.Errorf("before the purge: %v", got)
	}
	c.PurgeWorkload(half.Ref)
	if len(c.referencing) != 1 {
		t.Errorf("the index has %v", c.referencing)
	}
	if !c.ObserveWorkload(half) {
		t.Error("when it can be taken in it is no news")
	}
	if got := c.WorkloadsReferencing(config); len(got) != 2 {
		t.Errorf("at the end: %v", refsOf(got))
	}
}

func TestAListIsKeptWithoutCopiesAndNotModifiedOnceItIsKnown(t *testing.T) {
	c := New()
	config, workload := NewConfigMap(configMap("web", data{"a": "1"})), mustWorkload(deployment(readsAll("web", false)))
	listConfigs(c, ConfigMap, "", []*Config{&config}, noon, true)
	listWorkloads(c, Deployment, "", []*Workload{&workload}, 0)
	view, _ := c.View(workload.Ref)
	if view.Workload != &workload || view.Configs[config.Ref] != &config {
		t.Error("the catalog keeps copies of what was listed first")
	}
	known, knownConfig := workload, config
	listWorkloads(c, Deployment, "", []*Workload{&workload}, 0) // after a panic
	listConfigs(c, ConfigMap, "", []*Config{&config}, noonPlus(60), false)
	c.ObserveConfig(NewConfigMap(configMap("web", data{"a": "2"})), noonPlus(120))
	if diff := cmp.Diff(known, workload); diff != "" {
		t.Errorf("a known workload was modified:\n%s", diff)
	}
	if diff := cmp.Diff(knownConfig, config, cmp.AllowUnexported(Edit{})); diff != "" {
		t.Errorf("a known config was modified:\n%s", diff)
	}
}
