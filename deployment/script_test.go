package deployment

import (
	"context"
	"errors"
	"flag"
	"fmt"
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
//	                        strategy, paused, deadline, history, rollback, minready
//	sync                    plan once and carry that out
//	run                     continue until there is nothing to do; all pods become available, in one
//	                        ReplicaSet at a time
//	pods IMAGE N            the ReplicaSet controller has made all pods; N are available
//	ending IMAGE N          N pods terminate; 0 ends them
//	wait DURATION           time passes
//	orphan                  delete the Deployment without its ReplicaSets
//	take-name IMAGE         somebody else has a ReplicaSet by the name that is next for the image
//	quota on|off            no ReplicaSets can be created
//
// Each step takes a second. Sizes are printed as IMAGE wanted/available.
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
}

func newStage() *stage {
	s := &stage{now: noon, quota: true}
	s.cluster = newCluster(func() time.Time { return s.now })
	s.cluster.refuse = func(write string) error {
		if write == "create" && !s.quota {
			return apierrors.NewForbidden(appsv1.Resource("replicasets"), "web", errors.New("exceeded quota"))
		}
		return nil
	}
	s.engine = s.cluster.newEngine(simulationMetrics)
	s.cluster.list(s.engine)
	s.cluster.listPods(s.engine)
	return s
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
	case "run":
		return s.run()
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
	default:
		panic("unknown setting " + key)
	}
}

func (s *stage) replicaSet(image string) *appsv1.ReplicaSet {
	for _, rs := range s.cluster.replicaSets {
		if imageOf(&rs.Spec.Template) == image {
			return rs
		}
	}
	panic("no replicaset of " + image)
}

// sync returns what was done, in words, and whether that was anything.
func (s *stage) sync() (printed string, acted bool) {
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
	s.history = writeHistory{}
	var out strings.Builder
	for _, action := range actions {
		fmt.Fprintf(&out, "  %s\n", action)
	}
	var creation *creationError
	switch _, err := s.engine.executor.apply(context.Background(), d, actions); {
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
		if n := *rs.Spec.Replicas; rs.Status.AvailableReplicas != n || rs.Status.Replicas != n || rs.Status.ObservedGeneration != rs.Generation {
			s.setPods(rs, n)
			return true
		}
	}
	return false
}

func (s *stage) setPods(rs *appsv1.ReplicaSet, available int32) {
	s.cluster.changeReplicaSet(rs, func(rs *appsv1.ReplicaSet) {
		rs.Status = appsv1.ReplicaSetStatus{
			ObservedGeneration: rs.Generation, Replicas: *rs.Spec.Replicas, ReadyReplicas: available, AvailableReplicas: available, TerminatingReplicas: new(int32(0)),
		}
	})
}

func (s *stage) endPods(rs *appsv1.ReplicaSet, n int32) {
	for _, pod := range s.cluster.pods {
		s.cluster.delete(pod)
	}
	for i := range n {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: fmt.Sprint("pod-", i), DeletionTimestamp: &metav1.Time{Time: s.now},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
		}}
		s.cluster.put(pod)
	}
}

func (s *stage) orphan() {
	sets := s.cluster.replicaSetsOf(s.deployment())
	s.cluster.delete(s.deployment())
	for _, rs := range sets {
		s.cluster.changeReplicaSet(rs, func(rs *appsv1.ReplicaSet) { rs.OwnerReferences = nil })
	}
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
		words = append(words, fmt.Sprintf("%s %d/%d", imageOf(&rs.Spec.Template), *rs.Spec.Replicas, rs.Status.AvailableReplicas))
	}
	slices.Sort(words)
	return "= " + strings.Join(words, ", ") + "\n"
}
