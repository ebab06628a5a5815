package leader_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/internal/statuspage"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/leader"
)

var web = names.WorkloadRef{Kind: names.Deployment, Namespace: "shop", Name: "web"}

// statusPage is the page of a leader that knows one workload.
func statusPage(leads bool) http.Handler {
	return statuspage.New(statuspage.Source{
		Knowledge: func(string) status.Knowledge { return status.Knowledge{} },
		Leads:     func() bool { return leads },
		Overview: func(namespace string) *status.Overview {
			return &status.Overview{Leads: leads, Namespace: namespace, Workloads: 7}
		},
		Workload: func(name string) *status.Workload {
			if name != "deployment/shop/web" {
				return nil
			}
			return &status.Workload{Entry: status.Entry{Workload: name, State: status.Held}}
		},
		Config: func(string) *status.Config { return nil },
	}, slog.New(slog.DiscardHandler))
}

func TestTheLeaderAnswersThroughTheAPIServer(t *testing.T) {
	for name, test := range map[string]struct {
		refuse func(http.ResponseWriter, *http.Request) bool
		asked  []string
	}{
		"by websocket": {nil, []string{"GET websocket", "GET websocket"}},
		"by SPDY if the API server knows no websockets": {func(w http.ResponseWriter, r *http.Request) bool {
			isSocket := websocket.IsWebSocketUpgrade(r)
			if isSocket {
				refused(w, http.StatusBadRequest, "BadRequest")
			}
			return isSocket
		}, []string{"POST spdy/3.1", "POST spdy/3.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t, statusPage(true))
			s.refuse = test.refuse
			workload, by, err := s.leader().Workload(t.Context(), web)
			if err != nil || workload.State != status.Held || by != "pod leader-1" {
				t.Fatalf("%+v, by %q, %v", workload, by, err)
			}
			overview, by, err := s.leader().Overview(t.Context(), "shop")
			if err != nil || overview.Workloads != 7 || overview.Namespace != "shop" || by != "pod leader-1" {
				t.Fatalf("%+v, by %q, %v", overview, by, err)
			}
			if !slices.Equal(s.asked, test.asked) {
				t.Errorf("asked by %q, want %q", s.asked, test.asked)
			}
		})
	}
}

func TestALeaderOutsideOfTheClusterHasAURL(t *testing.T) {
	page := httptest.NewServer(statusPage(true))
	defer page.Close()
	overview, by, err := leader.New(nil, leader.Place{URL: page.URL + "/"}).Overview(t.Context(), "")
	if err != nil || overview.Workloads != 7 || by != page.URL+"/" {
		t.Errorf("%+v, by %q, %v", overview, by, err)
	}
	elsewhere := httptest.NewServer(http.RedirectHandler(page.URL+"/status.json", http.StatusFound))
	defer elsewhere.Close()
	if _, _, err := leader.New(nil, leader.Place{URL: elsewhere.URL}).Overview(t.Context(), ""); err == nil {
		t.Error("a redirection is followed")
	}
	for _, wrong := range []string{"127.0.0.1:10255", "localhost", "ftp://localhost", "http://", "http://a b"} {
		if _, _, err := leader.New(nil, leader.Place{URL: wrong}).Overview(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "--status-url must be a URL") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

func answering(code int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	})
}

func refusing(path string, code int, reason string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == path {
			refused(w, code, reason)
		}
		return r.URL.Path == path
	}
}

func TestALeaderThatCannotBeAskedSaysWhatToDo(t *testing.T) {
	for want, adjust := range map[string]func(*apiServer){
		"there is no lease ctl/election; say where the controller runs with --controller-namespace": func(s *apiServer) { s.refuse = refusing(leasePath, http.StatusNotFound, "NotFound") },
		"you may not read the lease ctl/election: you need permission to get it":                    func(s *apiServer) { s.refuse = refusing(leasePath, http.StatusForbidden, "Forbidden") },
		"read the lease ctl/election: ":                 func(s *apiServer) { s.refuse = refusing(leasePath, http.StatusUnauthorized, "Unauthorized") },
		"no replica of the controller leads at present": func(s *apiServer) { s.holder = "" },
		`is "../../secrets_1", which is not a pod; if it runs outside of the cluster, use --status-url`: func(s *apiServer) {
			s.holder = "../../secrets_1"
		},
		"there is no pod leader-2 in namespace ctl: it is gone, or it runs outside of the cluster": func(s *apiServer) { s.holder = "leader-2_1" },
		"you may not reach pod leader-1: you need permission to create pods/portforward in namespace ctl": func(s *apiServer) {
			s.refuse = refusing(forwardPath, http.StatusForbidden, "Forbidden")
		},
		"pod leader-1 cannot be asked: ": func(s *apiServer) { s.refuse = refusing(forwardPath, http.StatusInternalServerError, "InternalError") },
		"pod leader-1 serves no status page at port 10255: start the controller with --status-address=127.0.0.1:10255": func(s *apiServer) { s.page = "" },
	} {
		s := newAPIServer(t, statusPage(true))
		adjust(s)
		if _, _, err := s.leader().Workload(t.Context(), web); err == nil || !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestAnAnswerThatIsNoneIsAnError(t *testing.T) {
	for want, page := range map[string]http.Handler{
		"pod leader-1 stands by":                    statusPage(false),
		"answers 503: too many requests":            answering(http.StatusServiceUnavailable, "too many requests are under way\n"),
		"answers 404: no":                           answering(http.StatusNotFound, `{"error":"no"}`),
		"answers 500: internal error":               answering(http.StatusInternalServerError, "internal error\n"),
		"cannot be it: it answers with more than 4": answering(http.StatusOK, `{"workload":"`+strings.Repeat("x", 5<<20)+`"}`),
		"it answers with more than 50000 values":    answering(http.StatusOK, `{"restarts":[`+strings.Repeat("{},", 60_000)+`{}]}`),
		"answers with a text of more than 64 KiB":   answering(http.StatusOK, `{"workload":"`+strings.Repeat(`\u202e`, 20_000)+`"}`),
		"cannot be read":                            answering(http.StatusOK, "<html>"),
		"answers about something else":              answering(http.StatusOK, "null"),
	} {
		if _, _, err := newAPIServer(t, page).leader().Workload(t.Context(), web); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, _, err := newAPIServer(t, statusPage(false)).leader().Overview(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "stands by") {
		t.Errorf("the overview of a standby: %v", err)
	}
	long := fmt.Sprintf(`{"error":%q}`, strings.Repeat("é", 10_000))
	if _, _, err := newAPIServer(t, answering(http.StatusNotFound, long)).leader().Workload(t.Context(), web); err == nil || len(err.Error()) > 400 {
		t.Errorf("the error is long: %d bytes", len(err.Error()))
	}
}

func TestOnlyValuesAreCountedInAnAnswer(t *testing.T) {
	text := `"` + strings.Repeat(`[{,\"\\`, 5_000) + `"`
	page := answering(http.StatusOK, `{"workload":"deployment/shop/web","problems":[`+text+strings.Repeat(","+text, 3)+`]}`)
	if _, _, err := newAPIServer(t, page).leader().Workload(t.Context(), web); err != nil {
		t.Error(err)
	}
}

// A table of many rows with one very wide cell would take gigabytes.
func TestNoListOfAnAnswerIsLongerThanThoseOfALeader(t *testing.T) {
	items := `{"total":1000,"items":[` + strings.Repeat("{},", 999) + `{}]}`
	answer := `{"leads":true`
	for _, name := range []string{"pending", "waiting", "held", "slowed", "rolling", "failed", "fanOuts", "halts", "restarts"} {
		answer += `,"` + name + `":` + items
	}
	o, _, err := newAPIServer(t, answering(http.StatusOK, answer+"}")).leader().Overview(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	got := []int{len(o.Pending.Items), len(o.Waiting.Items), len(o.Held.Items), len(o.Slowed.Items), len(o.Rolling.Items), len(o.Failed.Items), len(o.FanOuts.Items), len(o.Halts.Items), len(o.Restarts.Items)}
	if want := slices.Repeat([]int{status.Limit}, len(got)); !slices.Equal(got, want) || o.Held.Total != 1000 {
		t.Errorf("the lists have %v items, want %v; of %d", got, want, o.Held.Total)
	}
}

// expiring is a context whose time is over when a test says so.
type expiring struct {
	context.Context
	over chan struct{}
	end  func()
}

func newExpiring(t *testing.T) *expiring {
	over := make(chan struct{})
	return &expiring{t.Context(), over, sync.OnceFunc(func() { close(over) })}
}

func (e *expiring) Done() <-chan struct{} { return e.over }

func (e *expiring) Err() error {
	select {
	case <-e.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// Nobody waits for long, whatever does not answer.
func TestALeaderThatIsSilentIsNotWaitedFor(t *testing.T) {
	isForward := func(r *http.Request) bool { return r.URL.Path == forwardPath }
	for name, test := range map[string]struct {
		isSilent, isRefused func(*http.Request) bool
		want                string
	}{
		"the API server": {func(*http.Request) bool { return true }, nil, "the API server has not answered within 3s"},
		"the websocket":  {isForward, nil, "pod leader-1 has not answered within 3s"},
		"the SPDY connection": {
			func(r *http.Request) bool { return isForward(r) && !websocket.IsWebSocketUpgrade(r) },
			websocket.IsWebSocketUpgrade, "pod leader-1 has not answered within 3s",
		},
		"the page": {nil, nil, "pod leader-1 has not answered within 3s"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, finished := newExpiring(t), make(chan struct{})
			s := newAPIServer(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				ctx.end()
				<-finished
			}))
			t.Cleanup(func() { close(finished) })
			s.refuse = func(w http.ResponseWriter, r *http.Request) bool {
				switch {
				case test.isRefused != nil && test.isRefused(r):
					refused(w, http.StatusBadRequest, "BadRequest")
					return true
				case test.isSilent != nil && test.isSilent(r):
					ctx.end()
					<-finished
					return true
				}
				return false
			}
			if _, _, err := s.leader().Overview(ctx, ""); err == nil || err.Error() != test.want {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}
