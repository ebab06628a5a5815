package apiclient

import (
	"bufio"
	"net/http"
)

// streamBuffer is how many bytes of a stream are read at once, if so many have arrived.
const streamBuffer = 16 << 10

// buffered is a transport whose streams, the answers to watches, are read in large pieces. The client library reads an event in
// several small pieces, and HTTP/2 tells the server after every 4 KiB how much it may send: without a buffer, that takes an
// eighth of the time of a long list, on both sides. What has arrived never waits for more.
type buffered struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go find the underlying transport.
func (b buffered) WrappedRoundTripper() http.RoundTripper { return b.next }

// RoundTrip implements http.RoundTripper.
func (b buffered) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(request)
	if err == nil && request.URL.Query().Get("watch") == "true" {
		response.Body = &replayed{bufio.NewReaderSize(response.Body, streamBuffer), response.Body}
	}
	return response, err
}
