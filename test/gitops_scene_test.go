package test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"text/template"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/test/harness"
)

// What a GitOps repository holds, as templates of a Helm chart. The pods are held until
// [scene.startPodsSlowly] lets them run.
const (
	repository = repositoryConfig + repositoryWorkload

	repositoryConfig = `apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  used: {{ .Values.used }}
---
`
	repositoryWorkload = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
  annotations:
    com.xing.deployment-restart: enabled
spec:
  selector:
    matchLabels:
      app: app
  template:
    metadata:
      labels:
        app: app
      annotations: {{ .Values.annotations }}
    spec:
      schedulingGates:
        - name: ` + gate + `
      containers:
        - name: main
          image: example/main:{{ .Values.tag }}
          envFrom:
            - configMapRef:
                name: settings
`
)

// commit is one state of the repository: what the config holds, the tag of the image and the
// annotations of the pod template, as JSON.
type commit struct{ used, tag, annotations string }

const (
	none = "{}"
	team = `{"example.com/team":"shop"}`
)

// write renders a commit into a file.
func (s *scene) write(text string, c commit) (path string) {
	s.Helper()
	path = filepath.Join(s.TempDir(), "manifests.yaml")
	file, err := os.Create(path)
	s.must(err)
	values := map[string]string{"used": c.used, "tag": c.tag, "annotations": c.annotations}
	s.must(template.Must(template.New("").Parse(text)).Execute(file, map[string]any{"Values": values}))
	s.must(file.Close())
	return path
}

// with returns arguments and one more.
func with(arguments []string, more string) []string {
	return append(slices.Clip(arguments), more)
}

// A syncer brings a commit to the cluster, and returns what the tool printed.
type syncer func(s *scene, c commit) (output string)

// kubectlSyncer is a syncer that runs kubectl.
func kubectlSyncer(arguments ...string) syncer {
	return func(s *scene, c commit) string {
		s.Helper()
		return s.kubectl(with(arguments, "--filename="+s.write(repository, c))...)
	}
}

// helmSyncer is a syncer that runs Helm with a chart of these templates.
func helmSyncer(templates string, arguments ...string) syncer {
	return func(s *scene, c commit) string {
		s.Helper()
		chart := s.TempDir()
		s.must(os.Mkdir(filepath.Join(chart, "templates"), 0o700))
		s.must(os.WriteFile(filepath.Join(chart, "Chart.yaml"), []byte("apiVersion: v2\nname: app\nversion: 1.0.0\n"), 0o600))
		s.must(os.WriteFile(filepath.Join(chart, "templates", "all.yaml"), []byte(templates), 0o600))
		all := append([]string{"upgrade", "--install", "app", chart, "--set-string", "used=" + c.used + ",tag=" + c.tag,
			"--set-literal", "annotations=" + c.annotations}, arguments...)
		return string(s.helmIn(s.namespace, all...))
	}
}

// newSyncedScene opens a scene with a controller whose grace period is longer than a sync
// takes, and brings the first commit to the cluster.
func newSyncedScene(t *testing.T, sync syncer) (s *scene, app workload, started state) {
	t.Helper()
	s = newSceneApart(t)
	s.grace = 3 * time.Second
	s.startController()
	s.startPodsSlowly()
	sync(s, commit{"v1", "1", none})
	app = deployment("app")
	started = s.started(app)
	s.letTimePass()
	return s, app, started
}

// slowStart is how old a held pod is, by the whole seconds of its creation, when it may run.
const slowStart = 3 * time.Second

// startPodsSlowly lets held pods run a while after their creation, as pods do whose image is
// pulled. Within a second of an edit, nobody could say whether a pod has read it.
func (s *scene) startPodsSlowly() {
	s.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s.Context().Err() == nil {
			_ = harness.Eventually(s.Context(), waitLimit, s.letOldGo) // it never succeeds, and ends with the test
		}
	}()
	s.Cleanup(func() { <-done })
}

// letOldGo lets all held pods run that are old enough. It returns an error so that it is called again.
func (s *scene) letOldGo(ctx context.Context) error {
	pods, err := s.client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if len(pod.Spec.SchedulingGates) == 0 || time.Since(pod.CreationTimestamp.Time) < slowStart {
			continue
		}
		_, err := s.client.CoreV1().Pods(s.namespace).Patch(ctx, pod.Name, types.MergePatchType,
			[]byte(`{"spec":{"schedulingGates":null}}`), metav1.PatchOptions{})
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("further pods may come")
}

// awaitIdle waits until the controller has dealt with all that its watches have shown.
func (s *scene) awaitIdle() {
	s.Helper()
	s.eventually("the controller is idle", s.controller.Idle)
}

// requireOneRestart fails the test unless a workload restarts once, and nothing else is written
// to it.
func (s *scene) requireOneRestart(app workload, since state) state {
	s.Helper()
	s.awaitRestart(app, since)
	s.awaitIdle()
	return s.requireRestarts(app, since, 1)
}

// requireOneRelease fails the test unless a commit has caused one rollout and a record of what
// its pods have read, without a restart beside it.
func (s *scene) requireOneRelease(app workload, last state) state {
	s.Helper()
	s.awaitRecordAfter(app, last)
	s.awaitRollout(app)
	st := s.now(app)
	if st.restartedAt() != last.restartedAt() || st.revisions != last.revisions+1 {
		s.Fatalf("restarted at %q, %d revisions; before that %q, %d", st.restartedAt(), st.revisions, last.restartedAt(), last.revisions)
	}
	return st
}

// awaitRecordAfter waits until the controller has written another record, and is idle.
func (s *scene) awaitRecordAfter(app workload, last state) {
	s.Helper()
	s.await("has another record", app, func(st state) error {
		if st.Annotations[basisAnnotation] == last.Annotations[basisAnnotation] {
			return fmt.Errorf("its basis is still %s", st.Annotations[basisAnnotation])
		}
		return nil
	})
	s.awaitIdle()
}

// requireNothingUndone fails the test if the controller has seen a restart or a record undone.
func (s *scene) requireNothingUndone() {
	s.Helper()
	for _, message := range []string{"a restart was reverted", "RecordUndone"} {
		if lines := s.controller.Log().Containing(message); len(lines) > 0 {
			s.Errorf("the log says %q", lines)
		}
	}
	if got := s.metric("records_undone_total", nil); got != 0 {
		s.Errorf("%v records were undone", got)
	}
}
