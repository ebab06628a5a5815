package election

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/status"
)

// errHeldByOther means that another process holds the lease.
var errHeldByOther = errors.New("another process holds the lease")

// lease is one process's view of the Lease by which replicas elect a leader. It takes and
// renews the Lease in the same way as all Kubernetes components; see
// https://kubernetes.io/docs/concepts/architecture/leases/#leader-election. The holder
// regularly writes the time, and if that has not changed for the lease's duration, the Lease
// is free. Each process measures the duration with its own clock, so clocks may differ.
//
// It is for use by one goroutine at a time.
type lease struct {
	client          apiclient.Leases
	namespace, name string
	identity        string
	duration        time.Duration
	// known is the Lease as last seen, nil if it has not been seen; changed is when it was
	// first seen in that state.
	known   *coordinationv1.Lease
	changed time.Time
	// hasWatched means that the Lease has changed while this process looked at it. headStart is by how much later than
	// such a process another one takes a Lease that nobody renews.
	hasWatched bool
	headStart  time.Duration
	// answering is since when no look at the Lease has failed, zero if the last one has: during an outage, nobody uses a
	// head start.
	answering time.Time
}

func newLease(config *rest.Config, o Options) (*lease, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("get host name: %w", err)
	}
	limited := rest.CopyConfig(config)
	limited.Timeout = max(o.RenewDeadline/2, time.Second) // so that a single silent connection does not cause the loss of the lease
	client, err := apiclient.ConnectGroup(limited, coordinationv1.SchemeGroupVersion)
	if err != nil {
		return nil, fmt.Errorf("make client for the lease: %w", err)
	}
	return &lease{
		client:    apiclient.NewLeases(client, o.Namespace),
		namespace: o.Namespace,
		name:      o.Name,
		identity:  host + "_" + string(uuid.NewUUID()),
		duration:  o.LeaseDuration,
		// Within that time, a process that waits for the lease asks for it at least once; see [retryJitter].
		headStart: 3 * o.RetryPeriod,
	}, nil
}

// holder returns the identity of the process that is known to hold the lease, empty if no
// process holds it.
func (l *lease) holder() string {
	if l.known == nil || l.known.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.known.Spec.HolderIdentity
}

// status describes the lease after an attempt to hold it, which may have failed. An identity is the name of a host, which
// is that of the pod, followed by an underscore, which is in no such name.
func (l *lease) status(err error) *status.Lease {
	s := &status.Lease{Namespace: l.namespace, Renewed: l.changed}
	s.Holder, _, _ = strings.Cut(l.holder(), "_")
	if l.known != nil && s.Holder != "" {
		spec := &l.known.Spec
		if spec.AcquireTime != nil {
			s.Since = spec.AcquireTime.UTC()
		}
		if !l.hasWatched && spec.RenewTime != nil && spec.RenewTime.Time.Before(l.changed) {
			s.Renewed = spec.RenewTime.UTC() // maybe long before this process saw it
		}
		if spec.LeaseDurationSeconds != nil {
			s.Seconds = int(*spec.LeaseDurationSeconds)
		}
	}
	if err != nil && !errors.Is(err, errHeldByOther) {
		s.Problem = brief.Line(err.Error())
		if apierrors.IsForbidden(err) {
			s.Remedy = status.ApplyManifest
		}
	}
	return s
}

func (l *lease) isHeld() bool { return l.holder() == l.identity }

// isFree reports whether this process may take the lease. After an outage of the API server, all that wait for it see at
// the same time when it was renewed last. One that has just started, as a former leader does, lets the others go first: they
// have seen edits that were undone, of which no object tells.
func (l *lease) isFree() bool {
	seconds := l.known.Spec.LeaseDurationSeconds
	if l.holder() == "" || seconds == nil {
		return true
	}
	limit := time.Duration(*seconds) * time.Second
	if !l.hasWatched {
		limit += l.headStart
	}
	return time.Since(l.changed) > limit && (l.hasWatched || time.Since(l.answering) > l.headStart)
}

// hold takes the lease, or renews it. It returns errHeldByOther if another process holds it.
func (l *lease) hold(ctx context.Context) error {
	if l.isHeld() && l.write(ctx) == nil {
		return nil
	} // otherwise another process may have written it, or this one, with a lost answer
	present, err := l.client.Get(ctx, l.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return l.create(ctx)
	case err != nil:
		l.answering = time.Time{}
		return fmt.Errorf("get lease: %w", err)
	}
	if l.answering.IsZero() {
		l.answering = time.Now()
	}
	l.see(present)
	if !l.isHeld() && !l.isFree() {
		return errHeldByOther
	}
	return l.write(ctx)
}

// see takes in the Lease from an answer of the API server.
func (l *lease) see(present *coordinationv1.Lease) {
	if l.known == nil || l.known.ResourceVersion != present.ResourceVersion || l.known.UID != present.UID {
		l.changed, l.hasWatched = time.Now(), l.known != nil
	}
	l.known = present
}

func (l *lease) create(ctx context.Context) error {
	first := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: l.name}}
	l.sign(&first.Spec, 0)
	created, err := l.client.Create(ctx, first, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create lease: %w", err)
	}
	l.see(created)
	return nil
}

// write takes or renews the lease as last seen. The API server refuses the write if the
// lease has changed since.
func (l *lease) write(ctx context.Context) error {
	next := l.known.DeepCopy()
	if l.isHeld() {
		now := metav1.NowMicro()
		next.Spec.RenewTime = &now
	} else {
		l.sign(&next.Spec, transitions(&next.Spec)+1)
	}
	return l.update(ctx, next)
}

func (l *lease) update(ctx context.Context, next *coordinationv1.Lease) error {
	updated, err := l.client.Update(ctx, next, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("update lease: %w", err)
	}
	l.see(updated)
	return nil
}

// sign makes this process the holder from now on.
func (l *lease) sign(spec *coordinationv1.LeaseSpec, transitions int32) {
	now, seconds := metav1.NowMicro(), int32((l.duration+time.Second-1)/time.Second)
	spec.HolderIdentity, spec.LeaseDurationSeconds, spec.LeaseTransitions = &l.identity, &seconds, &transitions
	spec.AcquireTime, spec.RenewTime = &now, &now
}

func transitions(spec *coordinationv1.LeaseSpec) int32 {
	if spec.LeaseTransitions == nil {
		return 0
	}
	return *spec.LeaseTransitions
}

// release frees the lease if this process still holds it.
func (l *lease) release(ctx context.Context) error {
	present, err := l.client.Get(ctx, l.name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get lease: %w", err)
	}
	l.see(present)
	if !l.isHeld() {
		return nil
	}
	next, now := present.DeepCopy(), metav1.NowMicro()
	next.Spec.HolderIdentity, next.Spec.LeaseDurationSeconds = new(""), new(int32(1))
	next.Spec.AcquireTime, next.Spec.RenewTime = &now, &now
	return l.update(ctx, next)
}

// leaseView is the lease as this process saw it last. The zero value has seen none. It may be used by several
// goroutines at once.
type leaseView struct{ last atomic.Pointer[status.Lease] }

// seen returns the lease, nil if none was seen. It must not be modified.
func (v *leaseView) seen() *status.Lease { return v.last.Load() }

// see takes in the lease after another attempt. Only one goroutine at a time may call it.
func (v *leaseView) see(lease *status.Lease) {
	if lease.Problem != "" {
		lease.ProblemSince = time.Now().UTC()
		if last := v.last.Load(); last != nil && last.Problem != "" {
			lease.ProblemSince = last.ProblemSince
		}
	}
	v.last.Store(lease)
}
