package leader

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/status"
)

// Pages sends requests to the status page of the leader, each to the one that leads then. It implements
// [http.RoundTripper]. Requests share connections.
type Pages struct {
	config    *rest.Config
	place     Place
	transport *http.Transport
	direct    *url.URL // of a leader that is no pod, nil if it is one

	mu   sync.Mutex
	last *sight // nil if nobody has looked
}

// sight is what the Lease says at a time.
type sight struct {
	at    time.Time
	pod   string
	lease *status.Lease // nil if it cannot be read
	err   error
}

const (
	// lookPeriod is for how long the Lease is not read again.
	lookPeriod = time.Second
	// followPeriod is how often a stream looks whether its leader still leads.
	followPeriod = 2 * time.Second
	// idleLimit is after how long a connection is closed that no request uses.
	idleLimit = 30 * time.Second
)

// NewPages returns the pages of the leader at a place. It does not modify the configuration.
func NewPages(config *rest.Config, place Place) (*Pages, error) {
	p := &Pages{config: config, place: place}
	p.transport = &http.Transport{DisableCompression: true, IdleConnTimeout: idleLimit, ResponseHeaderTimeout: timeLimit}
	if place.URL == "" {
		p.transport.DialContext = p.dial
		return p, nil
	}
	page, err := newDirect(place.URL)
	if err != nil {
		return nil, err
	}
	if p.direct, err = url.Parse(page.url); err == nil {
		p.direct = p.direct.JoinPath("/") // otherwise it would have relative paths
	}
	return p, err
}

// Close closes the connections that no request uses.
func (p *Pages) Close() { p.transport.CloseIdleConnections() }

func (p *Pages) look(ctx context.Context) *sight {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != nil && time.Since(p.last.at) < lookPeriod {
		return p.last
	}
	limited, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	from := New(p.config, p.place)
	seen := &sight{}
	seen.pod, seen.err = from.pod(limited)
	seen.at, seen.lease = time.Now(), from.lease
	if ctx.Err() == nil { // otherwise somebody has stopped waiting, which says nothing to others
		p.last = seen
	}
	return seen
}

// lookAgain makes the next request read the Lease.
func (p *Pages) lookAgain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != nil {
		outdated := *p.last
		outdated.at = time.Time{}
		p.last = &outdated
	}
}

// RoundTrip implements [http.RoundTripper]. Streams of events end when somebody else leads, so that their readers can begin others.
// The error says what to do; see [Permanent].
func (p *Pages) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.direct != nil {
		return p.roundTripDirectly(r)
	}
	seen := p.look(r.Context())
	if seen.err != nil {
		return nil, seen.err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	sent, pod := r.Clone(ctx), seen.pod
	sent.URL.Scheme, sent.URL.Host, sent.Host = "http", net.JoinHostPort(pod, "80"), loopback(p.place.Port)
	response, err := p.transport.RoundTrip(sent)
	if err != nil {
		cancel(nil)
		p.lookAgain()
		return nil, p.explained(r.Context(), err, "pod "+pod)
	}
	response.Body = &body{response.Body, ctx, cancel}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		go p.follow(ctx, pod, cancel)
	}
	return response, nil
}

// Workload is [Leader.Workload], without the name.
func (p *Pages) Workload(ctx context.Context, ref names.WorkloadRef) (*status.Workload, error) {
	const name = "the leader"
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://leader"+pathOf(ref), http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := p.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	got, err := newAnswer(response)
	if err != nil {
		return nil, p.explained(ctx, err, name)
	}
	workload, err := decode[status.Workload](name, got)
	if err == nil && workload.Workload != ref.String() {
		return nil, errors.New(name + " answers about something else")
	}
	return workload, err
}

func (p *Pages) roundTripDirectly(r *http.Request) (*http.Response, error) {
	sent := r.Clone(r.Context())
	sent.URL = p.direct.JoinPath(r.URL.Path)
	sent.URL.RawQuery = r.URL.RawQuery
	sent.Host = sent.URL.Host
	response, err := p.transport.RoundTrip(sent)
	if err != nil {
		return nil, p.explained(r.Context(), err, p.place.URL)
	}
	return response, nil
}

// explained says what an error means that kept the leader's page from answering.
func (p *Pages) explained(ctx context.Context, err error, name string) error {
	var waited net.Error
	if ctx.Err() == nil && errors.As(err, &waited) && waited.Timeout() {
		return late(name)
	}
	return New(p.config, p.place).explained(ctx, err, name)
}

// dial opens a connection to the pod that an address names.
func (p *Pages) dial(ctx context.Context, _, to string) (net.Conn, error) {
	pod, _, err := net.SplitHostPort(to)
	if err != nil {
		return nil, err
	}
	source, err := New(p.config, p.place).through(pod)
	if err != nil {
		return nil, err
	}
	type result struct {
		*tunnel
		error
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	done := make(chan result)
	go func() { // because an attempt by SPDY does not end with the context
		defer cancel()
		opened, err := source.dial(ctx)
		select {
		case done <- result{opened, err}:
		case <-ctx.Done():
			if err == nil {
				_ = opened.Close()
			}
		}
	}()
	select {
	case r := <-done:
		if r.error != nil {
			return nil, r.error
		}
		return r.tunnel, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var errTakenOver = errors.New("another replica leads")

// follow ends a stream when the pod does not lead any more.
func (p *Pages) follow(ctx context.Context, pod string, end context.CancelCauseFunc) {
	ticker := time.NewTicker(followPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if seen := p.look(ctx); seen.lease != nil && seen.pod != pod {
			end(errTakenOver)
			return
		}
	}
}

// body is that of a response, which ends when the leader is another one.
type body struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func (b *body) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil && errors.Is(context.Cause(b.ctx), errTakenOver) {
		err = io.EOF
	}
	return n, err
}

func (b *body) Close() error {
	b.cancel(nil)
	return b.ReadCloser.Close()
}

// Gap says what it means that a request failed.
func (p *Pages) Gap(err error, now time.Time) status.Gap {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != nil && p.last.lease != nil && !p.last.lease.IsHeld(now) {
		gap := p.last.lease.NobodyLeads()
		gap.Why = err.Error()
		return gap
	}
	return status.Gap{Text: "The leader of the controller cannot be reached", Why: err.Error()}
}
