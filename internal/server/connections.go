package server

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// connections is a listener for clients that nobody has authenticated. It accepts every connection and keeps a limited
// number of them open, so that clients can neither use up memory and file descriptors nor lock each other out.
//
// An open connection is in one of two states:
//
//   - waiting: its next request is not complete. The connection is new, in a header, or idle. Its age counts from when
//     it was accepted or its last answer was complete. A part of a header does not make it younger.
//   - answered: a request is complete, and its answer is not. Its age counts from when the request was complete, or the
//     client last took a part of the answer.
//
// [connections.Accept] makes a connection waiting, [connections.serve] makes it answered and waiting again. Close makes it
// waiting and leaves it open for a while, in which the client can read the rest, and then ends it.
//
// Invariant: at most limit connections are open. If there are as many and another one arrives, the oldest answered one
// is closed if more than half of all are answered, and otherwise the oldest waiting one. So a new connection is safe
// until limit/2 others have come after it, and an answer as long as at most limit/2 are under way. Addresses do not
// matter, because many clients may share one.
type connections struct {
	net.Listener
	limit int
	// rest is how long a client has to read the rest of an answer when its connection is closed.
	rest time.Duration

	mu       sync.Mutex
	open     map[*connection]struct{}
	answered int   // how many of them are answered
	events   int64 // how many ages have begun
}

// connection is one of [connections], whose mutex guards its state.
type connection struct {
	net.Conn
	of         *connections
	isAnswered bool
	since      int64 // the number of the event with which its age began
	closing    sync.Once
	ending     *time.Timer // nil unless the connection is closed and ends later
}

const (
	// sendBuffer is how much of an answer the system keeps of a connection, in bytes, until the client has read it. The system
	// doubles it, and would let it grow to megabytes otherwise.
	sendBuffer = 64 << 10
	// receiveBuffer is likewise of what the client sends during an answer. A request is smaller.
	receiveBuffer = 16 << 10
)

func limitConnections(inner net.Listener, limit int) *connections {
	return &connections{Listener: inner, limit: limit, rest: 5 * time.Second, open: make(map[*connection]struct{}, limit)}
}

// Accept implements [net.Listener].
func (l *connections) Accept() (net.Conn, error) {
	inner, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, isTCP := inner.(*net.TCPConn); isTCP {
		_ = tcp.SetWriteBuffer(sendBuffer) // a connection that has failed needs no buffer
		_ = tcp.SetReadBuffer(receiveBuffer)
	}
	c := &connection{Conn: inner, of: l}
	if leaving := l.admit(c); leaving != nil {
		leaving.abort()
	}
	return c, nil
}

// admit adds a connection, and returns the one that has to leave for it, nil if none has to.
func (l *connections) admit(c *connection) (leaving *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.limit {
		leaving = l.oldest(l.answered > l.limit/2)
		l.remove(leaving)
	}
	l.open[c] = struct{}{}
	l.begin(c)
	return leaving
}

// begin lets the age of a connection begin.
func (l *connections) begin(c *connection) {
	l.events++
	c.since = l.events
}

// oldest returns the oldest of those that are answered, or of those that wait. There is one.
func (l *connections) oldest(isAnswered bool) (oldest *connection) {
	for c := range l.open {
		if c.isAnswered == isAnswered && (oldest == nil || c.since < oldest.since) {
			oldest = c
		}
	}
	return oldest
}

// remove removes a connection, which may be gone already.
func (l *connections) remove(c *connection) {
	if _, isOpen := l.open[c]; !isOpen {
		return
	}
	delete(l.open, c)
	if c.isAnswered {
		l.answered--
	}
	if c.ending != nil {
		c.ending.Stop() // which would keep it
	}
}

// wait makes a connection waiting that was answered, and no younger.
func (l *connections) wait(c *connection) {
	if _, isOpen := l.open[c]; isOpen && c.isAnswered {
		c.isAnswered = false
		l.answered--
	}
}

// become makes a connection answered or waiting, from now on.
func (c *connection) become(isAnswered bool) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if _, isOpen := c.of.open[c]; !isOpen {
		return
	}
	c.of.wait(c)
	if isAnswered {
		c.isAnswered = true
		c.of.answered++
	}
	c.of.begin(c)
}

// Write implements [net.Conn].
func (c *connection) Write(part []byte) (int, error) {
	n, err := c.Conn.Write(part)
	if n > 0 {
		c.become(true)
	}
	return n, err
}

// Close implements [net.Conn]. A connection that was simply closed would count no more, and the system would keep it for
// minutes if the client does not read what was sent.
func (c *connection) Close() error {
	c.closing.Do(func() {
		_ = c.SetReadDeadline(time.Now()) // nobody reads any more
		if tcp, isTCP := c.Conn.(*net.TCPConn); isTCP && tcp.CloseWrite() == nil {
			c.of.mu.Lock()
			defer c.of.mu.Unlock()
			c.of.wait(c)
			if _, isOpen := c.of.open[c]; isOpen {
				c.ending = time.AfterFunc(c.of.rest, c.end)
			}
			return
		}
		c.end()
	})
	return nil
}

func (c *connection) end() {
	c.of.mu.Lock()
	c.of.remove(c)
	c.of.mu.Unlock()
	c.abort()
}

// abort closes a connection without waiting for the client to read what was sent: until then the system would keep it,
// on this process's account.
func (c *connection) abort() {
	if tcp, isTCP := c.Conn.(*net.TCPConn); isTCP {
		_ = tcp.SetLinger(0) // a connection that has failed needs no abort
	}
	_ = c.Conn.Close() // the server sees that it is closed, and ends what it does for it
}

type connectionKey struct{}

// serve lets a server answer the requests of the connections, and follows the state of each.
func (l *connections) serve(server *http.Server) error {
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, c)
	}
	inner := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, isOurs := r.Context().Value(connectionKey{}).(*connection); isOurs {
			c.become(true) // the request is complete, apart from its body
		}
		inner.ServeHTTP(w, r)
	})
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if ours, isOurs := c.(*connection); isOurs && state == http.StateIdle {
			ours.become(false)
		}
	}
	return server.Serve(l)
}
