package leader_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/leader"
)

func (s *apiServer) pages() *leader.Pages {
	s.Helper()
	return newPages(s.T, s.config, leader.Place{Namespace: "ctl", Lease: "election", Port: 10255})
}

func newPages(t *testing.T, config *rest.Config, place leader.Place) *leader.Pages {
	t.Helper()
	pages, err := leader.NewPages(config, place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pages.Close)
	return pages
}

// get returns the code and the text of a page.
func get(t *testing.T, pages *leader.Pages, path string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://leader"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := pages.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	return fmt.Sprint(response.StatusCode, " ", string(said)), err
}

// saying is a page that says a name and for which host it is asked, and whose streams do not end.
func saying(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/events" {
			fmt.Fprintf(w, "%s at %s", name, r.Host)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintln(w, "event: change")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
}

func TestRequestsGoToWhoeverLeads(t *testing.T) {
	t.Parallel()
	first, second := newAPIServer(t, saying("leader-1")), newAPIServer(t, saying("leader-2"))
	var holder atomic.Value
	holder.Store("leader-1_f3b1")
	first.refuse = func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case leasePath:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"election"},"spec":{"holderIdentity":%q}}`, holder.Load())
		case strings.Replace(forwardPath, "leader-1", "leader-2", 1):
			second.forward(w, r)
		default:
			return false
		}
		return true
	}
	pages := first.pages()
	for range 3 {
		if said, err := get(t, pages, "/"); err != nil || said != "200 leader-1 at localhost:10255" {
			t.Fatalf("%s, %v", said, err)
		}
	}
	if len(first.asked) != 1 {
		t.Errorf("three requests take %d connections", len(first.asked))
	}
	time.AfterFunc(100*time.Millisecond, func() { holder.Store("leader-2_0815") })
	if said, err := get(t, pages, "/events"); err != nil || said != "200 event: change\n" {
		t.Errorf("the stream of a leader that does not lead any more: %q, %v", said, err)
	}
	if said, err := get(t, pages, "/"); err != nil || said != "200 leader-2 at localhost:10255" {
		t.Errorf("after the takeover: %s, %v", said, err)
	}
}

func TestAPageThatCannotBeReachedSaysWhatToDo(t *testing.T) {
	t.Parallel()
	const elsewhere = "The leader of the controller cannot be reached"
	for want, test := range map[string]struct {
		adjust    func(*apiServer)
		permanent bool
		gap       string
	}{
		"there is no lease ctl/election; ": {func(s *apiServer) { s.refuse = refusing(leasePath, http.StatusNotFound, "NotFound") }, true, elsewhere},
		"you may not read the lease":       {func(s *apiServer) { s.refuse = refusing(leasePath, http.StatusForbidden, "Forbidden") }, true, elsewhere},
		"you may not reach pod leader-1: ": {func(s *apiServer) {
			s.refuse, s.renewed = refusing(forwardPath, http.StatusForbidden, "Forbidden"), time.Now()
		}, true, elsewhere},
		"pod leader-1 serves no status page at port 10255": {func(s *apiServer) { s.page, s.renewed = "", time.Now() }, true, elsewhere},
		"no replica of the controller leads at present":    {func(s *apiServer) { s.holder = "" }, false, "No replica of the controller leads, so nothing restarts"},
		"there is no pod leader-2 in namespace ctl":        {func(s *apiServer) { s.holder = "leader-2_1" }, false, "Probably no replica of the controller leads, so nothing restarts: pod leader-2"},
		"there is no pod leader-3 in namespace ctl":        {func(s *apiServer) { s.holder, s.renewed = "leader-3_1", time.Now() }, false, elsewhere},
	} {
		s := newAPIServer(t, saying("leader-1"))
		test.adjust(s)
		pages := s.pages()
		_, err := get(t, pages, "/")
		permanent := (*leader.Permanent)(nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) || errors.As(err, &permanent) != test.permanent {
			t.Errorf("%v, want %q", err, want)
			continue
		}
		if gap := pages.Gap(err, time.Now()); !strings.HasPrefix(gap.Text, test.gap) || gap.Why != err.Error() {
			t.Errorf("%s: %+v", want, gap)
		}
	}
}

func TestAPageThatIsSilentIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	finished := make(chan struct{})
	s := newAPIServer(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-finished }))
	t.Cleanup(func() { close(finished) })
	if _, err := get(t, s.pages(), "/"); err == nil || err.Error() != "pod leader-1 has not answered within 3s" {
		t.Error(err)
	}
}

func TestThePagesOfALeaderOutsideOfTheClusterHaveAURL(t *testing.T) {
	page := httptest.NewServer(saying("leader"))
	pages := newPages(t, nil, leader.Place{URL: page.URL + "/"})
	if said, err := get(t, pages, "/"); err != nil || said != "200 leader at "+page.Listener.Addr().String() {
		t.Errorf("%s, %v", said, err)
	}
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) }))
	t.Cleanup(echo.Close)
	if said, err := get(t, newPages(t, nil, leader.Place{URL: echo.URL}), "/workloads?q=web&state=held"); err != nil || said != "200 /workloads?q=web&state=held" {
		t.Errorf("%s, %v", said, err)
	}
	page.Close()
	if said, err := get(t, pages, "/"); err == nil || !strings.HasPrefix(err.Error(), page.URL+"/ cannot be asked: ") {
		t.Errorf("%s, %v", said, err)
	}
	if _, err := leader.NewPages(nil, leader.Place{URL: "nowhere"}); err == nil {
		t.Error("any URL is taken")
	}
}
