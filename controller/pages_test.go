package controller

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// listServer answers lists as the API server does, with objects that are made when they
// are asked for. Real ones of this number and size would take a cluster minutes.
type listServer struct {
	// lists has how many objects there are of each resource, and how to make a list of
	// some of them.
	lists map[string]madeList
	// expired is how many of the next continue tokens have expired.
	expired int
	// cut ends each answer in the middle, unless it is nil.
	cut     error
	answers []answer
}

type madeList struct {
	total int
	make  func(from, to int) apiclient.Page
}

// answer is what the server made of a request, and how many bytes of it were read.
type answer struct{ limit, objects, read int }

// RoundTrip makes the server its own network.
func (s *listServer) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	limit, _ := strconv.Atoi(query.Get("limit"))
	from, _ := strconv.Atoi(query.Get("continue"))
	if from > 0 && s.expired > 0 {
		s.expired--
		status := apierrors.NewResourceExpired("too old").ErrStatus
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		return respond(http.StatusGone, &status)
	}
	list := s.lists[r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]]
	to := list.total
	if limit > 0 {
		to = min(from+limit, list.total)
	}
	made := list.make(from, to)
	if to < list.total {
		made.SetContinue(strconv.Itoa(to))
	}
	response, err := respond(http.StatusOK, made)
	if err == nil {
		s.answers = append(s.answers, answer{limit, to - from, 0})
		response.Body = &countingBody{response.Body, s, len(s.answers) - 1}
	}
	if s.cut != nil {
		half := io.LimitReader(response.Body, response.ContentLength/2)
		response.Body = io.NopCloser(io.MultiReader(half, iotest.ErrReader(s.cut)))
	}
	return response, err
}

// countingBody counts what is read of an answer.
type countingBody struct {
	io.ReadCloser
	server *listServer
	index  int
}

func (c *countingBody) Read(into []byte) (int, error) {
	n, err := c.ReadCloser.Read(into)
	c.server.answers[c.index].read += n
	return n, err
}

func respond(code int, object apiruntime.Object) (*http.Response, error) {
	var body bytes.Buffer
	if err := protobuf.NewSerializer(apiclient.Scheme, apiclient.Scheme).Encode(object, &body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code, Body: io.NopCloser(bytes.NewReader(body.Bytes())), ContentLength: int64(body.Len()),
		Header: http.Header{"Content-Type": {"application/vnd.kubernetes.protobuf"}},
	}, nil
}

// reader returns a reader of pods that asks the server.
func (s *listServer) reader(t testing.TB) podReader {
	t.Helper()
	rate := apiclient.Rate{QPS: 1e6, Burst: 1e6}
	clients, err := apiclient.Connect(&rest.Config{Host: "http://api", Transport: s}, rate, rate)
	if err != nil {
		t.Fatal(err)
	}
	return podReader{apps: clients.Apps.RESTClient(), core: clients.Core.RESTClient()}
}

// largest returns how much of a page the reader had to take in at most, pages of a single
// object aside.
func (s *listServer) largest() int {
	largest := 0
	for _, a := range s.answers {
		if a.limit > 1 {
			largest = max(largest, a.read)
		}
	}
	return largest
}

const kibibyte = 1 << 10

// daemonPods is a list of pods of a DaemonSet, each of about so many bytes.
func daemonPods(total, size int, starts func(i int) metav1.Time) madeList {
	controller := true
	padding := strings.Repeat("x", size)
	return madeList{total, func(from, to int) apiclient.Page {
		list := &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
		for i := from; i < to; i++ {
			start := starts(i)
			list.Items = append(list.Items, corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprintf("agent-%05d", i), Namespace: "ns", Annotations: map[string]string{"padding": padding},
					Labels:          map[string]string{appsv1.ControllerRevisionHashLabelKey: "b"},
					OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet", Name: "agent", UID: agent, Controller: &controller}},
				},
				Status: corev1.PodStatus{
					Phase: corev1.PodRunning, StartTime: &start,
					ContainerStatuses: []corev1.ContainerStatus{
						{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: start}}},
						{Name: "sidecar", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: start}}},
					},
				},
			})
		}
		return list
	}}
}

func TestAListWhoseTokenExpiresStartsOverButNotForever(t *testing.T) {
	for expired, want := range map[int]int{0: 1200, 2: 1200, 3: 0} {
		server := &listServer{lists: map[string]madeList{"pods": daemonPods(1200, 0, secondOf)}, expired: expired}
		live, err := server.reader(t).list(t.Context(), agentReadingItsEnvironment())
		if want > 0 && (err != nil || len(live) != want) {
			t.Errorf("%d tokens expire: %d pods, %v", expired, len(live), err)
		}
		if want == 0 && !apierrors.IsResourceExpired(err) {
			t.Errorf("%d tokens expire: %v", expired, err)
		}
	}
}

func TestAListThatIsCutFails(t *testing.T) {
	cut := errors.New("cut")
	server := &listServer{lists: map[string]madeList{"pods": daemonPods(10, kibibyte, secondOf)}, cut: cut}
	if live, err := server.reader(t).list(t.Context(), agentReadingItsEnvironment()); !errors.Is(err, cut) {
		t.Errorf("%d pods, %v", len(live), err)
	}
}

func BenchmarkAskingADaemonSetFor5000Pods(b *testing.B) {
	server := &listServer{lists: map[string]madeList{"pods": daemonPods(5000, 20*kibibyte, secondOf)}}
	reader, w := server.reader(b), agentReadingItsEnvironment()
	var live []livePod
	before := heapInUse()
	for b.Loop() {
		server.answers = nil
		var err error
		if live, err = reader.list(b.Context(), w); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(heapInUse()-before), "B-kept")
	b.ReportMetric(float64(len(server.answers)), "requests/op")
	b.ReportMetric(float64(server.largest()), "B-page")
	slices.Reverse(live) // still in use
}

// heapInUse returns how many bytes of the heap are in use.
func heapInUse() int {
	runtime.GC()
	runtime.GC() // what the first one has left to finalizers
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}
