package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	catalogannotation "kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/test/harness"
)

// What the readers share.
const (
	readerCount  = 20
	sharedConfig = "app-config"
	sharedKey    = "LOG_LEVEL"
	firstContent = "info"
)

const sharedManifest = `apiVersion: v1
kind: ConfigMap
metadata:
  name: app-config
data:
  LOG_LEVEL: info
`

const readerManifest = `---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
  annotations:
    com.xing.deployment-restart: enabled
spec:
  replicas: 2
  selector:
    matchLabels:
      app: %[1]s
  template:
    metadata:
      labels:
        app: %[1]s
    spec:
      containers:
        - name: app
          image: example/app:1
          envFrom:
            - configMapRef:
                name: app-config
`

func readerName(number int) string { return fmt.Sprintf("app-%02d", number) }

func fleetManifest() []byte {
	var manifest strings.Builder
	manifest.WriteString(sharedManifest)
	for i := range readerCount {
		fmt.Fprintf(&manifest, readerManifest, readerName(i+1))
	}
	return []byte(manifest.String())
}

// reader is a Deployment that reads the ConfigMap.
type reader struct {
	restartedAt string
	content     string // with which it was restarted last
	isRolling   bool   // since it was restarted, or made
	isRecorded  bool
	condition   condition
}

// look updates the readers. It is called often enough to see a restart before the ConfigMap
// is edited again.
func (s *fanOutStory) look(ctx context.Context) error {
	deployments, err := s.client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list Deployments: %w", err)
	}
	pods, err := s.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	for i := range deployments.Items {
		s.lookAt(&deployments.Items[i], pods.Items)
	}
	return nil
}

func (s *fanOutStory) lookAt(deployment *appsv1.Deployment, pods []corev1.Pod) {
	r, found := s.readers[deployment.Name]
	if !found {
		r = &reader{content: firstContent, isRolling: true}
		s.readers[deployment.Name] = r
	}
	if at := restartedAt(deployment); at != r.restartedAt {
		r.restartedAt, r.content, r.isRolling = at, s.content, true
		s.noteRestart(deployment.Name, time.Now())
	}
	r.isRolling = r.isRolling && !isRolledOut(deployment) // a record changes the generation, too
	r.isRecorded = deployment.Annotations[catalogannotation.ChecksumsAnnotation] != ""
	isCrashing := func(pod corev1.Pod) bool {
		return pod.Labels[appLabel] == deployment.Name && harness.IsCrashing(&pod)
	}
	switch {
	case slices.ContainsFunc(pods, isCrashing):
		r.condition = broken
	case r.isRolling:
		r.condition = rolling
	case r.content != s.content:
		r.condition = old
	default:
		r.condition = current
	}
}

// fleet returns the conditions of the readers in the order of their names.
func (s *fanOutStory) fleet() []condition {
	var fleet []condition
	for i := range readerCount {
		if r, found := s.readers[readerName(i+1)]; found {
			fleet = append(fleet, r.condition)
		}
	}
	return fleet
}

// follow draws the fleet whenever it changes, until the condition comes true.
func (s *fanOutStory) follow(ctx context.Context, until func(context.Context) error) error {
	var drawn []condition
	return harness.Eventually(ctx, s.stage.limit, func(ctx context.Context) error {
		if err := s.look(ctx); err != nil {
			return err
		}
		if fleet := s.fleet(); !slices.Equal(fleet, drawn) {
			s.narrator.say("%s", s.signs.draw(fleet))
			drawn = fleet
		}
		return until(ctx)
	})
}

// require returns an error unless so many readers are in a condition.
func (s *fanOutStory) require(condition condition, count int) error {
	is := 0
	for _, r := range s.readers {
		if r.condition == condition {
			is++
		}
	}
	if is != count {
		return fmt.Errorf("%d of %d Deployments look like this: %s; want %d", is, len(s.readers), plain[condition], count)
	}
	return nil
}

func (s *fanOutStory) requireRecords() error {
	for _, r := range s.readers {
		if !r.isRecorded {
			return errors.New("not all Deployments have a record of their checksums")
		}
	}
	return nil
}
