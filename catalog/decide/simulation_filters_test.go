package decide

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// cell is a key of a config that containers read.
type cell struct{ config, key string }

// The pod template refers to all of them but one.
var cells = []cell{{"web", "key"}, {"web", "other"}, {"shop", "key"}, {"flags", "other"}, unmentioned, elsewhere}

var (
	unmentioned = cell{"flags", "key"}
	elsewhere   = cell{"flags of others", "key"} // in another namespace

)

// filters are annotations of a workload, with the cells that count by them.
var filters = []struct {
	annotations map[string]string
	counting    []cell
	needsMark   []string // configs that count only if they are marked
}{
	{nil, cells[:4], nil},
	{map[string]string{annotation.IgnoreAnnotation: "configmap/web:other"}, []cell{{"web", "key"}, {"shop", "key"}, {"flags", "other"}}, nil},
	{map[string]string{annotation.IgnoreAnnotation: "configmap/web:o*, configmap/shop"}, []cell{{"web", "key"}, {"flags", "other"}}, nil},
	{map[string]string{annotation.IgnoreAnnotation: "configmap/we?"}, []cell{{"shop", "key"}, {"flags", "other"}}, nil},
	{map[string]string{annotation.OnlyAnnotation: "configmap/web:*y"}, []cell{{"web", "key"}}, nil},
	{map[string]string{annotation.OnlyAnnotation: "configmap/*:key", annotation.IgnoreAnnotation: "configmap/w*:k*"}, []cell{{"shop", "key"}}, nil},
	{map[string]string{annotation.IgnoreAnnotation: "configmap/*"}, nil, nil},
	{map[string]string{annotation.AlsoAnnotation: "configmap/flags"}, cells[:5], nil},
	{map[string]string{annotation.AlsoAnnotation: "configmap/flags:k*"}, cells[:5], nil},
	{map[string]string{annotation.AlsoAnnotation: "configmap/flags,configmap/others/flags"}, cells, nil},
	{map[string]string{annotation.AlsoAnnotation: "configmap/others/flags:key", annotation.OnlyAnnotation: "configmap/web", annotation.IgnoreAnnotation: "configmap/*"}, []cell{elsewhere}, nil},
	{map[string]string{annotation.AlsoAnnotation: "configmap/flags:key", annotation.OnlyAnnotation: "configmap/web"}, []cell{{"web", "key"}, {"web", "other"}, unmentioned}, nil},
	{map[string]string{annotation.AlsoAnnotation: "configmap/ns/flags", annotation.OnlyAnnotation: "configmap/none"}, []cell{{"flags", "other"}, unmentioned}, nil},
	{map[string]string{annotation.AlsoAnnotation: "configmap/flags", annotation.IgnoreAnnotation: "configmap/flags:ot*"}, []cell{{"web", "key"}, {"web", "other"}, {"shop", "key"}, unmentioned}, nil},
	{map[string]string{annotation.AlsoAnnotation: "configmap/shop, configmap/web:o*", annotation.OnlyAnnotation: "configmap/*:key", annotation.IgnoreAnnotation: "configmap/web:key"}, []cell{{"web", "other"}, {"shop", "key"}}, nil},
	{map[string]string{annotation.AlsoAnnotation: "configmap/flags", annotation.IgnoreAnnotation: "configmap/flags"}, []cell{{"web", "key"}, {"web", "other"}, {"shop", "key"}}, nil},
	{map[string]string{dialect.ReloaderSearch: "true"}, cells[:4], configNames[:3]},
	{map[string]string{dialect.ReloaderSearch: "true", objecttest.ConfigMapNamed: "w.*"}, cells[:4], configNames[:2]},
	{map[string]string{dialect.ReloaderSearch: "true", objecttest.ConfigMapNamed: "flags"}, cells[:5], configNames[1:3]},
}

// filteredWorld is a cluster in which the filter of a workload changes among the edits of what its
// containers read.
type filteredWorld struct {
	*story
	now     float64
	values  map[cell]string
	edits   []filteredEdit
	written map[cell]float64 // when each cell was last written, 0 if it is as it was created
	pods    []filteredPod
	present rule
	// recordedBy is what counted when the record was made.
	recordedBy rule
	isOutdated bool // there is no record of the present pod template
	away       bool // the controller
	since      float64
	changes    int  // of the filter since the record
	hasChanged bool // the filter, at some time
	needless   *int // counts the restarts that only a filter explains that changed twice
	joins      bool // edits of configs, if there is more than one; see [joinEdits]
}

// rule is which filter a workload has, and which configs are ignored by their own annotation.
type rule struct {
	filter  int
	ignores [4]bool // as in configNames
	marks   [4]bool
	// hides means that the config of others is not shared.
	hides bool
}

var configNames = []string{"flags", "shop", "web", elsewhere.config}

func (r rule) isIgnored(config string) bool { return r.ignores[slices.Index(configNames, config)] }

func (r rule) counts(c cell) bool {
	filter := filters[r.filter]
	lacksMark := slices.Contains(filter.needsMark, c.config) && !r.marks[slices.Index(configNames, c.config)]
	return !r.isIgnored(c.config) && !lacksMark && !(c == elsewhere && r.hides) && slices.Contains(filter.counting, c)
}

func (r rule) differs(other rule) bool {
	isHidden := r.hides || other.hides // the record keeps what it has of a config that is not shared
	return slices.ContainsFunc(cells, func(c cell) bool { return r.counts(c) != other.counts(c) && !(c == elsewhere && isHidden) })
}

type filteredEdit struct {
	cell
	at float64
	// isDue means that pods that miss the edit must restart, and isPossible that they may: the cell
	// counted before and after, but not when it was edited, and no record was made in between.
	isDue, isPossible bool
}

type filteredPod struct {
	started float64
	seen    map[cell]string
}

func newFilteredWorld(needless *int) *filteredWorld {
	side := objecttest.ReadsKey("web", "other", false)
	side.Name = "side"
	side.Env = append(side.Env, objecttest.ReadsKey("flags", "other", false).Env...)
	d := objecttest.Deployment(objecttest.ReadsAll("web", false))
	d.Spec.Template.Spec.Containers[0].EnvFrom = append(d.Spec.Template.Spec.Containers[0].EnvFrom, objecttest.ReadsAll("shop", false).EnvFrom...)
	d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, side)
	w := &filteredWorld{story: begin(d), values: make(map[cell]string), written: make(map[cell]float64), isOutdated: true, needless: needless}
	for _, c := range cells {
		w.values[c] = "first"
	}
	w.listed(w.configMaps()...)
	w.replacePods()
	return w
}

func (w *filteredWorld) configMaps() (all []*corev1.ConfigMap) {
	for _, name := range configNames {
		all = append(all, w.configMap(name))
	}
	return all
}

func (w *filteredWorld) configMap(name string) *corev1.ConfigMap {
	cm := objecttest.ConfigMap(name, objecttest.Data{})
	if name == elsewhere.config {
		cm = objecttest.ConfigMap("flags", objecttest.Data{})
		if cm.Namespace = "others"; !w.present.hides {
			cm.Annotations = map[string]string{annotation.ReadersAnnotation: "n?"}
		}
	}
	if w.present.isIgnored(name) {
		cm.Annotations = maps.Clone(cm.Annotations)
		metav1.SetMetaDataAnnotation(&cm.ObjectMeta, annotation.IgnoreAnnotation, "true")
	}
	if w.present.marks[slices.Index(configNames, name)] {
		metav1.SetMetaDataAnnotation(&cm.ObjectMeta, dialect.ReloaderMatch, "true")
	}
	for _, c := range cells {
		if c.config != name {
			continue
		}
		cm.Data[c.key] = w.values[c]
		if at := w.written[c]; at > 0 {
			cm.ManagedFields = append(cm.ManagedFields, objecttest.Owns("editor of "+c.key, objecttest.NoonPlus(at), "f:data/f:"+c.key))
		}
	}
	return cm
}

func (w *filteredWorld) newPod() filteredPod { return filteredPod{w.now + 3, maps.Clone(w.values)} }

func (w *filteredWorld) replacePods() { w.pods = []filteredPod{w.newPod(), w.newPod()} }

// replaceAPod lets a pod start again that the controller knows nothing of.
func (w *filteredWorld) replaceAPod(*rapid.T) { w.pods[0] = w.newPod() }

func (w *filteredWorld) release(*rapid.T) {
	w.deployment.Spec.Template.Spec.Containers[0].Image = strconv.Itoa(int(w.now))
	w.isOutdated = true
	w.showWorkload()
	w.replacePods()
}

func (w *filteredWorld) showWorkload() {
	reduced := w.reduced()
	if !w.away {
		w.catalog.ObserveWorkload(reduced)
	}
}

func (w *filteredWorld) edit(t *rapid.T) {
	c := rapid.SampledFrom(cells).Draw(t, "cell")
	w.values[c], w.written[c] = strconv.Itoa(len(w.edits)), w.now
	counts, isRecorded := w.present.counts(c), w.recordedBy.counts(c)
	// Nobody knows whether an edit came before the filter that lets it count, if no controller watched.
	isDue := counts && (!w.away || isRecorded)
	isNotShown := c == elsewhere && w.present.hides && !w.away // whatever the record says of it
	w.edits = append(w.edits, filteredEdit{c, w.now, isDue, isRecorded && !isNotShown || w.isOutdated || w.isHiddenForNow(c)})
	w.showConfig(c.config)
}

// isHiddenForNow reports whether only a filter that is not recorded keeps a cell from counting.
func (w *filteredWorld) isHiddenForNow(c cell) bool {
	recorded := w.present
	recorded.filter = w.recordedBy.filter
	return recorded.counts(c)
}

func (w *filteredWorld) showConfig(name string) {
	if w.away {
		return
	}
	config := reducedConfigMap(w.configMap(name))
	if w.catalog.ObserveConfig(config, objecttest.NoonPlus(w.now)); w.joins {
		joinEdits(w.catalog, config.Ref, 1)
	}
}

func (w *filteredWorld) ignoreConfig(t *rapid.T) {
	i := rapid.IntRange(0, len(configNames)-1).Draw(t, "config")
	w.present.ignores[i] = !w.present.ignores[i]
	w.noteUncounted()
	w.showConfig(configNames[i])
}

func (w *filteredWorld) markConfig(t *rapid.T) {
	i := rapid.IntRange(0, len(configNames)-1).Draw(t, "config")
	w.present.marks[i] = !w.present.marks[i]
	w.changes++ // by Reloader's filters, the mark is a part of them
	w.noteUncounted()
	for j := range w.edits { // when the mark is gone, nobody knows for which of several filters it was there
		if e := &w.edits[j]; !w.present.marks[i] && e.config == configNames[i] && (w.isOutdated || w.recordedBy.filter != w.present.filter) {
			e.isDue, e.isPossible = false, true
		}
	}
	w.showConfig(configNames[i])
}

// share shares the config of others, or ends that.
func (w *filteredWorld) share(*rapid.T) {
	w.present.hides = !w.present.hides
	w.noteUncounted()
	w.showConfig(elsewhere.config)
	if w.away {
		w.forgetSharing()
	}
}

// forgetSharing lets edits of the config of others be possible reasons: nobody knows whether they came before.
func (w *filteredWorld) forgetSharing() {
	for i := range w.edits {
		w.edits[i].isPossible = w.edits[i].isPossible || w.edits[i].cell == elsewhere
	}
}

// noteUncounted notes that what does not count any more is no reason to restart.
func (w *filteredWorld) noteUncounted() {
	for i := range w.edits {
		if e := &w.edits[i]; !w.present.counts(e.cell) {
			e.isDue = false
		}
	}
}

func (w *filteredWorld) changeFilter(t *rapid.T) {
	w.changes++
	w.hasChanged = true
	w.present.filter = rapid.IntRange(0, len(filters)-1).Draw(t, "filter")
	w.noteUncounted()
	delete(w.deployment.Annotations, annotation.OnlyAnnotation)
	delete(w.deployment.Annotations, annotation.IgnoreAnnotation)
	delete(w.deployment.Annotations, annotation.AlsoAnnotation)
	delete(w.deployment.Annotations, dialect.ReloaderSearch)
	delete(w.deployment.Annotations, objecttest.ConfigMapNamed)
	maps.Copy(w.deployment.Annotations, filters[w.present.filter].annotations)
	w.showWorkload()
}

func (w *filteredWorld) stop(*rapid.T) {
	w.away = true
	w.forgetSharing()
	w.forget(w.isOutdated, w.now)
	for i := range w.edits { // the next process does not know that the filter came before the edit
		if e := &w.edits[i]; !w.recordedBy.counts(e.cell) {
			e.isDue = false
		}
	}
}

func (w *filteredWorld) start(*rapid.T) {
	if w.away {
		w.away, w.since = false, w.now
		w.restartController(w.configMaps()...)
	}
}

// dropTheRecord acts like a tool that replaces the annotations.
func (w *filteredWorld) dropTheRecord(*rapid.T) {
	w.isOutdated = true
	if w.away {
		w.since = w.now
	}
	w.forget(true, w.since)
	w.strip(annotation.ChecksumsAnnotation, annotation.BasisAnnotation)
	w.showWorkload()
}

// forget lets edits until a time be possible reasons to restart: without a record, nobody knows whether
// they counted.
func (w *filteredWorld) forget(hasNoRecord bool, until float64) {
	for i := range w.edits {
		e := &w.edits[i]
		e.isPossible = e.isPossible || hasNoRecord && e.at <= until
	}
}

// missed reports whether a pod must restart for an edit, and whether it may.
func (w *filteredWorld) missed() (isDue, isPossible bool) {
	for _, e := range w.edits {
		if !w.present.counts(e.cell) {
			continue
		}
		for _, pod := range w.pods {
			if pod.started < e.at && pod.seen[e.cell] != w.values[e.cell] {
				isDue, isPossible = isDue || e.isDue, isPossible || e.isDue || e.isPossible
			}
		}
	}
	return isDue, isPossible
}

func (w *filteredWorld) decide(t *rapid.T) {
	if w.away {
		return
	}
	view, _ := w.catalog.View(objecttest.DeploymentRef("web"))
	decision := Decide(view)
	if decision.Outcome == AskPods {
		decision = ByPods(view, w.reducedPods())
	}
	isDue, isPossible := w.missed()
	if decision.Outcome == Restart && !isPossible {
		*w.needless++
	}
	switch restarts := decision.Outcome == Restart; {
	case isDue && !restarts:
		t.Fatalf("lost a restart: %+v", decision)
	case restarts && !isPossible && !w.joins && !w.mayBeNeedless():
		t.Fatalf("a needless restart: %+v", decision)
	case decision.Outcome == Keep:
		if w.isOutdated || w.recordedBy.filter != w.present.filter || w.recordedBy.differs(w.present) {
			t.Fatalf("the record stays that of another filter: %+v", decision)
		}
		if decision.Verified {
			w.catalog.ObserveKept(view)
		}
		return
	case restarts && rapid.Bool().Draw(t, "put off"):
		return
	case restarts:
		objecttest.SetTimestamp(w.deployment, objecttest.NoonPlus(w.now).Format(time.RFC3339Nano))
		w.replacePods()
	}
	w.record(t, &view, &decision)
}

// mayBeNeedless reports whether nobody knows which edits counted: the filter changed twice since the record, or at any time, and
// there is no record.
func (w *filteredWorld) mayBeNeedless() bool { return w.changes > 1 || w.hasChanged && w.isOutdated }

func (w *filteredWorld) record(t *rapid.T, view *catalog.View, decision *Decision) {
	catalogtest.WriteRecordWithout(w.deployment, decision.Checksums, decision.Without, objecttest.NoonPlus(w.now))
	w.recordedBy, w.isOutdated, w.changes = w.present, false, 0
	for i := range w.edits { // they are old, or did not count
		w.edits[i].isDue, w.edits[i].isPossible = false, false
	}
	w.catalog.ObserveWritten(w.reduced(), view.Sequence)
	after, _ := w.catalog.View(objecttest.DeploymentRef("web"))
	if again := Decide(after); again.Outcome != Keep {
		t.Fatalf("not done after %s: %+v", decision.Outcome, again)
	}
}

func (w *filteredWorld) reducedPods() []Pod {
	var reduced []Pod
	for _, pod := range w.pods {
		at := objecttest.NoonPlus(pod.started)
		reduced = append(reduced, Pod{Mounted: at, Started: []Start{{"app", at}, {"side", at}}})
	}
	return reduced
}

// A change of a filter restarts nothing, and no restart is lost for an edit that counts.
func TestPodsRestartForTheEditsThatCountWhileFiltersChange(t *testing.T) {
	playHistories(t, "3000")
	needless := 0
	rapid.Check(t, func(t *rapid.T) { newFilteredWorld(&needless).play(t) })
	t.Logf("%d needless restarts, each where the filter changed twice or there was no record", needless)
}

func TestNoRestartIsLostWhileFiltersChangeIfEditsAreJoined(t *testing.T) {
	playHistories(t, "3000")
	rapid.Check(t, func(t *rapid.T) {
		w := newFilteredWorld(new(int))
		w.joins = true
		w.play(t)
	})
}

func (w *filteredWorld) play(t *rapid.T) {
	if rapid.Bool().Draw(t, "filtered") {
		w.changeFilter(t)
	}
	if w.deployment.ManagedFields = nil; rapid.Bool().Draw(t, "recorded") {
		w.deployment.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.Noon, objecttest.AnnotationField(annotation.EnabledAnnotation))}
		w.now = 5
		w.decide(t)
	}
	actions := map[string]func(*rapid.T){
		"edit": w.edit, "change the filter": w.changeFilter, "release": w.release, "replace a pod": w.replaceAPod, "drop the record": w.dropTheRecord,
		"ignore a config": w.ignoreConfig, "mark a config": w.markConfig, "share": w.share,
		"stop": w.stop, "start": w.start, "decide": w.decide,
	}
	names := rapid.Permutation(slices.Sorted(maps.Keys(actions))).Draw(t, "actions")
	names = append(names[:rapid.IntRange(2, len(names)).Draw(t, "kinds")], "edit", "change the filter", "decide")
	for range rapid.IntRange(5, 40).Draw(t, "steps") {
		w.now += 10
		actions[rapid.SampledFrom(names).Draw(t, "action")](t)
	}
	w.now += 10
	w.start(t)
	w.decide(t)
}
