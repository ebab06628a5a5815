package deployment

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

var update = flag.Bool("update", false, "write what the rollout scripts print into them")

// The scripts describe rollouts step by step. A line that begins with > is a
// command; what follows is what it prints.
//
//	deployment KEY=VALUE…   create or change the Deployment: replicas, image, surge, unavailable,
//	                        strategy, paused, deadline, history, rollback, minready, on-failure,
//	                        retry, pod-replacement-policy, steps, step-soak, steps-for, promote, abort, restart
//	sync                    plan once and carry that out
//	cut N                   plan once, and the engine is killed after N actions; another one starts
//	run                     continue until there is nothing to do; all pods become available, in one
//	                        ReplicaSet at a time, unless those of its image show something else
//	settle                  run, and print only what remains
//	pods IMAGE N            the ReplicaSet controller has made all pods; N are available
//	show IMAGE CONDITION    what pods of the image show that are not available: unstarted, hanging,
//	                        crash, config or image; restarted: all of them have restarted twice; fine:
//	                        they become available
//	ending IMAGE N          N pods terminate; 0 ends them
//	wait DURATION           time passes
//	orphan                  delete the Deployment without its ReplicaSets
//	take-name IMAGE         somebody else has a ReplicaSet by the name that is next for the image
//	quota on|off            no ReplicaSets can be created
//	forbid-runs             an admission policy forbids the annotation that says what runs
//	undo IMAGE              kubectl rollout undo to the ReplicaSet of the image
//	backup                  the engine stands by for another controller
//	state                   print the template and its generation, the conditions, and how releases ended
//
// Each step takes a second. Sizes are printed as IMAGE wanted/available. IMAGE+TIME is the image's template
// after a restart.
func TestRolloutsFollowTheScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/rollouts/*.txt")
	if err != nil || len(scripts) < 10 {
		t.Fatalf("%d scripts, error %v", len(scripts), err)
	}
	for _, path := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			played := newStage().play(string(text))
			if *update {
				if err := os.WriteFile(path, []byte(played), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			expect(t, "script", strings.Split(string(text), "\n"), strings.Split(played, "\n"))
		})
	}
}

// stage is where a script is played.
type stage struct {
	now         time.Time
	cluster     *cluster
	engine      *Engine
	history     writeHistory
	shown       [watches]int
	eventsShown int
	quota       bool
	sights      map[string]string // of images
}

func newStage() *stage {
	s := &stage{now: noon, quota: true, sights: map[string]string{}}
	s.cluster = newCluster(func() time.Time { return s.now })
	s.cluster.refuse = func(write string) error {
		if write == "create" && !s.quota {
			return apierrors.NewForbidden(appsv1.Resource("replicasets"), "web", errors.New("exceeded quota"))
		}
		return nil
	}
	s.startEngine()
	return s
}

// startEngine starts an engine that knows nothing but what it lists.
func (s *stage) startEngine() {
	isBackup := s.engine != nil && s.engine.caches.isBackup
	s.engine, s.history = s.cluster.newEngine(simulationMetrics), writeHistory{}
	s.engine.caches.isBackup = isBackup
	s.cluster.list(s.engine)
	s.cluster.listPods(s.engine)
	for watch := range watches {
		s.shown[watch] = len(s.cluster.changes[watch])
	}
}

// play returns the script with what its commands print.
func (s *stage) play(script string) string {
	var out strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		case strings.HasPrefix(line, ">"):
			out.WriteString("\n" + line + "\n" + s.do(strings.Fields(line[1:])))
		}
	}
	return out.String()
}

func (s *stage) do(command []string) string {
	s.now = s.now.Add(time.Second)
	switch arguments := command[1:]; command[0] {
	case "deployment":
		s.setDeployment(arguments)
	case "sync":
		printed, _ := s.sync()
		return printed
	case "cut":
		printed, _ := s.syncUpTo(int(number(arguments[0])))
		s.startEngine()
		return printed
	case "run":
		return s.run()
	case "settle":
		s.run()
		return s.sizes()
	case "pods":
		s.setPods(s.replicaSet(arguments[0]), number(arguments[1]))
		return s.sizes()
	case "ending":
		s.endPods(s.replicaSet(arguments[0]), number(arguments[1]))
	case "wait":
		s.now = s.now.Add(must(time.ParseDuration(arguments[0])))
	case "orphan":
		s.orphan()
	case "take-name":
		s.takeName(arguments[0])
	case "quota":
		s.quota = arguments[0] == "on"
	case "forbid-runs":
		s.cluster.forbidsRuns = true
	case "show":
		s.sights[arguments[0]] = arguments[1]
		s.showPods()
	case "undo":
		s.undo(s.replicaSet(arguments[0]))
	case "backup":
		s.engine.caches.isBackup = true
	case "state":
		return s.state()
	default:
		panic("unknown command " + command[0])
	}
	return ""
}

func number(text string) int32 { return int32(must(strconv.Atoi(text))) }

func (s *stage) deployment() *appsv1.Deployment { return s.cluster.deployments["web"] }

func (s *stage) setDeployment(settings []string) {
	set := func(d *appsv1.Deployment) {
		for _, setting := range settings {
			key, value, _ := strings.Cut(setting, "=")
			apply(d, key, value)
		}
	}
	if s.deployment() != nil {
		s.cluster.changeDeployment("web", set)
		return
	}
	d := deploymentObject(1, "v1")
	d.UID, d.Generation, d.Status = "", 1, appsv1.DeploymentStatus{}
	set(d)
	s.cluster.put(d)
}

func apply(d *appsv1.Deployment, key, value string) {
	rollingUpdate := func() *appsv1.RollingUpdateDeployment {
		copied := *d.Spec.Strategy.RollingUpdate
		d.Spec.Strategy.RollingUpdate = &copied
		return &copied
	}
	switch key {
	case "replicas":
		d.Spec.Replicas = new(number(value))
	case "image":
		d.Spec.Template = templateOf(value)
	case "surge":
		rollingUpdate().MaxSurge = limit(value)
	case "unavailable":
		rollingUpdate().MaxUnavailable = limit(value)
	case "strategy":
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.DeploymentStrategyType(value)}
	case "paused":
		d.Spec.Paused = value == "true"
	case "deadline":
		d.Spec.ProgressDeadlineSeconds = new(number(value))
	case "history":
		d.Spec.RevisionHistoryLimit = new(number(value))
	case "minready":
		d.Spec.MinReadySeconds = number(value)
	case "rollback":
		d.Annotations[rollout.RollbackAnnotation] = value
	case "pod-replacement-policy", "on-failure", "retry", "steps", "step-soak", "steps-for", "promote", "abort":
		key = "com.xing.deployment-restart." + key
		if d.Annotations[key] = value; value == "" {
			delete(d.Annotations, key)
		}
	case "restart":
		d.Spec.Template = *d.Spec.Template.DeepCopy()
		d.Spec.Template.Annotations = map[string]string{restartedAt: value}
	default:
		panic("unknown setting " + key)
	}
}

const (
	// restartedAt is what kubectl rollout restart sets on a pod template.
	restartedAt = "kubectl.kubernetes.io/restartedAt"
	// outcomeAnnotation is how a rollout ended, on its ReplicaSet.
	outcomeAnnotation = "com.xing.deployment-restart.outcome"
)

// shortOf names a pod template.
func shortOf(template *corev1.PodTemplateSpec) string {
	if at := template.Annotations[restartedAt]; at != "" {
		return imageOf(template) + "+" + at
	}
	return imageOf(template)
}

func (s *stage) replicaSet(name string) *appsv1.ReplicaSet {
	for _, rs := range s.cluster.replicaSets {
		if shortOf(&rs.Spec.Template) == name {
			return rs
		}
	}
	panic("no replicaset of " + name)
}

// sync returns what was done, in words, and whether that was anything.
func (s *stage) sync() (printed string, acted bool) { return s.syncUpTo(math.MaxInt) }

// syncUpTo carries out no more than some actions.
func (s *stage) syncUpTo(most int) (printed string, acted bool) {
	for watch := range watches {
		for _, ch := range s.cluster.changes[watch][s.shown[watch]:] {
			ch.show(s.engine)
		}
		s.shown[watch] = len(s.cluster.changes[watch])
	}
	d := s.engine.caches.deployments.get(types.NamespacedName{Namespace: "ns", Name: "web"})
	if d == nil {
		return "  no deployment\n", false
	}
	actions, wake := rollout.Plan(s.engine.caches.observe(d, s.history, s.now))
	actions = actions[:min(most, len(actions))]
	s.history.creation = rollout.CreationFailure{}
	var out strings.Builder
	for _, action := range actions {
		fmt.Fprintf(&out, "  %s\n", strings.TrimRight(action.String(), " "))
	}
	done, err := s.engine.executor.apply(context.Background(), d, actions)
	s.history.record(actions[:done], s.now)
	var creation *creationError
	switch {
	case errors.As(err, &creation):
		s.history.creation = creation.CreationFailure
		fmt.Fprintf(&out, "  failed: %v\n", err)
	case errors.Is(err, errMovedOn):
		out.WriteString("  to be planned again\n")
	case err != nil:
		panic(err)
	}
	for _, event := range s.cluster.events[s.eventsShown:] {
		fmt.Fprintf(&out, "  event %s\n", event)
	}
	s.eventsShown = len(s.cluster.events)
	if !wake.IsZero() {
		fmt.Fprintf(&out, "  again in %s\n", wake.Sub(s.now))
	}
	if len(actions) == 0 {
		out.WriteString("  nothing to do\n")
	}
	return out.String() + s.sizes(), len(actions) > 0
}

// run lets the pods of one ReplicaSet come and go whenever there is nothing to do.
func (s *stage) run() string {
	var out strings.Builder
	for range 100 {
		printed, acted := s.sync()
		if !acted && !s.obey() {
			return out.String()
		}
		if acted {
			out.WriteString(printed)
		}
		s.now = s.now.Add(time.Second)
	}
	return out.String() + "  and so on\n"
}

// obey brings the pods of the first ReplicaSet that has others than it wants up to
// date. It returns false if there is no such ReplicaSet.
func (s *stage) obey() bool {
	for _, rs := range s.cluster.replicaSetsOf(s.deployment()) {
		n := *rs.Spec.Replicas
		working := n
		if sight := s.sights[imageOf(&rs.Spec.Template)]; sight != "" && sight != "fine" && sight != restarted {
			working = 0
		}
		if rs.Status.AvailableReplicas != working || rs.Status.Replicas != n || rs.Status.ObservedGeneration != rs.Generation {
			s.setPods(rs, working)
			return true
		}
	}
	return false
}

func (s *stage) orphan() {
	sets := s.cluster.replicaSetsOf(s.deployment())
	s.cluster.delete(s.deployment())
	for _, rs := range sets {
		s.cluster.changeReplicaSet(rs, func(rs *appsv1.ReplicaSet) { rs.OwnerReferences = nil })
	}
}

// undo does as kubectl does: it copies the annotations of a ReplicaSet, too.
func (s *stage) undo(to *appsv1.ReplicaSet) {
	kept := []string{
		corev1.LastAppliedConfigAnnotation, rollout.RevisionAnnotation, revisionHistoryAnnotation, desiredReplicasAnnotation, maxReplicasAnnotation, rollout.RollbackAnnotation,
	}
	s.cluster.changeDeployment("web", func(d *appsv1.Deployment) {
		annotations := maps.Clone(to.Annotations)
		for _, key := range kept {
			delete(annotations, key)
			if value, found := d.Annotations[key]; found {
				annotations[key] = value
			}
		}
		d.Annotations = annotations
		d.Spec.Template = *to.Spec.Template.DeepCopy()
		delete(d.Spec.Template.Labels, rollout.HashLabel)
	})
}

// state prints what clients see.
func (s *stage) state() string {
	var out strings.Builder
	d := s.deployment()
	fmt.Fprintf(&out, "  template %s, generation %d\n", shortOf(&d.Spec.Template), d.Generation)
	said := ""
	for i := range d.Status.Conditions {
		c := &d.Status.Conditions[i]
		message := c.Message
		if message == said {
			message = "the same"
		}
		said = c.Message
		fmt.Fprintf(&out, "  %s=%s (%s): %s\n", c.Type, c.Status, c.Reason, message)
	}
	for _, rs := range s.cluster.replicaSetsOf(d) {
		if ended := rs.Annotations[outcomeAnnotation]; ended != "" {
			fmt.Fprintf(&out, "  %s: %s\n", shortOf(&rs.Spec.Template), ended)
		}
	}
	return out.String()
}

func (s *stage) takeName(image string) {
	template, stranger := templateOf(image), templateOf("stranger")
	stranger.Labels = map[string]string{"app": "other"}
	s.cluster.put(&appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: rollout.ReplicaSetName("web", rollout.TemplateHash(&template, s.deployment().Status.CollisionCount)), Labels: stranger.Labels},
		Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32(0)), Template: stranger},
	})
}

func (s *stage) sizes() string {
	d := s.deployment()
	if d == nil {
		return ""
	}
	var words []string
	for _, rs := range s.cluster.replicaSetsOf(d) {
		words = append(words, fmt.Sprintf("%s %d/%d", shortOf(&rs.Spec.Template), *rs.Spec.Replicas, rs.Status.AvailableReplicas))
	}
	slices.Sort(words)
	return "= " + strings.Join(words, ", ") + "\n"
}
