package faultproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

const (
	protobuf = "application/vnd.kubernetes.protobuf"
	token    = "the-token"
	limit    = 2 * time.Minute // far above what anything takes
)

// scene is a proxy before a server that has one ConfigMap, and a client.
type scene struct {
	proxy    *Proxy
	client   kubernetes.Interface
	carried  atomic.Int64 // requests that reached the server
	http1    atomic.Int64 // those that did not come by HTTP/2
	foreign  atomic.Int64 // those without the client's token
	versions chan string  // what open watches send next; closed for their end
}

func play(t *testing.T, mix Mix, contentType string) *scene {
	t.Helper()
	s := &scene{versions: make(chan string)}
	server := httptest.NewUnstartedServer(s)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	target := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	var err error
	s.proxy, err = Start(Options{Target: target, Seed: 1, Latency: time.Millisecond, Timeout: time.Millisecond, WatchLife: time.Millisecond})
	must(t, err)
	t.Cleanup(s.proxy.Close)
	s.proxy.Inject(mix)

	config := clientOf(t, s.proxy)
	config.ContentType, config.QPS = contentType, -1
	s.client, err = kubernetes.NewForConfig(config)
	must(t, err)
	return s
}

// clientOf reads the client's configuration from a kubeconfig that the proxy wrote.
func clientOf(t *testing.T, p *Proxy) *rest.Config {
	t.Helper()
	original := api.NewConfig()
	original.Clusters["it"] = &api.Cluster{Server: "https://127.0.0.1:1", CertificateAuthority: "/nowhere"}
	original.AuthInfos["it"] = &api.AuthInfo{Token: token}
	original.Contexts["it"] = &api.Context{Cluster: "it", AuthInfo: "it"}
	original.CurrentContext = "it"
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	must(t, clientcmd.WriteToFile(*original, from))
	must(t, p.WriteKubeconfig(from, to))
	config, err := clientcmd.BuildConfigFromFlags("", to)
	must(t, err)
	return config
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ServeHTTP is the server.
func (s *scene) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.carried.Add(1)
	if r.ProtoMajor != 2 {
		s.http1.Add(1)
	}
	if r.Header.Get("Authorization") != "Bearer "+token {
		s.foreign.Add(1)
	}
	if !isWatch(r) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(configMap("1"))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if r.Header.Get("Accept") == protobuf {
		w.Header().Set("Content-Type", protobuf+";stream=watch")
	}
	flush(w)
	for {
		select {
		case <-r.Context().Done():
			return
		case version, more := <-s.versions:
			if !more {
				return
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "ADDED", "object": configMap(version)})
			flush(w)
		}
	}
}

func flush(w http.ResponseWriter) {
	if err := http.NewResponseController(w).Flush(); err != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
}

func configMap(version string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: "it", ResourceVersion: version},
	}
	if version == "end" {
		c.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return c
}

func (s *scene) get(t *testing.T) error {
	_, err := s.client.CoreV1().ConfigMaps("ns").Get(t.Context(), "it", metav1.GetOptions{})
	return err
}

func (s *scene) patch(t *testing.T) error {
	_, err := s.client.CoreV1().ConfigMaps("ns").Patch(t.Context(), "it", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
	return err
}

func (s *scene) watch(t *testing.T, options metav1.ListOptions) (watch.Interface, error) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return s.client.CoreV1().ConfigMaps("ns").Watch(ctx, options)
}

// next returns the next event of a watch, in short.
func next(t *testing.T, w watch.Interface) string {
	t.Helper()
	select {
	case event, more := <-w.ResultChan():
		if !more {
			return "end"
		}
		if status, failed := event.Object.(*metav1.Status); failed {
			return fmt.Sprintf("%s %d %s", event.Type, status.Code, status.Reason)
		}
		return fmt.Sprintf("%s %s", event.Type, event.Object.(*corev1.ConfigMap).ResourceVersion)
	case <-time.After(limit):
		t.Fatal("the watch shows nothing")
		return ""
	}
}

func (s *scene) requireInjected(t *testing.T, kind Kind) {
	t.Helper()
	if s.proxy.Injected()[kind] == 0 {
		t.Errorf("no %s is counted: %v", kind, s.proxy.Injected())
	}
}

func TestWithoutFaultsEverythingPasses(t *testing.T) {
	s := play(t, nil, "")
	must(t, s.get(t))
	must(t, s.patch(t))
	w, err := s.watch(t, metav1.ListOptions{ResourceVersion: "1"})
	must(t, err)
	for _, version := range []string{"2", "3"} {
		s.versions <- version
		if got := next(t, w); got != "ADDED "+version {
			t.Errorf("the watch shows %q, want version %s", got, version)
		}
	}
	close(s.versions)
	if got := next(t, w); got != "end" {
		t.Errorf("the watch shows %q, want its end", got)
	}
	if s.carried.Load() != 3 || s.http1.Load() != 0 || s.foreign.Load() != 0 {
		t.Errorf("%d requests, %d not by HTTP/2, %d without the token; want 3, 0, 0", s.carried.Load(), s.http1.Load(), s.foreign.Load())
	}
	if len(s.proxy.Injected()) != 0 {
		t.Errorf("faults without a mix: %v", s.proxy.Injected())
	}
}

func TestRefusalsLookLikeTheAPIServersAndAreNotCarriedOut(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		is   func(error) bool
		ask  func(*scene, *testing.T) error
	}{
		{Conflict, apierrors.IsConflict, (*scene).patch},
		{InternalError, apierrors.IsInternalError, (*scene).get},
		{Unavailable, apierrors.IsServiceUnavailable, (*scene).patch},
		{Expired, apierrors.IsResourceExpired, func(s *scene, t *testing.T) error {
			_, err := s.watch(t, metav1.ListOptions{ResourceVersion: "1"})
			return err
		}},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			s := play(t, Mix{c.kind: 1}, "")
			if err := c.ask(s, t); !c.is(err) {
				t.Errorf("the answer is %v", err)
			}
			if s.carried.Load() != 0 {
				t.Error("the request was carried out")
			}
			s.requireInjected(t, c.kind)
		})
	}
}

func TestTooManyRequestsSaysWhenToTryAgain(t *testing.T) {
	s := play(t, Mix{TooManyRequests: 1}, "")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.proxy.URL()+"/api/v1/namespaces/ns/configmaps/it", nil)
	must(t, err)
	response, err := s.proxy.server.Client().Do(request)
	must(t, err)
	defer response.Body.Close()
	if response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") != "1" {
		t.Errorf("the answer is %d, Retry-After %q", response.StatusCode, response.Header.Get("Retry-After"))
	}
	s.requireInjected(t, TooManyRequests)
}

func TestReadsAreNotAnsweredWithAConflictAndNewWatchesDoNotExpire(t *testing.T) {
	s := play(t, Mix{Conflict: 1, Expired: 1}, "")
	must(t, s.get(t))
	yes := true
	for _, options := range []metav1.ListOptions{{}, {ResourceVersion: "0"}, {ResourceVersion: "1", SendInitialEvents: &yes}} {
		_, err := s.watch(t, options)
		must(t, err)
	}
}

func TestAResetLeavesOpenWhetherTheRequestWasCarriedOut(t *testing.T) {
	for kind, carried := range map[Kind]int64{ResetBefore: 0, ResetAfter: 1, Timeout: 1} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := play(t, Mix{kind: 1}, "")
			err := s.patch(t)
			var status apierrors.APIStatus
			if kind == Timeout {
				if !errors.As(err, &status) || status.Status().Code != http.StatusGatewayTimeout {
					t.Errorf("the patch ends with %v, want 504", err)
				}
			} else if err == nil || errors.As(err, &status) && status.Status().Code != http.StatusOK && status.Status().Code != 0 {
				t.Errorf("the patch ends with %v, want a broken connection", err)
			}
			if s.carried.Load() != carried {
				t.Errorf("the patch was carried out %d times, want %d", s.carried.Load(), carried)
			}
			s.requireInjected(t, kind)
		})
	}
}

func TestLatencyHoldsBackAndLetsPass(t *testing.T) {
	s := play(t, Mix{Latency: 1}, "")
	must(t, s.get(t))
	s.requireInjected(t, Latency)
}

func TestADroppedWatchEnds(t *testing.T) {
	s := play(t, Mix{DropWatch: 1}, "")
	w, err := s.watch(t, metav1.ListOptions{})
	must(t, err)
	if got := next(t, w); got != "end" && got != "ERROR 500 InternalError" {
		t.Errorf("the watch shows %q, want its end", got)
	}
	s.requireInjected(t, DropWatch)
}

func TestAStalledWatchShowsNothingUntilItsConnectionIsCut(t *testing.T) {
	s := play(t, nil, "")
	w, err := s.watch(t, metav1.ListOptions{})
	must(t, err)
	s.versions <- "2"
	if got := next(t, w); got != "ADDED 2" {
		t.Fatalf("the watch shows %q", got)
	}
	s.proxy.Inject(Mix{StallWatch: 1})
	for deadline := time.Now().Add(limit); s.proxy.Stalled() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing stalls")
		}
	}
	s.proxy.Inject(nil)
	if s.proxy.Stalled() != 1 {
		t.Error("the end of the faults ended the stall")
	}
	must(t, s.get(t)) // the connection works
	select {
	case event := <-w.ResultChan():
		t.Errorf("a stalled watch shows %v", event)
	default:
	}
	s.proxy.Cut()
	if got := next(t, w); got != "end" && got != "ERROR 500 InternalError" {
		t.Errorf("the watch shows %q, want its end", got)
	}
}

func TestAWatchExpiresInItsOwnEncoding(t *testing.T) {
	for _, contentType := range []string{"application/json", protobuf} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			s := play(t, Mix{ExpiredInStream: 1}, contentType)
			w, err := s.watch(t, metav1.ListOptions{})
			must(t, err)
			if got := next(t, w); got != "ERROR 410 Expired" {
				t.Errorf("the watch shows %q, want an error 410 Expired", got)
			}
			if got := next(t, w); got != "end" {
				t.Errorf("then it shows %q, want its end", got)
			}
		})
	}
}

func TestASlowListArrivesCompletely(t *testing.T) {
	s := play(t, Mix{SlowList: 1}, "")
	yes := true
	w, err := s.watch(t, metav1.ListOptions{SendInitialEvents: &yes})
	must(t, err)
	for _, version := range []string{"1", "2", "end", "3"} {
		s.versions <- version
		if got := next(t, w); got != "ADDED "+version {
			t.Errorf("the watch shows %q, want %s", got, version)
		}
	}
	s.requireInjected(t, SlowList)
}

func TestASparedRequestHasNoFaults(t *testing.T) {
	s := play(t, Mix{InternalError: 1, ResetAfter: 1, DropWatch: 1, Latency: 1}, "")
	s.proxy.options.Spare = func(*http.Request) bool { return true }
	must(t, s.get(t))
	if len(s.proxy.Injected()) != 0 {
		t.Errorf("faults of spared requests: %v", s.proxy.Injected())
	}
}

func TestAProxyWithoutAServerBreaksOffWithoutAnAnswer(t *testing.T) {
	p, err := Start(Options{Target: &rest.Config{Host: "https://127.0.0.1:1", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}})
	must(t, err)
	defer p.Close()
	response, err := p.server.Client().Get(p.URL())
	if err == nil {
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		t.Errorf("it answers %s %s", response.Status, body)
	}
}

func TestTheSameSeedDrawsTheSameFaults(t *testing.T) {
	draw := func(seed uint64) (drawn []Kind) {
		d := newDice(seed)
		d.use(Everything(0.1))
		for range 200 {
			drawn = append(drawn, d.roll(Kinds()...))
		}
		return drawn
	}
	if first, second := fmt.Sprint(draw(7)), fmt.Sprint(draw(7)); first != second {
		t.Error("one seed draws differently")
	}
	if fmt.Sprint(draw(7)) == fmt.Sprint(draw(8)) {
		t.Error("two seeds draw the same")
	}
}
