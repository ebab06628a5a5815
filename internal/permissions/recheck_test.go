package permissions

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// authorizer is an API server that answers access reviews.
type authorizer struct {
	lacks   func(namespace string) bool
	mu      sync.Mutex
	reviews []review               // guarded by mu
	granted []apiclient.Permission // as they were passed on
	refused chan struct{}          // as [controller.Controller.Refused], if there is one
	log     bytes.Buffer
}

type review struct {
	at        time.Duration // since the start
	namespace string
}

// serve checks permissions in so many namespaces for a while, and returns what is missing then. It must run in a bubble.
func (a *authorizer) serve(t *testing.T, namespaces int, hours time.Duration) *Missing {
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
		a.mu.Lock()
		a.reviews = append(a.reviews, review{time.Since(start), namespace})
		a.mu.Unlock()
		answer := fmt.Sprintf(`{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":%t}}`, !a.lacks(namespace))
		return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer))}, nil
	})
	var needed []apiclient.Permission
	for i := range namespaces {
		needed = append(needed, apiclient.Permission{Verb: "list", Resource: "secrets", Namespace: fmt.Sprint(i), Impact: "nothing restarts"})
	}
	var missing Missing
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		missing.Check(t.Context(), &rest.Config{Host: "http://api", Transport: transport, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, needed, a.refused, func(granted []apiclient.Permission) { a.granted = append(a.granted, granted...) }, slog.New(slog.NewTextHandler(&a.log, nil)))
	}()
	time.Sleep(hours)
	synctest.Wait()
	return &missing
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// between returns how many reviews there were, and of how many namespaces.
func (a *authorizer) between(from, to time.Duration) (n, namespaces int) {
	a.mu.Lock()
	defer a.mu.Unlock()
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

func TestAFewPermissionsThatStayMissingAreCheckedAgainEvery10Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := authorizer{lacks: always}
		a.serve(t, 3, 6*time.Hour)
		for _, from := range []time.Duration{time.Minute, 5 * time.Hour} {
			if n, namespaces := a.between(from, from+10*time.Second); namespaces != 3 || n > 4 {
				t.Errorf("%d reviews of %d in 10 s", n, namespaces)
			}
		}
	})
}

// A cluster with many namespaces may lack its Roles, or one permission on purpose.
func TestOfVeryManyMissingPermissionsOneIsCheckedASecondAndEachHasItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := authorizer{lacks: always}
		missing := a.serve(t, 2100, 62*time.Minute)
		const all = time.Minute // the first time, all are checked
		if _, namespaces := a.between(0, all); namespaces != 2100 {
			t.Errorf("at first, those of %d namespaces are checked", namespaces)
		}
		if n, namespaces := a.between(all, all+time.Hour); namespaces != 2100 || n > 3600 {
			t.Errorf("%d reviews in an hour, of %d namespaces", n, namespaces)
		}
		if n, _ := a.between(time.Hour, time.Hour+10*time.Second); n > 10 {
			t.Errorf("%d reviews in 10 s", n)
		}
		gaps := missing.Gaps("", nil)
		for i := range gaps[:maxMissing] {
			if want := fmt.Sprintf("in namespace %d,", i); !strings.Contains(gaps[i].Text, want) {
				t.Errorf("gap %d is not the one %s: %s", i, want, gaps[i].Text)
			}
		}
	})
}

func TestAPermissionIsNoLongerMissing10SecondsAfterItIsGranted(t *testing.T) {
	for name, granted := range map[string]time.Duration{"soon": 10 * time.Second, "later": 3*time.Hour + 500*time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				a := authorizer{lacks: func(namespace string) bool { return namespace != "7" || time.Since(start) < granted }}
				missing := a.serve(t, 10, granted+10*time.Second).last
				if len(missing) != 9 || slices.ContainsFunc(missing, func(p apiclient.Permission) bool { return p.Namespace == "7" }) {
					t.Errorf("%v are missing", missing)
				}
				if len(a.granted) != 1 || a.granted[0].Namespace != "7" {
					t.Errorf("passed on: %v", a.granted)
				}
			})
		})
	}
}

// Whoever applies a manifest grants all of it.
func TestAllPermissionsThatAreGrantedTogetherAreSeenTogether(t *testing.T) {
	for _, many := range []int{1, 26, 2100} {
		t.Run(fmt.Sprint(many), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				a := authorizer{lacks: func(string) bool { return time.Since(start) < 3*time.Hour }}
				if missing := a.serve(t, many, 3*time.Hour+10*time.Second); len(missing.last) > 0 {
					t.Errorf("%d are missing", len(missing.last))
				}
				if n, _ := a.between(3*time.Hour, 4*time.Hour); n != many {
					t.Errorf("it took %d reviews", n)
				}
			})
		})
	}
}

// The many checks after one that was granted end when they find none.
func TestTheOthersAreCheckedAtOnceWhenOneIsGranted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		const granted = 3 * time.Hour
		a := authorizer{lacks: func(namespace string) bool { return namespace > "29" || time.Since(start) < granted }}
		if missing := a.serve(t, 100, granted+100*time.Second).last; len(missing) != 100-23 {
			t.Errorf("%d are missing", len(missing))
		}
		if n, _ := a.between(granted, granted+100*time.Second); n > 100+4*maxRechecked {
			t.Errorf("%d reviews", n)
		}
	})
}

func TestAPermissionThatIsLostLaterIsFoundOnceSomethingIsRefusedAndItsGrantIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		const lost, refused, granted = time.Hour, 2 * time.Hour, 3 * time.Hour
		a := authorizer{refused: make(chan struct{}, 1), lacks: func(namespace string) bool {
			since := time.Since(start)
			return namespace == "7" && since >= lost && since < granted
		}}
		time.AfterFunc(refused, func() { a.refused <- struct{}{} })
		missing := a.serve(t, 10, refused+2*time.Second)
		if n, _ := a.between(time.Minute, refused); n > 0 {
			t.Errorf("%d reviews while nothing was refused", n)
		}
		if value := testutil.ToFloat64(missing); value != 1 {
			t.Errorf("the metric is %v", value)
		}
		gaps := missing.Gaps("", nil)
		if since := start.Add(refused); len(gaps) != 1 || gaps[0].Since.Before(since) || gaps[0].Since.After(since.Add(2*time.Second)) || !gaps[0].AtLeast {
			t.Errorf("not missing since %v: %+v", since, gaps)
		}
		time.Sleep(granted + 10*time.Second - time.Since(start))
		synctest.Wait()
		if value := testutil.ToFloat64(missing); value != 0 || len(a.granted) != 1 || a.granted[0].Namespace != "7" {
			t.Errorf("once it is granted, the metric is %v, and passed on is %v", value, a.granted)
		}
		for _, want := range []string{`msg="missing permission" right="list secrets in namespace 7" without_it="nothing restarts"`, `msg="permission granted" right="list secrets in namespace 7" still_missing=0`} {
			if strings.Count(a.log.String(), want) != 1 {
				t.Errorf("the log does not say once %s:\n%s", want, &a.log)
			}
		}
	})
}

func TestHoweverMuchIsRefusedAllPermissionsAreCheckedAtMostOnceAMinuteAnd10ASecond(t *testing.T) {
	for namespaces, period := range map[int]time.Duration{30: time.Minute, 3000: 5 * time.Minute} {
		t.Run(fmt.Sprint(namespaces), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := authorizer{refused: make(chan struct{}, 1), lacks: func(string) bool { return false }}
				go func() {
					for start := time.Now(); time.Since(start) < 90*time.Minute-time.Second; time.Sleep(time.Second / 2) {
						select {
						case a.refused <- struct{}{}:
						default:
						}
					}
				}()
				a.serve(t, namespaces, 90*time.Minute)
				times := int(time.Hour / period)
				if n, _ := a.between(30*time.Minute, 90*time.Minute); n > times*namespaces || n < (times-times/10)*namespaces {
					t.Errorf("%d reviews in an hour, want %d times %d", n, times, namespaces)
				}
			})
		})
	}
}

func TestTheNumberOfMissingPermissionsIsAMetricOnceTheyHaveBeenChecked(t *testing.T) {
	missing := &Missing{}
	if n := testutil.CollectAndCount(missing); n != 0 {
		t.Errorf("%d series before the first check", n)
	}
	log := slog.New(slog.DiscardHandler)
	lacked := make([]apiclient.Permission, 3)
	for _, left := range []int{3, 1, 0} {
		missing.see(lacked[:left], lacked, lacked[:left], log)
		if value := testutil.ToFloat64(missing); value != float64(left) {
			t.Errorf("%v instead of %d", value, left)
		}
	}
}
