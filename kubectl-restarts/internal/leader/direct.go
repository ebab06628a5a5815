package leader

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// direct is a status page that this machine reaches.
type direct struct {
	client *http.Client
	url    string
}

func newDirect(page string) (*direct, error) {
	parsed, err := url.Parse(page)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return nil, errors.New("--status-url must be a URL, such as http://127.0.0.1:10255")
	}
	return &direct{&http.Client{CheckRedirect: noRedirect}, strings.TrimSuffix(page, "/")}, nil
}

func (d *direct) get(ctx context.Context, path string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+path, http.NoBody)
	if err != nil {
		return answer{}, err
	}
	response, err := d.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	return newAnswer(response)
}
