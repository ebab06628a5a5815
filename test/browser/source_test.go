package browser

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/internal/statuspage"
)

// content is what the pages of a server show.
type content struct {
	Overview *status.Overview
	Workload *status.Workload
	Config   *status.Config
	Listing  *status.Listing
}

// server serves the pages of what a test chooses.
type server struct {
	*httptest.Server

	streams atomic.Int32 // that are open

	mu      sync.Mutex
	content content
	query   string // of the last list that was asked for
}

// The paths of one page of each kind.
const (
	overviewPath = "/"
	workloadPath = "/workload/deployment/shop/checkout"
	configPath   = "/config/configmap/shop/web-config"
	listingPath  = "/namespace/shop/workloads"
)

var paths = []string{overviewPath, workloadPath, listingPath, "/configs", "/namespaces", configPath}

func serve(t *testing.T, c content) *server {
	t.Helper()
	s := &server{content: c}
	page := statuspage.New(statuspage.Source{
		Version: "2.0.0", Pod: "kubernetes-deployment-restart-controller-7d9c5b6f4-x2x7q",
		Leads:     func() bool { return s.shown().Overview.Leads },
		Knowledge: func(string) status.Knowledge { return s.shown().Overview.Knowledge },
		Overview:  func(string) *status.Overview { return s.shown().Overview },
		Workload:  func(string) *status.Workload { return s.shown().Workload },
		Config:    func(string) *status.Config { return s.shown().Config },
		List: func(asked status.Selection) *status.Listing {
			l := s.shown().Listing
			if l != nil {
				l = new(*l)
				l.What = asked.What
			}
			return l
		},
		HasNamespace: func(string) bool { return true },
		MistakeOn:    func(string) *status.Mistake { return nil },
	}, slog.New(slog.DiscardHandler))
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") == "text/event-stream" {
			s.streams.Add(1)
			defer s.streams.Add(-1)
		} else if r.URL.Path == listingPath {
			s.mu.Lock()
			s.query = r.URL.RawQuery
			s.mu.Unlock()
		}
		page.ServeHTTP(w, r)
	}))
	t.Cleanup(s.end)
	return s
}

// end ends the streams, too.
func (s *server) end() {
	s.CloseClientConnections()
	s.Close()
}

func (s *server) show(c content) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.content = c
}

func (s *server) shown() content {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.content
}

func (s *server) host() string { return strings.TrimPrefix(s.URL, "http://") }

// idle is a cluster in which nothing happens.
func idle() content {
	return content{
		Overview: &status.Overview{Leads: true, Workloads: 214, Configs: 1032},
		Workload: &status.Workload{Entry: status.Entry{Workload: "deployment/shop/checkout", State: status.Settled}, Decision: status.Decision{Outcome: "keep", Reason: "nothing has changed"}},
		Config:   &status.Config{Name: "configmap/shop/web-config", Exists: new(true), KeyCount: 1, Keys: []string{"COLOR"}},
		Listing:  &status.Listing{Selection: status.Selection{What: status.ListConfigs, Namespace: "shop", Page: 1}, Pages: 1},
	}
}

// standby is a replica that does not lead.
func standby() content {
	return content{Overview: &status.Overview{Leader: "kubernetes-deployment-restart-controller-7d9c5b6f4-x2x7q"}}
}

// embellished returns content with a text at the end of each text that people choose, and of each name.
func embellished(t *testing.T, c content, text string) content {
	t.Helper()
	encoded, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(encoded, &tree); err != nil {
		t.Fatal(err)
	}
	if encoded, err = json.Marshal(embellish("", tree, text)); err != nil {
		t.Fatal(err)
	}
	var changed content
	if err := json.Unmarshal(encoded, &changed); err != nil {
		t.Fatal(err)
	}
	return changed
}

// fixed are the fields of which nobody has a say.
var fixed = []string{"time", "since", "until", "due", "written", "state", "reason", "outcome", "what", "states"}

func embellish(key string, value any, text string) any {
	switch value := value.(type) {
	case string:
		if !slices.Contains(fixed, key) && value != "" {
			return value + text
		}
	case []any:
		for i := range value {
			value[i] = embellish(key, value[i], text)
		}
	case map[string]any:
		for key := range value {
			value[key] = embellish(key, value[key], text)
		}
	}
	return value
}

// before returns a time in the past.
func before(d time.Duration) time.Time { return time.Now().UTC().Add(-d) }
