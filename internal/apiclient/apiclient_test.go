package apiclient_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
)

// silent is a network in which requests get lost.
type silent struct{}

func (silent) RoundTrip(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, request.Context().Err()
}

func TestARequestWithoutAnAnswerFailsAndAWatchContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rate := apiclient.Rate{QPS: 100, Burst: 100}
		clients, err := apiclient.Connect(&rest.Config{Host: "http://api", Transport: silent{}}, rate, rate)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := clients.Apps.Deployments("ns").Get(t.Context(), "web", metav1.GetOptions{}); err == nil {
			t.Error("there was an answer")
		}
		if took := time.Since(start); took > 2*time.Minute {
			t.Errorf("failed after %s", took)
		}
		watching := make(chan error, 1)
		go func() { watching <- clients.WatchApps.Get().Resource("deployments").Do(t.Context()).Error() }()
		time.Sleep(time.Hour)
		select {
		case err := <-watching:
			t.Errorf("the watch ended: %v", err)
		default:
		}
	})
}

func TestTheAPIServerIsNotAskedToCompress(t *testing.T) {
	var asked []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		asked = append(asked, request.Header.Get("Accept-Encoding"))
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	rate := apiclient.Rate{QPS: 100, Burst: 100}
	clients, err := apiclient.Connect(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, rate, rate)
	if err != nil {
		t.Fatal(err)
	}
	if err := clients.WatchCore.Get().Resource("configmaps").Do(t.Context()).Error(); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if !slices.Equal(asked, []string{""}) {
		t.Errorf("asked for %q", asked)
	}
}

// prompt is a network in which everything is answered at once.
type prompt struct{}

func (prompt) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Request: request, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{"kind":"Deployment","apiVersion":"apps/v1"}`)),
	}, nil
}

func TestTheLimitOfRequestsMakesNoItemSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rate := apiclient.Rate{QPS: 0.1, Burst: 1}
		clients, err := apiclient.Connect(&rest.Config{Host: "http://api", Transport: prompt{}}, rate, rate)
		if err != nil {
			t.Fatal(err)
		}
		q := fairqueue.New[string, string](fairqueue.Options[string]{Namespace: func(string) string { return "" }, Workers: 1})
		q.Add("web", "")
		ctx, stop := context.WithCancel(t.Context())
		start := time.Now()
		q.Run(ctx, func(ctx context.Context, name string) {
			for range 3 {
				if _, err := clients.Apps.Deployments("ns").Get(ctx, name, metav1.GetOptions{}); err != nil {
					t.Error(err)
				}
			}
			if took := time.Since(start); took < 19*time.Second || q.Slow() != 0 {
				t.Errorf("after %s %d items are slow", took, q.Slow())
			}
			stop()
		})
	})
}
