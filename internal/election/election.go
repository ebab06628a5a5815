package election

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/internal/status"
)

// errLeaseLost ends a process that led and no longer leads. Another process may already
// act, and a new process starts with a clean slate.
var errLeaseLost = errors.New("the lease is lost")

// errUnfinished means that a leader's work has not ended in time.
var errUnfinished = errors.New("pending work did not finish in time")

// endingLimit is how long to wait for a leader's work to end: longer than the engine's last
// request may take, and shorter than the kubelet waits.
const endingLimit = 5 * time.Second

// releaseLimit is how long a request to release the lease may take, also on a busy API server: together with
// endingLimit, half of what the kubelet waits.
const releaseLimit = 10 * time.Second

// retryJitter spreads the attempts of standbys to take the lease: up to this multiple of
// the retry period is added to it.
const retryJitter = 1.2

// Options say which Lease the replicas share, and how it is held.
type Options struct {
	Namespace, Name string
	// LeaseDuration is how long nobody else takes a lease that is not renewed, RenewDeadline how long a leader tries to renew
	// it before it gives up, and RetryPeriod the time between two attempts. Each is longer than the next.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// Election is a replica's part in the election of a leader. A nil one takes part in none. All methods but [Election.Run] may
// be called by several goroutines at once.
type Election struct {
	lease                      *lease
	renewDeadline, retryPeriod time.Duration
	watchdog                   watchdog
	view                       leaseView
	log                        *slog.Logger
}

// New prepares an election. It sends no requests.
func New(config *rest.Config, o Options, log *slog.Logger) (*Election, error) {
	l, err := newLease(config, o)
	if err != nil {
		return nil, fmt.Errorf("set up leader election: %w", err)
	}
	return &Election{lease: l, renewDeadline: o.RenewDeadline, retryPeriod: o.RetryPeriod, log: log}, nil
}

// Run takes part in the election until the context ends, and leads while it holds the lease. It returns what leading
// returned, or an error if the lease is lost: another process may already act, and this one should start anew. It may be
// called once.
func (e *Election) Run(ctx context.Context, lead func(context.Context) error) error {
	if !e.win(ctx) {
		return nil
	}
	return e.lead(ctx, lead)
}

// Lease returns the lease as this process saw it last, nil if it has seen none. It must not be modified.
func (e *Election) Lease() *status.Lease {
	if e == nil {
		return nil
	}
	return e.view.seen()
}

// Leads reports whether this process leads.
func (e *Election) Leads() bool { return e != nil && e.watchdog.expects() }

// Check returns an error if the loop that renews the lease hangs.
func (e *Election) Check(*http.Request) error {
	if e == nil {
		return nil
	}
	return e.watchdog.check()
}

// win returns when this process holds the lease, or false when the context ends.
func (e *Election) win(ctx context.Context) bool {
	var leader, problem string
	for {
		err := e.lease.hold(ctx)
		e.view.see(e.lease.status(err))
		switch {
		case err == nil:
			return true
		case !errors.Is(err, errHeldByOther) && ctx.Err() == nil:
			if err.Error() != problem { // once for each outage, mostly
				e.log.Warn("cannot take part in the leader election for now, trying again", "error", err)
			}
			problem = err.Error()
		case e.lease.holder() != leader && ctx.Err() == nil:
			leader = e.lease.holder()
			e.log.Info("waiting for leadership", "leader", leader)
		}
		if errors.Is(err, errHeldByOther) {
			problem = ""
		}
		select {
		case <-time.After(wait.Jitter(e.retryPeriod, retryJitter)):
		case <-ctx.Done():
			return false
		}
	}
}

// lead leads until the leader's work ends by itself, the context ends or the lease is lost.
// It renews the lease until the work that the lease protects has ended, and then releases
// it, so that no standby waits until it expires. It does not release a lease that it could not renew.
func (e *Election) lead(ctx context.Context, lead func(context.Context) error) error {
	leading, end := context.WithCancel(ctx)
	defer end()
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		defer end()
		e.renew(renewing)
	}()
	err := awaitEnd(leading, lead)
	stop()
	<-renewed
	e.watchdog.rest()
	if err == nil && ctx.Err() == nil {
		return errLeaseLost // and not released: this process starts anew at once, and a standby should go before it
	}
	if !errors.Is(err, errUnfinished) {
		e.release(context.WithoutCancel(ctx))
	}
	return err
}

// awaitEnd leads, and returns when and why that has ended. Once the context has ended, it
// waits no longer than endingLimit.
func awaitEnd(leading context.Context, lead func(context.Context) error) error {
	ended := make(chan error, 1)
	go func() { ended <- lead(leading) }()
	select {
	case err := <-ended:
		return err
	case <-leading.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(endingLimit):
		return errUnfinished
	}
}

// renew renews the lease until the context ends, another process holds it, or renewing has
// failed for too long.
func (e *Election) renew(ctx context.Context) {
	hasFailed := false
	for last := time.Now(); ; {
		e.watchdog.expect(last.Add(2 * e.lease.duration))
		select {
		case <-time.After(e.retryPeriod):
		case <-ctx.Done():
			return
		}
		attempt, cancel := context.WithDeadline(ctx, last.Add(e.renewDeadline))
		err := e.lease.hold(attempt)
		cancel()
		e.view.see(e.lease.status(err))
		switch {
		case err == nil:
			last, hasFailed = time.Now(), false
		case ctx.Err() != nil:
			return
		case errors.Is(err, errHeldByOther):
			e.log.Warn("another process has taken the lease", "leader", e.lease.holder())
			return
		case time.Since(last) >= e.renewDeadline:
			e.log.Warn("cannot renew the lease", "error", err)
			return
		case !hasFailed: // the last error is mostly that there is no time left
			hasFailed = true
			e.log.Warn("cannot renew the lease for now, trying again", "error", err)
		}
	}
}

// release releases the lease.
func (e *Election) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, releaseLimit)
	defer cancel()
	if err := e.lease.release(ctx); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		e.log.Warn("cannot release the lease, it will expire", "error", err)
	}
}

// watchdog checks that the loop that renews the lease still runs. The zero value expects
// nothing. It may be used by several goroutines at once.
type watchdog struct {
	mu  sync.Mutex
	due time.Time
}

// expect sets the time by which it must be called again, which is long after the loop gives
// up by itself.
func (w *watchdog) expect(due time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = due
}

// rest makes the watchdog expect nothing any more.
func (w *watchdog) rest() { w.expect(time.Time{}) }

// expects reports whether the loop runs, as it does while this process leads.
func (w *watchdog) expects() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.due.IsZero()
}

// check returns an error if the loop hangs.
func (w *watchdog) check() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.due.IsZero() && time.Now().After(w.due) {
		return errors.New("the lease has not been renewed for too long")
	}
	return nil
}
