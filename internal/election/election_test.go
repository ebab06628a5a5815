package election

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordination "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// leaseServer is an API server that has one lease, and a diary.
type leaseServer struct {
	mu    sync.Mutex
	lease *coordination.Lease
	diary []string
	// refuses renewals.
	refuses bool
	log     strings.Builder
}

func (s *leaseServer) write(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.diary = append(s.diary, what)
}

// ServeHTTP implements http.Handler.
func (s *leaseServer) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if request.Method != http.MethodGet {
		written := &coordination.Lease{}
		err := json.NewDecoder(request.Body).Decode(written)
		if err != nil || s.lease != nil && written.ResourceVersion != s.lease.ResourceVersion {
			http.Error(w, "conflict", http.StatusConflict)
			return
		}
		if s.refuses && *written.Spec.HolderIdentity != "" {
			http.Error(w, "down", http.StatusInternalServerError)
			return
		}
		s.lease = written
		s.lease.ResourceVersion += "1"
		if *s.lease.Spec.HolderIdentity == "" {
			s.diary = append(s.diary, "the lease is given up")
		}
	}
	var answer any = s.lease
	if s.lease == nil {
		w.WriteHeader(http.StatusNotFound)
		answer = &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// RoundTrip implements http.RoundTripper, without a network.
func (s *leaseServer) RoundTrip(request *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, request)
	return answer.Result(), nil
}

// lead elects a leader, alone and in time that is played, and returns when it has ended.
func (s *leaseServer) lead(t *testing.T, lead func(leading context.Context, stop func()) error) (err error) {
	t.Helper()
	config := &rest.Config{Host: "http://api", Transport: s, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		err = elect(ctx, config, slog.New(slog.NewTextHandler(&s.log, nil)), func(leading context.Context) error { return lead(leading, stop) })
	})
	return err
}

func TestALeaderGivesUpItsLeaseWhenWhatItDidHasEnded(t *testing.T) {
	s := &leaseServer{}
	err := s.lead(t, func(leading context.Context, stop func()) error {
		stop()
		<-leading.Done()
		time.Sleep(100 * time.Millisecond) // the last requests
		s.write("leading has ended")
		return nil
	})
	if want := []string{"leading has ended", "the lease is given up"}; err != nil || !slices.Equal(s.diary, want) {
		t.Errorf("diary %q, want %q; error %v", s.diary, want, err)
	}
}

func TestALeaderThatLosesItsLeaseEndsWhatItDoes(t *testing.T) {
	s := &leaseServer{}
	err := s.lead(t, func(leading context.Context, _ func()) error {
		s.mu.Lock()
		thief, now := "a thief", metav1.NowMicro()
		s.lease.Spec.HolderIdentity, s.lease.Spec.RenewTime = &thief, &now
		s.lease.ResourceVersion = "stolen"
		s.mu.Unlock()
		<-leading.Done()
		time.Sleep(100 * time.Millisecond) // the last requests
		s.write("leading has ended")
		return nil
	})
	if want := []string{"leading has ended"}; !errors.Is(err, errLeaseLost) || !slices.Equal(s.diary, want) {
		t.Errorf("diary %q, want %q; error %v", s.diary, want, err)
	}
}

// It does not give the lease up: it starts anew at once, and would take it before a standby does.
func TestALeaderThatCannotRenewItsLeaseEndsWhatItDoesFirst(t *testing.T) {
	s := &leaseServer{}
	err := s.lead(t, func(leading context.Context, _ func()) error {
		s.mu.Lock()
		s.refuses = true
		s.mu.Unlock()
		<-leading.Done()
		time.Sleep(100 * time.Millisecond) // the last requests
		s.write("leading has ended")
		return nil
	})
	if log := s.log.String(); strings.Count(log, "cannot renew the lease for now") != 1 || !strings.Contains(log, "(put leases.coordination.k8s.io lease)") {
		t.Errorf("the log does not say once why:\n%s", log)
	}
	if want := []string{"leading has ended"}; !errors.Is(err, errLeaseLost) || !slices.Equal(s.diary, want) {
		t.Errorf("diary %q, want %q; error %v", s.diary, want, err)
	}
}

func TestALeaderThatGivesUpSaysWhy(t *testing.T) {
	s, failure := &leaseServer{}, errors.New("permanent failure")
	err := s.lead(t, func(context.Context, func()) error { return failure })
	if !errors.Is(err, failure) || !slices.Equal(s.diary, []string{"the lease is given up"}) {
		t.Errorf("diary %q, error %v", s.diary, err)
	}
}

func TestTheEndOfLeadingIsNotWaitedForForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leading, end := context.WithCancel(t.Context())
		hang := make(chan struct{})
		defer close(hang)
		start := time.Now()
		end()
		err := awaitEnd(leading, func(context.Context) error {
			<-hang
			return nil
		})
		if waited := time.Since(start); !errors.Is(err, errUnfinished) || waited != endingLimit {
			t.Errorf("waited for %s, error %v", waited, err)
		}
	})
}
