package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	catalogannotation "kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/test/harness"
)

const (
	// fanOutStepLimit is longer than that of other stories, whose steps restart one Deployment.
	fanOutStepLimit = 2 * time.Minute
	// roundLimit is how much later than the first restart of a round another one may be. The
	// next round begins after the soak, which is longer.
	roundLimit = time.Second
)

// fanOutFlags make the story short: the default grace period is 5 seconds, and the default
// soak 30.
var fanOutFlags = []string{"--fan-out=gradual", "--restart-grace-period=1", "--restart-soak=2s"}

// demoFanOut plays the story of a bad and a good config that many share. It returns an error
// unless it saw every step happen.
func demoFanOut(ctx context.Context, out io.Writer, signs signs) error {
	n := newNarrator(out)
	s := &stage{limit: fanOutStepLimit}
	return s.perform(ctx, n, func() error {
		story := &fanOutStory{
			stage: s, client: s.cluster.Client(), narrator: n, signs: signs,
			content: firstContent, readers: make(map[string]*reader),
		}
		if err := tell(ctx, n, s, story.steps()); err != nil {
			return err
		}
		n.gap()
		n.say("every step was seen: the bad content broke one Deployment of %d, and the good content reached all of them", readerCount)
		return nil
	}, fanOutFlags...)
}

// fanOutStory is what happens to Deployments that read one ConfigMap.
type fanOutStory struct {
	stage    *stage
	client   kubernetes.Interface
	narrator *narrator
	signs    signs

	content string // of the ConfigMap
	readers map[string]*reader
	heal    func() error // ends the crashes
	broken  string       // the reader that restarted with the bad content

	restarted []string // since the ConfigMap was edited last, in this order
	rounds    []round
}

// round is a group of restarts that began together.
type round struct {
	began time.Time
	count int
}

func (s *fanOutStory) steps() []step {
	return []step{
		{fmt.Sprintf("%d Deployments read one ConfigMap", readerCount), "", s.apply},
		{"somebody sets a log level that the program does not know, so it will crash when it starts", "", s.editBadly},
		{"the controller restarts one Deployment first, and its new pods crash", "", s.oneBreaks},
		{fmt.Sprintf("the controller halts: the other %d do not restart, and an Event says what to do", readerCount-1), "", s.halted},
		{"a person reverts the ConfigMap", "", s.revert},
		{"the broken Deployment restarts and runs; the others never stopped running", "", s.recovers},
		{"somebody sets a log level that works", "", s.editWell},
		{"one Deployment restarts first, and each one that runs for a while lets more of them follow", "", s.reachesAll},
	}
}

func (s *fanOutStory) apply(ctx context.Context) (string, error) {
	if _, err := s.stage.cluster.Apply(ctx, fleetManifest()); err != nil {
		return "", err
	}
	if err := s.kubectl(ctx, "get", "configmap", sharedConfig, "-o", "jsonpath={.data}"); err != nil {
		return "", err
	}
	s.narrator.gap()
	s.narrator.detail("%s", s.signs.legend())
	err := s.follow(ctx, func(ctx context.Context) error {
		return errors.Join(s.require(current, readerCount), s.requireRecords(), s.stage.controller.Idle(ctx))
	})
	if err != nil {
		return "", err
	}
	// Timestamps are whole seconds: no pod may seem to have started after the edit.
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(2 * time.Second):
		return "", nil
	}
}

func (s *fanOutStory) editBadly(ctx context.Context) (seen string, err error) {
	s.narrator.detail("The simulated pods have no program: the demo reports their crashes, as a kubelet would.")
	s.heal, err = harness.CrashPods(ctx, s.client, namespace, func(pod *corev1.Pod) bool {
		return pod.Annotations[catalogannotation.TimestampAnnotation] != ""
	})
	if err != nil {
		return "", err
	}
	s.stage.cleanups = append(s.stage.cleanups, s.heal)
	return "", s.edit(ctx, "lots")
}

func (s *fanOutStory) oneBreaks(ctx context.Context) (string, error) {
	err := s.follow(ctx, func(context.Context) error {
		return errors.Join(s.require(broken, 1), s.require(old, readerCount-1))
	})
	if err != nil {
		return "", err
	}
	s.broken = s.restarted[0]
	return "", s.kubectl(ctx, "get", "pods", "-l", appLabel+"="+s.broken)
}

func (s *fanOutStory) halted(ctx context.Context) (string, error) {
	s.narrator.detail("It looks at the pods when a rollout has made no progress for 15 seconds.")
	err := s.follow(ctx, func(ctx context.Context) error {
		return errors.Join(s.requireEvents(ctx, "RestartsHalted", "halted", 1), s.requireEvents(ctx, "RestartHeld", "", readerCount-1))
	})
	if err != nil {
		return "", err
	}
	if err := s.kubectl(ctx, "events", "--for", "configmap/"+sharedConfig); err != nil {
		return "", err
	}
	s.narrator.gap()
	s.narrator.detail("Each of the %d others has an Event, too:", readerCount-1)
	if err := s.kubectl(ctx, "events", "--for", "deployment/"+readerName(readerCount), "--types=Normal"); err != nil {
		return "", err
	}
	return "", s.requireRestarts(s.broken)
}

func (s *fanOutStory) revert(ctx context.Context) (string, error) {
	if err := s.heal(); err != nil {
		return "", err
	}
	return "", s.edit(ctx, firstContent)
}

func (s *fanOutStory) recovers(ctx context.Context) (string, error) {
	err := s.follow(ctx, func(ctx context.Context) error {
		return errors.Join(s.require(current, readerCount), s.requireMetric(ctx, "restarts_delivered_total", 1))
	})
	if err != nil {
		return "", err
	}
	return "", s.requireRestarts(s.broken)
}

func (s *fanOutStory) editWell(ctx context.Context) (string, error) {
	return "", s.edit(ctx, "debug")
}

func (s *fanOutStory) reachesAll(ctx context.Context) (string, error) {
	finished := fmt.Sprintf("finished: %d delivered", readerCount)
	err := s.follow(ctx, func(ctx context.Context) error {
		return errors.Join(s.require(current, readerCount), s.requireEvents(ctx, "FanOut", finished, 1),
			s.requireMetric(ctx, "deployment_restarts_total", readerCount+2))
	})
	if err != nil {
		return "", err
	}
	var counts []string
	for _, round := range s.rounds {
		counts = append(counts, strconv.Itoa(round.count))
	}
	s.narrator.detail("Restarts that began together: %s", strings.Join(counts, ", "))
	return "", s.kubectl(ctx, "events", "--for", "configmap/"+sharedConfig, "--types=Normal")
}

// edit changes the ConfigMap.
func (s *fanOutStory) edit(ctx context.Context, content string) error {
	s.content, s.restarted, s.rounds = content, nil, nil
	return s.kubectl(ctx, "patch", "configmap", sharedConfig, "-p", fmt.Sprintf(`{"data":{%q:%q}}`, sharedKey, content))
}

// noteRestart notes that a reader was restarted.
func (s *fanOutStory) noteRestart(name string, at time.Time) {
	s.restarted = append(s.restarted, name)
	if last := len(s.rounds) - 1; last >= 0 && at.Sub(s.rounds[last].began) < roundLimit {
		s.rounds[last].count++
		return
	}
	s.rounds = append(s.rounds, round{at, 1})
}

// requireRestarts returns an error unless just this reader was restarted since the last edit.
func (s *fanOutStory) requireRestarts(name string) error {
	if !slices.Equal(s.restarted, []string{name}) {
		return fmt.Errorf("want one restart, of %s, but these restarted: %v", name, s.restarted)
	}
	return nil
}

// requireEvents returns an error unless there are so many Events with the reason and a
// message that begins like this.
func (s *fanOutStory) requireEvents(ctx context.Context, reason, message string, count int) error {
	events, err := s.client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=" + reason})
	if err != nil {
		return fmt.Errorf("list events: %w", err)
	}
	found := 0
	for i := range events.Items {
		if strings.HasPrefix(events.Items[i].Message, message) {
			found++
		}
	}
	if found != count {
		return fmt.Errorf("there are %d Events %s, want %d", found, reason, count)
	}
	return nil
}

func (s *fanOutStory) requireMetric(ctx context.Context, name string, want float64) error {
	value, err := s.stage.controller.Metric(ctx, name, nil)
	if err == nil && value != want {
		err = fmt.Errorf("%s is %.0f, want %.0f", name, value, want)
	}
	return err
}

// kubectl shows a command and what it prints.
func (s *fanOutStory) kubectl(ctx context.Context, arguments ...string) error {
	command := []string{"$ kubectl"}
	for _, argument := range arguments {
		if strings.ContainsAny(argument, `{"* `) {
			argument = "'" + argument + "'"
		}
		command = append(command, argument)
	}
	s.narrator.detail("%s", strings.Join(command, " "))
	output, err := s.stage.cluster.Kubectl(ctx, arguments...)
	if err == nil {
		s.narrator.detail("%s", trimmed(output))
	}
	return err
}
