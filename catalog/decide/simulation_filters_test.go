package decide

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// cell is a key of a config that containers read.
type cell struct{ config, key string }

// The pod template refers to all of them but one.
var cells = []cell{{"web", "key"}, {"web", "other"}, {"shop", "key"}, {"flags", "other"}, unmentioned, elsewhere}

var (
	unmentioned = cell{"flags", "key"}
	elsewhere   = cell{"others/flags", "key"} // in another namespace

)

// filters are annotations of a workload by the names that stories have for them, with the cells that count by them.
var filters = []struct {
	annotations objecttest.Data
	counting    []cell
	needsMark   []string // configs that count only if they are marked
}{
	{nil, cells[:4], nil},
	{objecttest.Data{"ignore": "configmap/web:other"}, []cell{{"web", "key"}, {"shop", "key"}, {"flags", "other"}}, nil},
	{objecttest.Data{"ignore": "configmap/web:o*,configmap/shop"}, []cell{{"web", "key"}, {"flags", "other"}}, nil},
	{objecttest.Data{"ignore": "configmap/we?"}, []cell{{"shop", "key"}, {"flags", "other"}}, nil},
	{objecttest.Data{"only": "configmap/web:*y"}, []cell{{"web", "key"}}, nil},
	{objecttest.Data{"only": "configmap/*:key", "ignore": "configmap/w*:k*"}, []cell{{"shop", "key"}}, nil},
	{objecttest.Data{"ignore": "configmap/*"}, nil, nil},
	{objecttest.Data{"also": "configmap/flags"}, cells[:5], nil},
	{objecttest.Data{"also": "configmap/flags:k*"}, cells[:5], nil},
	{objecttest.Data{"also": "configmap/flags,configmap/others/flags"}, cells, nil},
	{objecttest.Data{"also": "configmap/others/flags:key", "only": "configmap/web", "ignore": "configmap/*"}, []cell{elsewhere}, nil},
	{objecttest.Data{"also": "configmap/flags:key", "only": "configmap/web"}, []cell{{"web", "key"}, {"web", "other"}, unmentioned}, nil},
	{objecttest.Data{"also": "configmap/ns/flags", "only": "configmap/none"}, []cell{{"flags", "other"}, unmentioned}, nil},
	{objecttest.Data{"also": "configmap/flags", "ignore": "configmap/flags:ot*"}, []cell{{"web", "key"}, {"web", "other"}, {"shop", "key"}, unmentioned}, nil},
	{objecttest.Data{"also": "configmap/shop,configmap/web:o*", "only": "configmap/*:key", "ignore": "configmap/web:key"}, []cell{{"web", "other"}, {"shop", "key"}}, nil},
	{objecttest.Data{"also": "configmap/flags", "ignore": "configmap/flags"}, []cell{{"web", "key"}, {"web", "other"}, {"shop", "key"}}, nil},
	{objecttest.Data{"search": "true"}, cells[:4], configNames[:3]},
	{objecttest.Data{"search": "true", "named": "w.*"}, cells[:4], configNames[1:3]},
	{objecttest.Data{"search": "true", "named": "flags"}, cells[:5], configNames[:2]},
}

// filteredWorld is a cluster in which the filter of a workload changes among the edits of what its
// containers read.
type filteredWorld struct {
	*stage
	configs []string // a few of configNames
	values  map[cell]string
	edits   []filteredEdit
	pods    []filteredPod
	present rule
	// recordedBy is what counted when the record was made.
	recordedBy rule
	isOutdated bool // there is no record of the present pod template
	since      float64
	changes    int  // of the filter since the record
	hasChanged bool // the filter, at some time
	needless   *int // counts the restarts that only a filter explains that changed twice
}

// rule is which filter a workload has, and which configs are ignored by their own annotation.
type rule struct {
	filter  int
	ignores [4]bool // as in configNames
	marks   [4]bool
	// hides means that the config of others is not shared.
	hides bool
}

var configNames = []string{"web", "shop", "flags", elsewhere.config}

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

func newFilteredWorld(t *rapid.T, needless *int) *filteredWorld {
	n := rapid.SampledFrom([]int{1, 2, 3, 4, 4, 4, 4, 4}).Draw(t, "configs") // the first tell a shorter story
	app, side := []string{"app reads web", "app reads web, shop"}, []string{"side reads web:other", "side reads web:other, flags:other"}
	w := &filteredWorld{stage: newStage(t, app[min(n/2, 1)], side[n/3]), configs: configNames[:n], values: make(map[cell]string), isOutdated: true, needless: needless}
	for _, c := range w.cells() {
		w.values[c] = "first"
		w.happens(c.config+":"+c.key, w.values[c])
	}
	if w.isElsewhere() {
		w.annotateConfig(elsewhere.config)
	}
	w.start()
	w.replacePods()
	return w
}

// cells are those that there are.
func (w *filteredWorld) cells() []cell {
	return slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return !slices.Contains(w.configs, c.config) })
}

// isElsewhere reports whether there is a config in another namespace.
func (w *filteredWorld) isElsewhere() bool { return len(w.configs) == len(configNames) }

func (w *filteredWorld) newPod() filteredPod { return filteredPod{w.now + 3, maps.Clone(w.values)} }

func (w *filteredWorld) replacePods() { w.pods = []filteredPod{w.newPod(), w.newPod()} }

// replaceAPod lets a pod start again that the controller knows nothing of.
func (w *filteredWorld) replaceAPod(*rapid.T) { w.pods[0] = w.newPod() }

func (w *filteredWorld) release(*rapid.T) {
	w.happens("deployment", fmt.Sprint("image=v", w.now))
	w.isOutdated = true
	w.replacePods()
}

func (w *filteredWorld) edit(t *rapid.T) {
	c := rapid.SampledFrom(w.cells()).Draw(t, "cell")
	w.values[c] = strconv.Itoa(len(w.edits))
	counts, isRecorded := w.present.counts(c), w.recordedBy.counts(c)
	// Nobody knows whether an edit came before the filter that lets it count, if no controller watched.
	isDue := counts && (!w.isAway || isRecorded)
	isNotShown := c == elsewhere && w.present.hides && !w.isAway // whatever the record says of it
	w.edits = append(w.edits, filteredEdit{c, w.now, isDue, isRecorded && !isNotShown || w.isOutdated || w.isHiddenForNow(c)})
	w.happens(c.config+":"+c.key, w.values[c])
}

// isHiddenForNow reports whether only a filter that is not recorded keeps a cell from counting.
func (w *filteredWorld) isHiddenForNow(c cell) bool {
	recorded := w.present
	recorded.filter = w.recordedBy.filter
	return recorded.counts(c)
}

// annotateConfig writes what its annotations say of a config.
func (w *filteredWorld) annotateConfig(name string) {
	states, i := []string{"counts"}, slices.Index(configNames, name)
	for state, is := range map[string]bool{"ignored": w.present.ignores[i], "marked": w.present.marks[i], "shared": name == elsewhere.config && !w.present.hides} {
		if is {
			states = append(states, state)
		}
	}
	slices.Sort(states)
	w.happens(name, strings.Join(states, ";"))
}

func (w *filteredWorld) ignoreConfig(t *rapid.T) {
	i := rapid.IntRange(0, len(w.configs)-1).Draw(t, "config")
	w.present.ignores[i] = !w.present.ignores[i]
	w.noteUncounted()
	w.annotateConfig(configNames[i])
}

func (w *filteredWorld) markConfig(t *rapid.T) {
	i := rapid.IntRange(0, len(w.configs)-1).Draw(t, "config")
	w.present.marks[i] = !w.present.marks[i]
	w.changes++ // by Reloader's filters, the mark is a part of them
	w.noteUncounted()
	for j := range w.edits { // when the mark is gone, nobody knows for which of several filters it was there
		if e := &w.edits[j]; !w.present.marks[i] && e.config == configNames[i] && (w.isOutdated || w.recordedBy.filter != w.present.filter) {
			e.isDue, e.isPossible = false, true
		}
	}
	w.annotateConfig(configNames[i])
}

// share shares the config of others, or ends that.
func (w *filteredWorld) share(*rapid.T) {
	if !w.isElsewhere() {
		return
	}
	w.present.hides = !w.present.hides
	w.noteUncounted()
	w.annotateConfig(elsewhere.config)
	if w.isAway {
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
	before := filters[w.present.filter].annotations
	w.present.filter = rapid.IntRange(0, len(filters)-1).Draw(t, "filter")
	w.noteUncounted()
	var changes []string
	for _, name := range []string{"only", "ignore", "also", "search", "named"} {
		if value := filters[w.present.filter].annotations[name]; value != before[name] {
			changes = append(changes, name+"="+value)
		}
	}
	if len(changes) > 0 {
		w.happens("deployment", strings.Join(changes, ";"))
	}
}

func (w *filteredWorld) stop(*rapid.T) {
	w.happens("leader", "stops")
	w.forgetSharing()
	w.forget(w.isOutdated, w.now)
	for i := range w.edits { // the next process does not know that the filter came before the edit
		if e := &w.edits[i]; !w.recordedBy.counts(e.cell) {
			e.isDue = false
		}
	}
}

func (w *filteredWorld) startAgain(*rapid.T) {
	if w.isAway {
		w.since = w.now
		w.happens("leader", "starts")
	}
}

// dropTheRecord acts like a tool that replaces the annotations.
func (w *filteredWorld) dropTheRecord(*rapid.T) {
	w.isOutdated = true
	if w.isAway {
		w.since = w.now
	}
	w.forget(true, w.since)
	w.happens("deployment", "stripped")
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

func (w *filteredWorld) decideAndAct(t *rapid.T) {
	if w.isAway {
		return
	}
	decision, _ := w.decide(w.runningPods()...)
	isDue, isPossible := w.missed()
	if decision.Outcome == Restart && !isPossible {
		*w.needless++
	}
	switch restarts := decision.Outcome == Restart; {
	case isDue && !restarts:
		w.fail("A restart is lost")
	case restarts && !isPossible && !w.isJoined && !w.mayBeNeedless():
		w.fail("A restart is needless")
	case decision.Outcome == Keep && (w.isOutdated || w.recordedBy.filter != w.present.filter || w.recordedBy.differs(w.present)):
		w.fail("The record stays that of another filter")
	case restarts && rapid.Bool().Draw(t, "put off"):
		return
	case restarts:
		w.replacePods()
	}
	if w.carryOut(decision); decision.Outcome == Keep {
		return
	}
	w.recordedBy, w.isOutdated, w.changes = w.present, false, 0
	for i := range w.edits { // they are old, or did not count
		w.edits[i].isDue, w.edits[i].isPossible = false, false
	}
	if again, _ := w.decide(); again.Outcome != Keep {
		w.fail("It does not end")
	}
}

// fail fails with a story that says which edits matter.
func (w *filteredWorld) fail(why string) {
	for _, e := range w.edits {
		if e.isDue && w.present.counts(e.cell) {
			why += fmt.Sprintf("; the edit of %s:%s at second %v counts", e.config, e.key, e.at)
		}
	}
	w.stage.fail(why+".", w.runningPods())
}

// mayBeNeedless reports whether nobody knows which edits counted: the filter changed twice since the record, or at any time, and
// there is no record.
func (w *filteredWorld) mayBeNeedless() bool { return w.changes > 1 || w.hasChanged && w.isOutdated }

func (w *filteredWorld) runningPods() (pods []*corev1.Pod) {
	for _, pod := range w.pods {
		pods = append(pods, podOf(w.deployment, pod.started, func(string) float64 { return pod.started }))
	}
	return pods
}

// A change of a filter restarts nothing, and no restart is lost for an edit that counts.
func TestPodsRestartForTheEditsThatCountWhileFiltersChange(t *testing.T) {
	playHistories(t, "3000")
	needless := 0
	rapid.Check(t, func(t *rapid.T) { newFilteredWorld(t, &needless).play(t) })
	t.Logf("%d needless restarts, each where the filter changed twice or there was no record", needless)
}

func TestNoRestartIsLostWhileFiltersChangeIfEditsAreJoined(t *testing.T) {
	playHistories(t, "3000")
	rapid.Check(t, func(t *rapid.T) {
		w := newFilteredWorld(t, new(int))
		w.happens("edits", "joined")
		w.play(t)
	})
}

func (w *filteredWorld) play(t *rapid.T) {
	if w.now = 1; rapid.Bool().Draw(t, "filtered") {
		w.changeFilter(t)
	}
	if w.now = 5; rapid.Bool().Draw(t, "unrecorded") {
		w.happens("deployment", "undated")
	} else {
		w.decideAndAct(t)
	}
	w.repeat(t, 2, map[string]func(*rapid.T){
		"edit": w.edit, "change the filter": w.changeFilter, "release": w.release, "replace a pod": w.replaceAPod, "drop the record": w.dropTheRecord,
		"ignore a config": w.ignoreConfig, "mark a config": w.markConfig, "share": w.share,
		"stop": w.stop, "start": w.startAgain, "decide": w.decideAndAct,
	}, "edit", "change the filter", "decide")
	w.startAgain(t)
	w.decideAndAct(t)
}
