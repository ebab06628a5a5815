package leader_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	protocol "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/leader"
)

const (
	leasePath   = "/apis/coordination.k8s.io/v1/namespaces/ctl/leases/election"
	forwardPath = "/api/v1/namespaces/ctl/pods/leader-1/portforward"
)

// apiServer answers for a Lease, and forwards the port 10255 of its holder's pod to a status page. It speaks
// the protocols of a real one.
type apiServer struct {
	*testing.T
	config *rest.Config
	page   string // its address; no page is served if it is empty
	holder string
	// renewed is when the Lease was renewed last, for 15 seconds.
	renewed time.Time
	// refuse answers instead, if it returns true.
	refuse func(http.ResponseWriter, *http.Request) bool

	mu    sync.Mutex
	asked []string // how it was asked to forward
}

// newAPIServer starts an API server whose leader serves a page.
func newAPIServer(t *testing.T, page http.Handler) *apiServer {
	s := &apiServer{T: t, holder: "leader-1_f3b1"}
	if page != nil {
		served := httptest.NewServer(page)
		t.Cleanup(served.Close)
		s.page = served.Listener.Addr().String()
	}
	served := httptest.NewServer(s)
	t.Cleanup(served.Close)
	s.config = &rest.Config{Host: served.URL, BearerToken: "swordfish"}
	return s
}

func (s *apiServer) leader() *leader.Leader {
	return leader.New(s.config, leader.Place{Namespace: "ctl", Lease: "election", Port: 10255})
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Header.Get("Authorization") != "Bearer swordfish":
		refused(w, http.StatusUnauthorized, "Unauthorized")
	case s.refuse != nil && s.refuse(w, r):
	case r.URL.Path == leasePath:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"election"},"spec":{"holderIdentity":%q,"leaseDurationSeconds":15,"acquireTime":"2026-11-20T11:00:00.000000Z","renewTime":%q}}`, s.holder, s.renewed.UTC().Format("2006-01-02T15:04:05.000000Z"))
	case r.URL.Path == forwardPath:
		s.note(r)
		s.forward(w, r)
	default:
		refused(w, http.StatusNotFound, "NotFound")
	}
}

func refused(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"because"}`, reason, code)
}

func (s *apiServer) note(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method+" "+strings.ToLower(r.Header.Get("Upgrade")))
}

// forward serves a connection until it ends.
func (s *apiServer) forward(w http.ResponseWriter, r *http.Request) {
	streams := make(chan httpstream.Stream, 2)
	take := func(stream httpstream.Stream, _ <-chan struct{}) error {
		streams <- stream
		return nil
	}
	var connection httpstream.Connection
	if websocket.IsWebSocketUpgrade(r) {
		upgrader := websocket.Upgrader{Subprotocols: []string{protocol.WebsocketsSPDYTunnelingPortForwardV1}}
		socket, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			s.Error(err)
			return
		}
		if connection, err = spdy.NewServerConnection(portforward.NewTunnelingConnection("server", socket), take); err != nil {
			s.Error(err)
			return
		}
	} else {
		if _, err := httpstream.Handshake(r, w, []string{protocol.PortForwardV1Name}); err != nil {
			s.Error(err)
			return
		}
		connection = spdy.NewResponseUpgrader().UpgradeResponse(w, r, take)
	}
	defer connection.Close()
	byType := map[string]httpstream.Stream{}
	for range 2 {
		select {
		case stream := <-streams:
			byType[stream.Headers().Get(corev1.StreamType)] = stream
		case <-connection.CloseChan():
			return
		}
	}
	s.serve(byType[corev1.StreamTypeData], byType[corev1.StreamTypeError])
	<-connection.CloseChan()
}

// serve connects a stream to the page, as a node does in the network of the pod.
func (s *apiServer) serve(data, failure httpstream.Stream) {
	defer failure.Close()
	defer data.Close()
	if port := data.Headers().Get(corev1.PortHeader); s.page == "" || port != "10255" {
		fmt.Fprintf(failure, "connect to localhost:%s: connection refused\x1b[2J", port)
		return
	}
	page, err := net.Dial("tcp", s.page)
	if err != nil {
		s.Error(err)
		return
	}
	defer page.Close()
	go func() {
		_, _ = io.Copy(page, data)
		_ = page.Close()
	}()
	_, _ = io.Copy(data, page)
}
