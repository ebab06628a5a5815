package faultproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// endOfList marks the bookmark after the last object of a streaming list.
var endOfList = []byte(metav1.InitialEventsAnnotationKey)

// stream is a watch on its way from the API server to the client, event by event,
// so that a fault never strikes in the middle of one.
type stream struct {
	proxy  *Proxy
	codec  runtime.SerializerInfo
	source io.ReadCloser
	sink   *io.PipeWriter
	fates  chan fate // the newest one
	stalls atomic.Bool
}

// fate is what becomes of a stream, and when.
type fate struct {
	kind  Kind // empty for no fault
	after time.Duration
}

// relay puts a stream between the API server's answer and the client.
func (p *Proxy) relay(response *http.Response) error {
	mediaType, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("read the type of a watch: %w", err)
	}
	codec, known := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
	if !known || codec.StreamSerializer == nil {
		return fmt.Errorf("cannot relay a watch of type %s", mediaType)
	}
	reader, writer := io.Pipe()
	s := &stream{proxy: p, codec: codec, source: response.Body, sink: writer, fates: make(chan fate, 1)}
	response.Body = reader
	slow := isStreamingList(response.Request) && p.dice.roll(SlowList) != ""
	if slow {
		p.dice.count(SlowList)
	}
	p.enter(s)
	go func() {
		defer p.leave(s)
		s.run(response.Request.Context(), slow)
	}()
	return nil
}

func (p *Proxy) enter(s *stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.streams[s] = struct{}{}
	s.draw()
}

func (p *Proxy) leave(s *stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.streams, s)
}

// draw gives the stream another fate. It must be called with the proxy's lock held,
// so that only one call fills the channel at a time.
func (s *stream) draw() {
	next := fate{s.proxy.dice.roll(DropWatch, StallWatch, ExpiredInStream), s.proxy.dice.below(s.proxy.options.WatchLife)}
	select {
	case <-s.fates:
	default:
	}
	s.fates <- next
}

// run passes on event after event until the stream meets its fate, one of its sides
// ends it, or the context of the request does.
func (s *stream) run(ctx context.Context, slow bool) {
	defer s.source.Close()
	frames := make(chan []byte)
	var ending error // once frames is closed
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer close(frames)
		ending = s.read(ctx, frames)
	}()

	var strike <-chan time.Time
	var drawn fate
	for {
		select {
		case <-ctx.Done():
			_ = s.sink.CloseWithError(ctx.Err())
			return
		case drawn = <-s.fates:
			strike = nil
			if drawn.kind != "" {
				strike = time.After(drawn.after)
			}
		case <-strike:
			s.meet(ctx, drawn.kind)
			return
		case frame, more := <-frames:
			if !more {
				_ = s.sink.CloseWithError(ending)
				return
			}
			if slow {
				time.Sleep(s.proxy.options.Trickle)
				slow = !bytes.Contains(frame, endOfList)
			}
			if s.write(frame) != nil {
				return // the client is gone
			}
		}
	}
}

// meet does what the fate of the stream is.
func (s *stream) meet(ctx context.Context, kind Kind) {
	s.proxy.dice.count(kind)
	switch kind {
	case DropWatch:
		if s.proxy.dice.coin() {
			_ = s.sink.Close()
			return
		}
	case StallWatch:
		s.stalls.Store(true)
		<-ctx.Done()
	case ExpiredInStream:
		if frame, err := s.errorEvent(refusal(kind)); err == nil && s.write(frame) == nil {
			_ = s.sink.Close()
			return
		}
	}
	_ = s.sink.CloseWithError(errReset)
}

// read sends the frames that the API server sends. It returns how the stream has ended:
// io.EOF if in good order.
func (s *stream) read(ctx context.Context, frames chan<- []byte) error {
	reader := s.codec.StreamSerializer.NewFrameReader(s.source)
	buffer := make([]byte, 64<<10)
	for {
		var frame []byte
		n, err := reader.Read(buffer)
		for errors.Is(err, io.ErrShortBuffer) {
			frame = append(frame, buffer[:n]...)
			n, err = reader.Read(buffer)
		}
		switch {
		case errors.Is(err, io.EOF):
			return io.EOF
		case err != nil:
			return errReset
		}
		select {
		case frames <- append(frame, buffer[:n]...):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *stream) write(frame []byte) error {
	_, err := s.codec.StreamSerializer.NewFrameWriter(s.sink).Write(frame)
	return err
}

// errorEvent encodes an event that carries a Status, in the encoding of the stream.
func (s *stream) errorEvent(status *metav1.Status) ([]byte, error) {
	v1 := schema.GroupVersion{Version: "v1"}
	body, err := runtime.Encode(scheme.Codecs.EncoderForVersion(s.codec.Serializer, v1), status)
	if err != nil {
		return nil, fmt.Errorf("encode a status: %w", err)
	}
	event := &metav1.WatchEvent{Type: "ERROR", Object: runtime.RawExtension{Raw: body}}
	frame, err := runtime.Encode(scheme.Codecs.EncoderForVersion(s.codec.StreamSerializer.Serializer, v1), event)
	if err != nil {
		return nil, fmt.Errorf("encode an event: %w", err)
	}
	return frame, nil
}
