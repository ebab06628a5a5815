package election

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/internal/status"
)

// leaseStore is an API server that has one Lease, and the network to it. A bubble of
// synctest can wait for it.
type leaseStore struct {
	mu      sync.Mutex
	lease   *coordinationv1.Lease
	version int
	// disturb decides about a request: it may delay it, and returns whether it arrives, and
	// whether the answer does.
	disturb func() (arrives, answers bool)
}

// RoundTrip implements http.RoundTripper.
func (s *leaseStore) RoundTrip(request *http.Request) (*http.Response, error) {
	arrives, answers := true, true
	if s.disturb != nil {
		arrives, answers = s.disturb()
	}
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	var response *http.Response
	if arrives {
		response = s.answer(request)
	}
	if !answers || !arrives {
		return nil, errors.New("the connection broke")
	}
	return response, nil
}

func (s *leaseStore) answer(request *http.Request) *http.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch request.Method {
	case http.MethodGet:
		if s.lease == nil {
			return respond(http.StatusNotFound, failure(metav1.StatusReasonNotFound, http.StatusNotFound))
		}
	default:
		written := &coordinationv1.Lease{}
		if err := json.NewDecoder(request.Body).Decode(written); err != nil {
			return respond(http.StatusBadRequest, failure(metav1.StatusReasonBadRequest, http.StatusBadRequest))
		}
		if isCreate := request.Method == http.MethodPost; isCreate != (s.lease == nil) || !isCreate && written.ResourceVersion != s.lease.ResourceVersion {
			return respond(http.StatusConflict, failure(metav1.StatusReasonConflict, http.StatusConflict))
		}
		s.version++
		written.ResourceVersion = strconv.Itoa(s.version)
		s.lease = written
	}
	return respond(http.StatusOK, s.lease)
}

func failure(reason metav1.StatusReason, code int32) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: reason, Code: code,
	}
}

func respond(code int, object any) *http.Response {
	body, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body))}
}

func (s *leaseStore) config() *rest.Config {
	return &rest.Config{Host: "http://api", Transport: s, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

func (s *leaseStore) open(t *testing.T) *lease {
	t.Helper()
	l, err := newLease(s.config(), testOptions)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// requireHold lets a process take or renew the lease, and requires what comes of it.
func requireHold(t *testing.T, l *lease, want error) {
	t.Helper()
	if err := l.hold(t.Context()); !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}

var testOptions = Options{Namespace: "own", Name: "lease", LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}

// elect takes part in an election once.
func elect(ctx context.Context, config *rest.Config, log *slog.Logger, lead func(context.Context) error) error {
	e, err := New(config, testOptions, log)
	if err != nil {
		return err
	}
	return e.Run(ctx, lead)
}

func TestALeaseIsTakenWhenItHasNotChangedForItsDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &leaseStore{}
		first, second := store.open(t), store.open(t)
		requireHold(t, first, nil)
		requireHold(t, second, errHeldByOther)
		for range 20 {
			time.Sleep(2 * time.Second)
			requireHold(t, first, nil)
			requireHold(t, second, errHeldByOther)
		}
		time.Sleep(14 * time.Second)
		requireHold(t, second, errHeldByOther)
		time.Sleep(2 * time.Second)
		requireHold(t, second, nil)
		requireHold(t, first, errHeldByOther)
		if got := *store.lease.Spec.LeaseTransitions; got != 1 {
			t.Errorf("%d transitions, want 1", got)
		}
	})
}

// The API server is away until the leader gives up. Its last renewal shows to all at the same time.
func TestWhoHasWaitedForALeaseGoesBeforeWhoHasJustStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &leaseStore{}
		leader, standby := store.open(t), store.open(t)
		requireHold(t, leader, nil)
		requireHold(t, standby, errHeldByOther)
		time.Sleep(time.Second)
		requireHold(t, leader, nil) // which the standby does not see
		time.Sleep(time.Minute)
		restarted := store.open(t)
		requireHold(t, restarted, errHeldByOther)
		requireHold(t, standby, errHeldByOther)
		time.Sleep(16 * time.Second)
		requireHold(t, restarted, errHeldByOther)
		time.Sleep(4400 * time.Millisecond) // the longest pause between two attempts
		requireHold(t, restarted, errHeldByOther)
		time.Sleep(time.Second)
		requireHold(t, restarted, nil) // there might be nobody else
	})
}

// The API server is away again while the one that has just started lets the others go first.
func TestWhoHasWaitedForALeaseGoesFirstAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &leaseStore{}
		leader, standby := store.open(t), store.open(t)
		requireHold(t, leader, nil)
		requireHold(t, standby, errHeldByOther)
		requireHold(t, leader, nil)
		requireHold(t, standby, errHeldByOther)
		restarted := store.open(t)
		requireHold(t, restarted, errHeldByOther)
		store.disturb = func() (arrives, answers bool) { return false, false }
		for range 10 {
			time.Sleep(4400 * time.Millisecond)
			if restarted.hold(t.Context()) == nil || standby.hold(t.Context()) == nil {
				t.Fatal("the lease was taken without an answer")
			}
		}
		store.disturb = nil
		requireHold(t, restarted, errHeldByOther)
		time.Sleep(4400 * time.Millisecond) // the longest pause between two attempts
		requireHold(t, restarted, errHeldByOther)
		time.Sleep(2 * time.Second)
		requireHold(t, restarted, nil) // there might be nobody else
	})
}

// The times in a Lease come from another clock.
func TestTheClockOfTheHolderDoesNotMatter(t *testing.T) {
	for name, skew := range map[string]time.Duration{"behind": -time.Hour, "ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &leaseStore{}
				other, l := store.open(t), store.open(t)
				if err := other.hold(t.Context()); err != nil {
					t.Fatal(err)
				}
				renewed := metav1.NewMicroTime(time.Now().Add(skew))
				store.lease.Spec.RenewTime = &renewed
				if err := l.hold(t.Context()); !errors.Is(err, errHeldByOther) {
					t.Errorf("error %v", err)
				}
				time.Sleep(22 * time.Second)
				if err := l.hold(t.Context()); err != nil {
					t.Errorf("after it has expired: %v", err)
				}
			})
		})
	}
}

func TestALeaseThatWasGivenUpIsTakenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &leaseStore{}
		first, second := store.open(t), store.open(t)
		for _, err := range []error{first.hold(t.Context()), first.release(t.Context()), second.hold(t.Context()), first.release(t.Context())} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if holder := *store.lease.Spec.HolderIdentity; holder != second.identity {
			t.Errorf("the holder is %q, want the second", holder)
		}
	})
}

func TestALeaseWhoseRenewalWasNotAnsweredIsStillHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &leaseStore{}
		l := store.open(t)
		if err := l.hold(t.Context()); err != nil {
			t.Fatal(err)
		}
		lost := false
		store.disturb = func() (bool, bool) {
			answers := lost
			lost = true
			return true, answers
		}
		if err := l.hold(t.Context()); err != nil {
			t.Errorf("after an answer that got lost: %v", err)
		}
	})
}

func TestTheWatchdogBarksOnlyWhenTheLoopHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w watchdog
		if err := w.check(); err != nil {
			t.Errorf("before anything is expected: %v", err)
		}
		w.expect(time.Now().Add(time.Minute))
		time.Sleep(time.Minute)
		if err := w.check(); err != nil {
			t.Errorf("in time: %v", err)
		}
		time.Sleep(time.Second)
		if err := w.check(); err == nil {
			t.Error("too late: no error")
		}
		w.rest()
		if err := w.check(); err != nil {
			t.Errorf("after the end: %v", err)
		}
	})
}

// Processes come and go, requests and answers get lost or late. Never do two lead at the same
// time, and somebody leads again after each trouble.
func TestTwoProcessesNeverLeadAtTheSameTime(t *testing.T) {
	for seed := range uint64(50) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playElection(t, seed) })
		})
	}
}

func playElection(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	chance := func(percent int) bool {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(100) < percent
	}
	var troubled atomic.Bool
	store := &leaseStore{disturb: func() (bool, bool) {
		if !troubled.Load() {
			return true, true
		}
		if chance(20) {
			time.Sleep(4 * time.Second)
		}
		return !chance(30), !chance(30)
	}}
	var leaders, terms atomic.Int32
	lead := func(ctx context.Context) error {
		if leaders.Add(1) > 1 {
			t.Errorf("seed %d: two lead at once", seed)
		}
		terms.Add(1)
		<-ctx.Done()
		time.Sleep(time.Second) // the last request
		leaders.Add(-1)
		return nil
	}
	ctx, end := context.WithCancel(t.Context())
	var processes sync.WaitGroup
	for range 3 {
		processes.Go(func() {
			for ctx.Err() == nil { // Kubernetes starts a process again that ends
				life, stop := context.WithCancel(ctx)
				go func() {
					select {
					case <-time.After(time.Duration(20+seed%40) * time.Second):
						if chance(50) {
							stop()
						}
					case <-life.Done():
					}
				}()
				err := elect(life, store.config(), slog.New(slog.DiscardHandler), lead)
				if err != nil && !errors.Is(err, errLeaseLost) {
					t.Errorf("seed %d: %v", seed, err)
				}
				stop()
				time.Sleep(time.Second)
			}
		})
	}
	for range 5 {
		troubled.Store(true)
		time.Sleep(time.Minute)
		troubled.Store(false)
		before := terms.Load()
		time.Sleep(2 * time.Minute)
		if leaders.Load() == 0 && terms.Load() == before {
			t.Errorf("seed %d: nobody leads after the trouble", seed)
		}
	}
	end()
	processes.Wait()
}

// Processes of other versions and programs give a Lease up in their own ways.
func TestALeaseWithoutAHolderOrADurationIsFree(t *testing.T) {
	for name, spec := range map[string]coordinationv1.LeaseSpec{
		"empty":               {},
		"an empty holder":     {HolderIdentity: new(""), LeaseDurationSeconds: new(int32(15))},
		"no duration":         {HolderIdentity: new("other")},
		"transitions counted": {LeaseTransitions: new(int32(7))},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &leaseStore{lease: &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "lease", ResourceVersion: "0"}, Spec: spec}}
				want := transitions(&spec) + 1
				l := store.open(t)
				if err := l.hold(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := *store.lease.Spec.LeaseTransitions; got != want || *store.lease.Spec.HolderIdentity != l.identity {
					t.Errorf("%d transitions, want %d; the holder is %q", got, want, *store.lease.Spec.HolderIdentity)
				}
			})
		})
	}
}

func TestALeaseWasLastRenewedWhenItSaysUntilItIsSeenToChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &leaseStore{}
		holder := s.open(t)
		requireHold(t, holder, nil)
		renewed := time.Now()
		time.Sleep(time.Hour)
		late := s.open(t)
		requireHold(t, late, errHeldByOther)
		if seen := late.status(nil); !seen.Renewed.Equal(renewed) || seen.IsHeld(time.Now()) {
			t.Errorf("first seen: renewed at %v, want %v", seen.Renewed, renewed)
		}
		requireHold(t, holder, nil)
		time.Sleep(time.Second)
		requireHold(t, late, errHeldByOther)
		if seen := late.status(nil); !seen.Renewed.Equal(time.Now()) || !seen.IsHeld(time.Now()) { // by the own clock
			t.Errorf("seen to change: renewed at %v", seen.Renewed)
		}
	})
}

func TestALeaseThatMayNotBeWrittenSaysSinceWhenAndWhatHelps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forbidden := fmt.Errorf("get lease: %w", &apierrors.StatusError{ErrStatus: *failure(metav1.StatusReasonForbidden, http.StatusForbidden)})
		l, view, began := (&leaseStore{}).open(t), &leaseView{}, time.Now()
		for range 3 {
			view.see(l.status(forbidden))
			time.Sleep(time.Minute)
		}
		if seen := view.seen(); !seen.ProblemSince.Equal(began) || seen.Remedy != status.ApplyManifest {
			t.Errorf("got %+v", seen)
		}
		if view.see(l.status(errors.New("timeout"))); view.seen().Remedy != "" {
			t.Errorf("a timeout: %+v", view.seen())
		}
	})
}
