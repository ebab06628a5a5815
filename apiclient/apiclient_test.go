package apiclient_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/apiclient"
)

// silent is a network in which requests get lost.
type silent struct{}

func (silent) RoundTrip(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, request.Context().Err()
}

func TestARequestThatGetsNoAnswerFailsAndAWatchGoesOn(t *testing.T) {
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
