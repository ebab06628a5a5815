package deployment

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// maxReviewed is how many ReplicaSets are read at most when some of them differ from the
// cache.
const maxReviewed = 50

// confirm reads a Deployment from the API server before its new ReplicaSet is created, and
// also the ReplicaSets that may already be the new one. An API server that has replaced an
// older one can have defaults for new fields of templates. Objects cached before the
// replacement then look different from objects cached later, although nobody has changed
// anything, and all pods would be replaced. If the plan does not fit what confirm has read, it
// returns errMovedOn, and the caches have the newer objects. The template is that of the latest
// revision before, nil if there is none.
func (x *executor) confirm(ctx context.Context, d *rollout.Deployment) (*appsv1.Deployment, *corev1.PodTemplateSpec, error) {
	object, err := persistently(func() (*appsv1.Deployment, error) {
		return x.apps.Deployments(d.Namespace).Get(ctx, d.Name, metav1.GetOptions{})
	})
	switch {
	case apierrors.IsNotFound(err):
		x.caches.deployments.answerGone(&d.Meta)
		return nil, nil, fmt.Errorf("%w: the deployment is gone", errMovedOn)
	case err != nil:
		return nil, nil, fmt.Errorf("get deployment %s: %w", d.Key(), err)
	}
	live := rollout.NewDeployment(object)
	x.caches.deployments.answer(live)
	if live.UID != d.UID || live.Generation != d.Generation || live.Sum != d.Sum || live.Deleting {
		return nil, nil, fmt.Errorf("%w: the deployment", errMovedOn)
	}
	before, err := x.review(ctx, live)
	return object, before, err
}

// review reads two ReplicaSets of a Deployment. If one of them differs from the cache, it also
// reads the others, because a new default concerns all of them, and returns errMovedOn. The
// two are the ReplicaSet of the latest revision, which must not be mistaken for an old one,
// and the one that has been in the cache for the longest time: if it has all defaults, so have
// the ones that came later.
func (x *executor) review(ctx context.Context, d *rollout.Deployment) (before *corev1.PodTemplateSpec, err error) {
	sets := x.caches.replicaSetsOf(d) // the oldest first
	if len(sets) == 0 {
		return nil, nil
	}
	latest := slices.MaxFunc(sets, rollout.ByRevision)
	sets = slices.DeleteFunc(sets, func(rs *rollout.ReplicaSet) bool { return rs == latest })
	sets = append([]*rollout.ReplicaSet{latest}, sets[:min(len(sets), maxReviewed)]...)
	for i, rs := range sets {
		object, err := x.glance(ctx, rs)
		switch {
		case err != nil:
			return nil, err
		case object == nil: // it shows nothing; check the next one
			continue
		case i == 0:
			before = &object.Spec.Template
		}
		if live := rollout.NewReplicaSet(object); live.Sum != rs.Sum || live.Sum == d.Sum {
			return nil, x.lookAtAll(ctx, sets)
		}
		if i > 0 {
			break
		}
	}
	return before, nil
}

// lookAtAll updates ReplicaSets in the cache.
func (x *executor) lookAtAll(ctx context.Context, sets []*rollout.ReplicaSet) error {
	for _, rs := range sets {
		if _, err := x.lookAtReplicaSet(ctx, rs.Key()); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: templates have other defaults", errMovedOn)
}

// glance reads a ReplicaSet from the API server's memory, which costs little but may be
// outdated. It returns nil if the ReplicaSet does not exist.
func (x *executor) glance(ctx context.Context, rs *rollout.ReplicaSet) (*appsv1.ReplicaSet, error) {
	object, err := persistently(func() (*appsv1.ReplicaSet, error) {
		return x.apps.ReplicaSets(rs.Namespace).Get(ctx, rs.Name, metav1.GetOptions{ResourceVersion: "0"})
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get replicaset %s: %w", rs.Key(), err)
	}
	if object.UID == rs.UID {
		return object, nil
	}
	return nil, nil
}

// maxReads is how often a read is tried at most.
const maxReads = 3

// persistently retries a read immediately after a transient failure, unless it took too long.
// A creation needs several reads first. While some requests fail, it would seldom happen if
// each read had to succeed at the first attempt.
func persistently[T any](read func() (T, error)) (T, error) {
	for reads := 1; ; reads++ {
		value, err := read()
		mayPass := apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apiclient.IsUnanswered(err) && !utilnet.IsTimeout(err)
		if !mayPass || reads == maxReads {
			return value, err
		}
	}
}

// original is the part of a ReplicaSet that a rollback needs. Its template is exactly as the
// API server sent it, and may have fields that this program does not know.
type original struct {
	Metadata struct {
		UID types.UID `json:"uid"`
	} `json:"metadata"`
	Spec struct {
		Template map[string]any `json:"template"`
	} `json:"spec"`
}

// readOriginal reads a ReplicaSet in JSON. It removes the label that makes the template
// different from the Deployment's.
func (x *executor) readOriginal(ctx context.Context, key types.NamespacedName) (*original, error) {
	body, err := x.apps.RESTClient().Get().Namespace(key.Namespace).Resource("replicasets").Name(key.Name).
		SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // a float64 cannot hold every int64
	read := &original{}
	if err := decoder.Decode(read); err != nil {
		return nil, fmt.Errorf("decode replicaset %s: %w", key, err)
	}
	unstructured.RemoveNestedField(read.Spec.Template, "metadata", "labels", rollout.HashLabel)
	return read, nil
}
