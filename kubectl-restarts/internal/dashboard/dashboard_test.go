package dashboard_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/dashboard"
)

// pages answers each request, unless there is an error.
type pages struct {
	err   error
	asked *http.Request
}

func (p *pages) RoundTrip(r *http.Request) (*http.Response, error) {
	p.asked = r
	header := http.Header{"Set-Cookie": {"a=b"}, "Content-Security-Policy": {"default-src 'none'"}, "Cache-Control": {"no-store"}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader("the page"))}, p.err
}

func (*pages) Gap(err error, _ time.Time) status.Gap {
	return status.Gap{Text: "No replica leads", Why: err.Error()}
}

func ask(p *pages, method, host, path string, header http.Header) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, "http://"+host+path, http.NoBody)
	request.Header = header
	recorder := httptest.NewRecorder()
	dashboard.New(p).ServeHTTP(recorder, request)
	return recorder
}

func TestOnlyNamesOfThisMachineAreAnswered(t *testing.T) {
	for host, want := range map[string]int{
		"localhost:8080": 200, "localhost": 200, "LOCALHOST": 200, "127.0.0.1:8080": 200, "127.0.0.1": 200, "[::1]:8080": 200, "[::1]": 200,
		"evil.example:8080": 403, "localhost.evil.example": 403, "localhost.": 403, "127.0.0.1.evil.example:8080": 403, "127.0.0.2": 403, "0.0.0.0:8080": 403, "10.0.0.1": 403, "[::]:8080": 403,
	} {
		p := &pages{}
		if response := ask(p, http.MethodGet, host, "/", nil); response.Code != want || (p.asked != nil) != (want == 200) {
			t.Errorf("%s: %d, want %d", host, response.Code, want)
		}
	}
	for _, host := range []string{"", "::1"} {
		request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		request.Host = host
		recorder := httptest.NewRecorder()
		if dashboard.New(&pages{}).ServeHTTP(recorder, request); recorder.Code != http.StatusForbidden {
			t.Errorf("%q: %d", host, recorder.Code)
		}
	}
}

func TestThePageCanOnlyBeRead(t *testing.T) {
	for method, want := range map[string]int{"GET": 200, "HEAD": 200, "POST": 405, "PUT": 405, "DELETE": 405, "OPTIONS": 405, "TRACE": 405} {
		p := &pages{}
		response := ask(p, method, "localhost", "/", nil)
		if response.Code != want || (p.asked != nil) != (want == 200) || want == 405 && response.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, want %d", method, response.Code, want)
		}
	}
}

func TestOnlyWhatThePageNeedsIsPassedOn(t *testing.T) {
	p := &pages{}
	response := ask(p, http.MethodGet, "localhost:8080", "/workload/deployment/shop/web?x=1", http.Header{
		"Cookie": {"session=swordfish"}, "Authorization": {"Bearer swordfish"}, "Referer": {"http://localhost/"}, "Sec-Fetch-Site": {"cross-site"},
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Accept": {"text/html"},
	})
	var passed []string
	for name, values := range p.asked.Header {
		if len(values) > 0 {
			passed = append(passed, name)
		}
	}
	slices.Sort(passed)
	if !slices.Equal(passed, []string{"Accept", "Sec-Fetch-Site"}) || p.asked.URL.RequestURI() != "/workload/deployment/shop/web?x=1" {
		t.Errorf("%s is asked for with %v", p.asked.URL, passed)
	}
	header := response.Header()
	if body := response.Body.String(); body != "the page" || header.Get("Set-Cookie") != "" || len(header.Values("Content-Security-Policy")) != 2 || len(header.Values("Cache-Control")) != 1 {
		t.Errorf("%s, %v", body, header)
	}
}

// server asks a pod that answers as it likes.
type server struct {
	*http.Transport
	address string
}

func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	r.URL.Host = s.address
	return s.Transport.RoundTrip(r)
}

func (server) Gap(err error, _ time.Time) status.Gap { return status.Gap{Text: err.Error()} }

func TestAnswersAreProtectedWhateverThePodSends(t *testing.T) {
	pod := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "a=b")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Cache-Control", "public")
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	defer pod.Close()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	page := httptest.NewServer(dashboard.New(server{transport, pod.Listener.Addr().String()}))
	defer page.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page.URL, strings.NewReader("a body"))
	if err != nil {
		t.Fatal(err)
	}
	var early []int
	request = request.WithContext(httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, _ textproto.MIMEHeader) error { early = append(early, code); return nil },
	}))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	header := response.Header
	if err != nil || len(body) > 0 || len(early) > 0 || len(header["Set-Cookie"]) > 0 || len(header["Content-Security-Policy"]) != 1 ||
		!slices.Equal(header["Cache-Control"], []string{"no-store"}) || header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%q, %v, first %v; %v", body, header, early, err)
	}
}

func TestWhatIsBesideThePageIsNotAskedFor(t *testing.T) {
	for _, path := range []string{"/../admin", "/a/../../admin", "/a%2f..%2f..%2fadmin", "//admin", "/a/./b"} {
		p := &pages{}
		if response := ask(p, http.MethodGet, "localhost", path, nil); response.Code != http.StatusNotFound || p.asked != nil {
			t.Errorf("%s: %d", path, response.Code)
		}
	}
}

func TestEachPageSaysThatThereIsNoLeader(t *testing.T) {
	for path, test := range map[string]struct {
		code int
		has  string
	}{
		"/":                         {503, `<p class="card bad">No replica leads: &lt;b&gt;\u001b[2J.</p>`},
		"/namespace/shop":           {503, `<main id="main" data-incomplete>`},
		"/style.css":                {503, ""},
		"/status.json":              {503, `{"error":"No replica leads: \u003cb\u003e\\u001b[2J."}`},
		"/events":                   {200, "retry: 2000\nevent: change\ndata: 0\n\n"},
		"/config/secret/s/n/events": {200, "event: change\n"},
	} {
		response := ask(&pages{err: errors.New("<b>\x1b[2J")}, http.MethodGet, "localhost", path, nil)
		if body := response.Body.String(); response.Code != test.code || !strings.Contains(body, test.has) || strings.Contains(body, "\x1b") {
			t.Errorf("%s: %d, %s", path, response.Code, body)
		}
	}
}
