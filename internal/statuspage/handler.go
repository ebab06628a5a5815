// Package statuspage shows people and tools what is under way: as pages, which are readable without JavaScript, and as
// JSON. The path of a page followed by /status.json is what it shows, as types of package status; followed by /events,
// it is a stream that reports changes.
//
// The page is for a loopback address, which people reach by kubectl port-forward: whoever may do that may see it. Web
// pages of others must not, so it answers only to names of this machine, and loads nothing from elsewhere.
package statuspage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/status"
)

// Source is what the pages show. Its functions may be called by several goroutines at once.
type Source struct {
	// Version is that of the program, and Pod the name of its pod.
	Version, Pod string
	// Leads reports whether this process acts. If it does not, only Overview and Knowledge are called.
	Leads func() bool
	// Knowledge is how much this process knows of one namespace, or of all if it is empty.
	Knowledge func(namespace string) status.Knowledge
	// The following need not say how much this process knows.

	// Overview is about one namespace, or about all if it is empty.
	Overview func(namespace string) *status.Overview
	// Workload and Config take names such as "deployment/namespace/name", and return nil for what is
	// not known.
	Workload func(name string) *status.Workload
	Config   func(name string) *status.Config
	// List returns a page of what is known of one sort, nil if there is none. HasNamespace reports whether anything of a
	// namespace is known.
	List         func(status.Selection) *status.Listing
	HasNamespace func(namespace string) bool
	// MistakeOn returns what a person has got wrong on a workload, enabled or not, nil if nothing is known of it.
	MistakeOn func(name string) *status.Mistake
}

// handler serves the pages of a source.
type handler struct {
	source  Source
	log     *slog.Logger
	streams streams
	answers chan struct{} // has an element for each other answer that is not complete
	turn    chan struct{} // has an element while somebody looks
}

// maxAnswers is how many answers may be incomplete at the same time. Each of them takes some hundred KiB at most, for
// as long as the client may take to read it.
const maxAnswers = 32

// New returns a handler that serves the pages of a source.
func New(source Source, log *slog.Logger) http.Handler {
	h := &handler{source: source, log: log, answers: make(chan struct{}, maxAnswers), turn: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	h.add(mux, "/", h.overview)
	h.add(mux, "/namespace/{namespace}", h.overviewOfNamespace)
	for path, what := range map[string]string{
		"/namespaces": status.ListNamespaces, "/workloads": status.ListWorkloads, "/configs": status.ListConfigs,
		"/namespace/{namespace}/workloads": status.ListWorkloads, "/namespace/{namespace}/configs": status.ListConfigs,
	} {
		h.add(mux, path, h.listing(what))
		h.add(mux, path+"/{page}", h.listing(what))
	}
	h.add(mux, "/workload/{kind}/{namespace}/{name}", h.ofLeader(func(name string, known status.Knowledge) view {
		if w := source.Workload(name); w != nil {
			w.Knowledge = known
			return view{http.StatusOK, w}
		}
		return notFound(status.Problem{
			Error: "The controller knows no enabled workload of this name. Either it does not exist, it is not enabled, or its kind or namespace is not watched.",
			Gaps:  known.Gaps, Mistake: source.MistakeOn(name),
		})
	}))
	config := h.ofLeader(func(name string, known status.Knowledge) view {
		if c := source.Config(name); c != nil {
			c.Knowledge = known
			return view{http.StatusOK, c}
		}
		return notFound(status.Problem{Error: "The controller knows no ConfigMap or Secret of this name.", Gaps: known.Gaps})
	})
	h.add(mux, "/config/{kind}/{namespace}/{name}", config)
	h.add(mux, "/config/{kind}/{namespace}/{of}/{name}", config) // of another namespace
	for _, name := range assetNames {
		mux.HandleFunc("GET /"+name, serveAsset)
	}
	return protected(mux, log)
}

// view is what a path shows. The data has a page of its type.
type view struct {
	code int
	data any
}

func notFound(p status.Problem) view { return view{http.StatusNotFound, p} }

// look finds out what a path shows.
type look func(*http.Request) view

// add adds a page and its neighbors.
func (h *handler) add(mux *http.ServeMux, path string, look look) {
	look = h.inTurn(look)
	page, below := path, path+"/"
	if path == "/" {
		page, below = "/{$}", "/"
	}
	mux.HandleFunc("GET "+page, h.limited(func(w http.ResponseWriter, r *http.Request) { h.respondPage(w, r, look(r)) }))
	mux.HandleFunc("GET "+below+"status.json", h.limited(func(w http.ResponseWriter, r *http.Request) { h.respondJSON(w, look(r)) }))
	mux.HandleFunc("GET "+below+"events", func(w http.ResponseWriter, r *http.Request) { h.stream(w, r, look) })
}

// inTurn lets one request look after the other, and none whose client does not wait any more: a look may take some MiB, and keep changes
// of what it looks at from being taken in.
func (h *handler) inTurn(look look) look {
	return func(r *http.Request) view {
		select {
		case h.turn <- struct{}{}:
			defer leave(h.turn)
		case <-r.Context().Done():
		}
		if r.Context().Err() != nil {
			return view{http.StatusServiceUnavailable, status.Problem{Error: "The request has ended."}}
		}
		return look(r)
	}
}

// limited answers that there are too many requests if there are.
func (h *handler) limited(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !enter(h.answers) {
			refuse(w, "too many requests are under way", "1")
			return
		}
		defer leave(h.answers)
		next(w, r)
	}
}

// enter takes a place, if there is one. It belongs to the caller until leave.
func enter(places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
		return false
	}
}

func leave(places chan struct{}) { <-places }

// refuse answers that the client may come back after so many seconds.
func refuse(w http.ResponseWriter, why, after string) {
	w.Header().Set("Retry-After", after)
	http.Error(w, why, http.StatusServiceUnavailable)
}

func (h *handler) overview(r *http.Request) view {
	return view{http.StatusOK, h.overviewOf(r.PathValue("namespace"))}
}

// overviewOfNamespace is overview of a namespace. People are told if nothing is known of it, since they may have typed it; for programs,
// nothing is under way there. A standby shows who leads.
func (h *handler) overviewOfNamespace(r *http.Request) view {
	namespace, isPage := r.PathValue("namespace"), strings.HasSuffix(r.URL.Path, "/"+r.PathValue("namespace"))
	if isPage && h.source.Leads() && !h.source.HasNamespace(namespace) {
		return notFound(status.Problem{Error: noSuchNamespace, Gaps: h.source.Knowledge(namespace).Gaps})
	}
	return h.overview(r)
}

const noSuchNamespace = "The controller knows no enabled workload, ConfigMap or Secret of this namespace. Either it does not exist, or it is not watched."

// listing shows a page of what is known of one sort.
func (h *handler) listing(what string) look {
	return func(r *http.Request) view {
		if !h.source.Leads() {
			return view{http.StatusServiceUnavailable, h.overviewOf("")}
		}
		asked, isState := selectionOf(what, r)
		known := h.source.Knowledge(asked.Namespace)
		if !isState {
			return notFound(status.Problem{Error: noSuchState, Gaps: known.Gaps})
		}
		if l := h.source.List(asked); l != nil {
			l.Knowledge = known
			return view{http.StatusOK, l}
		}
		if asked.Namespace != "" && !h.source.HasNamespace(asked.Namespace) {
			return notFound(status.Problem{Error: noSuchNamespace, Gaps: known.Gaps})
		}
		return notFound(status.Problem{Error: "There is no such page of the list.", Gaps: known.Gaps, FirstPage: firstPage(&asked)})
	}
}

func (h *handler) overviewOf(namespace string) *status.Overview {
	o := h.source.Overview(namespace)
	o.Knowledge = h.source.Knowledge(namespace)
	if o.Lease != nil {
		o.Leader = o.Lease.Holder
	}
	return o
}

// ofLeader looks something up by its name, if this process leads. Otherwise it shows who does.
func (h *handler) ofLeader(find func(name string, known status.Knowledge) view) look {
	return func(r *http.Request) view {
		if !h.source.Leads() {
			return view{http.StatusServiceUnavailable, h.overviewOf("")}
		}
		name, namespace := r.PathValue("name"), r.PathValue("namespace")
		if of := r.PathValue("of"); of != "" {
			name = of + "/" + name
		}
		return find(r.PathValue("kind")+"/"+namespace+"/"+name, h.source.Knowledge(namespace))
	}
}

func (h *handler) respondJSON(w http.ResponseWriter, v view) {
	body, err := json.Marshal(v.data)
	if err != nil {
		h.fail(w, fmt.Errorf("encode JSON: %w", err))
		return
	}
	respond(w, v.code, "application/json", append(brief.JSON(body), '\n'))
}

func (h *handler) respondPage(w http.ResponseWriter, r *http.Request, v view) {
	body := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(body)
	body.Reset()
	if err := h.writePage(body, r.URL.EscapedPath(), v); err != nil {
		h.fail(w, fmt.Errorf("write page: %w", err))
		return
	}
	respond(w, v.code, "text/html; charset=utf-8", visibleHTML(body.Bytes()))
}

// buffers are reused by pages, which may have some hundred KiB.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// fail answers that something in this program is wrong. The error may quote what tenants wrote, which is bounded.
func (h *handler) fail(w http.ResponseWriter, err error) {
	h.log.Error("cannot show the status", "error", err)
	respond(w, http.StatusInternalServerError, "text/plain; charset=utf-8", []byte("internal error\n"))
}

func respond(w http.ResponseWriter, code int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = io.Copy(w, bytes.NewReader(body)) // the client may be gone, which needs no handling
}
