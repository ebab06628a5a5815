// Package dashboard serves the leader's status page on this machine.
//
// Whoever can open the port sees the page with the permissions of the caller. So it answers only to names of this machine, which
// pages of other sites cannot take for their own, only reads, and passes on only what the page needs.
package dashboard

import (
	"encoding/json"
	"html/template"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"path"
	"slices"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// Pages answers requests for paths of the status page, and says what it means if it cannot.
type Pages interface {
	http.RoundTripper
	Gap(err error, now time.Time) status.Gap
}

// New returns a handler that serves the pages.
func New(pages Pages) http.Handler {
	return protected(&httputil.ReverseProxy{
		Transport: pages,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "leader"
			r.Out.Header, r.Out.Body, r.Out.ContentLength = passedOn(r.In.Header), http.NoBody, 0
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			gap, now := pages.Gap(err, time.Now()), time.Now()
			apologize(w, r.URL.Path, text.Safe(facts.DescribeGap(&gap, now)))
		},
		ErrorLog: log.New(io.Discard, "", 0), // streams that end
	})
}

// needed are the headers of requests that the page uses. Others, such as cookies, may be meant for another server on this machine.
var needed = []string{"Accept", "If-None-Match", "Last-Event-Id", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest"}

func passedOn(from http.Header) http.Header {
	passed := http.Header{"User-Agent": nil} // otherwise one is made up
	for _, name := range needed {
		if values := from.Values(name); len(values) > 0 {
			passed[name] = values
		}
	}
	return passed
}

// policy lets the pages load nothing from elsewhere, whatever the pod answers.
const policy = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// protected answers only to requests that read, for this machine by its own names. A page of another site can make its own name
// resolve to a loopback address, and could then read the answers; but the browser says for which name it asks.
func protected(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protect(w.Header())
		switch {
		case !isOwn(r.Host):
			http.Error(w, "this page answers only to localhost, 127.0.0.1 and [::1]", http.StatusForbidden)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "this page can only be read", http.StatusMethodNotAllowed)
		case r.URL.RawPath != "" || path.Clean("/"+r.URL.Path) != r.URL.Path: // it could lead to what is beside the page
			http.NotFound(w, r)
		default:
			next.ServeHTTP(final{w}, r)
		}
	})
}

func protect(header http.Header) {
	if !slices.Contains(header.Values("Content-Security-Policy"), policy) { // beside that of the page, which allows less
		header.Add("Content-Security-Policy", policy)
	}
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	header.Del("Set-Cookie")
}

// final protects an answer whatever headers the pod sends, and leaves out what it sends before.
type final struct{ http.ResponseWriter }

func (f final) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func (f final) WriteHeader(status int) {
	if status >= http.StatusOK {
		protect(f.Header())
		f.ResponseWriter.WriteHeader(status)
	}
}

// isOwn reports whether a host, with or without a port, is a name of this machine that no other site can have.
func isOwn(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
		if strings.Contains(name, ":") {
			host = "[" + name + "]"
		}
	}
	return strings.EqualFold(host, "localhost") || host == "127.0.0.1" || host == "[::1]"
}

// apology has the parts of the status page that its script looks for, so that a page which is open shows it, and later what
// the next leader answers.
var apology = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="5">
<title>No leader</title>
</head>
<body>
<main id="main" data-incomplete>
<h1>The leader does not answer</h1>
<p class="card bad">{{.}}</p>
<p class="note">This page shows the leader as soon as one answers.</p>
</main>
</body>
</html>
`))

// noLeader is a stream which makes the page load again, and its script begin another stream.
const noLeader = "retry: 2000\nevent: change\ndata: 0\n\n"

// apologize answers that the leader does not, and why.
func apologize(w http.ResponseWriter, asked, why string) {
	header := w.Header()
	switch {
	case strings.HasSuffix(asked, "/events"): // a browser gives up a stream that answers with an error
		header.Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, noLeader)
	case strings.HasSuffix(asked, "/status.json"):
		header.Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_ = json.NewEncoder(w).Encode(status.Problem{Error: why})
	default:
		header.Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusServiceUnavailable)
		_ = apology.Execute(w, why)
	}
}
