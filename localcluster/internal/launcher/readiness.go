package launcher

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

const (
	// readyTimeout is far above the 3 s that a start takes: machines under load are slow, not broken.
	readyTimeout = 5 * time.Minute
	probeTimeout = 10 * time.Second
)

var errProcessEnded = errors.New("process ended")

// waitUntilReady looks again and again until the process serves. It returns errProcessEnded if the process ends first.
func waitUntilReady(ctx context.Context, p *process, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-p.done:
			return errProcessEnded
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("not ready after %s: %w", readyTimeout, err)
			}
			return context.Cause(ctx)
		}
	}
}

// prober asks components whether they serve.
type prober struct {
	client *http.Client
}

// newProber returns a prober that trusts the certificate authority in the file.
func newProber(caFile string) (prober, error) {
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return prober{}, fmt.Errorf("read certificate authority: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return prober{}, fmt.Errorf("read certificate authority: no certificate in %s", caFile)
	}
	return prober{&http.Client{
		Timeout: probeTimeout,
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: roots},
			DisableKeepAlives: true, // a connection to a component that was killed must not be used for its successor
		},
	}}, nil
}

// get returns a look at a URL: an error unless the answer is 200.
func (p prober) get(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("probe %s: %w", url, err)
		}
		response, err := p.client.Do(request)
		if err != nil {
			return fmt.Errorf("probe: %w", err)
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			body, _ := io.ReadAll(io.LimitReader(response.Body, 2000)) // what there is of it serves as a message
			return fmt.Errorf("probe %s: %s: %s", url, response.Status, body)
		}
		return nil
	}
}
