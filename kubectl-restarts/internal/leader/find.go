package leader

import (
	"context"
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/status"
)

// find returns how to ask the leader, and its name.
func (l *Leader) find(ctx context.Context) (source, string, error) {
	if l.place.URL != "" {
		page, err := newDirect(l.place.URL)
		return page, l.place.URL, err
	}
	pod, err := l.pod(ctx)
	if err != nil {
		return nil, "", err
	}
	page, err := l.through(pod)
	return page, "pod " + pod, err
}

// through returns how to reach a pod.
func (l *Leader) through(pod string) (*forwarded, error) {
	core, err := apiclient.ConnectGroup(l.config, corev1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	to := core.Post().Namespace(l.place.Namespace).Resource("pods").Name(pod).SubResource("portforward").URL()
	return &forwarded{l.config, to, l.place.Port}, nil
}

// pod returns the name of the leader's pod. The identity of a holder is the name of its host, which is that
// of the pod, followed by an underscore, which is in no such name.
func (l *Leader) pod(ctx context.Context) (string, error) {
	client, err := apiclient.ConnectGroup(l.config, coordinationv1.SchemeGroupVersion)
	if err != nil {
		return "", err
	}
	name := "the lease " + l.place.Namespace + "/" + l.place.Lease
	lease, err := apiclient.NewLeases(client, l.place.Namespace).Get(ctx, l.place.Lease, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "", permanent("there is no %s; say where the controller runs with --controller-namespace and --lease, or with --status-url", strings.TrimPrefix(name, "the "))
	case apierrors.IsForbidden(err):
		return "", permanent("you may not read %s: you need permission to get it, and to create pods/portforward beside it", name)
	case ctx.Err() != nil:
		return "", late("the API server")
	case err != nil:
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	l.see(&lease.Spec)
	switch {
	case lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "":
		return "", fmt.Errorf("no replica of the controller leads at present: nobody holds %s", name)
	}
	pod, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	if len(validation.IsDNS1123Subdomain(pod)) > 0 {
		return "", permanent("the holder of %s is %.80q, which is not a pod; if it runs outside of the cluster, use --status-url", name, *lease.Spec.HolderIdentity)
	}
	return pod, nil
}

// see remembers the lease.
func (l *Leader) see(spec *coordinationv1.LeaseSpec) {
	l.lease = &status.Lease{Namespace: l.place.Namespace}
	if spec.HolderIdentity != nil {
		l.lease.Holder, _, _ = strings.Cut(*spec.HolderIdentity, "_")
	}
	if spec.AcquireTime != nil {
		l.lease.Since = spec.AcquireTime.Time
	}
	if spec.RenewTime != nil {
		l.lease.Renewed = spec.RenewTime.Time
	}
	if spec.LeaseDurationSeconds != nil {
		l.lease.Seconds = int(*spec.LeaseDurationSeconds)
	}
}
