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

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// model is the catalog as one would write it without an index, and without a
// thought for its cost: every question is answered by looking at everything.
type model struct {
	moment    names.Sequence
	complete  names.Sequence
	configs   map[names.ConfigRef]content.Config // deleted ones that are referenced included
	workloads map[names.WorkloadRef]workload.Workload
}

func (m *model) referenced(ref names.ConfigRef) bool { return len(m.referencing(ref)) > 0 }

func (m *model) referencing(ref names.ConfigRef) []names.WorkloadRef {
	var found []names.WorkloadRef
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

func (m *model) putConfig(config content.Config, at time.Time, listed, first bool) (news bool) {
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
			if edit := &config.Edits[i]; isDated && edit.Seen == m.moment {
				edit.Dated = config.Created
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
func (m *model) edits(previous, present content.Config, at time.Time) []annotation.Edit {
	before, after, last := map[string]names.Key{}, map[string]names.Key{}, map[string]annotation.Edit{}
	for _, edit := range previous.Edits {
		last[edit.Key] = edit
	}
	for key := range previous.Keys.All() {
		before[key.Name] = key
	}
	for key := range present.Keys.All() {
		after[key.Name] = key
	}
	for _, keys := range []map[string]names.Key{before, after} {
		for name := range keys {
			if before[name] != after[name] {
				isData := func(key names.Key) bool { return key.Name != "" && !key.Binary }
				last[name] = annotation.Edit{Key: name, At: at, Seen: m.moment, Binary: !isData(before[name]) && !isData(after[name]) && (last[name].Key == "" || last[name].Binary)}
			}
		}
	}
	var edits []annotation.Edit
	for _, edit := range last {
		edits = append(edits, edit)
	}
	return edits
}

func (m *model) removeConfig(ref names.ConfigRef) (gone bool) {
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

func (m *model) putWorkload(workload workload.Workload, templateSeen, shown names.Sequence) (news bool) {
	previous, known := m.workloads[workload.Ref]
	if known && previous.UID != workload.UID {
		m.removeWorkload(workload.Ref)
		known = false
	}
	workload.EnabledAfter, workload.EnabledSeen = shown, m.moment
	workload.PodTemplateSeen, workload.RecordSeen = templateSeen, m.moment
	news = true
	if known {
		sameRecord := cmp.Equal(previous.Record, workload.Record, cmpopts.EquateEmpty())
		// A new record that is trusted is the controller's own.
		news = previous.Template != workload.Template || (!sameRecord && !workload.Record.Trusted)
		workload.EnabledAfter, workload.EnabledSeen = previous.EnabledAfter, previous.EnabledSeen
		if previous.PodTemplate == workload.PodTemplate {
			workload.PodTemplateSeen = previous.PodTemplateSeen
		}
		if sameRecord {
			workload.RecordSeen, workload.OwnRecord = previous.RecordSeen, previous.OwnRecord
		}
		workload.RecordUndone = !workload.Record.Trusted && previous.Template == workload.Template && (previous.Record.Trusted || previous.RecordUndone)
		workload.Woke = previous.Woke
		if previous.Idle && !workload.Idle {
			workload.Woke = m.moment
		}
	}
	m.workloads[workload.Ref] = workload
	m.sweep()
	return news
}

func (m *model) removeWorkload(ref names.WorkloadRef) (known bool) {
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
	someConfigs = []names.ConfigRef{
		{Kind: names.ConfigMap, Namespace: "a", Name: "x"}, {Kind: names.ConfigMap, Namespace: "a", Name: "y"}, {Kind: names.ConfigMap, Namespace: "b", Name: "x"}, {Kind: names.Secret, Namespace: "a", Name: "x"},
	}
	someWorkloads = []names.WorkloadRef{
		{Kind: names.Deployment, Namespace: "a", Name: "w"}, {Kind: names.Deployment, Namespace: "a", Name: "v"}, {Kind: names.StatefulSet, Namespace: "a", Name: "w"}, {Kind: names.Deployment, Namespace: "b", Name: "w"},
	}
)

func drawConfig(t *rapid.T, ref names.ConfigRef) content.Config {
	config := content.Config{Ref: ref, Created: uint32(objecttest.NoonPlus(float64(rapid.IntRange(0, 9).Draw(t, "created"))).Unix())}
	var keys []names.Key
	for _, name := range []string{"k1", "k2", "k3"} {
		if version := rapid.IntRange(0, 2).Draw(t, name); version > 0 {
			keys = append(keys, names.Key{Name: name, Checksum: names.Checksum(version), Binary: name == "k3"})
		}
	}
	config.Keys = names.NewKeys(keys)
	return config
}

// drawWorkload draws one of four templates, and the references apart from it: templates
// with one fingerprint need not be equal.
func drawWorkload(t *rapid.T, ref names.WorkloadRef, version int) workload.Workload {
	pod := rapid.IntRange(0, 3).Draw(t, "template")
	workload := workload.Workload{
		Object: workload.Object{
			Ref: ref, UID: types.UID(rapid.SampledFrom([]string{"1", "1", "1", "2"}).Draw(t, "uid")),
			ResourceVersion: strconv.Itoa(version),
			Template:        record.Fingerprint{byte(pod)},
			PodTemplate:     record.Fingerprint{byte(pod), byte(rapid.IntRange(0, 1).Draw(t, "restarts"))},
			Idle:            rapid.Bool().Draw(t, "idle"),
		},
		Record: record.Record{
			Checksums: record.Checksums{someConfigs[0]: names.Checksum(rapid.IntRange(0, 1).Draw(t, "recorded"))},
			Trusted:   rapid.Bool().Draw(t, "trusted"),
		},
	}
	references := rapid.SampledFrom([][]int{{}, {0}, {0, 0, 1}, {1, 2, 3}}).Draw(t, "references")
	for _, i := range references {
		workload.References = append(workload.References, template.Reference{Config: someConfigs[i], Container: "app"})
	}
	return workload
}

func TestTheCatalogAnswersLikeOneThatLooksAtEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := New()
		m := &model{configs: map[names.ConfigRef]content.Config{}, workloads: map[names.WorkloadRef]workload.Workload{}}
		version, listed := 100, false
		now := objecttest.Noon
		tick := func() time.Time {
			now = now.Add(time.Second)
			m.moment++
			return now
		}
		config := func() names.ConfigRef { return rapid.SampledFrom(someConfigs).Draw(t, "config") }
		w := func() names.WorkloadRef { return rapid.SampledFrom(someWorkloads).Draw(t, "workload") }
		namespace := func() string { return rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "namespace") }
		inScope := func(scope, namespace string) bool { return scope == "" || scope == namespace }

		listConfigs := func(first bool) {
			at, kind, scope := tick(), rapid.SampledFrom([]names.ConfigKind{names.ConfigMap, names.Secret}).Draw(t, "kind"), namespace()
			m.moment-- // each of the list has one of its own
			var list []content.Config
			var want, missing, wantGone []names.ConfigRef
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
			got, gone := listConfigs(c, kind, scope, objecttest.ListOf(list...), at, first)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("news of list (-want +got):\n%s", diff)
			}
			slices.SortFunc(gone, names.CompareConfigRefs)
			slices.SortFunc(wantGone, names.CompareConfigRefs)
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
				c.ForgetConfig(ref, objecttest.Noon)
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
				workload := drawWorkload(t, w(), version)
				tick()
				if got, want := c.ObserveWorkload(workload), m.putWorkload(workload, m.moment, m.moment); got != want {
					t.Fatalf("news: %v, want %v", got, want)
				}
			},
			"observe stale workload": func(t *rapid.T) {
				ref := w()
				if known, found := m.workloads[ref]; !found || known.UID == "" {
					t.Skip()
				}
				tick()
				if c.ObserveWorkload(drawWorkload(t, ref, rapid.IntRange(1, 100).Draw(t, "version"))) {
					t.Fatal("a stale workload is news")
				}
			},
			"observe written": func(t *rapid.T) {
				ref := w()
				version++
				written := drawWorkload(t, ref, version)
				decided := names.Sequence(rapid.Uint64Range(0, uint64(m.moment)).Draw(t, "decided"))
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
				ref := w()
				version++
				read := drawWorkload(t, ref, version)
				if known, found := m.workloads[ref]; found && known.UID == read.UID {
					tick()
					m.putWorkload(read, m.moment, m.moment)
				}
				c.ObserveRead(read)
			},
			"observe written too late": func(t *rapid.T) {
				c.ObserveWritten(drawWorkload(t, w(), rapid.IntRange(1, 100).Draw(t, "version")), 1)
			},
			"list workloads": func(t *rapid.T) {
				shown := m.moment
				kind, scope := rapid.SampledFrom([]names.WorkloadKind{names.Deployment, names.StatefulSet}).Draw(t, "kind"), namespace()
				var list []workload.Workload
				var want, gone []names.WorkloadRef
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
				gone = slices.DeleteFunc(gone, func(ref names.WorkloadRef) bool { _, known := m.workloads[ref]; return !known })
				for _, ref := range gone {
					m.moment++
					m.removeWorkload(ref)
				}
				gotNews, gotGone := listWorkloads(c, kind, scope, objecttest.ListOf(list...), shown)
				if diff := cmp.Diff(want, gotNews, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("news of list (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(gone, gotGone, cmpopts.EquateEmpty(), cmpopts.SortSlices(func(a, b names.WorkloadRef) bool { return a.String() < b.String() })); diff != "" {
					t.Fatalf("gone from list (-want +got):\n%s", diff)
				}
			},
			"forget workload": func(t *rapid.T) {
				ref := w()
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
		cmpopts.EquateEmpty(), cmp.AllowUnexported(annotation.Edit{}, content.Past{}),
		cmpopts.SortSlices(func(a, b names.WorkloadRef) bool { return a.String() < b.String() }),
		cmpopts.SortSlices(func(a, b annotation.Edit) bool { return a.Key < b.Key }),
	}
	configs, workloads := c.Size()
	wantConfigs, wantWorkloads := m.size()
	if configs != wantConfigs || workloads != wantWorkloads {
		t.Fatalf("size %d and %d, want %d and %d", configs, workloads, wantConfigs, wantWorkloads)
	}
	var all []names.WorkloadRef
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
		want := View{Workload: &workload, Configs: map[names.ConfigRef]*content.Config{}, Sequence: m.moment, Complete: m.complete}
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
	if diff := cmp.Diff(all, c.WorkloadsIn(""), inAnyOrder...); diff != "" {
		t.Fatalf("workloads (-want +got):\n%s", diff)
	}
	for _, ref := range someConfigs {
		if diff := cmp.Diff(m.referencing(ref), catalogtest.RefsOf(c.WorkloadsReferencing(ref)), inAnyOrder...); diff != "" {
			t.Fatalf("workloads that reference %s (-want +got):\n%s", ref, diff)
		}
	}
}

func TestADeletedConfigIsKeptOnlyWhileItIsReferenced(t *testing.T) {
	kept := func(c *Catalog) int { return c.configs.Len() }
	c := New()
	web := content.NewConfigMap(objecttest.ConfigMap("web", map[string]string{"a": "1"}))
	c.ObserveConfig(web, objecttest.Noon)
	c.ForgetConfig(web.Ref, objecttest.Noon)
	if kept(c) != 0 {
		t.Error("a config that nobody references is kept")
	}
	c.ObserveWorkload(catalogtest.MustWorkload(objecttest.Deployment(objecttest.ReadsAll("web", false))))
	c.ObserveConfig(web, objecttest.Noon)
	c.ForgetConfig(web.Ref, objecttest.Noon)
	c.ForgetConfig(web.Ref, objecttest.Noon)
	if configs, _ := c.Size(); kept(c) != 1 || configs != 0 {
		t.Errorf("%d kept, %d counted, want one that does not count", kept(c), configs)
	}
	c.ForgetWorkload(objecttest.DeploymentRef("web"))
	if configs, _ := c.Size(); kept(c) != 0 || configs != 0 {
		t.Errorf("%d kept, %d counted after the last reference is gone", kept(c), configs)
	}
}

func TestTheFirstListChangesNothingAndALaterOneDoes(t *testing.T) {
	c := New()
	c.ObserveWorkload(catalogtest.MustWorkload(objecttest.Deployment(objecttest.ReadsAll("web", false))))
	web := objecttest.ConfigMap("web", map[string]string{"a": "1", "b": "1", "c": "1"})
	if news, _ := listConfigs(c, names.ConfigMap, "", objecttest.ListOf(content.NewConfigMap(web)), objecttest.Noon, true); len(news) > 0 {
		t.Errorf("first list: news of %v", news)
	}
	if news, _ := listConfigs(c, names.ConfigMap, "", objecttest.ListOf(content.NewConfigMap(web)), objecttest.NoonPlus(1), false); len(news) > 0 {
		t.Errorf("the same list again: news of %v", news)
	}
	web.Data = map[string]string{"a": "2", "b": "2"}
	web.ManagedFields = append(web.ManagedFields, objecttest.Owns("kubectl", objecttest.NoonPlus(30), "f:data/f:a"), objecttest.Owns("late", objecttest.NoonPlus(90), "f:data/f:b"))
	other := content.NewConfigMap(objecttest.ConfigMap("other", nil))
	news, _ := listConfigs(c, names.ConfigMap, "", objecttest.ListOf(content.NewConfigMap(web), other), objecttest.NoonPlus(60), false)
	if diff := cmp.Diff([]names.ConfigRef{objecttest.ConfigMapRef("web")}, news); diff != "" {
		t.Errorf("news (-want +got):\n%s", diff)
	}
	view, _ := c.View(objecttest.DeploymentRef("web"))
	want := []annotation.Edit{
		{Key: "a", At: objecttest.NoonPlus(30), Seen: 4, Writer: "kubectl", Dated: uint32(objecttest.NoonPlus(30).Unix())}, // as its managed fields show
		{Key: "b", At: objecttest.NoonPlus(60), Seen: 4, Writer: "late"},                                                   // they show a time in the future
		{Key: "c", At: objecttest.NoonPlus(60), Seen: 4},                                                                   // gone, without a trace
	}
	if diff := cmp.Diff(want, view.Configs[objecttest.ConfigMapRef("web")].Edits, cmp.AllowUnexported(annotation.Edit{})); diff != "" {
		t.Errorf("edits (-want +got):\n%s", diff)
	}
}

func TestAConfigThatComesBackAppearsAgain(t *testing.T) {
	c := New()
	c.ObserveWorkload(catalogtest.MustWorkload(objecttest.Deployment(objecttest.ReadsAll("web", true)))) // moment 1
	web := objecttest.ConfigMap("web", map[string]string{"a": "1"})
	c.ObserveConfig(content.NewConfigMap(web), objecttest.Noon)
	web.Data["a"] = "2"
	c.ObserveConfig(content.NewConfigMap(web), objecttest.NoonPlus(10)) // moment 3
	c.ForgetConfig(objecttest.ConfigMapRef("web"), objecttest.Noon)
	web.CreationTimestamp.Time = objecttest.NoonPlus(60)
	web.Data["b"] = "1"
	if !c.ObserveConfig(content.NewConfigMap(web), objecttest.NoonPlus(60)) { // moment 5
		t.Error("no news")
	}
	view, _ := c.View(objecttest.DeploymentRef("web"))
	want := &content.Config{
		Ref: objecttest.ConfigMapRef("web"), Keys: content.NewConfigMap(web).Keys, Created: uint32(objecttest.NoonPlus(60).Unix()), Appeared: 5,
		Edits: []annotation.Edit{{Key: "a", At: objecttest.NoonPlus(10), Seen: 3}, {Key: "b", At: objecttest.NoonPlus(60), Seen: 5, Dated: uint32(objecttest.NoonPlus(60).Unix())}},
	}
	if diff := cmp.Diff(want, view.Configs[objecttest.ConfigMapRef("web")], cmp.AllowUnexported(annotation.Edit{})); diff != "" {
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
		if got := workload.IsLaterVersion(test.observed, test.known); got != test.want {
			t.Errorf("%q after %q is newer: %v", test.observed, test.known, got)
		}
	}
}

func TestWhatAKeyChangedLastIsNeverDatedTooEarly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := New()
		c.ObserveWorkload(catalogtest.MustWorkload(objecttest.Deployment(objecttest.ReadsAll("web", false))))
		data := map[string]string{}
		last := map[string]time.Time{}
		c.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap("web", data)), objecttest.Noon)
		for i := range rapid.IntRange(1, 100).Draw(t, "edits") {
			now := objecttest.NoonPlus(float64(i))
			for range rapid.IntRange(1, 5).Draw(t, "at once") {
				key := strconv.Itoa(rapid.IntRange(0, 99).Draw(t, "key"))
				if _, found := data[key]; found {
					delete(data, key)
				} else {
					data[key] = fmt.Sprint(i)
				}
			}
			before, _ := c.View(objecttest.DeploymentRef("web"))
			present := content.NewConfigMap(objecttest.ConfigMap("web", data))
			for _, key := range content.ChangedKeys(before.Configs[present.Ref].Keys, present.Keys) {
				last[key] = now
			}
			c.ObserveConfig(present, now)
		}
		view, _ := c.View(objecttest.DeploymentRef("web"))
		edits := view.Configs[objecttest.ConfigMapRef("web")].Edits
		if bound := len(data) + content.MaxLostKeys + 1; len(edits) > bound {
			t.Fatalf("%d edits are kept, at most %d should", len(edits), bound)
		}
		for key, at := range last {
			selection := template.Selection{Names: []string{key}}
			if !slices.ContainsFunc(edits, func(edit annotation.Edit) bool { return content.Concerns(edit, selection) && !edit.At.Before(at) }) {
				t.Fatalf("key %s changed at %v, but the edits are %+v", key, at, edits)
			}
			// While the config has a key, its edit is known exactly.
			if _, found := data[key]; found && !slices.ContainsFunc(edits, func(edit annotation.Edit) bool { return edit.Key == key && edit.At.Equal(at) }) {
				t.Fatalf("key %s changed at %v, but the edits are %+v", key, at, edits)
			}
		}
	})
}

func TestTheEditsOfAConfigThatAlwaysGetsNewKeysStayFew(t *testing.T) {
	c := New()
	c.ObserveWorkload(catalogtest.MustWorkload(objecttest.Deployment(objecttest.ReadsAll("web", false))))
	for i := range 1000 {
		c.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap("web", map[string]string{fmt.Sprintf("%04d", i): ""})), objecttest.NoonPlus(float64(i)))
	}
	view, _ := c.View(objecttest.DeploymentRef("web"))
	edits := view.Configs[objecttest.ConfigMapRef("web")].Edits
	if len(edits) != content.MaxLostKeys+2 { // one of unknown keys, the lost ones, the present one
		t.Fatalf("%d edits", len(edits))
	}
	// Key 0966 was the last to be folded: it was lost at second 967.
	if want := (annotation.Edit{At: objecttest.NoonPlus(967), Seen: 969, OnlyLost: true}); edits[0] != want {
		t.Errorf("the oldest are %+v, want %+v", edits[0], want)
	}
}

// A warning is due for each.
func TestARecordThatIsUnreadableInAnotherWayIsNews(t *testing.T) {
	c := New()
	d := objecttest.Deployment(objecttest.ReadsAll("web", false))
	observe := func(version, checksums string) bool {
		d.ResourceVersion, d.Annotations[annotation.ChecksumsAnnotation] = version, checksums
		return c.ObserveWorkload(catalogtest.MustWorkload(d))
	}
	catalogtest.WriteRecord(d, record.Checksums{}, objecttest.Noon)
	observe("1", "{}")
	got := []bool{observe("2", "{"), observe("3", "{"), observe("4", `{"web":""}`)}
	if want := []bool{true, false, true}; !slices.Equal(got, want) {
		t.Errorf("news: %v, want %v", got, want)
	}
}

func TestAViewStaysAsItWas(t *testing.T) {
	c := New()
	d := objecttest.Deployment(objecttest.ReadsAll("web", false))
	c.ObserveWorkload(catalogtest.MustWorkload(d))
	observe := func(a, b string, seconds float64) {
		c.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap("web", map[string]string{"a": a, "b": b})), objecttest.NoonPlus(seconds))
	}
	other := *d
	other.Name = "another"
	c.ObserveWorkload(catalogtest.MustWorkload(&other))
	observe("1", "1", 0)
	observe("2", "2", 10)
	view, _ := c.View(objecttest.DeploymentRef("web"))
	referencing := c.WorkloadsReferencing(objecttest.ConfigMapRef("web"))
	config := *view.Configs[objecttest.ConfigMapRef("web")]
	config.Edits, config.Keys = slices.Clone(config.Edits), names.NewKeys(slices.Collect(config.Keys.All()))
	want := View{Workload: objecttest.Pointer(*view.Workload), Configs: map[names.ConfigRef]*content.Config{config.Ref: &config}, Sequence: view.Sequence, Complete: view.Complete}
	want.Past = map[names.ConfigRef][]content.Past{config.Ref: slices.Clone(view.Past[config.Ref])}

	observe("3", "2", 20)
	c.ForgetConfig(objecttest.ConfigMapRef("web"), objecttest.Noon)
	d.ResourceVersion = "2"
	c.ObserveWritten(catalogtest.MustWorkload(d), 1)
	c.ForgetWorkload(objecttest.DeploymentRef("web"))
	if want := []names.WorkloadRef{objecttest.DeploymentRef("web"), objecttest.DeploymentRef("another")}; !slices.Equal(catalogtest.RefsOf(referencing), want) {
		t.Errorf("referencing: %v, want %v", referencing, want)
	}
	if diff := cmp.Diff(want, view, cmp.AllowUnexported(annotation.Edit{}, content.Past{})); diff != "" {
		t.Errorf("view (-want +got):\n%s", diff)
	}
}

func TestAWorkloadThatWasTakenInHalfwayIsPurged(t *testing.T) {
	c := New()
	config := names.ConfigRef{Kind: names.ConfigMap, Namespace: "ns", Name: "config"}
	whole, half := workload.Workload{Object: workload.Object{Ref: objecttest.DeploymentRef("whole"), ResourceVersion: "1"}}, workload.Workload{Object: workload.Object{Ref: objecttest.DeploymentRef("half"), ResourceVersion: "1"}}
	whole.References, half.References = []template.Reference{{Config: config}}, []template.Reference{{Config: config}}
	c.ObserveWorkload(whole)
	c.references.Add(config, &half.Ref) // and then it panicked
	c.references.Add(names.ConfigRef{Kind: names.Secret, Namespace: "ns", Name: "secret"}, &half.Ref)
	if got := catalogtest.RefsOf(c.WorkloadsReferencing(config)); len(got) != 1 || got[0] != whole.Ref {
		t.Errorf("before the purge: %v", got)
	}
	c.PurgeWorkload(half.Ref)
	if c.references.Len() != 1 {
		t.Errorf("the index has %v", c.references)
	}
	if !c.ObserveWorkload(half) {
		t.Error("when it can be taken in it is no news")
	}
	if got := c.WorkloadsReferencing(config); len(got) != 2 {
		t.Errorf("at the end: %v", catalogtest.RefsOf(got))
	}
}

func TestAListIsKeptWithoutCopiesAndNotModifiedOnceItIsKnown(t *testing.T) {
	c := New()
	config, w := content.NewConfigMap(objecttest.ConfigMap("web", objecttest.Data{"a": "1"})), catalogtest.MustWorkload(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	listConfigs(c, names.ConfigMap, "", []*content.Config{&config}, objecttest.Noon, true)
	listWorkloads(c, names.Deployment, "", []*workload.Workload{&w}, 0)
	view, _ := c.View(w.Ref)
	if view.Workload != &w || view.Configs[config.Ref] != &config {
		t.Error("the catalog keeps copies of what was listed first")
	}
	known, knownConfig := w, config
	listWorkloads(c, names.Deployment, "", []*workload.Workload{&w}, 0) // after a panic
	listConfigs(c, names.ConfigMap, "", []*content.Config{&config}, objecttest.NoonPlus(60), false)
	c.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap("web", objecttest.Data{"a": "2"})), objecttest.NoonPlus(120))
	if diff := cmp.Diff(known, w); diff != "" {
		t.Errorf("a known workload was modified:\n%s", diff)
	}
	if diff := cmp.Diff(knownConfig, config, cmp.AllowUnexported(annotation.Edit{})); diff != "" {
		t.Errorf("a known config was modified:\n%s", diff)
	}
}
