package parity

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kubernetes-deployment-restart-controller/test/harness"
)

// relay is a cluster whose Deployments are driven by the original or by the engine
// in turns. The original is a controller manager with only that controller, next to
// the cluster's own, which has all others and continues.
type relay struct {
	*scene
	installation *harness.Installation
	original     *harness.Component
	engine       *harness.Controller
	handovers    int
}

func TestHandover(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	on, installation := openRelaySide(t)
	t.Run("nothing is written where nothing is to be done", func(t *testing.T) {
		r := &relay{scene: openSceneOn(t, on), installation: installation}
		r.toOriginal()
		all := r.halfway()
		recreated := []string{"recreate-0", "recreate-1"} // only the engine reports that their old pods do not end
		r.mustLeaveAlone(r.toEngine, recreated...)
		for _, w := range all {
			if slices.Contains(recreated, w.name) {
				w.await(progressing("ReplicaSetUpdated"))
			}
			w.proceed()
		}
		r.mustLeaveAlone(r.toOriginal)
		for _, w := range all {
			w.finish()
			w.mustHaveRolledOnce()
		}
		r.standDown()
	})
	t.Run("rollouts go on", func(t *testing.T) {
		r := &relay{scene: openSceneOn(t, on), installation: installation}
		r.toOriginal()
		all := r.rollSlowly()
		r.toEngine()
		r.awaitProgress(all, 2)
		r.toOriginal()
		r.awaitProgress(all, 4)
		r.toEngine()
		for _, w := range all {
			w.await(complete)
			w.mustHaveRolledOnce()
		}
		r.standDown()
	})
}

// openRelaySide starts a cluster in which no controller drives Deployments.
func openRelaySide(t *testing.T) (*side, *harness.Installation) {
	t.Helper()
	cluster, err := harness.StartCluster(t.Context(), harness.ClusterOptions{Nodes: 2, Arguments: []string{"--without-deployment-controller"}})
	if err != nil {
		t.Fatal(err)
	}
	undo.Add(cluster.Stop)
	on := &side{name: "either", cluster: cluster, client: cluster.Client()}
	if on.mirror, err = startMirror(t.Context(), on.client); err != nil {
		t.Fatal(err)
	}
	undo.Add(on.mirror.stop)
	installation, err := install(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	return on, installation
}

func (r *relay) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// standDown stops the controller that drives the Deployments, and waits for its end.
func (r *relay) standDown() {
	r.Helper()
	if r.original != nil {
		r.must(r.original.Running())
		r.must(r.original.Stop())
	}
	if r.engine != nil {
		r.must(r.engine.Running())
		r.must(r.engine.Stop())
	}
	r.original, r.engine, r.sides[0].engine = nil, nil, nil
}

func (r *relay) toOriginal() {
	r.Helper()
	r.standDown()
	cluster := r.sides[0].cluster
	original, err := cluster.StartBeside(harness.ControllerManager,
		"--kubeconfig="+cluster.Kubeconfig(), "--controllers=deployment-controller", "--leader-elect=false", "--secure-port=0",
		"--kube-api-qps=1000", "--kube-api-burst=2000")
	r.must(err)
	r.Cleanup(func() {
		if original.Running() == nil {
			r.must(original.Kill())
		}
	})
	r.original = original
	r.awaitTakeover()
}

func (r *relay) toEngine() {
	r.Helper()
	r.standDown()
	engine, err := r.installation.StartController(r.Context(), engineFlags...)
	r.must(err)
	r.Cleanup(func() {
		if engine.Running() == nil {
			r.must(engine.Kill())
		}
	})
	r.engine, r.sides[0].engine = engine, engine
	r.awaitTakeover()
}

// awaitTakeover makes a Deployment and waits until it is complete: whoever has
// taken over has looked at all that were there before by then.
func (r *relay) awaitTakeover() {
	r.Helper()
	r.handovers++
	r.create(named(fmt.Sprintf("takeover-%d", r.handovers)), replicas(1)).await(complete)
}

// mustLeaveAlone hands over and fails if anything is written, but for the
// Deployment that shows the takeover, and the Deployments with one of these names.
func (r *relay) mustLeaveAlone(handover func(), written ...string) {
	r.Helper()
	r.awaitRest()
	before, versions := r.snapshot(r.sides[0]).without(written...), r.view().versions()
	handover()
	r.awaitRest()
	after := r.snapshot(r.sides[0]).without(append(written, fmt.Sprintf("takeover-%d", r.handovers))...)
	if difference := differenceOf(before, after); difference != "" {
		r.Fatalf("handover %d has changed something:\n%s", r.handovers, difference)
	}
	for _, name := range written {
		delete(versions, "Deployment "+name)
	}
	now := r.view().versions()
	for name, version := range versions {
		if now[name] != version {
			r.Errorf("handover %d has written %s", r.handovers, name)
		}
	}
}

func (r *relay) view() *view { return r.sides[0].mirror.view(r.namespace) }

func (r *relay) awaitRest() {
	r.Helper()
	r.await("all is at rest", func(*view) error { return r.atRest() })
}

// without leaves out Deployments and what belongs to them.
func (s *snapshot) without(names ...string) *snapshot {
	var rest snapshot
	for _, d := range s.Deployments {
		if !slices.Contains(names, d.Name) {
			rest.Deployments = append(rest.Deployments, d)
		}
	}
	for _, rs := range s.ReplicaSets {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(rs.Name, name+"-") }) {
			rest.ReplicaSets = append(rest.ReplicaSets, rs)
		}
	}
	for _, e := range s.Events {
		if !slices.Contains(names, e.Deployment) {
			rest.Events = append(rest.Events, e)
		}
	}
	return &rest
}

// runner is a Deployment on its way from image i:1 to i:2.
type runner struct {
	workload
	steps []func(runner) // what is left of its way
}

// proceed goes one step on.
func (w *runner) proceed() {
	w.Helper()
	if len(w.steps) > 0 {
		w.steps[0](*w)
		w.steps = w.steps[1:]
	}
	w.await(reported)
}

func (w *runner) finish() {
	w.Helper()
	for len(w.steps) > 0 {
		w.proceed()
	}
	w.await(complete)
}

// halfway makes 20 Deployments that are in the middle of their rollouts, each in
// its own way, and whose pods wait.
func (r *relay) halfway() []*runner {
	r.Helper()
	var all []*runner
	letGo := func(count int) func(runner) { return func(w runner) { w.letGo("i:2", count) } }
	add := func(name string, options []option, steps ...func(runner)) *runner {
		w := &runner{r.create(append([]option{named(name)}, options...)...), steps}
		all = append(all, w)
		return w
	}
	for i := range 12 {
		limits := strategies[i%(len(strategies)-1)] // rolling ones
		add(fmt.Sprintf("rolling-%d", i), []option{limits, replicas(4)}, letGo(1), letGo(1), letGo(1), letGo(1))
	}
	for i := range 2 {
		add(fmt.Sprintf("recreate-%d", i), []option{recreate, lingering, replicas(2)},
			func(w runner) { w.letFinish("i:1", 1) }, func(w runner) { w.letFinish("i:1", 1) }, letGo(2))
	}
	for i := range 2 {
		add(fmt.Sprintf("paused-%d", i), []option{rolling(2, 1), replicas(4)},
			letGo(1), func(w runner) { w.resume() }, letGo(1), letGo(1), letGo(1))
	}
	for i := range 2 {
		add(fmt.Sprintf("late-%d", i), []option{deadline(1)},
			func(w runner) { w.letGo("i:2", 1); w.await(timedOut(2)) }, letGo(1), letGo(1))
	}
	for i := range 2 {
		add(fmt.Sprintf("annotated-%d", i), []option{annotated("a", "1"), historyLimit(0), rich, free, replicas(0)})
	}
	for _, w := range all {
		w.await(complete)
	}
	r.nextSecond()
	for _, w := range all {
		w.change(image("i:2"), held)
	}
	for _, w := range all {
		switch {
		case strings.HasPrefix(w.name, "recreate"):
			w.await(sizes(are{}))
		case strings.HasPrefix(w.name, "annotated"):
			w.await(complete)
		case strings.HasPrefix(w.name, "late"):
			w.await(timedOut(1))
		case strings.HasPrefix(w.name, "paused"):
			w.await(observed, replicaSetCount(2))
			w.pause()
		}
		w.await(observed)
	}
	return all
}

// rollSlowly makes 20 Deployments whose rollouts take several seconds, and starts
// them.
func (r *relay) rollSlowly() []*runner {
	r.Helper()
	var all []*runner
	for i := range 20 {
		all = append(all, &runner{workload: r.create(named(fmt.Sprintf("slow-%d", i)), replicas(4), minReady(1))})
	}
	for _, w := range all {
		w.await(complete)
	}
	r.nextSecond()
	for _, w := range all {
		w.change(image("i:2"))
	}
	r.awaitProgress(all, 1)
	return all
}

// awaitProgress returns when one of them has so many pods of the new template.
func (r *relay) awaitProgress(all []*runner, pods int32) {
	r.Helper()
	r.await("rollouts go on", func(v *view) error {
		var most int32
		for _, w := range all {
			most = max(most, v.deployment(w.name).Status.UpdatedReplicas)
		}
		if most < pods {
			return fmt.Errorf("at most %d pods are new, not %d", most, pods)
		}
		return nil
	})
}

// mustHaveRolledOnce fails unless there is one ReplicaSet for each template that
// there was, and sizes have gone one way only: old ones down, new ones up.
func (w *runner) mustHaveRolledOnce() {
	w.Helper()
	view := w.sides[0].mirror.view(w.namespace)
	var images []string
	for _, rs := range view.replicaSetsOf(view.deployment(w.name)) {
		image := imageOf(rs)
		if slices.Contains(images, image) {
			w.Errorf("%s has two ReplicaSets for %s", w.name, image)
		}
		images = append(images, image)
		for _, e := range view.events {
			if e.InvolvedObject.Name == w.name && turnsBack(image, rs.Name, e.Message) {
				w.Errorf("%s turned back: %s", w.name, e.Message)
			}
		}
	}
}

// turnsBack reports whether a message is of an old ReplicaSet that grows after its
// creation, or of a new one that shrinks.
func turnsBack(image, name, message string) bool {
	if image == "i:2" {
		return strings.Contains(message, "Scaled down replica set "+name+" ")
	}
	return strings.Contains(message, "Scaled up replica set "+name+" from ") && !strings.Contains(message, " from 0 to ")
}
