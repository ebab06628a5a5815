package statuspage_test

import (
	"bufio"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/internal/statuspage"
)

// cluster is a source whose answers a test chooses.
type cluster struct {
	mu       sync.Mutex
	overview status.Overview
}

func (c *cluster) source() statuspage.Source {
	return statuspage.Source{
		Leads:     func() bool { return c.shown().Leads },
		Knowledge: func(string) status.Knowledge { return c.shown().Knowledge },
		Overview: func(namespace string) *status.Overview {
			shown := c.shown()
			shown.Namespace = namespace
			return shown
		},
		Workload: func(name string) *status.Workload {
			if name != "deployment/default/web" {
				return nil
			}
			return &status.Workload{Entry: status.Entry{Workload: name, State: status.Settled}, Time: time.Now()}
		},
		Config: func(name string) *status.Config {
			if name != "configmap/default/status.json" && name != "configmap/default/shared/flags" {
				return nil
			}
			return &status.Config{Name: name, Exists: new(true), States: map[status.State]int{status.Settled: 3}}
		},
		List: func(asked status.Selection) *status.Listing {
			if asked.Page < 1 || asked.Page > 2 {
				return nil
			}
			l := &status.Listing{Selection: asked, Total: 201, Pages: 2}
			switch asked.What {
			case status.ListNamespaces:
				l.Items = []status.Listed{{Name: "shop", Workloads: 3}}
			case status.ListWorkloads:
				l.Items = []status.Listed{{Name: "deployment/shop/web", State: status.Held}}
			case status.ListConfigs:
				l.Items = []status.Listed{{Name: "configmap/shop/settings", Workloads: 1}}
			}
			return l
		},
		HasNamespace: func(namespace string) bool { return namespace != "typo" },
		MistakeOn: func(name string) *status.Mistake {
			for _, m := range c.shown().Mistakes.Items {
				if m.Object == name {
					return &m
				}
			}
			return nil
		},
	}
}

func (c *cluster) shown() *status.Overview {
	c.mu.Lock()
	defer c.mu.Unlock()
	shown := c.overview
	shown.Time = time.Now()
	return &shown
}

func (c *cluster) become(o status.Overview) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.overview = o
}

func leading() *cluster { return &cluster{overview: status.Overview{Leads: true, Workloads: 7}} }

func newHandler(source statuspage.Source) http.Handler {
	return statuspage.New(source, slog.New(slog.DiscardHandler))
}

func (c *cluster) handler() http.Handler {
	return newHandler(c.source())
}

func get(handler http.Handler, path string, adjust ...func(*http.Request)) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodGet, path, nil)
	request.Host = "localhost:10255"
	for _, a := range adjust {
		a(request)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

func TestEachPageHasItsDataAsJSONBesideIt(t *testing.T) {
	known := leading()
	known.overview.Mistakes.Items = []status.Mistake{{Object: "deployment/default/typo", Problem: "it is a typo", Beginning: status.Beginning{Since: time.Now().Add(-time.Hour)}}}
	handler := known.handler()
	for path, want := range map[string]struct {
		code        int
		contentType string
		part        string
	}{
		"/":                                     {http.StatusOK, "text/html; charset=utf-8", "7 enabled workloads"},
		"/status.json":                          {http.StatusOK, "application/json", `"workloads":7`},
		"/namespace/shop":                       {http.StatusOK, "text/html; charset=utf-8", "<h1>What is under way in shop</h1>"},
		"/namespace/shop/status.json":           {http.StatusOK, "application/json", `"namespace":"shop"`},
		"/namespace/typo":                       {http.StatusNotFound, "text/html; charset=utf-8", "knows no enabled workload, ConfigMap or Secret of this namespace"},
		"/namespace/typo/status.json":           {http.StatusOK, "application/json", `"namespace":"typo"`},
		"/namespaces":                           {http.StatusOK, "text/html; charset=utf-8", `<a href="/namespace/shop/workloads">3</a>`},
		"/namespaces/2":                         {http.StatusOK, "text/html; charset=utf-8", `<a href="/namespaces/1">1</a> <b aria-current="page">2</b>`},
		"/namespaces/3":                         {http.StatusNotFound, "text/html; charset=utf-8", "no such page"},
		"/namespaces/x":                         {http.StatusNotFound, "text/html; charset=utf-8", "no such page"},
		"/namespaces/status.json":               {http.StatusOK, "application/json", `"what":"namespaces"`},
		"/namespace/shop/workloads":             {http.StatusOK, "text/html; charset=utf-8", `<a href="/workload/deployment/shop/web">deployment/shop/web</a></td><td data-label="State"><span class="state held">held</span>`},
		"/namespace/shop/workloads/2":           {http.StatusOK, "text/html; charset=utf-8", `<a href="/namespace/shop/workloads/1">1</a> <b aria-current="page">2</b>`},
		"/namespace/typo/workloads/9":           {http.StatusNotFound, "text/html; charset=utf-8", "of this namespace"},
		"/namespace/shop/configs":               {http.StatusOK, "text/html; charset=utf-8", `<a href="/config/configmap/shop/settings">`},
		"/namespace/shop/configs/2/status.json": {http.StatusOK, "application/json", `"page":2,"total":201,"pages":2`},
		"/workloads":                            {http.StatusOK, "text/html; charset=utf-8", "<h1>Enabled workloads</h1>"},
		"/configs":                              {http.StatusOK, "text/html; charset=utf-8", "<h1>ConfigMaps and Secrets</h1>"},
		"/workload/deployment/default/web":      {http.StatusOK, "text/html; charset=utf-8", "<h1>deployment/default/web</h1>"},
		"/workload/deployment/default/web/status.json":             {http.StatusOK, "application/json", `"workload":"deployment/default/web"`},
		"/workload/deployment/default/other":                       {http.StatusNotFound, "text/html; charset=utf-8", "no enabled workload of this name. Either it does not exist, it is not enabled, or its kind or namespace is not watched."},
		"/workload/deployment/default/other/status.json":           {http.StatusNotFound, "application/json", `"error":"`},
		"/workload/deployment/default/typo":                        {http.StatusNotFound, "text/html; charset=utf-8", `it is a typo (1 h`},
		"/workload/deployment/default/typo/status.json":            {http.StatusNotFound, "application/json", `"mistake":{"object":"deployment/default/typo","problem":"it is a typo","since":"`},
		"/config/configmap/default/status.json":                    {http.StatusOK, "text/html; charset=utf-8", "<h1>configmap/default/status.json</h1>"},
		"/config/configmap/default/status.json/status.json":        {http.StatusOK, "application/json", `"config":"configmap/default/status.json"`},
		"/config/configmap/default/shared/flags":                   {http.StatusOK, "text/html; charset=utf-8", "<h1>configmap/default/shared/flags</h1>"},
		"/config/configmap/default/shared/flags/status.json":       {http.StatusOK, "application/json", `"config":"configmap/default/shared/flags"`},
		"/config/configmap/default/shared/other":                   {http.StatusNotFound, "text/html; charset=utf-8", "no ConfigMap or Secret of this name"},
		"/config/configmap/default/other":                          {http.StatusNotFound, "text/html; charset=utf-8", "no ConfigMap or Secret of this name"},
		"/style.css":                                               {http.StatusOK, "text/css; charset=utf-8", "prefers-color-scheme"},
		"/script.js":                                               {http.StatusOK, "text/javascript; charset=utf-8", "EventSource"},
		"/icon.svg":                                                {http.StatusOK, "image/svg+xml", "<svg"},
		"/assets/style.css":                                        {http.StatusNotFound, "text/plain; charset=utf-8", "not found"},
		"/workload":                                                {http.StatusNotFound, "text/plain; charset=utf-8", "not found"},
		"/workload/deployment/default/" + strings.Repeat("x", 300): {http.StatusNotFound, "text/html; charset=utf-8", ""},
	} {
		answer := get(handler, path)
		if answer.Code != want.code || answer.Header().Get("Content-Type") != want.contentType || !strings.Contains(answer.Body.String(), want.part) {
			t.Errorf("%s: %d %s %s", path, answer.Code, answer.Header().Get("Content-Type"), answer.Body)
		}
	}
}

func TestOnlyReadingIsAllowed(t *testing.T) {
	handler := leading().handler()
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions, "BREW"} {
		if answer := get(handler, "/status.json", func(r *http.Request) { r.Method = method }); answer.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, answer.Code)
		}
	}
	for _, path := range []string{"/", "/status.json", "/events"} {
		if answer := get(handler, path, func(r *http.Request) { r.Method = http.MethodHead }); answer.Code != http.StatusOK {
			t.Errorf("HEAD %s: %d", path, answer.Code)
		}
	}
}

func TestOnlyNamesOfThisMachineAreAnswered(t *testing.T) {
	handler := leading().handler()
	for _, host := range []string{"localhost", "LocalHost:8080", "127.0.0.1", "127.0.0.1:10255", "127.8.8.8:1", "[::1]", "[::1]:10255", "::1"} {
		if answer := get(handler, "/", func(r *http.Request) { r.Host = host }); answer.Code != http.StatusOK {
			t.Errorf("%q: %d", host, answer.Code)
		}
	}
	for _, host := range []string{
		"", "evil.example", "evil.example:10255", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1:10255", "0.0.0.0", "[::]:1", "169.254.169.254",
		"localhost:x:y", "[localhost", "localhost.",
	} {
		for _, path := range []string{"/", "/status.json", "/events", "/style.css", "/nowhere"} {
			answer := get(handler, path, func(r *http.Request) { r.Host = host })
			if answer.Code != http.StatusForbidden || strings.Contains(answer.Body.String(), "7") {
				t.Errorf("%q %s: %d %s", host, path, answer.Code, answer.Body)
			}
		}
	}
}

func TestPagesOfOtherSitesMayLinkButNotLoad(t *testing.T) {
	handler := leading().handler()
	for headers, want := range map[[2]string]int{
		{"", ""}: http.StatusOK, {"none", "navigate"}: http.StatusOK, {"same-origin", "cors"}: http.StatusOK, {"cross-site", "navigate"}: http.StatusOK,
		{"cross-site", "no-cors"}: http.StatusForbidden, {"same-site", "cors"}: http.StatusForbidden, {"cross-site", ""}: http.StatusForbidden,
	} {
		answer := get(handler, "/status.json", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", headers[0])
			r.Header.Set("Sec-Fetch-Mode", headers[1])
		})
		if answer.Code != want {
			t.Errorf("%v: %d", headers, answer.Code)
		}
	}
}

func TestEveryAnswerForbidsToLoadAnythingFromElsewhere(t *testing.T) {
	handler := leading().handler()
	for _, path := range []string{"/", "/status.json", "/style.css", "/nowhere", "/workload/a/b/c"} {
		header := get(handler, path).Header()
		policy := header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy lacks %q: %s", path, part, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Referrer-Policy") != "no-referrer" || header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", path, header)
		}
	}
}

func TestAStandbyNamesTheLeaderOnEachPage(t *testing.T) {
	c := &cluster{overview: status.Overview{Leader: "controller-abc"}}
	for path, code := range map[string]int{"/": http.StatusOK, "/workload/deployment/default/web": http.StatusServiceUnavailable, "/config/configmap/default/other": http.StatusServiceUnavailable} {
		answer := get(c.handler(), path)
		if answer.Code != code || !strings.Contains(answer.Body.String(), "The leader is <code>controller-abc</code>") {
			t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
		}
	}
	answer := get(c.handler(), "/workload/deployment/default/web/status.json")
	var overview status.Overview
	if err := json.Unmarshal(answer.Body.Bytes(), &overview); err != nil || overview.Leads || overview.Leader != "controller-abc" || answer.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d %s", answer.Code, answer.Body)
	}
}

func TestEachPageSaysWhoAnswersAndSinceWhenItLeads(t *testing.T) {
	lease := &status.Lease{Holder: "controller-abc", Since: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	leads, elected, stands := status.Overview{Leads: true}, status.Overview{Leads: true}, status.Overview{}
	elected.Lease, stands.Lease = lease, lease
	for want, overview := range map[string]status.Overview{
		"version 1.2, pod controller-abc": leads, "version 1.2, pod controller-abc, leads since 2026-05-01 12:00:00": elected, "version 1.2, pod controller-abc, stands by": stands,
	} {
		c := &cluster{overview: overview}
		source := c.source()
		source.Version, source.Pod = "1.2", "controller-abc"
		for _, path := range []string{"/", "/namespace/shop/workloads", "/workload/deployment/default/web", "/config/configmap/default/shared/flags"} {
			if page := get(newHandler(source), path).Body.String(); !strings.Contains(page, `<p id="about">`+want+"</p>") {
				t.Errorf("%s lacks %s: %s", path, want, page)
			}
		}
		if page := get(newHandler(source), "/nowhere").Body.String(); strings.Contains(page, "1.2") {
			t.Errorf("nowhere is %s", page)
		}
	}
	if page := get(leading().handler(), "/").Body.String(); !strings.Contains(page, `<p id="about"></p>`) || strings.Contains(page, "since it leads") {
		t.Errorf("nothing is known: %s", page)
	}
	if page := get((&cluster{overview: elected}).handler(), "/").Body.String(); !strings.Contains(page, "Those that this replica has made or followed since it leads, 2026-05-01 12:00:00</p>") {
		t.Errorf("the last restarts are not all: %s", page)
	}
}

func TestAStandbyNamesNoLeaderWhoseLeaseHasRunOut(t *testing.T) {
	now := time.Now()
	for renewed, names := range map[time.Duration]bool{2 * time.Second: true, time.Minute: false} {
		c := &cluster{overview: status.Overview{Time: now, Leader: "controller-abc"}}
		c.overview.Lease = &status.Lease{Holder: "controller-abc", Renewed: now.Add(-renewed), Seconds: 15}
		if page := get(c.handler(), "/").Body.String(); strings.Contains(page, "The leader is") != names {
			t.Errorf("renewed %s ago: %s", renewed, page)
		}
	}
}

func TestAnInternalErrorEndsOneAnswerAndRevealsNothing(t *testing.T) {
	c := leading()
	source := c.source()
	source.Overview = func(string) *status.Overview { panic("a-secret-value") }
	var log strings.Builder
	handler := statuspage.New(source, slog.New(slog.NewTextHandler(&log, nil)))
	if answer := get(handler, "/"); answer.Code != http.StatusInternalServerError || strings.Contains(answer.Body.String()+log.String(), "secret") || log.Len() == 0 {
		t.Errorf("%d %s, log: %s", answer.Code, answer.Body, log.String())
	}
	if answer := get(handler, "/configs"); answer.Code != http.StatusOK {
		t.Errorf("the next answer is %d", answer.Code)
	}
}

// reader reads the events of a page from a real server.
type reader struct {
	response *http.Response
	lines    *bufio.Scanner
}

func open(t *testing.T, server *httptest.Server, path string) *reader {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return &reader{response, bufio.NewScanner(response.Body)}
}

// next returns the data of the next event.
func (r *reader) next(t *testing.T) string {
	t.Helper()
	for r.lines.Scan() {
		if data, found := strings.CutPrefix(r.lines.Text(), "data: "); found {
			return data
		}
	}
	t.Fatalf("the stream has ended: %v", r.lines.Err())
	return ""
}

func TestAnotherStreamEndsTheOldest(t *testing.T) {
	server := httptest.NewServer(leading().handler())
	t.Cleanup(server.Close) // after the streams
	var streams []*reader
	for range 17 {
		events := open(t, server, "/workload/deployment/default/web/events")
		events.next(t)
		streams = append(streams, events)
	}
	for streams[0].lines.Scan() { // until it ends
	}
	leading := streams[1].next(t) // it lives
	if leading == "" {
		t.Error("the second stream reports nothing")
	}
}

func TestWhatTenantsWriteIsVisible(t *testing.T) {
	hostile := "a\u202eb\u2066c\u009bd\x7fe\U000e0041f"
	c := leading()
	source := c.source()
	source.Workload = func(name string) *status.Workload {
		return &status.Workload{Entry: status.Entry{Workload: name, State: status.Held, Reason: "hold", Text: hostile}, Time: time.Now()}
	}
	handler := newHandler(source)
	for _, path := range []string{"/workload/deployment/default/web", "/workload/deployment/default/web/status.json"} {
		body := get(handler, path).Body.String()
		for _, r := range body {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Errorf("%s shows %U", path, r)
			}
		}
		if !strings.Contains(body, `a\u202eb\u2066c\u009bd\u007fe`) {
			t.Errorf("%s: %s", path, body)
		}
	}
	var got status.Workload
	if err := json.Unmarshal(get(handler, "/workload/deployment/default/web/status.json").Body.Bytes(), &got); err != nil || got.Text != hostile {
		t.Errorf("tools read %q, %v", got.Text, err)
	}
}

func TestStreamsAndFramesAreNothingToLinkTo(t *testing.T) {
	for path, into := range map[string]string{"/events": "document", "/workload/deployment/default/web/events": "document", "/": "iframe", "/status.json": "embed"} {
		answer := get(leading().handler(), path, func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
			r.Header.Set("Sec-Fetch-Dest", into)
		})
		if answer.Code != http.StatusForbidden {
			t.Errorf("%s into %s: %d", path, into, answer.Code)
		}
	}
}
