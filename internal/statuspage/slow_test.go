package statuspage_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"kubernetes-deployment-restart-controller/internal/status"
)

// pipes is a listener for connections without any buffer: what the client does not read, the server cannot write.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// servePipes serves until the test ends.
func servePipes(t *testing.T, handler http.Handler) *pipes {
	p := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler, WriteTimeout: 15 * time.Second} //nolint:gosec // the clients are the test's
	go func() {
		if err := server.Serve(p); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { _ = server.Close() })
	return p
}

// request sends a request and returns the connection, from which nothing was read.
func (p *pipes) request(t *testing.T, path string) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	p.accepted <- server
	if _, err := fmt.Fprintf(client, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
		t.Fatal(err)
	}
	return client
}

// code reads the beginning of an answer and returns its code.
func code(t *testing.T, connection net.Conn) (code int) {
	t.Helper()
	line, err := bufio.NewReader(connection).ReadString('\n')
	if err == nil {
		_, err = fmt.Sscanf(line, "HTTP/1.1 %d", &code)
	}
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func TestAStreamReportsWhatChangesForLongerThanOtherAnswersMayTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := leading()
		connection := servePipes(t, c.handler()).request(t, "/events")
		response, err := http.ReadResponse(bufio.NewReader(connection), nil) //nolint:bodyclose // the body ends with the connection
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("content type %s", got)
		}
		var mu sync.Mutex
		var got []string
		go func() {
			for lines := bufio.NewScanner(response.Body); lines.Scan(); {
				if data, found := strings.CutPrefix(lines.Text(), "data: "); found {
					mu.Lock()
					got = append(got, data)
					mu.Unlock()
				}
			}
		}()
		for _, workloads := range []int{8, 7} {
			time.Sleep(20 * time.Second) // longer than the limit for an answer
			c.become(status.Overview{Leads: true, Workloads: workloads})
		}
		time.Sleep(20 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		got = slices.Compact(got) // the last one is repeated, so that a proxy does not end the stream
		if len(got) != 3 || got[2] != got[0] {
			t.Errorf("got %q", got)
		}
	})
}

func TestStreamsThatNobodyReadsEndAndMakeRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := servePipes(t, leading().handler())
		for range 16 {
			p.request(t, "/events")
		}
		synctest.Wait()
		if got := code(t, p.request(t, "/events")); got != http.StatusOK {
			t.Errorf("stream 17: %d", got)
		}
		if got := code(t, p.request(t, "/status.json")); got != http.StatusOK {
			t.Errorf("while nobody reads the streams: %d", got)
		}
		time.Sleep(11 * time.Second) // longer than the limit for a write
		if got := code(t, p.request(t, "/events")); got != http.StatusOK {
			t.Errorf("a stream later: %d", got)
		}
	})
}

// stuck is a client that takes no answer until it is released.
type stuck struct {
	*httptest.ResponseRecorder
	released chan struct{}
}

func (s *stuck) Write(data []byte) (int, error) {
	<-s.released
	return s.ResponseRecorder.Write(data)
}

func TestTheNumberOfAnswersUnderWayIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := leading().handler()
		released := make(chan struct{})
		for range 32 {
			request := httptest.NewRequest(http.MethodGet, "/", nil)
			request.Host = "localhost"
			go handler.ServeHTTP(&stuck{httptest.NewRecorder(), released}, request)
		}
		synctest.Wait()
		for _, path := range []string{"/", "/status.json", "/workload/deployment/default/web"} {
			if answer := get(handler, path); answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") == "" {
				t.Errorf("%s: %d", path, answer.Code)
			}
		}
		close(released)
		synctest.Wait()
		if answer := get(handler, "/"); answer.Code != http.StatusOK {
			t.Errorf("later: %d", answer.Code)
		}
	})
}

// slow is a source that looks until it is released, and counts.
type slow struct {
	released                chan struct{}
	begun, atOnce, together atomic.Int32 // looks that have begun, are under way, and were under way at most
}

func (s *slow) handler() http.Handler {
	source := leading().source()
	overview := source.Overview
	source.Overview = func(namespace string) *status.Overview {
		s.begun.Add(1)
		s.together.Store(max(s.together.Load(), s.atOnce.Add(1)))
		defer s.atOnce.Add(-1)
		<-s.released
		return overview(namespace)
	}
	return newHandler(source)
}

// ask asks for a path in the background until the end of the context. The channel is closed when the handler has returned.
func ask(ctx context.Context, handler http.Handler, path string) (returned chan struct{}) {
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	request.Host = "localhost"
	returned = make(chan struct{})
	go func() {
		defer close(returned)
		handler.ServeHTTP(httptest.NewRecorder(), request)
	}()
	synctest.Wait()
	return returned
}

func TestOneRequestLooksAfterTheOtherAndNoStreamThatWasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{released: make(chan struct{})}
		handler := s.handler()
		ctx, end := context.WithCancel(t.Context())
		for range 40 {
			ask(ctx, handler, "/events")
		}
		page := ask(ctx, handler, "/")
		if begun := s.begun.Load(); begun != 1 {
			t.Errorf("%d look at once", begun)
		}
		close(s.released)
		<-page
		if begun, together := s.begun.Load(), s.together.Load(); begun != 1+16+1 || together != 1 {
			t.Errorf("%d have looked, %d of them at once", begun, together)
		}
		end()
		time.Sleep(time.Minute)
		if begun := s.begun.Load(); begun != 1+16+1 {
			t.Errorf("%d have looked after the streams ended", begun)
		}
	})
}

func TestARequestWhoseClientIsGoneDoesNotWaitForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{released: make(chan struct{})}
		handler := s.handler()
		first := ask(t.Context(), handler, "/")
		for _, path := range []string{"/", "/status.json", "/events"} {
			ctx, end := context.WithCancel(t.Context())
			returned := ask(ctx, handler, path)
			end()
			<-returned
		}
		close(s.released)
		<-first
		if begun := s.begun.Load(); begun != 1 {
			t.Errorf("%d have looked", begun)
		}
	})
}

func TestAStreamPausesTheLongerTheLongerItLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{released: make(chan struct{})}
		ctx, end := context.WithCancel(t.Context())
		returned := ask(ctx, s.handler(), "/events")
		time.Sleep(2 * time.Second)
		close(s.released)
		time.Sleep(20*time.Second - time.Millisecond)
		if begun := s.begun.Load(); begun != 1 {
			t.Errorf("%d looks in ten times as long as the first one took", begun)
		}
		time.Sleep(2 * time.Second)
		if begun := s.begun.Load(); begun != 3 {
			t.Errorf("%d looks afterwards", begun)
		}
		end()
		<-returned
	})
}
