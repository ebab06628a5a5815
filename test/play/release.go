package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

// What a person types.
const (
	makeStepped = `kubectl apply -f - <<END
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations:
    com.xing.deployment-restart.steps: "1, 25%, 50%"
    com.xing.deployment-restart.on-failure: fall-back
spec:
  replicas: 8
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example/app:1"}]}
END`
	badImage  = "example/app:2"
	setImage  = "kubectl set image deployment/web web="
	promote   = "kubectl restarts promote deployment/web"
	askPods   = "kubectl get pods -l app=web"
	askStatus = `kubectl rollout status deployment/web --timeout=30s; echo "exit code $?"`
)

// releaseStory is what happens to a Deployment whose releases take steps.
type releaseStory struct {
	*story
	narrator *narrator
	signs    signs
}

// demoRollout plays the story of a bad and a good release. It returns an error unless it saw every step happen.
func demoRollout(ctx context.Context, out io.Writer, signs signs) error {
	n, s := newNarrator(out), &stage{limit: stepLimit}
	return s.perform(ctx, n, func() error {
		n.detail("A sign is a pod:  %s is ready   %s is not", signs[current], signs[broken])
		if err := tell(ctx, n, s, (&releaseStory{newStory(s), n, signs}).steps()); err != nil {
			return err
		}
		n.gap()
		n.say("every step was seen: the bad release broke one pod of 8, and the good one reached all of them")
		return nil
	})
}

func (s *releaseStory) steps() []step {
	return []step{
		{"a Deployment of 8 pods asks for steps, and to fall back if a release fails", "",
			s.types(makeStepped, "created", "successfully progressed", 8)},
		{"somebody releases a bad version: one pod has it", "", s.types(setImage+badImage, "updated", "waits at step 1 of 3 (1)", 7, 1)},
		{"this pod crashes: the release falls back, and the other 7 never notice", "", s.breaks},
		{"kubectl says that the release has failed", "", s.types(askStatus, "exit code 1", "CrashLoopBackOff", 8, 0)},
		{"somebody releases a good version: one pod has it", "", s.types(setImage+"example/app:3", "updated", "waits at step 1 of 3 (1)", 7, 0, 1)},
		{"a person promotes it to 25% of the pods", "", s.types(promote, "step 1", "waits at step 2 of 3 (25%)", 6, 0, 2)},
		{"a person promotes it to 50%", "", s.types(promote, "step 2", "waits at step 3 of 3 (50%)", 4, 0, 4)},
		{"a person promotes it to all", "", s.types(promote, "step 3", "successfully progressed", 0, 0, 8)},
		{"kubectl says that the release is complete", "", s.types(askStatus, "exit code 0", "successfully progressed", 0, 0, 8)},
	}
}

// types returns a step: a command line that prints something, and what a condition says then, with which sizes of the ReplicaSets.
func (s *releaseStory) types(line, prints, says string, sizes ...int32) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if _, err := s.print(ctx, line, prints); err != nil {
			return "", err
		}
		return s.follow(ctx, says, sizes...)
	}
}

// breaks makes the pod of the bad release crash, and sees that no other pod was replaced or restarted.
func (s *releaseStory) breaks(ctx context.Context) (string, error) {
	before, err := s.print(ctx, askPods, "Running")
	if err != nil {
		return "", err
	}
	s.narrator.detail("The simulated pods have no program: the demo reports the crash, as a kubelet would.\n" +
		"The engine looks at the pods when a rollout has made no progress for 15 seconds.")
	heal, err := harness.CrashPods(ctx, s.client, namespace, func(pod *corev1.Pod) bool { return pod.Spec.Containers[0].Image == badImage })
	if err != nil {
		return "", err
	}
	s.stage.cleanups = append(s.stage.cleanups, heal)
	if _, err := s.follow(ctx, "CrashLoopBackOff", 8, 0); err != nil {
		return "", err
	}
	after, err := s.print(ctx, askPods, "Running")
	kept := 0
	for line := range strings.Lines(after) {
		if f := strings.Fields(line); len(f) == 5 && f[1] == "1/1" && f[3] == "0" && strings.Contains(before, f[0]+" ") {
			kept++
		}
	}
	if err == nil && kept != 7 {
		err = fmt.Errorf("%d pods have run since before the crash, want 7", kept)
	}
	return "", err
}

// print shows a command line and what it prints. It is an error unless that contains a text.
func (s *releaseStory) print(ctx context.Context, line, want string) (string, error) {
	s.narrator.detail("$ %s", line)
	output, err := s.stage.cluster.RunShell(ctx, "exec 2>&1\n"+line)
	s.narrator.detail("%s", trimmed(output))
	if err == nil && !strings.Contains(output, want) {
		err = fmt.Errorf("%s does not print %q", line, want)
	}
	return output, err
}

// follow draws the pods of each ReplicaSet whenever they change, until the ReplicaSets have these sizes, 8 pods are available, and
// a condition says this. It returns the condition's message.
func (s *releaseStory) follow(ctx context.Context, says string, sizes ...int32) (message string, err error) {
	drawn := ""
	err = harness.Eventually(ctx, s.stage.limit, func(ctx context.Context) error {
		d, err := s.deployment(ctx) // first: what is drawn last is not older
		if err != nil {
			return err
		}
		sets, err := s.replicaSets(ctx)
		if err != nil {
			return err
		}
		var picture string
		var now []int32
		for i := range sets {
			size, ready := *sets[i].Spec.Replicas, sets[i].Status.ReadyReplicas
			pods := strings.Repeat(s.signs[current], int(ready)) + strings.Repeat(s.signs[broken], int(max(0, size-ready)))
			picture, now = picture+fmt.Sprintf("%s: %d %-11s", sets[i].Name, size, pods), append(now, size)
		}
		if picture != drawn {
			s.narrator.say("%s", trimmed(picture))
			drawn = picture
		}
		i := slices.IndexFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return strings.Contains(c.Message, says) })
		if i < 0 || !slices.Equal(now, sizes) || d.Status.AvailableReplicas != 8 {
			return fmt.Errorf("the ReplicaSets want %v pods, not %v, or no condition says %q: %+v", now, sizes, says, d.Status)
		}
		message = d.Status.Conditions[i].Message
		return nil
	})
	return message, err
}
