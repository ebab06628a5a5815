package decide

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// lateWorld is a cluster in which contents come and go faster than the watch of configs shows it, and more of them than the controller
// keeps. It knows what each pod has read. Things may happen within a second.
type lateWorld struct {
	*stage
	key        string // the only one that is read, empty for all
	isOptional bool
	isRounded  bool // the API has whole seconds of when pods read
	pods       []latePod
	last       objecttest.Data // the content of the config that is gone
	shown      objecttest.Data // what the watch has shown, nil if the config is gone
	recorded   objecttest.Data // nil if no record of the pod template has the config
	// listed has the keys that differed from the record when the controller began to watch, and have not changed since.
	listed   objecttest.Data
	removals map[string][]removal
	tally    *tally
	// mayErr means that memory or sight was too short at some time, so that more may restart than has to.
	mayErr bool
	// isPutOff means that a restart was put off, which the record or the memory of the controller says, and isUnseen that the watch did not
	// show how the difference began.
	isPutOff, isUnseen bool
	writtenAt          []float64
}

// tally counts restarts.
type tally struct{ all, needless int }

// latePod is a pod that has read the config, unless at is 0.
type latePod struct {
	at   float64
	read objecttest.Data
	seen objecttest.Data // the same, as far as the controller can know
	// caught means that it was known what it had read, and put down that this is not what is recorded.
	caught bool
}

// removal is when a key was removed, when the watch showed that, and when the key was back.
type removal struct{ at, shown, back float64 }

func newLateWorld(t *rapid.T, tally *tally) *lateWorld {
	reader := rapid.SampledFrom([]string{"app reads web", "app reads web?", "app reads web:a?", "app reads web:a", "app mounts web?"}).Draw(t, "reader")
	w := &lateWorld{stage: newStage(t, reader), isOptional: strings.HasSuffix(reader, "?"), isRounded: rapid.Bool().Draw(t, "rounded"), removals: map[string][]removal{}, tally: tally}
	if strings.Contains(reader, ":") {
		w.key = "a"
	}
	w.sets(objecttest.Data{"a": "1", "b": "1"})
	w.start()
	w.now = 5
	w.pods = make([]latePod, 2)
	w.startPods(t)
	w.now = 10
	w.decideAndAct(t)
	return w
}

// content is what a pod reads that starts now, nil if there is no config.
func (w *lateWorld) content() objecttest.Data { return w.part(w.whole()) }

func (w *lateWorld) whole() objecttest.Data {
	if w.configs["web"] == nil {
		return nil
	}
	return w.configs["web"].Data
}

// part is what containers see of a content.
func (w *lateWorld) part(of objecttest.Data) objecttest.Data {
	if of = maps.Clone(of); of != nil && w.key != "" {
		maps.DeleteFunc(of, func(key, _ string) bool { return key != w.key })
	}
	return of
}

func (w *lateWorld) isBehind() bool {
	_, isBehind := w.behind["configs"]
	return isBehind
}

// pass lets time pass.
func (w *lateWorld) pass(t *rapid.T) {
	w.now += rapid.SampledFrom([]float64{10, 1, 0.25, 2.5, 130}).Draw(t, "seconds")
}

// sets is a write of keys of which each changes.
func (w *lateWorld) sets(cells objecttest.Data) {
	before := w.whole()
	if before == nil {
		before = w.last
	}
	before = maps.Clone(before)
	w.stage.writes("web", cells)
	w.noteWrite(before, w.whole())
}

// noteWrite notes what a write means.
func (w *lateWorld) noteWrite(before, after objecttest.Data) {
	for key := range allKeys(before, after) {
		all := w.removals[key]
		switch {
		case after[key] == "" && before[key] != "":
			w.removals[key] = append(all, removal{at: w.now, shown: w.shownAt()})
		case after[key] != "" && len(all) > 0 && all[len(all)-1].back == 0:
			all[len(all)-1].back = w.now
		}
	}
	for key, value := range w.listed {
		if after[key] == value {
			continue
		}
		delete(w.listed, key)
		for i := range w.pods { // row 8: the controller was replaced before it restarted for the content
			if pod := &w.pods[i]; pod.at > 0 && pod.seen[key] == value && !pod.caught {
				set(pod.seen, key, w.recorded[key])
			}
		}
	}
	w.noteShown()
	w.writtenAt = append(w.writtenAt, w.now)
}

// shownAt is when the watch shows what happens now.
func (w *lateWorld) shownAt() float64 {
	if w.isBehind() {
		return math.Inf(1)
	}
	return w.now
}

func (w *lateWorld) noteShown() {
	if !w.isBehind() {
		w.shown = maps.Clone(w.whole())
	}
}

func set(data objecttest.Data, key, value string) {
	if data[key] = value; value == "" {
		delete(data, key)
	}
}

// allKeys are those of some contents.
func allKeys(contents ...objecttest.Data) map[string]bool {
	keys := map[string]bool{}
	for _, c := range contents {
		for key := range c {
			keys[key] = true
		}
	}
	return keys
}

// change gives a key other content, or removes it.
func (w *lateWorld) change(t *rapid.T) {
	if w.whole() == nil {
		return
	}
	key := rapid.SampledFrom([]string{"a", "a", "b"}).Draw(t, "key")
	value := rapid.SampledFrom([]string{"1", "2", "3", "-"}).Draw(t, "content")
	if old := w.whole()[key]; old != value && !(old == "" && value == "-") {
		w.sets(objecttest.Data{key: value})
	}
}

func (w *lateWorld) changeAgainAndAgain(t *rapid.T) {
	for range rapid.IntRange(2, content.MaxPastOfKey+4).Draw(t, "changes") {
		w.change(t)
		w.pass(t)
	}
	w.mayErr = true
}

// changeMany changes more keys than are kept, or removes them.
func (w *lateWorld) changeMany(t *rapid.T) {
	count := rapid.SampledFrom([]int{2, content.MaxLostKeys + 1, content.MaxPast + 1, content.MaxJoinedKeys + 1}).Draw(t, "keys")
	value := rapid.SampledFrom([]string{"1", "2", "-"}).Draw(t, "content")
	cells := objecttest.Data{}
	for i := range count {
		key := objecttest.KeyNamed(i)
		if old := w.whole()[key]; w.whole() != nil && old != value && !(old == "" && value == "-") {
			cells[key] = value
		}
	}
	if len(cells) > 0 {
		w.sets(cells)
	}
	w.mayErr = true
}

// takeBack brings back the content that is recorded, in one write.
func (w *lateWorld) takeBack(*rapid.T) {
	cells := objecttest.Data{}
	for key := range allKeys(w.recorded, w.whole()) {
		if was, is := w.recorded[key], w.whole()[key]; was == "" && is != "" {
			cells[key] = "-"
		} else if was != is {
			cells[key] = was
		}
	}
	if len(cells) == 0 || w.recorded == nil {
		return
	}
	if w.whole() == nil {
		maps.DeleteFunc(cells, func(_, value string) bool { return value == "-" })
	}
	if len(cells) > 0 {
		w.sets(cells)
	}
}

func (w *lateWorld) remove(*rapid.T) {
	if w.whole() == nil {
		return
	}
	w.last, w.mayErr = maps.Clone(w.whole()), true // row 12: it may return
	w.happens("web", "deleted")
	for key := range w.last {
		w.removals[key] = append(w.removals[key], removal{at: w.now, shown: w.shownAt()})
	}
	w.noteShown()
	w.writtenAt = append(w.writtenAt, w.now)
}

func (w *lateWorld) create(t *rapid.T) {
	if w.whole() != nil {
		return
	}
	cells := objecttest.Data{}
	for _, key := range []string{"a", "b"} {
		if value := rapid.SampledFrom([]string{w.last[key], "1", "2", ""}).Draw(t, "content"); value != "" {
			cells[key] = value
		}
	}
	if len(cells) == 0 {
		cells["a"] = "1"
	}
	isNew := w.last == nil // to the controller
	if w.sets(cells); isNew && w.recorded == nil && !w.isOptional {
		w.forgive() // row 1: deleted, and created again
	}
	w.last = nil
}

func (w *lateWorld) removeAgainAndAgain(t *rapid.T) {
	for range rapid.IntRange(1, 5).Draw(t, "times") {
		w.remove(t)
		w.pass(t)
		w.takeBack(t)
		w.create(t)
		w.pass(t)
	}
	w.mayErr = true
}

// comeBack is the whole story of a content that comes back while a restart waits for it.
func (w *lateWorld) comeBack(t *rapid.T) {
	goes := rapid.SampledFrom([]func(*rapid.T){w.change, w.change, w.changeMany, w.remove}).Draw(t, "goes")
	steps := []func(*rapid.T){w.fallBehind, goes, w.replaceAPod, goes, w.takeBack, w.catchUp, w.decideAndAct, w.replaceTheLeader, w.takeBack, w.create, w.decideAndAct}
	for _, step := range steps {
		if w.pass(t); rapid.IntRange(0, 3).Draw(t, "it happens") > 0 {
			step(t)
		}
	}
}

// fallBehind lets the watch of configs fall behind, and catchUp shows what has happened since.
func (w *lateWorld) fallBehind(*rapid.T) {
	if !w.isBehind() {
		w.happens("watch of configs", "behind")
		w.mayErr = true
	}
}

func (w *lateWorld) catchUp(*rapid.T) {
	if w.isBehind() {
		w.happens("watch of configs", "shows")
		w.caughtUp()
	}
}

func (w *lateWorld) caughtUp() {
	for _, all := range w.removals {
		for i := range all {
			all[i].shown = min(all[i].shown, w.now)
		}
	}
	w.noteShown()
}

// Pods.

func (w *lateWorld) startPod(i int) {
	if w.pods[i] = (latePod{}); w.isOptional || w.content() != nil && (w.key == "" || w.content()[w.key] != "") {
		w.pods[i] = latePod{at: w.now, read: w.content(), seen: w.content()}
		for _, data := range []*objecttest.Data{&w.pods[i].read, &w.pods[i].seen} {
			if *data == nil {
				*data = objecttest.Data{}
			}
		}
		w.pods[i].caught = w.isPutOff && (w.isUnseen || w.differs(&w.pods[i]))
	}
}

// replaceAPod lets a pod start again that the controller knows nothing of.
func (w *lateWorld) replaceAPod(*rapid.T) { w.startPod(0) }

// startPods lets those start that wait.
func (w *lateWorld) startPods(*rapid.T) {
	for i := range w.pods {
		if w.pods[i].at == 0 {
			w.startPod(i)
		}
	}
}

func (w *lateWorld) release(*rapid.T) {
	w.happens("deployment", fmt.Sprint("image=v", w.now))
	w.recorded, w.listed, w.isPutOff = nil, nil, false
	clear(w.pods)
}

// startOf returns when a pod started as the API has it.
func (w *lateWorld) startOf(pod *latePod) float64 {
	if w.isRounded {
		return math.Floor(pod.at)
	}
	return pod.at
}

func (w *lateWorld) runningPods() (pods []*corev1.Pod) {
	for _, pod := range w.pods {
		if pod.at > 0 {
			at := w.startOf(&pod)
			pods = append(pods, podOf(w.deployment, at, func(string) float64 { return at }))
		}
	}
	return pods
}

// What the controller can know.

// forgive takes all pods for up to date.
func (w *lateWorld) forgive() {
	for i := range w.pods {
		if pod := &w.pods[i]; pod.at > 0 {
			pod.seen = objecttest.Data{}
			maps.Copy(pod.seen, w.content())
		}
	}
}

// begin is that somebody begins to watch who knows the record, and what there is, but not what was.
func (w *lateWorld) begin() {
	w.mayErr, w.last = true, nil
	w.isPutOff = w.isPutOff && w.isMarked()
	present := w.content()
	for i := range w.pods {
		pod := &w.pods[i]
		pod.caught = pod.caught && w.isPutOff
		if pod.at == 0 || pod.caught {
			continue
		}
		for key := range allKeys(pod.seen, present, w.part(w.recorded)) {
			if w.recorded != nil { // row 8: other content came and went
				set(pod.seen, key, w.recorded[key])
			} else if !w.isDated(key, pod) { // row 1
				set(pod.seen, key, present[key])
			}
		}
	}
	w.listed = nil
	if w.recorded != nil {
		w.listed = objecttest.Data{}
		for key := range allKeys(w.part(w.recorded), present) {
			if w.recorded[key] != present[key] {
				w.listed[key] = present[key]
			}
		}
	}
}

// isDated reports whether the API tells that a key changed after a pod had started.
func (w *lateWorld) isDated(key string, pod *latePod) bool {
	cm := w.configs["web"]
	if cm == nil || cm.Data[key] == "" {
		return false
	}
	isCreatedWithPod := math.Abs(cm.CreationTimestamp.Sub(objecttest.NoonPlus(w.startOf(pod))).Seconds()) <= 1 // row 6
	return w.isOptional && !isCreatedWithPod || slices.ContainsFunc(cm.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == "editor of "+key })
}

func (w *lateWorld) replaceTheLeader(*rapid.T) {
	w.happens("leader", "replaced")
	w.caughtUp()
	w.begin()
}

func (w *lateWorld) optOut(*rapid.T) {
	if !w.isOut {
		w.happens("deployment", "out")
	}
}

// optIn opts in again. What pods have missed until then is the affair of their owner.
func (w *lateWorld) optIn(*rapid.T) {
	if w.isOut {
		w.happens("deployment", "opts-in")
		w.forgive()
		w.begin()
	}
}

// misses reports whether a pod has to restart.
func (w *lateWorld) misses(pod *latePod) bool {
	present := w.content()
	if pod.at == 0 || present == nil { // a config that is gone restarts nobody
		return false
	}
	for key := range allKeys(pod.read, pod.seen, present) {
		if pod.seen[key] != present[key] && pod.read[key] != present[key] && !w.isOverlooked(pod, key) {
			return true
		}
	}
	return false
}

// isOverlooked is row 7: the watch showed the removal of a key only after a pod had started without it, but not clearly later than the
// second in which the key came back, as far as it has.
func (w *lateWorld) isOverlooked(pod *latePod, key string) bool {
	return pod.seen[key] == "" && slices.ContainsFunc(w.removals[key], func(r removal) bool {
		return r.at <= pod.at && pod.at < r.shown && (r.back == 0 || pod.at < r.back && r.shown <= math.Floor(r.back)+2)
	})
}

func (w *lateWorld) isNeedless() bool {
	present := w.content()
	return !slices.ContainsFunc(w.pods, func(pod latePod) bool { return pod.at > 0 && !maps.Equal(pod.read, present) })
}

// mayBeNeedless reports whether the controller cannot know that a restart is needless: it knows too little, there is no record, the content differs from
// it, or the times of a read and a write are too close.
func (w *lateWorld) mayBeNeedless() bool {
	return w.mayErr || w.recorded == nil || !maps.Equal(w.content(), w.part(w.recorded)) || slices.ContainsFunc(w.pods, func(pod latePod) bool {
		return pod.at > 0 && slices.ContainsFunc(w.writtenAt, func(at float64) bool { return math.Abs(at-pod.at) <= 2 })
	})
}

func (w *lateWorld) decideAndAct(t *rapid.T) {
	if w.isOut {
		return
	}
	decision, _ := w.decide(w.runningPods()...)
	restarts := decision.Outcome == Restart
	if !restarts && !w.isBehind() && slices.ContainsFunc(w.pods, func(pod latePod) bool { return w.misses(&pod) }) {
		w.fail("A restart is lost")
	}
	if restarts && w.isNeedless() && !w.isBehind() {
		if w.tally.needless++; !w.mayBeNeedless() {
			w.fail("A restart is needless")
		}
	}
	if restarts && decision.Contradicts {
		if how := rapid.SampledFrom([]string{"", "put-off", "mark", "mark"}).Draw(t, "put off"); how == "put-off" || how == "mark" && !w.isMarked() {
			w.happens("record", how)
			if isUnseen := decision.Unseen; how == "mark" || isUnseen {
				w.putOff(isUnseen)
			}
			return
		}
	}
	if decision.Verified && !w.isMarked() {
		w.isPutOff = false
	}
	if w.carryOut(decision); restarts {
		w.tally.all++
		clear(w.pods)
	}
	if restarts || decision.Outcome == RecordOnly {
		w.listed, w.mayErr, w.isPutOff = nil, w.isBehind(), false
		for i := range w.pods {
			w.pods[i].caught = false
		}
		if w.shown != nil {
			w.recorded = maps.Clone(w.shown)
		}
	}
}

// putOff notes what is known when a restart is put off: what the watch has shown, and how that began.
func (w *lateWorld) putOff(isUnseen bool) {
	w.isPutOff, w.isUnseen = true, isUnseen
	for i := range w.pods {
		pod := &w.pods[i]
		pod.caught = pod.caught || !w.isBehind() && pod.at > 0 && w.differs(pod)
	}
}

// differs reports whether a pod is known to have read other content than what is recorded.
func (w *lateWorld) differs(pod *latePod) bool {
	for key := range allKeys(pod.seen, w.part(w.recorded)) {
		if _, isListed := w.listed[key]; pod.seen[key] != w.recorded[key] && !isListed && !w.isOverlooked(pod, key) {
			return true
		}
	}
	return false
}

func (w *lateWorld) isMarked() bool { return catalogtest.MustWorkload(w.deployment).Record.Marked }

func (w *lateWorld) fail(why string) {
	for _, pod := range w.pods {
		if pod.at > 0 {
			why += fmt.Sprintf("; the pod of second %v has read %v", pod.at, pod.read)
		}
	}
	w.stage.fail(why+".", w.runningPods())
}

func (w *lateWorld) play(t *rapid.T) {
	actions := map[string]func(*rapid.T){
		"change": w.change, "change again and again": w.changeAgainAndAgain, "change many": w.changeMany, "take back": w.takeBack, "come back": w.comeBack,
		"remove": w.remove, "create": w.create, "remove again and again": w.removeAgainAndAgain, "fall behind": w.fallBehind, "catch up": w.catchUp,
		"replace a pod": w.replaceAPod, "start pods": w.startPods, "release": w.release, "replace the leader": w.replaceTheLeader,
		"opt out": w.optOut, "opt in": w.optIn, "decide": w.decideAndAct,
	}
	kinds := rapid.Permutation(slices.Sorted(maps.Keys(actions))).Draw(t, "actions")
	kinds = append(kinds[:rapid.IntRange(3, len(kinds)).Draw(t, "kinds")], "change", "take back", "come back", "fall behind", "catch up", "replace a pod", "decide")
	for range rapid.IntRange(4, 30).Draw(t, "steps") {
		w.pass(t)
		actions[rapid.SampledFrom(kinds).Draw(t, "action")](t)
	}
	for _, action := range []func(*rapid.T){w.optIn, w.catchUp, w.create, w.decideAndAct} {
		w.pass(t)
		action(t)
	}
}

// No restart is lost while the watch of configs is behind, and more comes and goes than is kept.
func TestNoRestartIsLostWhereContentsComeAndGoFasterThanTheWatchShowsThem(t *testing.T) {
	playHistories(t, "3000")
	tally := &tally{}
	rapid.Check(t, func(t *rapid.T) { newLateWorld(t, tally).play(t) })
	t.Logf("%d of %d restarts were needless", tally.needless, tally.all)
	if tally.all > 500 && tally.needless*10 > tally.all*6 {
		t.Errorf("that is too many where contents are forgotten, shown late, or come back without a record")
	}
}
