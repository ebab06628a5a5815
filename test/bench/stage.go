package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/test/harness"
)

const (
	protobuf = "application/vnd.kubernetes.protobuf"

	withoutStreamingLists = "--kube-apiserver-flag=--feature-gates=WatchList=false"
)

// stage is a cluster with the controller's permissions in place.
type stage struct {
	cluster      *harness.Cluster
	installation *harness.Installation
	client       kubernetes.Interface // the administrator's, without limits
}

// onStage runs a measurement in a cluster of its own, which in a quick run it shares with others.
func (b *bench) onStage(ctx context.Context, measure func(*stage) error) (err error) {
	if !b.quick {
		return b.onOwnStage(ctx, measure)
	}
	if b.shared == nil {
		if b.shared, err = b.openStage(ctx); err != nil {
			return err
		}
	}
	return measure(b.shared)
}

// onOwnStage runs a measurement in a cluster of its own in a quick run, too.
func (b *bench) onOwnStage(ctx context.Context, measure func(*stage) error, clusterFlags ...string) error {
	s, err := b.openStage(ctx, clusterFlags...)
	if err != nil {
		return err
	}
	return errors.Join(measure(s), s.cluster.Stop())
}

func (b *bench) closeShared() error {
	if b.shared == nil {
		return nil
	}
	return b.shared.cluster.Stop()
}

func (b *bench) openStage(ctx context.Context, clusterFlags ...string) (*stage, error) {
	b.progress.say("starting a cluster of etcd and kube-apiserver %s", clusterFlags)
	cluster, err := harness.StartCluster(ctx, harness.ClusterOptions{
		Arguments: append([]string{"--components=etcd,kube-apiserver"}, clusterFlags...),
	})
	if err != nil {
		return nil, err
	}
	s := &stage{cluster: cluster}
	if err := s.install(ctx, "rbac.yaml"); err != nil {
		return nil, errors.Join(err, cluster.Stop())
	}
	return s, nil
}

func (s *stage) install(ctx context.Context, names ...string) error {
	manifests, err := harness.Manifests(names...)
	if err != nil {
		return err
	}
	if s.installation, err = s.cluster.Install(ctx, manifests); err != nil {
		return err
	}
	s.client, err = newClient(s.cluster.Config())
	return err
}

// newClient makes a client that costs as little as one can.
func newClient(config *rest.Config) (kubernetes.Interface, error) {
	config.QPS = -1
	config.ContentType = protobuf
	config.AcceptContentTypes = protobuf + ",application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return client, nil
}

func (s *stage) makeNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := s.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create namespace %s: %w", name, err)
	}
	return nil
}

// withController runs an act with a controller that is ready, and stops it.
func (s *stage) withController(ctx context.Context, act func(*harness.Controller) error, flags ...string) error {
	controller, err := s.installation.StartController(ctx, flags...)
	if err != nil {
		return err
	}
	return errors.Join(act(controller), controller.Stop())
}

// graceFlag makes the controller's grace period that of the rows which measure
// with defaults: only a quick run has another.
func (b *bench) graceFlag() string {
	return graceFlag(b.grace)
}

func graceFlag(grace time.Duration) string {
	return "--restart-grace-period=" + strconv.Itoa(int(grace.Seconds()))
}
