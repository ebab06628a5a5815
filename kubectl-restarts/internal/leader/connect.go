package leader

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	protocol "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/transport/websocket"
	"k8s.io/streaming/pkg/httpstream"
	streamspdy "k8s.io/streaming/pkg/httpstream/spdy"
)

// connect opens a connection to a pod's subresource portforward, as kubectl does: by websocket, or else by
// SPDY, which older API servers and some proxies need.
func connect(ctx context.Context, config *rest.Config, to *url.URL) (httpstream.Connection, error) {
	connection, err := connectByWebsocket(ctx, config, to)
	if !httpstream.IsUpgradeFailure(err) && !httpstream.IsHTTPSProxyError(err) {
		return connection, err
	}
	var refused *httpstream.UpgradeFailureError
	if errors.As(err, &refused) {
		err = refused.Cause // which says more than the error of the second attempt
	}
	connection, err2 := connectBySPDY(ctx, config, to)
	if err2 != nil {
		return nil, errors.Join(err, err2)
	}
	return connection, nil
}

func connectByWebsocket(ctx context.Context, config *rest.Config, to *url.URL) (httpstream.Connection, error) {
	transport, holder, err := websocket.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	socket, err := websocket.Negotiate(transport, holder, request, protocol.WebsocketsSPDYTunnelingPortForwardV1)
	if err != nil {
		return nil, err
	}
	return streamspdy.NewClientConnection(portforward.NewTunnelingConnection("leader", socket))
}

func connectBySPDY(ctx context.Context, config *rest.Config, to *url.URL) (httpstream.Connection, error) {
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: transport, CheckRedirect: noRedirect}
	connection, chosen, err := spdy.NegotiateStreaming(upgrader, client, request, protocol.PortForwardV1Name)
	if err != nil {
		return nil, err
	}
	if chosen != protocol.PortForwardV1Name {
		return nil, errors.Join(fmt.Errorf("the API server speaks the protocol %.40q", chosen), connection.Close())
	}
	return connection, nil
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
