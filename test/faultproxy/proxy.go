package faultproxy

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options say what a proxy does.
type Options struct {
	// Target says where the API server is and by which CA it is known. Credentials
	// in it are not used.
	Target *rest.Config
	// Seed of the faults.
	Seed uint64
	// Latency bounds the time that [Latency] holds a request back; half a second if 0.
	Latency time.Duration
	// Timeout is how long [Timeout] holds an answer back; a second if 0.
	Timeout time.Duration
	// WatchLife bounds the time after which the faults of watches strike; 3 s if 0.
	WatchLife time.Duration
	// Trickle is the time that [SlowList] puts before each object; 5 ms if 0.
	Trickle time.Duration
	// Spare exempts requests from all faults, if it is not nil.
	Spare func(*http.Request) bool
}

// Proxy is a running proxy. Its methods may be used concurrently.
type Proxy struct {
	options Options
	dice    *dice
	server  *httptest.Server
	forward *httputil.ReverseProxy

	mu      sync.Mutex
	streams map[*stream]struct{}
}

// Start starts a proxy on a free port of the loopback interface, with no faults
// yet. End it with Close.
func Start(options Options) (*Proxy, error) {
	options.Latency = orElse(options.Latency, 500*time.Millisecond)
	options.Timeout = orElse(options.Timeout, time.Second)
	options.WatchLife = orElse(options.WatchLife, 3*time.Second)
	options.Trickle = orElse(options.Trickle, 5*time.Millisecond)
	anonymous := rest.AnonymousClientConfig(options.Target)
	transport, err := rest.TransportFor(anonymous)
	if err != nil {
		return nil, fmt.Errorf("make a transport to the API server: %w", err)
	}
	target, _, err := rest.DefaultServerUrlFor(anonymous)
	if err != nil {
		return nil, fmt.Errorf("read the API server's address: %w", err)
	}
	p := &Proxy{options: options, dice: newDice(options.Seed), streams: map[*stream]struct{}{}}
	p.forward = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host})
			r.Out.Header.Set("Accept-Encoding", "identity") // the events of a watch must be distinguishable
		},
		Transport:      transport,
		FlushInterval:  -1, // watches trickle
		ModifyResponse: p.spoil,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // as if there were no proxy
		ErrorLog:       log.New(io.Discard, "", 0),
	}
	p.server = httptest.NewUnstartedServer(p)
	p.server.EnableHTTP2 = true
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that are killed
	p.server.StartTLS()
	return p, nil
}

func orElse(value, otherwise time.Duration) time.Duration {
	if value == 0 {
		return otherwise
	}
	return value
}

// Close ends the proxy and all that passes through it.
func (p *Proxy) Close() {
	p.Cut()
	p.server.Close()
}

// URL is where clients find the proxy.
func (p *Proxy) URL() string { return p.server.URL }

// CA is the certificate, in PEM, by which clients know the proxy.
func (p *Proxy) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
}

// WriteKubeconfig writes a copy of a kubeconfig, the clusters of which are the
// proxy.
func (p *Proxy) WriteKubeconfig(from, to string) error {
	config, err := clientcmd.LoadFromFile(from)
	if err != nil {
		return fmt.Errorf("read %s: %w", from, err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server, cluster.CertificateAuthority, cluster.CertificateAuthorityData = p.URL(), "", p.CA()
	}
	if err := clientcmd.WriteToFile(*config, to); err != nil {
		return fmt.Errorf("write %s: %w", to, err)
	}
	return nil
}

// Inject replaces the mix of faults, for open watches as well. Watches that stall
// keep stalling, also when there are no faults any more: only the client, or
// [Proxy.Cut], ends them.
func (p *Proxy) Inject(mix Mix) {
	p.dice.use(mix)
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.streams {
		s.draw()
	}
}

// Cut breaks all connections of clients, and with them all requests and watches.
func (p *Proxy) Cut() { p.server.CloseClientConnections() }

// Injected returns how many faults of each kind have happened.
func (p *Proxy) Injected() map[Kind]int { return p.dice.counts() }

// Stalled returns how many watches stall at present.
func (p *Proxy) Stalled() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	count := 0
	for s := range p.streams {
		if s.stalls.Load() {
			count++
		}
	}
	return count
}

// ServeHTTP answers a request of a client.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.spares(r) {
		p.forward.ServeHTTP(w, r)
		return
	}
	if p.dice.roll(Latency) != "" {
		p.dice.count(Latency)
		select {
		case <-r.Context().Done():
		case <-time.After(p.dice.below(p.options.Latency)):
		}
	}
	if kind := p.dice.roll(refusals(r)...); kind != "" {
		p.dice.count(kind)
		answer(w, refusal(kind))
		return
	}
	if !isWatch(r) && p.dice.roll(ResetBefore) != "" {
		p.dice.count(ResetBefore)
		panic(http.ErrAbortHandler)
	}
	p.forward.ServeHTTP(w, r)
}

func (p *Proxy) spares(r *http.Request) bool { return p.options.Spare != nil && p.options.Spare(r) }

// spoil applies the faults that happen to answers.
func (p *Proxy) spoil(response *http.Response) error {
	request := response.Request
	switch {
	case p.spares(request):
	case isWatch(request):
		if response.StatusCode == http.StatusOK {
			return p.relay(response)
		}
	case p.dice.roll(Timeout) != "":
		p.dice.count(Timeout)
		return p.timeOut(response)
	case p.dice.roll(ResetAfter) != "":
		p.dice.count(ResetAfter)
		response.Body = &halfBody{ReadCloser: response.Body, left: response.ContentLength / 2}
	}
	return nil
}

// timeOut replaces an answer after a while.
func (p *Proxy) timeOut(response *http.Response) error {
	select {
	case <-response.Request.Context().Done():
	case <-time.After(p.options.Timeout):
	}
	_ = response.Body.Close()
	status := refusal(Timeout)
	body := encode(status)
	response.StatusCode, response.Status = int(status.Code), http.StatusText(int(status.Code))
	response.Header = http.Header{"Content-Type": {"application/json"}}
	response.ContentLength, response.Body = int64(len(body)), io.NopCloser(bytes.NewReader(body))
	return nil
}

var errReset = errors.New("reset by the fault proxy")

// halfBody is half of a body, or nothing of one whose length is not known, and then
// an error, which makes the proxy reset the stream.
type halfBody struct {
	io.ReadCloser
	left int64
}

func (b *halfBody) Read(buffer []byte) (int, error) {
	if b.left <= 0 {
		return 0, errReset
	}
	n, err := b.ReadCloser.Read(buffer[:min(int64(len(buffer)), b.left)])
	b.left -= int64(n)
	return n, err
}
