package parity

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// kubectl on top: its words and its exit codes are the same.
var kubectlScenarios = []scenario{
	{"kubectl rollout", func(s *scene) {
		s.kubectl("create", "deployment", "web", "--image=i:1", "--replicas=2")
		web := workload{scene: s, name: "web", app: "web"}
		web.change(rolling(1, 0))
		web.await(complete)
		s.kubectl("annotate", "deployment/web", "kubernetes.io/change-cause=the first")
		s.nextSecond()
		s.kubectl("set", "image", "deployment/web", "i=i:2")
		s.lastWords("rollout", "status", "deployment/web")
		web.settle("set image")
		s.kubectl("annotate", "deployment/web", "kubernetes.io/change-cause=the second", "--overwrite")
		web.checkpoint("annotated")
		s.kubectl("rollout", "history", "deployment/web")
		s.kubectl("rollout", "history", "deployment/web", "--revision=1")
		s.kubectl("rollout", "undo", "deployment/web")
		s.lastWords("rollout", "status", "deployment/web")
		web.settle("undone")
		s.kubectl("rollout", "history", "deployment/web")
		s.kubectl("rollout", "undo", "deployment/web", "--to-revision=2")
		s.lastWords("rollout", "status", "deployment/web")
		web.settle("undone to a revision")
		s.kubectl("rollout", "history", "deployment/web")
		s.tryKubectl("rollout", "undo", "deployment/web", "--to-revision=77")
		s.tryKubectl("rollout", "undo", "deployment/web", "--to-revision=4")
		web.settle("nothing to undo")
		s.kubectl("describe", "deployment/web")
	}},
	{"kubectl rollout restart", func(s *scene) {
		web := s.create()
		web.await(complete)
		s.nextSecond()
		s.kubectl("rollout", "restart", "deployment/web")
		s.lastWords("rollout", "status", "deployment/web")
		web.settle("restarted")
		s.nextSecond()
		s.kubectl("rollout", "restart", "deployment/web")
		s.lastWords("rollout", "status", "deployment/web")
		web.settle("restarted again")
		s.kubectl("rollout", "undo", "deployment/web", "--to-revision=1")
		s.lastWords("rollout", "status", "deployment/web")
		web.settle("undone")
	}},
	{"kubectl rollout pause and resume", func(s *scene) {
		web := s.create()
		web.await(complete)
		s.kubectl("rollout", "pause", "deployment/web")
		s.tryKubectl("rollout", "pause", "deployment/web")
		s.nextSecond()
		s.kubectl("set", "image", "deployment/web", "c=i:2")
		s.kubectl("set", "resources", "deployment/web", "--limits=cpu=200m")
		s.tryKubectl("rollout", "restart", "deployment/web")
		s.tryKubectl("rollout", "undo", "deployment/web")
		web.await(observed)
		web.checkpoint("changed while paused")
		s.kubectl("rollout", "resume", "deployment/web")
		s.lastWords("rollout", "status", "deployment/web")
		web.settle("resumed")
		s.kubectl("rollout", "history", "deployment/web", "--revision=2")
	}},
	{"kubectl rollout status reports a rollout that is stuck", func(s *scene) {
		web := s.create(deadline(1))
		web.await(complete)
		web.roll(image("i:2"), held)
		web.await(timedOut(1))
		s.tryKubectl("rollout", "status", "deployment/web")
		s.tryKubectl("rollout", "status", "deployment/web", "--revision=1")
		s.kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=60s")
		s.tryKubectl("wait", "--for=condition=Progressing", "deployment/web", "--timeout=1s")
		s.kubectl("describe", "deployment/web")
		web.checkpoint("stuck")
		web.change(deadline(600))
		s.kubectl("rollout", "undo", "deployment/web")
		s.lastWords("rollout", "status", "deployment/web")
		web.settle("undone")
	}},
	{"kubectl scale and apply", func(s *scene) {
		web := s.create()
		web.await(complete)
		s.kubectl("scale", "deployment/web", "--replicas=5")
		web.settle("scaled")
		s.tryKubectl("scale", "deployment/web", "--current-replicas=3", "--replicas=7")
		s.kubectl("patch", "deployment/web", "--type=json", `--patch=[{"op":"replace","path":"/spec/replicas","value":1}]`)
		web.settle("patched")
		s.nextSecond()
		s.kubectl("patch", "deployment/web", `--patch={"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i:2"},{"name":"d","image":"i:d"}]}}}}`)
		web.settle("a second container")
		s.kubectl("get", "deployments,replicasets", "--no-headers", "--output=custom-columns=NAME:.metadata.name,WANTED:.spec.replicas,READY:.status.readyReplicas")
		s.kubectl("delete", "deployment/web", "--cascade=orphan")
		s.await("the ReplicaSets are orphans", orphaned(2))
		s.checkpoint("orphans")
	}},
}

// kubectl runs kubectl on both sides, which must answer the same, and returns the
// answer. It ends the scenario if kubectl fails.
func (s *scene) kubectl(arguments ...string) string {
	s.Helper()
	answers := s.tryKubectl(arguments...)
	if answers.err != "" {
		s.Fatalf("kubectl %v: %s", arguments, answers.err)
	}
	return answers.output
}

type answer struct{ output, err string }

// tryKubectl is kubectl that may fail, on both sides in the same way.
func (s *scene) tryKubectl(arguments ...string) answer {
	s.Helper()
	return s.compareKubectl(arguments, func(words string) string { return words })
}

func (s *scene) compareKubectl(arguments []string, compared func(words string) string) answer {
	s.Helper()
	var answers [2]answer
	s.both(fmt.Sprintf("kubectl %v", arguments), func(ctx context.Context, on *side) error {
		output, err := on.cluster.Kubectl(ctx, append([]string{"--namespace", s.namespace}, arguments...)...)
		a := answer{output: compared(withoutOwn(on, output))}
		if err != nil {
			a.err = withoutOwn(on, err.Error())
		}
		if on == s.sides[0] {
			answers[0] = a
		} else {
			answers[1] = a
		}
		return nil
	})
	if answers[0] != answers[1] {
		s.Fatalf("kubectl %v answers differently (- %s, + %s):\n%s%s\ndifferences now:\n%s", arguments, s.sides[0].name, s.sides[1].name,
			cmp.Diff(answers[0].output, answers[1].output), cmp.Diff(answers[0].err, answers[1].err), s.difference())
	}
	return answers[0]
}

// lastWords is the last line of what kubectl says, the same on both sides. The
// lines before it may report steps that depend on timing.
func (s *scene) lastWords(arguments ...string) {
	s.Helper()
	s.compareKubectl(arguments, func(words string) string {
		lines := strings.Split(strings.TrimSpace(words), "\n")
		return lines[len(lines)-1]
	})
}

// Of what kubectl describe shows, times and ages are left out, and the widths of
// columns that depend on them; counts are not.
var timesInWords = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`  +`), "  "},
	{regexp.MustCompile(`--+`), "--"},
	{regexp.MustCompile(`(CreationTimestamp: +)\S.*`), "${1}TIME"},
	{regexp.MustCompile(`com\.xing\.deployment-restart\.origin: .*\n +`), ""}, // which kubectl rollout undo has copied
	{regexp.MustCompile(`((?:Normal|Warning) +\S+ +)[0-9smh]+( \(x[0-9]+ over )?(?:[0-9smh]+\))? +`), "${1}AGE${2} "},
}

// withoutOwn leaves out of kubectl's words what cannot be the same on both sides.
func withoutOwn(on *side, words string) string {
	return withoutTimes(strings.ReplaceAll(words, on.cluster.Directory(), "DIRECTORY"))
}

func withoutTimes(words string) string {
	for _, time := range timesInWords {
		words = time.pattern.ReplaceAllString(words, time.instead)
	}
	return words
}
