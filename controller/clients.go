package controller

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	appsclient "k8s.io/client-go/kubernetes/typed/apps/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
)

// Events come in bursts with the restarts that they tell of. They may come later,
// so that they do not hold up the patches.
const (
	eventQPS   = 50
	eventBurst = 100
)

const protobuf = "application/vnd.kubernetes.protobuf"

// eventScheme is what the recorder of Events looks up kinds in.
var eventScheme = scheme.Scheme

// clients are the connections to the API server: one HTTP client, with a limit of
// requests for each purpose, so that none waits for another.
type clients struct {
	watchCore, watchApps rest.Interface
	apps                 appsclient.AppsV1Interface
	core                 coreclient.CoreV1Interface
	events               coreclient.CoreV1Interface
}

func newClients(options Options) (*clients, error) {
	base := rest.CopyConfig(options.API)
	base.ContentType = protobuf
	base.AcceptContentTypes = protobuf + "," + runtime.ContentTypeJSON
	http, err := rest.HTTPClientFor(base)
	if err != nil {
		return nil, fmt.Errorf("make HTTP client: %w", err)
	}
	// Watches have no limit: they are few, and opened again with pauses.
	watching, working, telling := rest.CopyConfig(base), rest.CopyConfig(base), rest.CopyConfig(base)
	watching.QPS = -1
	working.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(options.QPS, options.Burst)
	telling.QPS, telling.Burst = eventQPS, eventBurst

	watchCore, err1 := coreclient.NewForConfigAndClient(watching, http)
	watchApps, err2 := appsclient.NewForConfigAndClient(watching, http)
	core, err3 := coreclient.NewForConfigAndClient(working, http)
	apps, err4 := appsclient.NewForConfigAndClient(working, http)
	events, err5 := coreclient.NewForConfigAndClient(telling, http)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, fmt.Errorf("make clients: %w", err)
	}
	return &clients{
		watchCore: watchCore.RESTClient(),
		watchApps: watchApps.RESTClient(),
		core:      core,
		apps:      apps,
		events:    events,
	}, nil
}

func (c *clients) eventSink() record.EventSink {
	return &coreclient.EventSinkImpl{Interface: c.events.Events(corev1.NamespaceAll)}
}
