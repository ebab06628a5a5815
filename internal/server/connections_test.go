package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// listen serves until the test ends. The path /large answers with more than the buffers of a connection take.
func listen(t *testing.T, limit int) *connections {
	t.Helper()
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /large", func(w http.ResponseWriter, _ *http.Request) {
		part := make([]byte, 1<<20)
		for range 64 {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	})
	server := &http.Server{Handler: mux} //nolint:gosec // without limits of time, so that only those of connections count
	listener := limitConnections(inner, limit)
	go func() {
		if err := listener.serve(server); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { _ = server.Close() })
	return listener
}

func TestConnectionsThatNobodyEndsLockNoClientOut(t *testing.T) {
	const limit = 8
	for name, request := range map[string]string{
		"silent":                        "",
		"idle":                          "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
		"in a header":                   "GET /healthz HTTP/1.1\r\nHost: a\r\nX: ",
		"in a body":                     "GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n",
		"not read":                      "GET /large HTTP/1.1\r\nHost: a\r\n\r\n",
		"not read, with more to answer": strings.Repeat("GET /large HTTP/1.1\r\nHost: a\r\n\r\n", 50),
	} {
		t.Run(name, func(t *testing.T) {
			listener := listen(t, limit)
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			var first net.Conn
			for range 5 * limit {
				hostile, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer hostile.Close() //nolint:gocritic // all of them are to stay open until the end
				if first == nil {
					first = hostile
				}
				if _, err := io.WriteString(hostile, request); err != nil {
					t.Fatal(err)
				}
				answer, err := client.Get("http://" + listener.Addr().String() + "/healthz")
				if err != nil {
					t.Fatal(err)
				}
				_ = answer.Body.Close()
				listener.mu.Lock()
				open := len(listener.open)
				listener.mu.Unlock()
				if open > limit || answer.StatusCode != http.StatusOK {
					t.Fatalf("%d connections are open, the answer is %d", open, answer.StatusCode)
				}
			}
			_ = first.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := io.Copy(io.Discard, first); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the first one is open to its client")
			}
		})
	}
}

// world does to connections what clients and the server do, and remembers it.
type world struct {
	*connections
	all      []*connection
	later    map[*connection]int // how many came later, or became idle later
	answered map[*connection]bool
}

func (w *world) arrive(t *rapid.T) {
	inner, _ := net.Pipe()
	c := &connection{Conn: inner, of: w.connections}
	underWay := len(w.answered)
	leaving := w.admit(c)
	if !has(w.connections, c) {
		t.Error("the new one is refused")
	}
	w.overtake(c)
	switch {
	case leaving == nil:
	case w.answered[leaving]:
		if underWay <= w.limit/2 {
			t.Errorf("an answer is cut off, with %d under way", underWay)
		}
	case w.later[leaving] < w.limit/2:
		t.Errorf("one that waits leaves when %d others have come", w.later[leaving])
	}
	w.all = append(w.all, c)
	delete(w.answered, leaving)
}

// overtake notes that a connection is younger than all others.
func (w *world) overtake(c *connection) {
	for _, other := range w.all {
		w.later[other]++
	}
	w.later[c] = 0
}

func TestNewConnectionsHaveTimeAndAnswersAreCompleted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{connections: limitConnections(nil, rapid.IntRange(2, 9).Draw(t, "limit")), later: map[*connection]int{}, answered: map[*connection]bool{}}
		some := func(t *rapid.T) *connection {
			if len(w.all) == 0 {
				t.Skip("there is none")
			}
			return rapid.SampledFrom(w.all).Draw(t, "connection")
		}
		t.Repeat(map[string]func(*rapid.T){
			"arrive": w.arrive,
			"answer": func(t *rapid.T) {
				c := some(t)
				if c.become(true); has(w.connections, c) {
					w.answered[c] = true
				}
			},
			"complete": func(t *rapid.T) {
				c := some(t)
				c.become(false)
				w.overtake(c)
				delete(w.answered, c)
			},
			"close": func(t *rapid.T) {
				c := some(t)
				_ = c.Close()
				delete(w.answered, c)
			},
			"": func(t *rapid.T) {
				if len(w.open) > w.limit || w.connections.answered != len(w.answered) {
					t.Errorf("%d are open and %d answered, of at most %d and %d", len(w.open), w.connections.answered, w.limit, len(w.answered))
				}
			},
		})
	})
}

func TestTheOldestAnswerThatNobodyReadsLeavesFirst(t *testing.T) {
	l := limitConnections(nil, 4)
	connect := func() (c *connection, client net.Conn) {
		client, inner := net.Pipe()
		c = &connection{Conn: inner, of: l}
		l.admit(c)
		return c, client
	}
	first, reader := connect()
	second, _ := connect()
	third, _ := connect()
	waiting, _ := connect()
	for _, c := range []*connection{first, second, third} {
		c.become(true)
	}
	go func() { _, _ = reader.Read(make([]byte, 1)) }()
	if _, err := first.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	connect()
	if got := fmt.Sprint(has(l, first), has(l, second), has(l, third), has(l, waiting)); got != "true false true true" {
		t.Errorf("those that stay: %s", got)
	}
}

func has(l *connections, c *connection) bool {
	_, isOpen := l.open[c]
	return isOpen
}

// connectWithSmall connects a client whose buffer, which the option names, holds little. It is closed with the test.
func connectWithSmall(t *testing.T, listener net.Listener, buffer int) net.Conn {
	t.Helper()
	client, err := (&net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, buffer, 4<<10) })
	}}).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// The system keeps what was sent until the client reads it, on this process's account, also of a connection that was closed.
func TestAnAnswerThatNobodyReadsTakesLittleMemoryAndIsForgotten(t *testing.T) {
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener, written := limitConnections(inner, 4), make(chan int, 1)
	listener.rest = 100 * time.Millisecond

	server := &http.Server{WriteTimeout: 200 * time.Millisecond, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		total := 0
		for err := error(nil); err == nil && total < 64<<20; {
			var n int
			n, err = w.Write(make([]byte, 16<<10))
			total += n
		}
		written <- total
	})}
	go func() { _ = listener.serve(server) }() // until it is closed
	defer func() { _ = server.Close() }()
	client := connectWithSmall(t, inner, syscall.SO_RCVBUF)
	if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if n := <-written; n > 512<<10 {
		t.Errorf("the system has taken %d bytes that nobody reads", n)
	}
	for isOpen := true; isOpen; time.Sleep(time.Millisecond) { // ends with the time of the test otherwise
		listener.mu.Lock()
		isOpen = len(listener.open) > 0
		listener.mu.Unlock()
	}
	if n, err := io.Copy(io.Discard, client); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client could read another %d bytes after that, and then: %v", n, err)
	}
}

// A client could make very many in the time for which each waits otherwise.
func TestAClosedConnectionThatHasToLeaveIsForgottenAtOnce(t *testing.T) {
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limitConnections(inner, 1)
	l.rest = time.Hour
	accept := func() *connection {
		client, err := new(net.Dialer).DialContext(t.Context(), "tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return c.(*connection)
	}
	first := accept()
	_ = first.Close()
	if !has(l, first) || first.ending == nil {
		t.Fatal("it is forgotten before the client has had time to read the rest")
	}
	accept()
	if has(l, first) || first.ending.Stop() {
		t.Error("its end still waits")
	}
}

// The system lets the buffer of a busy connection grow to megabytes, and keeps what nobody reads while an answer waits.
func TestWhatAClientSendsDuringAnAnswerTakesLittleMemory(t *testing.T) {
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener, busy := limitConnections(inner, 4), make(chan struct{})
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			busy <- struct{}{}
			<-busy
		}
		http.NotFound(w, r)
	})}
	go func() { _ = listener.serve(server) }() // until it is closed
	defer func() { _ = server.Close() }()
	client := connectWithSmall(t, inner, syscall.SO_SNDBUF)
	answers := bufio.NewReader(client)
	body := strings.Repeat("x", 200_000)
	for range 30 {
		if _, err := io.WriteString(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n"+body); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-busy
	total := 0
	for err := error(nil); err == nil && total < 64<<20; {
		_ = client.SetWriteDeadline(time.Now().Add(300 * time.Millisecond)) // it blocks once the buffers are full
		var n int
		n, err = client.Write([]byte(body))
		total += n
	}
	if total > 128<<10 {
		t.Errorf("the system has taken %d bytes that nobody reads", total)
	}
	t.Logf("it has taken %d bytes", total)
	close(busy)
}

// A client that asks for no further answer gets the whole of the last one.
func TestAnAnswerIsCompleteAlthoughTheConnectionIsClosedAfterIt(t *testing.T) {
	listener := listen(t, 4)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+"/large", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if n, err := io.Copy(io.Discard, response.Body); n != 64<<20 || err != nil {
		t.Errorf("read %d bytes: %v", n, err)
	}
}
