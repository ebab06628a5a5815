package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// observer follows the workloads of all kinds, the ReplicaSets and the pods at the API server
// itself, version by version. After the API server was killed, it continues where it was
// if the new one lets it; otherwise it lists and reports the gap.
type observer struct {
	client  kubernetes.Interface
	objects dynamic.Interface
	judge   *judge
	gaps    atomic.Int64

	mu       sync.Mutex
	versions map[string]int // by resource
}

var observed = []string{"deployments", "statefulsets", "daemonsets", gadgets.Resource, "replicasets", "pods"}

// observe begins to observe everything, and returns when all has been listed once.
func (o *observer) observe(ctx context.Context) error {
	for _, resource := range observed {
		f := &following{observer: o, resource: resource, known: map[types.UID]metav1.Object{}}
		if err := f.list(ctx); err != nil {
			return err
		}
		go f.run(ctx)
	}
	return nil
}

// counts returns how many versions of each resource were seen.
func (o *observer) counts() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.versions)
}

func (f *following) count() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.versions[f.resource]++
}

// following is the observation of one resource.
type following struct {
	*observer
	resource string
	known    map[types.UID]metav1.Object // those that exist
	version  uint64                      // up to which everything was seen
	behind   bool                        // versions may have been missed since
}

func (f *following) rest() rest.Interface {
	if f.resource == "pods" {
		return f.client.CoreV1().RESTClient()
	}
	return f.client.AppsV1().RESTClient()
}

func (f *following) all(ctx context.Context) (runtime.Object, error) {
	if f.resource == gadgets.Resource {
		return f.objects.Resource(gadgets).List(ctx, metav1.ListOptions{})
	}
	return f.rest().Get().Resource(f.resource).Do(ctx).Get()
}

func (f *following) watch(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
	if f.resource == gadgets.Resource {
		return f.objects.Resource(gadgets).Watch(ctx, options)
	}
	return f.rest().Get().Resource(f.resource).VersionedParams(&options, scheme.ParameterCodec).Watch(ctx)
}

func (f *following) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := f.follow(ctx); err != nil {
			f.behind = true
		}
		for f.behind && ctx.Err() == nil {
			if err := f.list(ctx); err != nil {
				pause(ctx, 100*time.Millisecond)
			}
		}
	}
}

func pause(ctx context.Context, duration time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(duration):
	}
}

// follow shows the judge what changes until the stream ends. An error means that the
// API server does not know any more what has changed since.
func (f *following) follow(ctx context.Context) error {
	options := metav1.ListOptions{Watch: true, AllowWatchBookmarks: true, ResourceVersion: strconv.FormatUint(f.version, 10)}
	stream, err := f.watch(ctx, options)
	if err != nil {
		pause(ctx, 100*time.Millisecond)
		return answered(err)
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		if event.Type == apiwatch.Error {
			return answered(fmt.Errorf("watch %s: %w", f.resource, apierrors.FromObject(event.Object)))
		}
		object, err := meta.Accessor(event.Object)
		if err != nil {
			return fmt.Errorf("watch %s: %w", f.resource, err)
		}
		f.version = versionOf(object)
		f.count()
		switch event.Type {
		case apiwatch.Added, apiwatch.Modified:
			f.known[object.GetUID()] = object
			f.judge.see(object, false)
		case apiwatch.Deleted:
			delete(f.known, object.GetUID())
			f.judge.forget(object)
		}
	}
	return nil
}

// list shows the judge how everything is now, and what is gone since.
func (f *following) list(ctx context.Context) error {
	list, err := f.all(ctx)
	if err != nil {
		return fmt.Errorf("list %s: %w", f.resource, err)
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return fmt.Errorf("list %s: %w", f.resource, err)
	}
	version, err := strconv.ParseUint(accessor.GetResourceVersion(), 10, 64)
	if err != nil {
		return fmt.Errorf("list %s: %w", f.resource, err)
	}
	missing := f.known
	f.known = map[types.UID]metav1.Object{}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		delete(missing, object.GetUID())
		f.known[object.GetUID()] = object
		return nil
	})
	if err != nil {
		return fmt.Errorf("list %s: %w", f.resource, err)
	}
	for _, object := range missing { // first, since others may have come in their names
		f.judge.forget(object)
	}
	for _, object := range f.known {
		if versionOf(object) > f.version {
			f.judge.see(object, true)
		}
	}
	if f.version > 0 {
		f.gaps.Add(1)
		f.judge.gap(f.version, version)
	}
	f.version, f.behind = version, false
	return nil
}

// answered keeps an error that the API server has answered with: another attempt would
// get the same. One that could not be reached is to be asked again.
func answered(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code == http.StatusGone {
		return err
	}
	return nil
}
