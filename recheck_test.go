package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/apiclient"
)

// authorizer is an API server that answers access reviews.
type authorizer struct {
	lacks   func(namespace string) bool
	reviews []review
}

type review struct {
	at        time.Duration // since the start
	namespace string
}

// serve checks permissions in so many namespaces for a while, and returns what is missing then. It must run in a bubble.
func (a *authorizer) serve(t *testing.T, namespaces int, hours time.Duration) *missingPermissions {
	start := time.Now()
	transport := roundTrip(func(r *http.Request) (*http.Response, error) {
		var asked authorizationv1.SelfSubjectAccessReview
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &asked)
		}
		if err != nil {
			return nil, err
		}
		namespace := asked.Spec.ResourceAttributes.Namespace
		a.reviews = append(a.reviews, review{time.Since(start), namespace})
		answer := fmt.Sprintf(`{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":%t}}`, !a.lacks(namespace))
		return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer))}, nil
	})
	var needed []apiclient.Permission
	for i := range namespaces {
		needed = append(needed, apiclient.Permission{Verb: "list", Resource: "secrets", Namespace: fmt.Sprint(i), Impact: "nothing restarts"})
	}
	var missing missingPermissions
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		missing.check(t.Context(), &rest.Config{Host: "http://api", Transport: transport, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, needed, slog.New(slog.DiscardHandler))
	}()
	time.Sleep(hours)
	synctest.Wait()
	return &missing
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// between returns how many reviews there were, and of how many namespaces.
func (a *authorizer) between(from, to time.Duration) (n, namespaces int) {
	of := map[string]bool{}
	for _, r := range a.reviews {
		if r.at >= from && r.at < to {
			n++
			of[r.namespace] = true
		}
	}
	return n, len(of)
}

func always(string) bool { return true }

func TestPermissionsThatStayMissingAreCheckedEverLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := authorizer{lacks: always}
		a.serve(t, 3, 6*time.Hour)
		if n, _ := a.between(0, 5*time.Minute); n < 4*3 || n > 6*3 {
			t.Errorf("%d reviews in the first 5 minutes", n)
		}
		if n, _ := a.between(time.Hour, 2*time.Hour); n < 10*3 || n > 12*3 {
			t.Errorf("%d reviews in the second hour", n)
		}
	})
}

// A cluster with many namespaces may lack its Roles, or one permission on purpose.
func TestOfVeryManyMissingPermissionsFewAreCheckedAtOnceAndEachHasItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := authorizer{lacks: always}
		missing := a.serve(t, 2100, 12*time.Hour)
		const all = time.Minute // the first time, all are checked
		if _, namespaces := a.between(0, all); namespaces != 2100 {
			t.Errorf("at first, those of %d namespaces are checked", namespaces)
		}
		if n, namespaces := a.between(all, all+time.Hour); namespaces != 2100 || n > 3*2100 {
			t.Errorf("%d reviews in an hour, of %d namespaces", n, namespaces)
		}
		if n, namespaces := a.between(7*time.Hour, 12*time.Hour); namespaces != 2100 || n > 5*12*maxRechecked {
			t.Errorf("%d reviews in five later hours, of %d namespaces", n, namespaces)
		}
		for from := all; from < 2*time.Hour; from += time.Second {
			if n, _ := a.between(from, from+15*time.Second); n > maxRechecked {
				t.Fatalf("%d reviews in 15 s", n)
			}
		}
		gaps := missing.gaps("", "")
		for i := range gaps[:maxMissing] {
			if want := fmt.Sprintf("in namespace %d,", i); !strings.Contains(gaps[i].Text, want) {
				t.Errorf("gap %d is not the one %s: %s", i, want, gaps[i].Text)
			}
		}
	})
}

func TestAPermissionIsNoLongerMissingSoonAfterItIsGranted(t *testing.T) {
	for name, test := range map[string]struct{ granted, noticed time.Duration }{
		"at once": {10 * time.Second, 25 * time.Second},
		"later":   {3 * time.Hour, 3*time.Hour + 6*time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				a := authorizer{lacks: func(string) bool { return time.Since(start) < test.granted }}
				if missing := a.serve(t, 3, test.noticed); len(*missing.last.Load()) > 0 {
					t.Errorf("%v are missing %s after the start", *missing.last.Load(), test.noticed)
				}
			})
		})
	}
}

// Whoever applies Roles applies the next one soon.
func TestTheOthersAreCheckedSoonAgainWhenOneIsGranted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		a := authorizer{lacks: func(namespace string) bool {
			return time.Since(start) < 3*time.Hour || namespace != "1" && time.Since(start) < 3*time.Hour+6*time.Minute
		}}
		if missing := a.serve(t, 3, 3*time.Hour+14*time.Minute); len(*missing.last.Load()) > 0 {
			t.Errorf("%v are missing", *missing.last.Load())
		}
		at := slices.IndexFunc(a.reviews, func(r review) bool { return r.at > 3*time.Hour })
		if next := a.reviews[at+3].at - a.reviews[at].at; next > 25*time.Second {
			t.Errorf("checked again after %s", next)
		}
	})
}

// Replicas that start together must not ask together for ever.
func TestReplicasDoNotCheckAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rounds []time.Duration
		for range 3 {
			a := authorizer{lacks: always}
			a.serve(t, 1, time.Hour)
			rounds = append(rounds, a.reviews[5].at)
		}
		if rounds[0] == rounds[1] && rounds[1] == rounds[2] {
			t.Errorf("all check at %s", rounds[0])
		}
	})
}
