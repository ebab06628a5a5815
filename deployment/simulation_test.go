package deployment

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/digest"
	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// replacementAnnotation is the policy by which pods that terminate take up room.
const replacementAnnotation = "com.xing.deployment-restart.pod-replacement-policy"

var (
	simulatedRollouts = flag.Int("simulation.rollouts", defaultRollouts, "the number of rollouts to simulate")
	simulationSeed    = flag.Uint64("simulation.seed", 1, "the seed of the simulation")
	simulatedWorld    = flag.Uint64("simulation.world", 0, "the only world to simulate, with its story; 0 for all")
)

// The promise of the engine: whatever happens in whatever order, no rollout goes
// beyond its limits, and when things calm down it is complete.
//
// Each world has a Deployment, a controller of ReplicaSets and pods that do as they
// like. The engine is the real one but for its watches and API server,
// which are played. Time is that of the bubble.
func TestRolloutsKeepTheirLimitsAndSettleWhateverHappens(t *testing.T) {
	if only := *simulatedWorld; only != 0 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(*simulationSeed, only)
			w.isLoud = true
			if problem := w.play(); problem != "" {
				t.Fatalf("%s\n%s", strings.Join(w.story, "\n"), problem)
			}
			t.Log(strings.Join(w.story, "\n"))
		})
		return
	}
	total := tally{}
	for number := uint64(1); total.completed+total.superseded < *simulatedRollouts && !t.Failed(); number++ {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(*simulationSeed, number)
			if problem := w.play(); problem != "" {
				t.Errorf("%s\nto see the story: go test ./deployment -run %s -simulation.seed %d -simulation.world %d",
					problem, "TestRolloutsKeepTheirLimits", *simulationSeed, number)
			}
			total.add(&w.tally)
		})
	}
	if ineffective := testutil.ToFloat64(simulationMetrics.writeErrors.WithLabelValues("ineffective")); ineffective > 0 {
		t.Errorf("%v writes were taken to be without effect", ineffective)
	}
	t.Logf("%+v", total)
	if wanted := *simulatedRollouts / 20; total.fellBack < wanted || total.fallBacks < wanted || total.retries < wanted/10 || total.completions < wanted || total.settledFallenBack < wanted/2 {
		t.Errorf("too few releases have failed, were tried again or completed to prove anything")
	}
	if wanted := *simulatedRollouts / 200; min(total.promotions, total.soaks, total.aborts, total.settledHeld, total.promotedToTheEnd) < wanted || total.abortedRestarts < wanted/4 {
		t.Errorf("too few rollouts took steps to prove anything")
	}
}

// tally counts what has happened.
type tally struct {
	worlds, completed, superseded, syncs, writes, kills, faults int
	// asking counts the worlds in which users want to fall back, and fellBack those in which a release has. fallBacks counts these,
	// retries the further attempts at a failed release, completions the releases that are noted as complete, and settledFallenBack
	// how often a Deployment was fallen back when all was quiet.
	asking, fellBack, fallBacks, retries, completions, settledFallenBack int
	// stepping counts the worlds in which users want steps, promotions and soaks the steps that ended by a user and by themselves,
	// aborts the releases and abortedRestarts the restarts that a user aborted, settledHeld how often a rollout waited when all was quiet,
	// and promotedToTheEnd how often it completed then.
	stepping, promotions, soaks, aborts, abortedRestarts, settledHeld, promotedToTheEnd int
}

func (t *tally) add(other *tally) {
	t.worlds++
	t.completed += other.completed
	t.superseded += other.superseded
	t.syncs += other.syncs
	t.writes += other.writes
	t.kills += other.kills
	t.faults += other.faults
	t.asking += other.asking
	t.fellBack += min(other.fallBacks, 1)
	t.fallBacks += other.fallBacks
	t.retries += other.retries
	t.completions += other.completions
	t.settledFallenBack += other.settledFallenBack
	t.stepping += other.stepping
	t.promotions += other.promotions
	t.soaks += other.soaks
	t.aborts += other.aborts
	t.abortedRestarts += other.abortedRestarts
	t.settledHeld += other.settledHeld
	t.promotedToTheEnd += other.promotedToTheEnd
}

// world is a cluster in which things happen at random.
type world struct {
	tally
	releases

	seed, number uint64
	random       *rand.Rand
	cluster      *cluster
	engine       *Engine
	shown        [watches]int
	pods         []*simulatedPod
	// isCalm means that pods do not fail and nobody meddles with the ReplicaSets, so that
	// what the engine believes to be true is at most outdated. Else anything goes.
	isCalm bool
	// isQuiet means that no faults happen any more.
	isQuiet bool
	noQuota bool
	// takesSteps means that users want steps, apart from when they change their minds.
	takesSteps bool
	// isScaling means that the engine takes a step of a scaling, which is the user's wish
	// and no rollout. While a release is fallen back, isRescaled does not mean that.
	isScaling, isRescaled bool
	// seen are the ReplicaSets on which the present step was planned, and ordered
	// what sizes they got since.
	seen         []*rollout.ReplicaSet
	ordered      map[string]int64
	writtenNotes map[types.UID]string // how releases ended, as the present step has noted
	planned      *rollout.Deployment
	wished       *wish                // of that
	assumed      *note                // that the engine takes for granted in this step; see assume
	isUnsure     bool                 // whether what completed last is a restart
	remembers    bool                 // that notes are kept, as of the present step
	key          types.NamespacedName // of the present step
	hasSeen      bool
	// knowsPods means that the engine has listed the pods.
	knowsPods bool

	begun         string // the image whose rollout is counted next
	statusWritten time.Time
	problem       string
	isLoud        bool
	story         []string
}

type simulatedPod struct {
	*corev1.Pod
	controller                 types.UID
	image                      string
	ready, terminating, failed bool
	readySince, made           time.Time
	wasReady                   bool
	shown                      string // what its status shows
}

// killed is the panic that ends the controller.
type killed struct{}

var simulationMetrics = newMetrics()

func newWorld(seed, number uint64) *world {
	w := &world{seed: seed, number: number, random: rand.New(rand.NewPCG(seed, number)), cluster: newCluster(time.Now)}
	w.isCalm = w.chance(.5)
	if w.releases = newReleases(w.chance(.5)); w.asks {
		w.asking++
	}
	if w.takesSteps = w.chance(.5); w.takesSteps {
		w.stepping++
	}
	w.cluster.dropsTerminating = w.chance(.1)
	w.cluster.refuse = func(write string) error {
		if w.look(); write == "deployment" {
			w.checkTemplate()
		}
		return w.fail(write, "is refused")
	}
	w.cluster.lose = func(write string) error {
		switch write {
		case "deployment/status":
			w.readStatus()
		case "list pods":
			w.readPods()
		}
		return w.fail(write, "is done, but nobody hears of it")
	}
	w.cluster.written = w.check
	w.startController()
	return w
}

func (w *world) chance(p float64) bool { return w.random.Float64() < p }

func (w *world) logf(format string, arguments ...any) {
	if w.isLoud {
		w.story = append(w.story, fmt.Sprintf("%8.3f ", time.Since(w.beginning()).Seconds())+fmt.Sprintf(format, arguments...))
	}
}

// beginning is when bubbles begin.
func (*world) beginning() time.Time { return time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC) }

func (w *world) fault(format string, arguments ...any) {
	if w.problem == "" {
		w.problem = fmt.Sprintf("seed %d, world %d: ", w.seed, w.number) + fmt.Sprintf(format, arguments...)
		w.logf("PROBLEM: %s", w.problem)
	}
}

func (w *world) deployment() *appsv1.Deployment { return w.cluster.deployments["web"] }

func (w *world) replicaSets() []*appsv1.ReplicaSet {
	if d := w.deployment(); d != nil {
		return w.cluster.replicaSetsOf(d)
	}
	return nil
}

// play returns what went wrong.
func (w *world) play() string {
	w.create()
	for chapter := range 12 {
		if w.asks && w.chance(.4) {
			w.askToFallBack()
		}
		if w.takesSteps && w.chance(.4) {
			w.askForSteps()
		}
		switch {
		case chapter == 0:
		case w.isFallenBack() && w.chance(.4):
			w.askAgain()
		case w.isAtStep() && w.chance(.6):
			w.meddleWithSteps()
		case w.takesSteps && w.chance(.03):
			w.abortARestart()
		case w.chance(.9):
			w.changeTemplate()
		}
		for range w.random.IntN(3) {
			w.meddle()
		}
		for range w.random.IntN(w.longest()) {
			if w.step(); w.problem != "" {
				return w.problem
			}
		}
		if w.chance(w.impatience()) {
			w.settle()
		}
		if w.problem != "" {
			return w.problem
		}
	}
	if w.deployment().Spec.Paused {
		w.changeDeployment("resumed", func(d *appsv1.Deployment) { d.Spec.Paused = false })
	}
	if w.settle(); w.problem == "" {
		w.promoteToTheEnd()
	}
	return w.problem
}

// create makes the Deployment, or makes it again.
func (w *world) create() {
	d := deploymentObject(int32(w.random.IntN(7)), pick(w, w.image(), "v1"))
	d.UID, d.Generation, d.Status = "", 1, appsv1.DeploymentStatus{}
	w.randomStrategy(d)
	if w.asks && w.chance(.9) {
		d.Annotations[onFailureAnnotation] = "fall-back"
	}
	if w.takesSteps && w.chance(.7) {
		d.Annotations[stepsAnnotation] = pick(w, goodSteps...)
	}
	w.cluster.put(d)
	w.begun, w.statusWritten = shortOf(&d.Spec.Template), time.Time{}
	w.logf("deployment of %s with %d, %s", w.begun, *d.Spec.Replicas, describe(&d.Spec.Strategy))
}

func imageOf(template *corev1.PodTemplateSpec) string { return template.Spec.Containers[0].Image }

func (w *world) image() string {
	if w.chance(.1) || w.asks && w.chance(.5) {
		return pick(w, slices.Sorted(maps.Keys(badImages))...)
	}
	return fmt.Sprintf("v%d", w.random.IntN(6))
}

func (w *world) randomStrategy(d *appsv1.Deployment) {
	switch d.Spec.Strategy = rolling(pick(w, "0", "1", "2", "25%", "100%"), pick(w, "0", "1", "25%", "50%", "100%")); {
	case w.chance(.2):
		recreated(d)
	}
}

func describe(strategy *appsv1.DeploymentStrategy) string {
	if rolling := strategy.RollingUpdate; rolling != nil {
		return fmt.Sprintf("surge %s, unavailable %s", rolling.MaxSurge, rolling.MaxUnavailable)
	}
	return string(strategy.Type)
}

func pick[T any](w *world, choices ...T) T { return choices[w.random.IntN(len(choices))] }

// countRollout counts the rollout that ends now, if it had begun.
func (w *world) countRollout(superseded bool) {
	for _, rs := range w.replicaSets() {
		if w.begun != "" && shortOf(&rs.Spec.Template) == w.begun {
			if superseded {
				w.superseded++
			} else {
				w.completed++
			}
			w.begun = ""
		}
	}
}

func (w *world) changeTemplate() {
	d := w.deployment()
	image := w.image()
	if d == nil || image == imageOf(&d.Spec.Template) {
		return
	}
	w.countRollout(true)
	w.begun = image
	w.changeDeployment("template "+image, func(d *appsv1.Deployment) { d.Spec.Template = templateOf(image) })
}

func (w *world) changeDeployment(what string, edit func(*appsv1.Deployment)) {
	if w.deployment() == nil {
		return
	}
	d := w.cluster.changeDeployment("web", edit)
	w.logf("user: %s (version %s)", what, d.ResourceVersion)
}

// meddle is what users do besides.
func (w *world) meddle() {
	type d = appsv1.Deployment
	if w.asks && w.chance(.4) {
		w.meddleWithReleases()
		return
	}
	if w.takesSteps && w.chance(.5) {
		w.meddleWithSteps()
		return
	}
	switch w.random.IntN(13) {
	case 0, 1, 2:
		replicas := int32(w.random.IntN(9))
		w.changeDeployment(fmt.Sprintf("scaled to %d", replicas), func(d *d) { d.Spec.Replicas = &replicas })
	case 3:
		w.changeDeployment("strategy", func(d *d) { w.randomStrategy(d) })
	case 4:
		w.changeDeployment("paused or resumed", func(d *d) { d.Spec.Paused = !d.Spec.Paused && w.chance(.5) })
	case 5:
		limit := pick(w, new(int32(0)), new(int32(1)), new(int32(2)), nil)
		w.changeDeployment("history limit", func(d *d) { d.Spec.RevisionHistoryLimit = limit })
	case 6:
		deadline := pick(w, new(int32(600)), new(int32(1)), new(int32(5)), nil)
		w.changeDeployment("deadline", func(d *d) { d.Spec.ProgressDeadlineSeconds = deadline })
	case 7:
		w.changeDeployment("annotation", func(d *d) { d.Annotations["note"] = pick(w, "a", "b") })
	case 8:
		revision := fmt.Sprint(w.random.IntN(6))
		w.changeDeployment("rollback to "+revision, func(d *d) { d.Annotations[rollout.RollbackAnnotation] = revision })
	case 9:
		w.collide()
	case 10:
		policy := pick(w, "", "TerminationComplete", "TerminationComplete", "unknown")
		w.changeDeployment("policy "+policy, func(d *d) { d.Annotations[replacementAnnotation] = policy })
	default:
		if !w.isCalm {
			w.meddleMore()
		}
	}
}

// collide takes the name of a ReplicaSet that is to come.
func (w *world) collide() {
	d := w.deployment()
	if d == nil {
		return
	}
	template := templateOf(w.image())
	name := rollout.ReplicaSetName("web", rollout.TemplateHash(&template, d.Status.CollisionCount))
	if _, taken := w.cluster.replicaSets[name]; taken {
		return
	}
	stranger := templateOf("stranger")
	stranger.Labels = map[string]string{"app": "other"}
	w.cluster.put(&appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: stranger.Labels, Annotations: map[string]string{}},
		Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32(0)), Template: stranger},
	})
	w.logf("user: a stranger takes the name %s", name)
}

// meddleMore is what users had better not do.
func (w *world) meddleMore() {
	sets := w.replicaSets()
	if len(sets) == 0 {
		return
	}
	rs := pick(w, sets...)
	switch w.random.IntN(7) {
	case 0:
		replicas := int32(w.random.IntN(9))
		w.logf("user: %s scaled to %d by hand", rs.Name, replicas)
		w.cluster.changeReplicaSet(rs, func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = &replicas })
	case 1:
		w.logf("user: %s is deleted", rs.Name)
		w.cluster.delete(rs)
	case 2:
		w.logf("user: %s is orphaned", rs.Name)
		w.cluster.changeReplicaSet(rs, func(rs *appsv1.ReplicaSet) { rs.OwnerReferences = nil })
	case 3:
		key := pick(w, desiredReplicasAnnotation, maxReplicasAnnotation, rollout.RevisionAnnotation, outcomeAnnotation)
		value := pick(w, "x", "0", "7", "-1", "99999999999", sets[0].Annotations[outcomeAnnotation])
		w.logf("user: %s gets %s=%s", rs.Name, key, value)
		w.cluster.changeReplicaSet(rs, func(rs *appsv1.ReplicaSet) { rs.Annotations[key] = value })
	case 4:
		seconds := int32(w.random.IntN(4))
		w.changeDeployment(fmt.Sprintf("%d seconds of readiness", seconds), func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = seconds })
	case 5:
		w.noQuota = !w.noQuota
		w.logf("quota for pods: %t", !w.noQuota)
	case 6:
		w.logf("user: the deployment is deleted and made again")
		w.countRollout(true)
		w.cluster.delete(w.deployment())
		for _, rs := range sets {
			w.cluster.changeReplicaSet(rs, func(rs *appsv1.ReplicaSet) { rs.OwnerReferences = nil })
		}
		w.create()
	}
}

// step lets one thing happen.
func (w *world) step() {
	switch n := w.random.IntN(100); {
	case n < 30:
		w.show(w.random.IntN(watches), 1+w.random.IntN(4))
	case n < 55:
		w.sync()
	case n < 70:
		if sets := w.replicaSets(); len(sets) > 0 {
			w.controlReplicaSet(pick(w, sets...))
		}
	case n < 88:
		w.runPods(1 + w.random.IntN(3))
	case n < 97:
		time.Sleep(time.Duration(w.random.IntN(150)) * time.Millisecond)
	case n < 98:
		time.Sleep(time.Duration(w.random.IntN(3000)) * time.Millisecond)
	case n < 99:
		w.logf("the watches list again")
		w.cluster.list(w.engine)
		w.catchUp()
		w.listPods()
	case w.chance(.3):
		w.restartController("restarted")
	case w.chance(.1):
		w.logf("the API server is replaced by one that has more defaults")
		w.cluster.setDefaults()
	}
}

func (w *world) catchUp() {
	for watch := range watches {
		w.shown[watch] = len(w.cluster.changes[watch])
	}
}

// listPods makes the pods known to the engine.
func (w *world) listPods() {
	w.knowsPods = true
	w.cluster.listPods(w.engine)
	w.shown[watchOfPods] = len(w.cluster.changes[watchOfPods])
	w.engine.wakeRecreated("")
}

// show shows changes to the engine, and returns whether there were any.
func (w *world) show(watch, n int) bool {
	if watch == watchOfPods && !w.knowsPods {
		return false
	}
	pending := w.cluster.changes[watch][w.shown[watch]:]
	pending = pending[:min(n, len(pending))]
	for _, ch := range pending {
		ch.show(w.engine)
	}
	w.shown[watch] += len(pending)
	return len(pending) > 0
}

func (w *world) startController() {
	w.engine = w.cluster.newEngine(simulationMetrics)
	w.cluster.list(w.engine)
	w.catchUp()
	w.statusWritten = time.Time{}
	clear(w.listed)
	if w.knowsPods = w.chance(.7); w.knowsPods {
		w.cluster.listPods(w.engine)
	}
}

func (w *world) restartController(how string) {
	w.kills++
	w.logf("the controller is %s", how)
	w.startController()
}

// sync lets the engine take a step, if it wants to. It returns whether it did.
func (w *world) sync() bool {
	queue := w.engine.queue
	key, found := queue.Get()
	if !found {
		return false
	}
	w.syncs++
	defer func() {
		if cause := recover(); cause != nil {
			if _, isKill := cause.(killed); !isKill {
				w.fault("panic: %v", cause)
				return
			}
			w.restartController("killed")
		}
	}()
	if w.isLoud {
		if d := w.engine.caches.deployments.get(key); d != nil {
			s := w.engine.caches.observe(d, w.engine.histories.of(key), time.Now())
			actions, wake := rollout.Plan(s)
			w.logf("sync on version %s: %v, wake %v", d.ResourceVersion, actions, wake)
		}
	}
	w.key, w.hasSeen = key, false
	w.engine.sync(context.Background(), key)
	queue.Done(key)
	return true
}

// look notes on what the present step was planned. It is called before its first write, and
// before the others.
func (w *world) look() {
	d := w.engine.caches.deployments.get(w.key)
	if w.hasSeen || d == nil {
		return
	}
	s := w.engine.caches.observe(d, writeHistory{}, time.Now())
	w.seen, w.ordered, w.writtenNotes, w.planned, w.hasSeen = s.ReplicaSets, map[string]int64{}, map[types.UID]string{}, d, true
	w.isRescaled, w.wished = isRescaled(s), wishOfPlanned(d)
	w.assume()
	w.readScaling()
}

func (w *world) readScaling() {
	notes, wish := w.knownNotes(), w.wished
	isFallenBack := wish.hasFailed(notes) && !wish.isTriedAgain(notes)
	p := w.knownPosition() // a scaling does not wait for a ReplicaSet that cannot be created
	w.isScaling = w.planned.Paused || w.isRescaled && !isFallenBack && (!p.isLimited() || p.present == "")
}

// isRescaled reports whether the size of a ReplicaSet was computed for another number of
// replicas.
func isRescaled(s *rollout.State) bool {
	return slices.ContainsFunc(s.ReplicaSets, func(rs *rollout.ReplicaSet) bool {
		desired, err := strconv.ParseInt(rs.Annotations[desiredReplicasAnnotation], 10, 64)
		return rs.Replicas > 0 && err == nil && desired != s.Deployment.Replicas
	})
}

// fail is what may go wrong with a write.
func (w *world) fail(write, how string) error {
	isDone := strings.HasPrefix(how, "is done")
	if !isDone && !strings.HasPrefix(write, "list") {
		w.writes++
		if strings.HasSuffix(write, "/status") {
			if now := time.Now(); now.Sub(w.statusWritten) < statusSpacing {
				w.fault("two status writes within %s", now.Sub(w.statusWritten))
			}
		}
	}
	if w.isQuiet || w.chance(.96) {
		if isDone && strings.HasSuffix(write, "/status") {
			w.statusWritten = time.Now()
		}
		return nil
	}
	w.faults++
	if w.chance(.4) {
		w.logf("the write of %s %s, and the controller killed", write, how)
		panic(killed{})
	}
	w.logf("the write of %s %s", write, how)
	if !isDone && write == "create" && w.chance(.5) {
		return apierrors.NewForbidden(appsv1.Resource("replicasets"), "web", fmt.Errorf("exceeded quota"))
	}
	return unavailable()
}

// controlReplicaSet is a step of the ReplicaSet controller. It returns whether
// there was anything to do.
func (w *world) controlReplicaSet(rs *appsv1.ReplicaSet) bool {
	status := w.statusOf(rs)
	hadFailed := w.adjustPods(rs)
	if w.isQuiet || w.chance(.5) {
		status = w.statusOf(rs)
	}
	if hadFailed {
		status.Conditions = []appsv1.ReplicaSetCondition{{
			Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota",
		}}
	}
	if isSameStatus(&rs.Status, &status) {
		return false
	}
	w.cluster.changeReplicaSet(rs, func(rs *appsv1.ReplicaSet) { rs.Status = status })
	w.logf("%s (%s) of %d: %d exist, %d ready, %d available", rs.Name, imageOf(&rs.Spec.Template), *rs.Spec.Replicas, status.Replicas, status.ReadyReplicas, status.AvailableReplicas)
	return true
}

func isSameStatus(a, b *appsv1.ReplicaSetStatus) bool {
	return a.Replicas == b.Replicas && a.ReadyReplicas == b.ReadyReplicas && a.AvailableReplicas == b.AvailableReplicas &&
		a.ObservedGeneration == b.ObservedGeneration && len(a.Conditions) == len(b.Conditions) &&
		(a.TerminatingReplicas == nil) == (b.TerminatingReplicas == nil) &&
		(a.TerminatingReplicas == nil || *a.TerminatingReplicas == *b.TerminatingReplicas)
}

func (w *world) podsOf(rs *appsv1.ReplicaSet) (pods []*simulatedPod) {
	for _, pod := range w.pods {
		if pod.controller == rs.UID {
			pods = append(pods, pod)
		}
	}
	return pods
}

func (w *world) statusOf(rs *appsv1.ReplicaSet) appsv1.ReplicaSetStatus {
	status := appsv1.ReplicaSetStatus{ObservedGeneration: rs.Generation}
	terminating := int32(0)
	for _, pod := range w.podsOf(rs) {
		switch {
		case pod.terminating:
			terminating++
		case !pod.failed:
			status.Replicas++
			if pod.ready {
				status.ReadyReplicas++
			}
			if w.isAvailable(pod, rs) {
				status.AvailableReplicas++
			}
		}
	}
	if !w.cluster.dropsTerminating {
		status.TerminatingReplicas = &terminating
	}
	return status
}

func (w *world) isAvailable(pod *simulatedPod, rs *appsv1.ReplicaSet) bool {
	return pod.ready && !pod.terminating && !pod.failed && time.Since(pod.readySince) >= time.Duration(rs.Spec.MinReadySeconds)*time.Second
}

// adjustPods makes and deletes pods, those that are not available first. It
// returns whether that failed.
func (w *world) adjustPods(rs *appsv1.ReplicaSet) (failed bool) {
	active := slices.DeleteFunc(w.podsOf(rs), func(pod *simulatedPod) bool { return pod.terminating || pod.failed })
	missing := int(*rs.Spec.Replicas) - len(active)
	for range missing {
		if w.noQuota {
			return true
		}
		w.newPod(rs)
	}
	slices.SortStableFunc(active, func(a, b *simulatedPod) int {
		switch first, second := w.isAvailable(a, rs), w.isAvailable(b, rs); {
		case first == second:
			return 0
		case second:
			return -1
		}
		return 1
	})
	for _, pod := range active[:max(-missing, 0)] {
		w.terminate(pod)
	}
	return false
}

func (w *world) newPod(rs *appsv1.ReplicaSet) {
	pod := &simulatedPod{Pod: &corev1.Pod{}, controller: rs.UID, image: imageOf(&rs.Spec.Template), made: time.Now()}
	if w.began[rs.UID].IsZero() {
		w.began[rs.UID] = pod.made
	}
	pod.Labels = rs.Spec.Template.Labels
	pod.Namespace, pod.Name = "ns", fmt.Sprintf("pod-%d", w.cluster.version)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	w.cluster.put(pod.Pod)
	w.pods = append(w.pods, pod)
}

// changePod shows a pod after a change.
func (w *world) changePod(pod *simulatedPod, edit func(*corev1.Pod)) {
	changed := *pod.Pod
	edit(&changed)
	w.cluster.put(&changed)
	pod.Pod = &changed
}

func (w *world) terminate(pod *simulatedPod) {
	pod.terminating = true
	w.changePod(pod, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} })
}

// runPods lets something happen to a few pods. It returns whether it did.
func (w *world) runPods(n int) (happened bool) {
	for range min(n, len(w.pods)) {
		i := w.random.IntN(len(w.pods))
		happened = w.runPod(w.pods[i]) || happened
		if w.pods[i].Pod == nil {
			w.pods = slices.Delete(w.pods, i, i+1)
		}
	}
	return happened
}

// runPod lets something happen to a pod. One that has gone loses its object.
func (w *world) runPod(pod *simulatedPod) bool {
	switch {
	case pod.terminating, pod.failed && (w.isQuiet || w.chance(.1)):
		w.cluster.delete(pod.Pod)
		pod.Pod = nil
	case pod.failed:
		return false
	case !w.hasController(pod):
		w.terminate(pod)
	case !pod.ready && w.neverReady(pod.image):
		return w.showPod(pod)
	case !pod.ready:
		pod.ready, pod.readySince = true, time.Now()
		w.showPod(pod)
	case w.showPod(pod): // since its image works by now
	case w.isCalm || w.isQuiet || w.chance(.8):
		return false
	case w.chance(.7):
		pod.ready, w.lost[pod.controller] = false, true
		w.showPod(pod)
	default:
		pod.failed = true
		w.changePod(pod, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	}
	return true
}

func (w *world) hasController(pod *simulatedPod) bool {
	for _, rs := range w.cluster.replicaSets {
		if rs.UID == pod.controller {
			return true
		}
	}
	return false
}

// check looks at each write of the engine to a ReplicaSet.
func (w *world) check(before, after *appsv1.ReplicaSet) {
	d := w.engine.caches.deployments.get(types.NamespacedName{Namespace: "ns", Name: "web"})
	if d != nil {
		w.checkRelease(before, after)
	}
	switch {
	case d == nil:
		w.fault("a write for a deployment that is not known")
	case after == nil:
		if *before.Spec.Replicas > 0 || before.Status.Replicas > 0 {
			w.fault("%s is deleted with its pods", before.Name)
		}
		if _, err := strconv.Atoi(d.Annotations[rollout.RollbackAnnotation]); err == nil {
			w.fault("%s is deleted while a rollback is asked for", before.Name)
		}
	case before == nil:
		w.checkCreation(d, after)
	case *before.Spec.Replicas < *after.Spec.Replicas:
		w.checkMore(d, after)
	case *before.Spec.Replicas > *after.Spec.Replicas:
		w.checkFewer(d, before, after)
	}
}

func (w *world) checkCreation(d *rollout.Deployment, created *appsv1.ReplicaSet) {
	for _, rs := range w.cluster.replicaSets {
		if w.isCalm && rs.Name != created.Name && shortOf(&rs.Spec.Template) == shortOf(&created.Spec.Template) {
			w.fault("%s and %s have one template", rs.Name, created.Name)
		}
	}
	w.checkMore(d, created)
}

// checkMore checks that there are never more than the wanted replicas and the
// surge by the engine's order.
func (w *world) checkMore(d *rollout.Deployment, after *appsv1.ReplicaSet) {
	total := int64(0)
	for _, rs := range w.cluster.replicaSets {
		if metav1.GetControllerOfNoCopy(rs) != nil && metav1.GetControllerOfNoCopy(rs).UID == d.UID {
			total += int64(*rs.Spec.Replicas)
		}
	}
	if w.isCalm && *after.Spec.Replicas > 0 && total > d.Replicas+d.Limits.MaxSurge {
		w.fault("%s gets %d, so that there are %d of at most %d", after.Name, *after.Spec.Replicas, total, d.Replicas+d.Limits.MaxSurge)
	}
	waits := d.Annotations[replacementAnnotation] == "TerminationComplete" && *after.Spec.Replicas > 0
	if present := w.occupied(after); w.isCalm && waits && present > d.Replicas+d.Limits.MaxSurge {
		w.fault("%s gets %d, so that there are %d with those that terminate, of at most %d", after.Name, *after.Spec.Replicas, present, d.Replicas+d.Limits.MaxSurge)
	}
	if w.isCalm && *after.Spec.Replicas > 0 && d.Strategy == appsv1.RecreateDeploymentStrategyType && !w.isScaling {
		for _, pod := range w.pods {
			known := w.engine.caches.pods.scopes[""] // nil if none are, for which it has to wait
			if (known == nil || known.pods[digest.Of(string(pod.UID))] != nil) && pod.controller != after.UID && !pod.failed && w.hasController(pod) {
				w.fault("%s gets %d while %s still runs", after.Name, *after.Spec.Replicas, pod.Name)
			}
		}
	}
}

// occupied returns how many pods there would be with a ReplicaSet that the engine has written, those that terminate
// included, as far as the engine knows.
func (w *world) occupied(after *appsv1.ReplicaSet) int64 {
	w.ordered[after.Name] = int64(*after.Spec.Replicas)
	total, unseen := int64(0), maps.Clone(w.ordered)
	for _, rs := range w.seen {
		size, changed := w.ordered[rs.Name]
		if !changed {
			size = rs.Replicas
		}
		total += max(size, rs.Existing)
		if rs.Terminating != nil {
			total += int64(*rs.Terminating)
		}
		delete(unseen, rs.Name)
	}
	for _, size := range unseen {
		total += size
	}
	return total
}

// checkFewer checks that a rolling update leaves enough pods available.
func (w *world) checkFewer(d *rollout.Deployment, before, after *appsv1.ReplicaSet) {
	if d.Strategy == appsv1.RecreateDeploymentStrategyType || w.isScaling {
		return
	}
	was, is, wasTrue, isTrue := int64(0), int64(0), int64(0), int64(0)
	w.ordered[after.Name] = int64(*after.Spec.Replicas)
	for _, rs := range w.seen {
		if !rs.Observed {
			continue // nothing is sure
		}
		was += min(rs.Available, rs.Replicas)
		if size, changed := w.ordered[rs.Name]; changed {
			is += min(rs.Available, size)
		} else {
			is += min(rs.Available, rs.Replicas)
		}
	}
	if is < min(was, d.Replicas-d.Limits.MaxUnavailable) {
		w.fault("%s gets %d, which leaves %d of %d available, of at least %d", after.Name, *after.Spec.Replicas, is, was, d.Replicas-d.Limits.MaxUnavailable)
	}
	if !w.isCalm {
		return
	}
	for _, rs := range w.replicaSets() {
		available := int64(0)
		for _, pod := range w.podsOf(rs) {
			if w.isAvailable(pod, rs) {
				available++
			}
		}
		isTrue += min(available, int64(*rs.Spec.Replicas))
		if rs.Name == after.Name {
			rs = before
		}
		wasTrue += min(available, int64(*rs.Spec.Replicas))
	}
	// What the engine does not know of may have become available and count as ill.
	if isTrue < min(was, wasTrue, d.Replicas-d.Limits.MaxUnavailable) {
		w.fault("%s gets %d, which truly leaves %d of %d available, of at least %d", after.Name, *after.Spec.Replicas, isTrue, wasTrue, d.Replicas-d.Limits.MaxUnavailable)
	}
}

// settle continues without faults until nothing happens any more, and
// looks whether all is as it should be.
func (w *world) settle() {
	w.logf("it gets quiet")
	w.isQuiet = true
	if !w.knowsPods {
		w.listPods()
	}
	defer func() { w.isQuiet = false }()
	w.noQuota = false
	for rounds, idle, looks := 0, 0, 0; idle < 3 && looks < 30; rounds++ {
		if rounds > 800 {
			w.fault("it does not settle")
		}
		if w.problem != "" {
			return
		}
		happened, writes := false, w.writes
		for watch := range watches {
			happened = w.show(watch, 1000) || happened
		}
		hasSynced := w.sync()
		happened = w.writes > writes || happened
		for _, rs := range w.replicaSets() {
			happened = w.controlReplicaSet(rs) || happened
		}
		for i := len(w.pods) - 1; i >= 0; i-- {
			happened = w.runPod(w.pods[i]) || happened
			if w.pods[i].Pod == nil {
				w.pods = slices.Delete(w.pods, i, i+1)
			}
		}
		switch next := w.engine.queue.NextDue(); {
		case happened:
			idle, looks = 0, 0
			time.Sleep(time.Millisecond)
		case hasSynced: // and has looked at the pods, which it may do for ever
			looks++
			time.Sleep(time.Millisecond)
		case !next.IsZero():
			time.Sleep(time.Until(next))
		default:
			idle++
			time.Sleep(5 * time.Second) // for pods to become available
		}
	}
	w.checkSettled()
}

func (w *world) checkSettled() {
	d := w.deployment()
	if d.Status.ObservedGeneration != d.Generation {
		w.fault("generation %d was not observed", d.Generation)
	}
	if _, asked := d.Annotations[rollout.RollbackAnnotation]; asked && !d.Spec.Paused {
		w.fault("the request for a rollback is left")
	}
	for _, ch := range d.Status.Conditions {
		if ch.Reason == rollout.ReasonCreateFailed && !d.Spec.Paused { // none is created meanwhile
			w.fault("the failure to create a replicaset is left")
		}
	}
	if d.Spec.Paused {
		return
	}
	isBad := w.neverReady(imageOf(&d.Spec.Template)) || w.isUnproven(d)
	current := 0
	w.checkRevisions(d)
	isFallenBack := w.checkReleaseSettled(d)
	isHeld := !isFallenBack && w.checkHeld(d)
	for _, rs := range w.replicaSets() {
		isCurrent := current == 0 && shortOf(&rs.Spec.Template) == shortOf(&d.Spec.Template)
		if isCurrent {
			current++
			if rs.Annotations[rollout.RevisionAnnotation] != d.Annotations[rollout.RevisionAnnotation] {
				w.fault("revision %s of the deployment, %s of its replicaset", d.Annotations[rollout.RevisionAnnotation], rs.Annotations[rollout.RevisionAnnotation])
			}
		}
		if want := *d.Spec.Replicas; !isBad && !isFallenBack && !isHeld && (isCurrent && *rs.Spec.Replicas != want || !isCurrent && *rs.Spec.Replicas != 0) {
			w.fault("%s (%s) has %d in the end, of %d", rs.Name, imageOf(&rs.Spec.Template), *rs.Spec.Replicas, want)
		}
	}
	if current != 1 {
		w.fault("there is no new replicaset")
	}
	switch {
	case isFallenBack, isHeld:
		return
	case isBad && *d.Spec.Replicas > 0:
		w.checkStuck(d)
		return
	}
	w.checkComplete(d)
}

// checkRevisions checks that the new ReplicaSet has the greatest revision.
func (w *world) checkRevisions(d *appsv1.Deployment) {
	latest, _ := strconv.Atoi(d.Annotations[rollout.RevisionAnnotation])
	for _, rs := range w.replicaSets() {
		revision, _ := strconv.Atoi(rs.Annotations[rollout.RevisionAnnotation])
		if w.isCalm && revision >= latest && shortOf(&rs.Spec.Template) != shortOf(&d.Spec.Template) {
			w.fault("revision %d of %s, and the deployment has %d", revision, rs.Name, latest)
		}
	}
}

// checkStuck checks the end of a rollout whose pods never become ready.
func (w *world) checkStuck(d *appsv1.Deployment) {
	progressing := conditionIn(&d.Status, appsv1.DeploymentProgressing)
	if d.Spec.ProgressDeadlineSeconds != nil && (progressing == nil || progressing.Reason != rollout.ReasonTimedOut && progressing.Reason != reasonComplete) {
		w.fault("a stuck rollout has not timed out: %+v", progressing)
	}
}

func (w *world) checkComplete(d *appsv1.Deployment) {
	if limit := d.Spec.RevisionHistoryLimit; limit != nil && len(w.replicaSets())-1-w.keptBesides(d) > int(*limit) {
		w.fault("a history of %d, of at most %d", len(w.replicaSets())-1, *limit)
	}
	n := *d.Spec.Replicas
	status := d.Status
	if status.Replicas != n || status.UpdatedReplicas != n || status.ReadyReplicas != n || status.AvailableReplicas != n || status.UnavailableReplicas != 0 {
		w.fault("status of %d replicas: %+v", n, status)
	}
	if !w.cluster.dropsTerminating && (status.TerminatingReplicas == nil || *status.TerminatingReplicas != 0) {
		w.fault("terminating replicas: %v", status.TerminatingReplicas)
	}
	if !hasCondition(&status, appsv1.DeploymentAvailable, reasonAvailable) {
		w.fault("it is not available: %+v", status.Conditions)
	}
	reason := reasonComplete
	if p := w.settledPosition(); n == 0 && (p.isNoted || w.keptBesides(d) > 0 && !p.isRestart) { // zero pods complete nothing
		reason = "ReplicaSetUpdated"
	}
	isEither := n == 0 && w.cluster.gracePeriod != nil // with more defaults, a template may be another one, or not
	if has := hasCondition(&status, appsv1.DeploymentProgressing, reason); has != (d.Spec.ProgressDeadlineSeconds != nil) && !isEither {
		w.fault("conditions %+v", status.Conditions)
	}
	if conditionIn(&status, appsv1.DeploymentReplicaFailure) != nil {
		w.fault("the replicasets' failure is left")
	}
	w.countRollout(false)
}
