package leader

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"
)

// forwarded asks a pod through the API server. Other than by kubectl port-forward, it opens no port of this machine,
// which others on it could use as well.
type forwarded struct {
	config *rest.Config
	pod    *url.URL // its subresource portforward
	port   uint16
}

// get sends a request with the method GET. It returns no later than when the context ends.
func (f *forwarded) get(ctx context.Context, path string) (answer, error) {
	type result struct {
		answer
		error
	}
	done := make(chan result, 1)
	go func() { // because an attempt by SPDY does not end with the context
		a, err := f.connectAndGet(ctx, path)
		done <- result{a, err}
	}()
	select {
	case r := <-done:
		return r.answer, r.error
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
}

func (f *forwarded) connectAndGet(ctx context.Context, path string) (answer, error) {
	to, err := f.dial(ctx)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = to.Close() }() // all that matters was read
	stop := context.AfterFunc(ctx, func() { _ = to.Close() })
	defer stop()
	return exchange(ctx, to, "http://"+loopback(f.port)+path)
}

// dial opens a connection to the port.
func (f *forwarded) dial(ctx context.Context) (*tunnel, error) {
	connection, err := connect(ctx, f.config, f.pod)
	if err != nil {
		return nil, err
	}
	data, failure, err := f.open(connection)
	if err != nil {
		return nil, errors.Join(err, connection.Close())
	}
	return &tunnel{data, failure, connection, false}, nil
}

// open opens the two streams of a connection to the port. The node reports on the second one why it cannot
// reach the port.
func (f *forwarded) open(connection httpstream.Connection) (data, failure httpstream.Stream, err error) {
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, strconv.Itoa(int(f.port)))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	if failure, err = connection.CreateStream(headers); err != nil {
		return nil, nil, fmt.Errorf("open a stream: %w", err)
	}
	if err := failure.Close(); err != nil { // nothing is written to it
		return nil, nil, fmt.Errorf("open a stream: %w", err)
	}
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	if data, err = connection.CreateStream(headers); err != nil {
		return nil, nil, fmt.Errorf("open a stream: %w", err)
	}
	return data, failure, nil
}

// exchange sends a request on a stream, and reads the answer.
func exchange(ctx context.Context, stream io.ReadWriter, to string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, to, http.NoBody)
	if err != nil {
		return answer{}, err
	}
	request.Close = true
	if err := request.Write(stream); err != nil {
		return answer{}, err
	}
	response, err := http.ReadResponse(bufio.NewReader(io.LimitReader(stream, 2*maxAnswer)), request)
	if err != nil {
		return answer{}, err
	}
	return newAnswer(response)
}
