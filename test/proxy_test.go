package test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/test/faultproxy"
)

// startProxy puts a proxy between the API server and the controllers that the scene
// starts from now on.
func (s *scene) startProxy() *faultproxy.Proxy {
	s.Helper()
	return s.startProxySparing(nil)
}

// startProxySparing is startProxy with faults only for requests that are not spared.
func (s *scene) startProxySparing(spare func(*http.Request) bool) *faultproxy.Proxy {
	s.Helper()
	// The client library resumes a watch only if it has lived for a second or shown
	// something; otherwise it lists again.
	return s.startProxyWith(faultproxy.Options{WatchLife: 3 * time.Second, Spare: spare})
}

// startProxyWith is startProxy with these options.
func (s *scene) startProxyWith(options faultproxy.Options) *faultproxy.Proxy {
	s.Helper()
	options.Target, options.Seed = s.cluster.Config(), 1
	proxy, err := faultproxy.Start(options)
	s.must(err)
	s.Cleanup(proxy.Close)
	behind := *s.installation
	behind.Kubeconfig = filepath.Join(s.TempDir(), "kubeconfig")
	s.must(proxy.WriteKubeconfig(s.installation.Kubeconfig, behind.Kubeconfig))
	s.installation = &behind
	return proxy
}

// Each kind of fault alone, and often. Both engines must reach the same result as without faults: each edited workload
// is restarted once and rolled out to one new ReplicaSet, the others are left alone.
func TestUnderFaultsEachEditRestartsOnceAndIsRolledOut(t *testing.T) {
	t.Parallel()
	// Of the 13 attempts that a rollout has within a minute, of two requests or more each, one must get through.
	const often = 0.25
	for _, c := range []struct {
		name string
		mix  faultproxy.Mix
	}{
		{"latency", faultproxy.Mix{faultproxy.Latency: 1}},
		{"conflicts", faultproxy.Mix{faultproxy.Conflict: often}},
		{"too many requests", faultproxy.Mix{faultproxy.TooManyRequests: often}},
		{"internal errors", faultproxy.Mix{faultproxy.InternalError: often}},
		{"unavailability", faultproxy.Mix{faultproxy.Unavailable: often}},
		{"resets before requests are carried out", faultproxy.Mix{faultproxy.ResetBefore: often}},
		{"resets after requests have been carried out", faultproxy.Mix{faultproxy.ResetAfter: often}},
		{"answers that come too late", faultproxy.Mix{faultproxy.Timeout: often}},
		{"dropped watches", faultproxy.Mix{faultproxy.DropWatch: 1}},
		{"watches that cannot be resumed", faultproxy.Mix{faultproxy.DropWatch: 1, faultproxy.Expired: 1}},
		{"watches that expire", faultproxy.Mix{faultproxy.ExpiredInStream: 1}},
		{"slow lists", faultproxy.Mix{faultproxy.SlowList: 1, faultproxy.DropWatch: 1, faultproxy.Expired: 1}},
		{"everything", faultproxy.Everything(0.3)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newEngineSceneApart(t)
			proxy := s.startProxy()
			s.startEngine()
			crowd := s.gather(6)
			crowd.note()
			proxy.Inject(c.mix)
			crowd.requireRestartsOf(crowd.edit(4, "v2"))
			for kind, probability := range c.mix {
				if probability < often || kind == faultproxy.SlowList && probability < 1 {
					continue // it may never come up: at rest there are few requests, and hardly a list
				}
				s.eventually("there is a fault of the kind "+string(kind), func(context.Context) error {
					if proxy.Injected()[kind] == 0 {
						return fmt.Errorf("there is none among %v", proxy.Injected())
					}
					return nil
				})
			}
		})
	}
}

// What only the client's patience ends is tested in watch/, where time is played. Here
// the connections break in the end, as when the machine between is replaced.
func TestEditsThatStalledWatchesMissAreRecovered(t *testing.T) {
	s := newEngineSceneApart(t)
	proxy := s.startProxy()
	s.startEngine()
	crowd := s.gather(6)
	crowd.note()
	proxy.Inject(faultproxy.Mix{faultproxy.StallWatch: 1})
	s.eventually("all watches stall", func(context.Context) error {
		if stalled := proxy.Stalled(); stalled < 8 { // 5, and 3 of the deployment engine
			return errors.New("some do not yet")
		}
		return nil
	})
	proxy.Inject(nil)
	edited := crowd.edit(4, "v2")
	crowd.edit(3, "v3") // three of them for the second time
	proxy.Cut()
	crowd.requireRestartsOf(edited)
}
