package apiclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"kubernetes-deployment-restart-controller/internal/fairqueue"
)

// Rate limits requests: QPS is how many are allowed per second, and Burst how many at once beyond
// that.
type Rate struct {
	QPS   float32
	Burst int
}

// requestLimit is how long a request other than a watch may take: a little longer than an API
// server allows by default, so that its refusal arrives. A proxy in between may silently lose the
// answer, and the client would otherwise wait forever.
const requestLimit = time.Minute + 10*time.Second

const protobuf = "application/vnd.kubernetes.protobuf"

// Clients are the connections to the API server: one HTTP client, with a separate limit of
// requests for each purpose, so that no purpose waits for another. They may be used concurrently.
type Clients struct {
	// WatchCore and WatchApps have no limit: there are few watches, and they are reopened with
	// pauses.
	WatchCore, WatchApps rest.Interface
	// Apps and Core share the given limit.
	Apps Apps
	Core Core
	// Metadata shares that limit too. It reads and patches the metadata of objects.
	Metadata metadata.Interface

	events rest.Interface

	watching, working *rest.Config // for [Clients.Custom]
	client, limited   *http.Client
}

// Connect makes the clients, and does not modify the configuration. The limit requests applies to
// all requests except watches and Events, and the limit events applies to Events.
func Connect(config *rest.Config, requests, events Rate) (*Clients, error) {
	base := bounded(config)
	base.ContentType = protobuf
	base.AcceptContentTypes = protobuf + "," + runtime.ContentTypeJSON
	// Decompressing lists takes a sixth of the CPU time of a start. The scheduler and the
	// controller manager of Kubernetes do without compression too.
	base.DisableCompression = true
	client, err := rest.HTTPClientFor(base)
	if err != nil {
		return nil, fmt.Errorf("make HTTP client: %w", err)
	}
	limited := *client
	limited.Timeout = requestLimit
	watching, working, telling := rest.CopyConfig(base), rest.CopyConfig(base), rest.CopyConfig(base)
	watching.QPS = -1
	working.RateLimiter = limiter{flowcontrol.NewTokenBucketRateLimiter(requests.QPS, requests.Burst)}
	telling.QPS, telling.Burst = events.QPS, events.Burst

	watchCore, err1 := connectGroup(watching, client, corev1.SchemeGroupVersion)
	watchApps, err2 := connectGroup(watching, client, appsv1.SchemeGroupVersion)
	core, err3 := connectGroup(working, &limited, corev1.SchemeGroupVersion)
	apps, err4 := connectGroup(working, &limited, appsv1.SchemeGroupVersion)
	recording, err5 := connectGroup(telling, &limited, corev1.SchemeGroupVersion)
	meta, err6 := metadata.NewForConfigAndClient(working, &limited)
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		return nil, fmt.Errorf("make clients: %w", err)
	}
	return &Clients{
		WatchCore: watchCore,
		WatchApps: watchApps,
		Apps:      group{apps},
		Core:      NewCore(core),
		Metadata:  meta,
		events:    recording,

		watching: watching, working: working,
		client: client, limited: &limited,
	}, nil
}

// ConnectGroup makes a client of one API group with connections of its own, and does not
// modify the configuration.
func ConnectGroup(config *rest.Config, version schema.GroupVersion) (rest.Interface, error) {
	config = bounded(config)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make HTTP client: %w", err)
	}
	return connectGroup(config, client, version)
}

func connectGroup(config *rest.Config, client *http.Client, version schema.GroupVersion) (rest.Interface, error) {
	own := rest.CopyConfig(config)
	own.GroupVersion = &version
	own.NegotiatedSerializer = Codecs.WithoutConversion()
	if own.APIPath = "/apis"; version.Group == "" {
		own.APIPath = "/api"
	}
	return rest.RESTClientForConfigAndClient(own, client)
}

// limiter limits the requests of the workers. Waiting for it must not make an item slow.
type limiter struct{ flowcontrol.RateLimiter }

// Wait implements flowcontrol.RateLimiter.
func (l limiter) Wait(ctx context.Context) error {
	defer fairqueue.Pause(ctx)()
	return l.RateLimiter.Wait(ctx)
}
