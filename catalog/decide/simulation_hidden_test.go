package decide

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// hidesA reads all keys of the ConfigMap and of the Secret web but "a".
func hidesA() corev1.Container {
	container := objecttest.ReadsAll("web", false)
	container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{
		SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "web"}},
	})
	container.Env = []corev1.EnvVar{objecttest.Literal("a", "1")}
	return container
}

// hidingWorld is a cluster with a workload that requires a ConfigMap and a Secret, and hides the key "a" of both. They are
// edited, deleted and made again, also while no controller watches.
type hidingWorld struct {
	*story
	now     float64
	configs map[names.ConfigRef]*madeConfig // nil if it is gone
	seen    map[names.ConfigRef]string      // what the pods have read of the key that they see
	started float64                         // the pods
	values  int
	away    bool // the controller
}

type madeConfig struct {
	content objecttest.Data
	at      float64 // 0 if it has been there since the beginning
	written map[string]float64
}

var hidingConfigs = []names.ConfigRef{objecttest.ConfigMapRef("web"), objecttest.SecretRef("web")}

func newHidingWorld() *hidingWorld {
	first := objecttest.Data{"a": "1", "b": "1"}
	w := &hidingWorld{story: begin(objecttest.Deployment(hidesA())), started: 5, now: 20, configs: map[names.ConfigRef]*madeConfig{}, seen: map[names.ConfigRef]string{}}
	for _, ref := range hidingConfigs {
		w.configs[ref], w.seen[ref] = &madeConfig{content: maps.Clone(first), written: map[string]float64{}}, "1"
	}
	w.away = true
	w.start(nil)
	w.recorded(10)
	return w
}

// object returns a config as the API server shows it.
func (w *hidingWorld) object(ref names.ConfigRef) content.Config {
	made := w.configs[ref]
	cm, s := objecttest.ConfigMap("web", maps.Clone(made.content)), objecttest.Secret("web", maps.Clone(made.content))
	meta := &cm.ObjectMeta
	if ref.Kind == names.Secret {
		meta = &s.ObjectMeta
	}
	if made.at > 0 {
		meta.CreationTimestamp.Time = objecttest.NoonPlus(made.at)
	}
	for _, key := range slices.Sorted(maps.Keys(made.written)) {
		meta.ManagedFields = append(meta.ManagedFields, objecttest.Owns("editor of "+key, objecttest.NoonPlus(made.written[key]), "f:data/f:"+key))
	}
	if ref.Kind == names.Secret {
		return content.NewSecret(s)
	}
	return content.NewConfigMap(cm)
}

func (w *hidingWorld) show(ref names.ConfigRef) {
	if !w.away {
		w.catalog.ObserveConfig(w.object(ref), objecttest.NoonPlus(w.now))
	}
}

func drawHiding(t *rapid.T) names.ConfigRef {
	return rapid.SampledFrom(hidingConfigs).Draw(t, "config")
}

func (w *hidingWorld) edit(t *rapid.T) {
	ref := drawHiding(t)
	if made := w.configs[ref]; made != nil {
		key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
		w.values++
		made.content[key], made.written[key] = "value "+strconv.Itoa(w.values), w.now
		w.show(ref)
	}
}

func (w *hidingWorld) remove(t *rapid.T) {
	ref := drawHiding(t)
	if w.configs[ref] == nil {
		return
	}
	if w.configs[ref] = nil; !w.away {
		w.catalog.ForgetConfig(ref, objecttest.NoonPlus(w.now))
	}
}

func (w *hidingWorld) create(t *rapid.T) { w.make(t, drawHiding(t)) }

// make makes a config again, with the content that the pods have, or another one.
func (w *hidingWorld) make(t *rapid.T, ref names.ConfigRef) {
	if w.configs[ref] != nil {
		return
	}
	w.values++
	value := "value " + strconv.Itoa(w.values)
	made := &madeConfig{content: objecttest.Data{"a": "1", "b": w.seen[ref]}, at: w.now, written: map[string]float64{}}
	for _, key := range []string{"a", "b"} {
		if rapid.Bool().Draw(t, "another "+key) {
			made.content[key] = value
		}
	}
	w.configs[ref] = made
	w.show(ref)
}

func (w *hidingWorld) stop(*rapid.T) { w.away = true }

func (w *hidingWorld) start(*rapid.T) {
	if !w.away {
		return
	}
	w.away, w.catalog = false, catalog.New()
	w.catalog.SetKey(catalogtest.TestKey)
	for _, ref := range hidingConfigs {
		var listed []*content.Config
		if w.configs[ref] != nil {
			listed = objecttest.ListOf(w.object(ref))
		}
		listConfigs(w.catalog, ref.Kind, "", listed, objecttest.NoonPlus(w.now), true)
	}
	listWorkloads(w.catalog, names.Deployment, "", objecttest.ListOf(w.reduced()), 0)
}

func (w *hidingWorld) isDue() bool {
	return slices.ContainsFunc(hidingConfigs, func(ref names.ConfigRef) bool {
		return w.configs[ref] != nil && w.configs[ref].content["b"] != w.seen[ref]
	})
}

func (w *hidingWorld) decide(t *rapid.T) {
	if w.away {
		return
	}
	view, _ := w.catalog.View(objecttest.DeploymentRef("web"))
	decision := Decide(view)
	if decision.Outcome == AskPods {
		decision = ByPods(view, []Pod{{Mounted: objecttest.NoonPlus(w.started), Started: []Start{{"app", objecttest.NoonPlus(w.started)}}}})
	}
	_, missing := view.Missing(objecttest.AllConfigs)
	switch restarts := decision.Outcome == Restart; {
	case w.isDue() && !restarts:
		t.Fatalf("lost a restart: %+v", decision)
	case restarts && !w.isDue():
		t.Fatalf("a needless restart: %+v", decision)
	case decision.Outcome == Keep:
		if decision.Verified {
			w.catalog.ObserveKept(view)
		}
		return
	case restarts && missing > 0:
		return // it is held
	case restarts:
		objecttest.SetTimestamp(w.deployment, objecttest.NoonPlus(w.now).Format(time.RFC3339Nano))
		w.started = w.now + 3
		for ref, made := range w.configs {
			w.seen[ref] = made.content["b"]
		}
	}
	catalogtest.WriteRecordWithout(w.deployment, decision.Checksums, decision.Without, objecttest.NoonPlus(w.now))
	w.catalog.ObserveWritten(w.reduced(), view.Sequence)
	after, _ := w.catalog.View(objecttest.DeploymentRef("web"))
	if again := Decide(after); again.Outcome != Keep {
		t.Fatalf("not done after %s: %+v", decision.Outcome, again)
	}
}

// No restart is lost and none is needless while required configs are gone and return.
func TestPodsRestartForWhatTheySeeOfConfigsThatAreGoneAndReturn(t *testing.T) {
	playHistories(t, "3000")
	rapid.Check(t, func(rt *rapid.T) {
		w := newHidingWorld()
		actions := map[string]func(*rapid.T){
			"edit": w.edit, "remove": w.remove, "create": w.create, "stop": w.stop, "start": w.start, "decide": w.decide,
		}
		names := slices.Sorted(maps.Keys(actions))
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			w.now += 10
			actions[rapid.SampledFrom(names).Draw(rt, "action")](rt)
		}
		w.now += 10
		w.start(rt)
		for _, ref := range hidingConfigs {
			w.make(rt, ref)
		}
		w.now += 10
		w.decide(rt)
		if w.isDue() {
			rt.Fatal("in the end, pods run with another content")
		}
	})
}
