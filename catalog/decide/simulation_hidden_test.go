package decide

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// hidingWorld is a cluster with a workload that requires a ConfigMap and a Secret, and hides the key "a" of both. They are
// edited, deleted and made again, also while no controller watches.
type hidingWorld struct {
	*stage
	seen    map[string]string // what the pods have read of the key that they see, by the config
	started float64           // the pods
	values  int
}

var hidingConfigs = []string{"web", "secret/web"}

func newHidingWorld(t *rapid.T) *hidingWorld {
	w := &hidingWorld{stage: newStage(t, "app reads web, secret/web", "app sets a"), started: 5, seen: map[string]string{}}
	for _, name := range hidingConfigs {
		w.seen[name] = "1"
		w.writes(name, map[string]string{"a": "1", "b": "1"})
	}
	w.start()
	w.now = 10
	w.happens("record", "made")
	w.now = 20
	return w
}

func drawHiding(t *rapid.T) string {
	return rapid.SampledFrom(hidingConfigs).Draw(t, "config")
}

func (w *hidingWorld) nextValue() string {
	w.values++
	return "value-" + strconv.Itoa(w.values)
}

func (w *hidingWorld) edit(t *rapid.T) {
	if name := drawHiding(t); w.configs[name] != nil {
		w.happens(name+":"+rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"), w.nextValue())
	}
}

func (w *hidingWorld) remove(t *rapid.T) {
	if name := drawHiding(t); w.configs[name] != nil {
		w.happens(name, "deleted")
	}
}

func (w *hidingWorld) create(t *rapid.T) { w.make(t, drawHiding(t)) }

// make makes a config again, with the content that the pods have, or another one.
func (w *hidingWorld) make(t *rapid.T, name string) {
	if w.configs[name] != nil {
		return
	}
	cells, value := map[string]string{"a": "1", "b": w.seen[name]}, w.nextValue()
	for _, key := range []string{"a", "b"} {
		if rapid.Bool().Draw(t, "another "+key) {
			cells[key] = value
		}
	}
	w.writes(name, cells)
}

func (w *hidingWorld) stop(*rapid.T) {
	if !w.isAway {
		w.happens("leader", "stops")
	}
}

func (w *hidingWorld) startAgain(*rapid.T) {
	if w.isAway {
		w.happens("leader", "starts")
	}
}

func (w *hidingWorld) isDue() bool {
	return slices.ContainsFunc(hidingConfigs, func(name string) bool { return w.configs[name] != nil && w.configs[name].Data["b"] != w.seen[name] })
}

func (w *hidingWorld) runningPods() []*corev1.Pod {
	return []*corev1.Pod{podOf(w.deployment, w.started, func(string) float64 { return w.started })}
}

func (w *hidingWorld) fail(what string) {
	w.stage.fail(fmt.Sprintf("%s: the pods have read web:b=%s and secret/web:b=%s.", what, w.seen["web"], w.seen["secret/web"]), w.runningPods())
}

func (w *hidingWorld) decideAndAct(*rapid.T) {
	if w.isAway {
		return
	}
	decision, _ := w.decide(w.runningPods()...)
	view, _ := w.catalog.View(objecttest.DeploymentRef("web"))
	_, missing := view.Missing(objecttest.AllConfigs)
	switch restarts := decision.Outcome == Restart; {
	case w.isDue() && !restarts:
		w.fail("A restart is lost")
	case restarts && !w.isDue() && !isMixed(view):
		w.fail("A restart is needless")
	case restarts && missing > 0:
		return // it is held
	case restarts:
		w.started = w.now + 3
		for name, cm := range w.configs {
			w.seen[name] = cm.Data["b"]
		}
	}
	if w.carryOut(decision); decision.Outcome == Keep {
		return
	}
	if again, _ := w.decide(); again.Outcome != Keep {
		w.fail("It does not end")
	}
}

// No restart is lost and none is needless while required configs are gone and return.
func TestPodsRestartForWhatTheySeeOfConfigsThatAreGoneAndReturn(t *testing.T) {
	playHistories(t, "3000")
	rapid.Check(t, func(t *rapid.T) { newHidingWorld(t).play(t) })
}

func (w *hidingWorld) play(t *rapid.T) {
	w.repeat(t, 3, map[string]func(*rapid.T){
		"edit": w.edit, "remove": w.remove, "create": w.create, "stop": w.stop, "start": w.startAgain, "decide": w.decideAndAct,
	}, "edit", "decide")
	w.startAgain(t)
	for _, name := range hidingConfigs {
		w.make(t, name)
	}
	w.now += 10
	w.decideAndAct(t)
	if w.isDue() {
		w.fail("In the end, pods run with another content")
	}
}
