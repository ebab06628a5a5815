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
// keeps. One workload reads one config, or two. The world knows what each pod has read. Things may happen within a second.
type lateWorld struct {
	*stage
	read      []*lateConfig
	isRounded bool // the API has whole seconds of when pods read
	tally     *tally
	// isPutOff means that a restart was put off, which the record or the memory of the controller says, and isUnseen that the watch did not
	// show how the difference began.
	isPutOff, isUnseen bool
}

// lateConfig is a config that the workload reads.
type lateConfig struct {
	*lateWorld
	name       string
	key        string // the only one that is read, empty for all
	isOptional bool
	forge      func() float64  // the date of an edit, by which only its own readers may miss it; nil if the API server dates it
	pods       []latePod       // the same of all configs
	last       objecttest.Data // the content of the config that is gone
	shown      objecttest.Data // what the watch has shown, nil if the config is gone
	isUnshown  bool            // the watch has yet to show a write
	recorded   objecttest.Data // nil if no record of the pod template has the config
	// listed has the keys that differed from the record when the controller began to watch, and have not changed since.
	listed   objecttest.Data
	removals map[string][]removal
	// mayErr means that memory or sight was too short at some time, so that more may restart than has to.
	mayErr    bool
	writtenAt []float64
}

// tally counts restarts.
type tally struct{ all, needless int }

// latePod is what a pod has read of a config. If at is 0, the pod has yet to start.
type latePod struct {
	at   float64
	read objecttest.Data
	seen objecttest.Data // the same, as far as the controller can know
	// caught means that it was known what it had read, and put down that this is not what is recorded.
	caught bool
}

// removal is when a key was removed, when the watch showed that, and when the key was back.
type removal struct {
	at, shown, back float64
	// instead is the content that a key had since then whose edit has no date: it came in the second in which the config was created.
	instead string
}

func newLateWorld(t *rapid.T, tally *tally) *lateWorld {
	w := &lateWorld{stage: newStage(t), isRounded: rapid.Bool().Draw(t, "rounded"), tally: tally}
	for _, name := range rapid.SampledFrom([][]string{{"web", "db"}, {"web", "db"}, {"web"}}).Draw(t, "configs") {
		reader := fmt.Sprintf(rapid.SampledFrom([]string{"app reads %s", "app reads %s?", "app reads %s:a?", "app reads %s:a", "app mounts %s?"}).Draw(t, "reader"), name)
		w.addReader(reader)
		c := &lateConfig{lateWorld: w, name: name, isOptional: strings.HasSuffix(reader, "?"), removals: map[string][]removal{}, pods: make([]latePod, 2)}
		if strings.Contains(reader, ":") {
			c.key = "a"
		}
		w.read = append(w.read, c)
		c.sets(objecttest.Data{"a": "1", "b": "1"})
		if name == "db" && rapid.IntRange(0, 3).Draw(t, "forges") == 0 {
			c.forge = func() float64 {
				return rapid.SampledFrom([]float64{w.now - 60, w.now - 5, -1000, 1, w.now + 1000}).Draw(t, "date")
			}
		}
	}
	w.start()
	w.now = 5
	w.startPods(t)
	w.now = 10
	w.decideAndAct(t)
	return w
}

// each calls a function with each config.
func (w *lateWorld) each(of func(*lateConfig)) {
	for _, c := range w.read {
		of(c)
	}
}

func (w *lateWorld) any(is func(*lateConfig) bool) bool { return slices.ContainsFunc(w.read, is) }

// one returns an action on one of the configs.
func (w *lateWorld) one(action func(*lateConfig, *rapid.T)) func(*rapid.T) {
	return func(t *rapid.T) { action(rapid.SampledFrom(w.read).Draw(t, "config"), t) }
}

// content is what a pod reads that starts now, nil if there is no config.
func (c *lateConfig) content() objecttest.Data { return c.part(c.whole()) }

func (c *lateConfig) whole() objecttest.Data {
	if c.configs[c.name] == nil {
		return nil
	}
	return c.configs[c.name].Data
}

// part is what containers see of a content.
func (c *lateConfig) part(of objecttest.Data) objecttest.Data {
	if of = maps.Clone(of); of != nil && c.key != "" {
		maps.DeleteFunc(of, func(key, _ string) bool { return key != c.key })
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
func (c *lateConfig) sets(cells objecttest.Data) {
	before := c.whole()
	if before == nil {
		before = c.last
	}
	before = maps.Clone(before)
	for _, key := range slices.Sorted(maps.Keys(cells)) {
		if c.forge != nil && c.whole() != nil && cells[key] != "-" { // nobody forges the date of the creation
			cells[key] = fmt.Sprintf("%s@%v", cells[key], c.forge())
		}
	}
	c.writes(c.name, cells)
	c.noteWrite(before, c.whole())
}

// noteWrite notes what a write means.
func (c *lateConfig) noteWrite(before, after objecttest.Data) {
	for key := range allKeys(before, after) {
		all := c.removals[key]
		switch {
		case after[key] == "" && before[key] != "":
			c.removals[key] = append(all, removal{at: c.now, shown: c.shownAt()})
		case after[key] != "" && len(all) > 0 && all[len(all)-1].back == 0:
			all[len(all)-1].back = c.now
		}
		if cm := c.configs[c.name]; c.isBehind() && before[key] != after[key] && cm.CreationTimestamp.Equal(objecttest.Stamp(objecttest.NoonPlus(math.Floor(c.now)))) {
			c.removals[key] = append(c.removals[key], removal{at: c.now, shown: c.shownAt(), instead: after[key]})
		}
	}
	for key, value := range c.listed {
		if after[key] == value {
			continue
		}
		delete(c.listed, key)
		for i := range c.pods { // row 8: the controller was replaced before it restarted for the content
			if pod := &c.pods[i]; pod.at > 0 && pod.seen[key] == value && !pod.caught {
				set(pod.seen, key, c.recorded[key])
			}
		}
	}
	c.noteWritten()
}

// noteWritten notes that the watch shows a write, or has yet to.
func (c *lateConfig) noteWritten() {
	c.isUnshown = c.isBehind()
	c.mayErr = c.mayErr || c.isUnshown
	c.noteShown()
	c.writtenAt = append(c.writtenAt, c.now)
}

// shownAt is when the watch shows what happens now.
func (c *lateConfig) shownAt() float64 {
	if c.isBehind() {
		return math.Inf(1)
	}
	return c.now
}

func (c *lateConfig) noteShown() {
	if !c.isBehind() {
		c.shown = maps.Clone(c.whole())
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
func (c *lateConfig) change(t *rapid.T) {
	if c.whole() == nil {
		return
	}
	key := rapid.SampledFrom([]string{"a", "a", "b"}).Draw(t, "key")
	value := rapid.SampledFrom([]string{"1", "2", "3", "-"}).Draw(t, "content")
	if old := c.whole()[key]; old != value && !(old == "" && value == "-") {
		c.sets(objecttest.Data{key: value})
	}
}

func (c *lateConfig) changeAgainAndAgain(t *rapid.T) {
	for range rapid.IntRange(2, content.MaxPastOfKey+4).Draw(t, "changes") {
		c.change(t)
		c.pass(t)
	}
	c.mayErr = true
}

// changeMany changes more keys than are kept, or removes them.
func (c *lateConfig) changeMany(t *rapid.T) {
	count := rapid.SampledFrom([]int{2, content.MaxLostKeys + 1, content.MaxPast + 1, content.MaxJoinedKeys + 1}).Draw(t, "keys")
	value := rapid.SampledFrom([]string{"1", "2", "-"}).Draw(t, "content")
	cells := objecttest.Data{}
	for i := range count {
		key := objecttest.KeyNamed(i)
		if old := c.whole()[key]; c.whole() != nil && old != value && !(old == "" && value == "-") {
			cells[key] = value
		}
	}
	if len(cells) > 0 {
		c.sets(cells)
	}
	c.mayErr = true
}

// takeBack brings back the content that is recorded, in one write.
func (c *lateConfig) takeBack(*rapid.T) {
	cells := objecttest.Data{}
	for key := range allKeys(c.recorded, c.whole()) {
		if was, is := c.recorded[key], c.whole()[key]; was == "" && is != "" {
			cells[key] = "-"
		} else if was != is {
			cells[key] = was
		}
	}
	if len(cells) == 0 || c.recorded == nil {
		return
	}
	if c.whole() == nil {
		maps.DeleteFunc(cells, func(_, value string) bool { return value == "-" })
	}
	if len(cells) > 0 {
		c.sets(cells)
	}
}

func (c *lateConfig) remove(*rapid.T) {
	if c.whole() == nil {
		return
	}
	c.last, c.mayErr = maps.Clone(c.whole()), true // row 12: it may return
	c.happens(c.name, "deleted")
	for key := range c.last {
		c.removals[key] = append(c.removals[key], removal{at: c.now, shown: c.shownAt()})
	}
	c.noteWritten()
}

func (c *lateConfig) create(t *rapid.T) {
	if c.whole() != nil {
		return
	}
	cells := objecttest.Data{}
	for _, key := range []string{"a", "b"} {
		if value := rapid.SampledFrom([]string{c.last[key], "1", "2", ""}).Draw(t, "content"); value != "" {
			cells[key] = value
		}
	}
	if len(cells) == 0 {
		cells["a"] = "1"
	}
	isNew := c.last == nil // to the controller
	if c.sets(cells); isNew && c.recorded == nil && !c.isOptional {
		c.forgive() // row 1: deleted, and created again
	}
	c.last = nil
}

func (c *lateConfig) removeAgainAndAgain(t *rapid.T) {
	for range rapid.IntRange(1, 5).Draw(t, "times") {
		c.remove(t)
		c.pass(t)
		c.takeBack(t)
		c.create(t)
		c.pass(t)
	}
	c.mayErr = true
}

// comeBack is the whole story of contents that come back while a restart waits for them.
func (w *lateWorld) comeBack(t *rapid.T) {
	one, other := rapid.SampledFrom(w.read).Draw(t, "one"), rapid.SampledFrom(w.read).Draw(t, "other")
	goes := func(c *lateConfig) func(*rapid.T) {
		return rapid.SampledFrom([]func(*rapid.T){c.change, c.change, c.changeMany, c.remove}).Draw(t, "goes")
	}
	pod, leader, decide := w.replaceAPod, w.replaceTheLeader, w.decideAndAct
	steps := rapid.SampledFrom([][]func(*rapid.T){
		{w.fallBehind, goes(one), pod, goes(other), other.takeBack, w.catchUp, decide, leader, one.takeBack, other.create, other.takeBack, decide},
		{goes(one), leader, w.fallBehind, goes(other), decide, other.takeBack, pod, w.catchUp, one.takeBack, other.create, decide},
		{goes(one), leader, w.fallBehind, goes(other), other.takeBack, other.create, w.catchUp, decide, pod, one.takeBack, decide},
		{goes(one), decide, leader, w.fallBehind, pod, goes(other), one.takeBack, pod, other.takeBack, w.catchUp, one.create, decide},
	}).Draw(t, "steps")
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
	}
}

func (w *lateWorld) catchUp(*rapid.T) {
	if w.isBehind() {
		w.happens("watch of configs", "shows")
		w.caughtUp()
	}
}

func (w *lateWorld) caughtUp() {
	w.each(func(c *lateConfig) {
		for _, all := range c.removals {
			for i := range all {
				all[i].shown = min(all[i].shown, w.now)
			}
		}
		c.isUnshown = false
		c.noteShown()
	})
}

// Pods.

func (w *lateWorld) startPod(i int) {
	isWaiting := w.any(func(c *lateConfig) bool {
		return !c.isOptional && (c.content() == nil || c.key != "" && c.content()[c.key] == "")
	})
	w.each(func(c *lateConfig) {
		if c.pods[i] = (latePod{}); isWaiting {
			return
		}
		c.pods[i] = latePod{at: w.now, read: objecttest.Data{}, seen: objecttest.Data{}}
		maps.Copy(c.pods[i].read, c.content())
		maps.Copy(c.pods[i].seen, c.content())
		c.pods[i].caught = w.isPutOff && (w.isUnseen || c.differs(&c.pods[i]))
	})
}

// replaceAPod lets a pod start again that the controller knows nothing of.
func (w *lateWorld) replaceAPod(*rapid.T) { w.startPod(0) }

// startPods lets those start that wait.
func (w *lateWorld) startPods(*rapid.T) {
	for i := range w.pods() {
		if w.pods()[i].at == 0 {
			w.startPod(i)
		}
	}
}

// pods are the pods, with what they have read of the first config.
func (w *lateWorld) pods() []latePod { return w.read[0].pods }

func (w *lateWorld) release(*rapid.T) {
	w.happens("deployment", fmt.Sprint("image=v", w.now))
	w.isPutOff = false
	w.each(func(c *lateConfig) {
		c.recorded, c.listed = nil, nil
		clear(c.pods)
	})
}

// startOf returns when a pod started as the API has it.
func (w *lateWorld) startOf(pod *latePod) float64 {
	if w.isRounded {
		return math.Floor(pod.at)
	}
	return pod.at
}

func (w *lateWorld) runningPods() (pods []*corev1.Pod) {
	for _, pod := range w.pods() {
		if pod.at > 0 {
			at := w.startOf(&pod)
			pods = append(pods, podOf(w.deployment, at, func(string) float64 { return at }))
		}
	}
	return pods
}

// What the controller can know.

// forgive takes all pods for up to date.
func (c *lateConfig) forgive() {
	for i := range c.pods {
		if pod := &c.pods[i]; pod.at > 0 {
			pod.seen = objecttest.Data{}
			maps.Copy(pod.seen, c.content())
		}
	}
}

// begin is that somebody begins to watch who knows the record, and what there is, but not what was.
func (w *lateWorld) begin() {
	w.isPutOff = w.isPutOff && w.isMarked()
	w.isUnseen = true
	w.each((*lateConfig).begin)
}

func (c *lateConfig) begin() {
	c.mayErr, c.last = true, nil
	present := c.content()
	for i := range c.pods {
		pod := &c.pods[i]
		pod.caught = pod.caught && c.isPutOff
		if pod.at == 0 || pod.caught {
			continue
		}
		for key := range allKeys(pod.seen, present, c.part(c.recorded)) {
			if c.recorded != nil { // row 8: other content came and went
				set(pod.seen, key, c.recorded[key])
			} else if !c.isDated(key, pod) { // row 1
				set(pod.seen, key, present[key])
			}
		}
	}
	c.listed = nil
	if c.recorded != nil {
		c.listed = objecttest.Data{}
		for key := range allKeys(c.part(c.recorded), present) {
			if c.recorded[key] != present[key] {
				c.listed[key] = present[key]
			}
		}
	}
}

// isDated reports whether the API tells that a key changed after a pod had started.
func (c *lateConfig) isDated(key string, pod *latePod) bool {
	cm := c.configs[c.name]
	if cm == nil || cm.Data[key] == "" {
		return false
	}
	isCreatedWithPod := math.Abs(cm.CreationTimestamp.Sub(objecttest.NoonPlus(c.startOf(pod))).Seconds()) <= 1 // row 6
	return c.isOptional && !isCreatedWithPod || slices.ContainsFunc(cm.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == "editor of "+key })
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
		w.each((*lateConfig).forgive)
		w.begin()
	}
}

// misses reports whether a pod has to restart.
func (c *lateConfig) misses(pod *latePod) bool {
	present := c.content()
	if pod.at == 0 || present == nil { // a config that is gone restarts nobody
		return false
	}
	for key := range allKeys(pod.read, pod.seen, present) {
		if pod.seen[key] != present[key] && pod.read[key] != present[key] && !c.isOverlooked(pod, key) {
			return true
		}
	}
	return false
}

// isOverlooked is row 7: the watch showed the removal of a key only after a pod had started without it, but not clearly later than the
// second in which the key came back, as far as it has.
func (c *lateConfig) isOverlooked(pod *latePod, key string) bool {
	return slices.ContainsFunc(c.removals[key], func(r removal) bool {
		if r.instead != "" {
			return pod.seen[key] == r.instead && r.at <= pod.at && pod.at < r.shown
		}
		return pod.seen[key] == "" && r.at <= pod.at && pod.at < r.shown && (r.back == 0 || pod.at < r.back && r.shown <= math.Floor(r.back)+2)
	})
}

func (c *lateConfig) isLost() bool {
	return c.forge == nil && slices.ContainsFunc(c.pods, func(pod latePod) bool { return c.misses(&pod) })
}

// isStale reports whether a pod has read other content. That a config is gone is no reason to restart.
func (c *lateConfig) isStale() bool {
	present := c.content()
	return present != nil && slices.ContainsFunc(c.pods, func(pod latePod) bool { return pod.at > 0 && !maps.Equal(pod.read, present) })
}

// mayBeNeedless reports whether the controller cannot know that a restart for the config is needless: it knows too little, there is no record,
// the content differs from it, or the times of a read and a write are too close.
func (c *lateConfig) mayBeNeedless() bool {
	return c.mayErr || c.forge != nil || c.recorded == nil || !maps.Equal(c.content(), c.part(c.recorded)) || slices.ContainsFunc(c.pods, func(pod latePod) bool {
		return pod.at > 0 && slices.ContainsFunc(c.writtenAt, func(at float64) bool { return math.Abs(at-pod.at) <= 2 })
	})
}

// mayBeNeedless reports whether there is an excuse for each cause. A mark, which names none, is about any config.
func (w *lateWorld) mayBeNeedless(causes []Cause) bool {
	isExcused := func(cause Cause) bool {
		return w.any(func(c *lateConfig) bool { return c.name == cause.Config.Name && c.mayBeNeedless() })
	}
	return len(causes) == 0 && w.any((*lateConfig).mayBeNeedless) || len(causes) > 0 && !slices.ContainsFunc(causes, func(cause Cause) bool { return !isExcused(cause) })
}

func (w *lateWorld) decideAndAct(t *rapid.T) {
	if w.isOut {
		return
	}
	decision, _ := w.decide(w.runningPods()...)
	restarts := decision.Outcome == Restart
	if !restarts && !w.isBehind() && w.any((*lateConfig).isLost) {
		w.fail("A restart is lost")
	}
	isNeedless := restarts && !w.any((*lateConfig).isStale) && !w.isBehind()
	if isNeedless && !w.mayBeNeedless(decision.Causes) {
		w.fail("A restart is needless")
	}
	if restarts && decision.Contradicts {
		if how := rapid.SampledFrom([]string{"", "put-off", "mark", "mark"}).Draw(t, "put off"); how != "" {
			w.happens("record", how)
			if how == "mark" || decision.Contradicted.IsZero() {
				w.putOff(decision.Unseen || w.any((*lateConfig).isListed))
			}
			return
		}
	}
	if decision.Verified && !w.isMarked() {
		w.isPutOff = false
	}
	w.carryOut(decision)
	if restarts || decision.Outcome == RecordOnly {
		w.isPutOff = false
		w.each((*lateConfig).noteRecorded)
	}
	if restarts {
		if w.tally.all++; isNeedless {
			w.tally.needless++
		}
		w.each(func(c *lateConfig) { clear(c.pods) })
	}
}

// isListed reports whether a difference from the record began before the controller did.
func (c *lateConfig) isListed() bool { return c.whole() != nil && len(c.part(c.listed)) > 0 }

// noteRecorded notes that there is a record of what the watch has shown.
func (c *lateConfig) noteRecorded() {
	c.mayErr = c.isUnshown || c.whole() == nil // rows 7, 11 and 12
	for i := range c.pods {
		c.pods[i].caught = false
	}
	if c.listed = nil; c.shown != nil {
		c.recorded = maps.Clone(c.shown)
	}
}

// putOff notes what is known when a restart is put off: what the watch has shown, and how that began.
func (w *lateWorld) putOff(isUnseen bool) {
	w.isPutOff, w.isUnseen = true, isUnseen
	w.each(func(c *lateConfig) {
		for i := range c.pods {
			pod := &c.pods[i]
			pod.caught = pod.caught || !w.isBehind() && pod.at > 0 && c.differs(pod)
		}
	})
}

// differs reports whether a pod is known to have read other content than what is recorded.
func (c *lateConfig) differs(pod *latePod) bool {
	for key := range allKeys(pod.seen, c.part(c.recorded)) {
		if _, isListed := c.listed[key]; pod.seen[key] != c.recorded[key] && !isListed && !c.isOverlooked(pod, key) {
			return true
		}
	}
	return false
}

func (w *lateWorld) isMarked() bool { return catalogtest.MustWorkload(w.deployment).Record.Marked }

func (w *lateWorld) fail(why string) {
	w.each(func(c *lateConfig) {
		for _, pod := range c.pods {
			if pod.at > 0 {
				why += fmt.Sprintf("; the pod of second %v has read of %s %v", pod.at, c.name, pod.read)
			}
		}
	})
	w.stage.fail(why+".", w.runningPods())
}

func (w *lateWorld) play(t *rapid.T) {
	create := w.one((*lateConfig).create)
	actions := map[string]func(*rapid.T){
		"change": w.one((*lateConfig).change), "change again and again": w.one((*lateConfig).changeAgainAndAgain), "change many": w.one((*lateConfig).changeMany),
		"take back": w.one((*lateConfig).takeBack), "come back": w.comeBack, "remove": w.one((*lateConfig).remove), "create": create,
		"remove again and again": w.one((*lateConfig).removeAgainAndAgain), "fall behind": w.fallBehind, "catch up": w.catchUp,
		"replace a pod": w.replaceAPod, "start pods": w.startPods, "release": w.release, "replace the leader": w.replaceTheLeader,
		"opt out": w.optOut, "opt in": w.optIn, "decide": w.decideAndAct,
	}
	kinds := rapid.Permutation(slices.Sorted(maps.Keys(actions))).Draw(t, "actions")
	kinds = append(kinds[:rapid.IntRange(3, len(kinds)).Draw(t, "kinds")], "change", "take back", "come back", "fall behind", "catch up", "replace a pod", "decide")
	for range rapid.IntRange(4, 30).Draw(t, "steps") {
		w.pass(t)
		actions[rapid.SampledFrom(kinds).Draw(t, "action")](t)
	}
	for _, action := range []func(*rapid.T){w.optIn, w.catchUp, create, create, w.decideAndAct} {
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
	if tally.all > 500 && tally.needless*10 > tally.all*3 {
		t.Errorf("that is too many where contents are forgotten, shown late, or come back without a record")
	}
}
