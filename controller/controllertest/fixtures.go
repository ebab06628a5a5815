package controllertest

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/controller/store"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/custom"
)

// Followed follows restarts in a catalog, until somebody looks.
func Followed(known *catalog.Catalog) *follow.Deliveries {
	open, table := OpenGate(known), tracker.New()
	return follow.NewDeliveries(follow.Parts{Catalog: known, Table: table, Evictions: follow.NewEvictions(known, table), Gate: open, Halted: run.NewSignal(), Notices: open.Notices})
}

// OpenGate returns a gatekeeper that holds no restart back but for its budget.
func OpenGate(known *catalog.Catalog) *gatekeeper.Gatekeeper {
	table := tracker.New()
	g := gatekeeper.New(gatekeeper.Options{
		FanOut: gatekeeper.FanOutOptions{Limit: 50}, Catalog: known, Wake: func(names.WorkloadRef) {}, KnowsWorkloads: func(string) bool { return true },
		KnowsWhatExists: func(names.ConfigKind, string) bool { return false }, Notices: gatekeeper.NewNotices(slog.New(slog.DiscardHandler)), Members: table.Members(), Exposures: table.Exposures(), Undecided: table.Undecided,
		Log: slog.New(slog.DiscardHandler),
	})
	g.SetHaltsTried()
	g.SetHaltsKnown(true)
	return g
}

// StoreOf returns a store of what the server keeps: an entry for each key.
func StoreOf(t *testing.T, server *objecttest.HaltServer, keys ...string) *store.Halts {
	t.Helper()
	server.Object.TypeMeta = metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}
	server.Object.Name, server.Object.Namespace, server.Object.ResourceVersion = "halts", "own", "1"
	server.Object.Annotations = map[string]string{"note": "kept"}
	for _, key := range keys {
		if server.Object.Data == nil {
			server.Object.Data = make(map[string]string)
		}
		server.Object.Data[key] = "theirs"
	}
	return &store.Halts{Core: server.Core(t), Namespace: "own", Name: "halts"}
}

// ListServer answers lists as the API server does, with objects that are made when they
// are asked for. Real ones of this number and size would take a cluster minutes.
type ListServer struct {
	// Lists has how many objects there are of each resource, and how to make a list of
	// some of them.
	Lists map[string]objecttest.MadeList
	// Expired is how many of the next continue tokens have expired.
	Expired int
	// Cut ends each answer in the middle, unless it is nil.
	Cut     error
	Answers []objecttest.Answer
}

// RoundTrip makes the server its own network.
func (s *ListServer) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	limit, _ := strconv.Atoi(query.Get("limit"))
	from, _ := strconv.Atoi(query.Get("continue"))
	if from > 0 && s.Expired > 0 {
		s.Expired--
		status := apierrors.NewResourceExpired("too old").ErrStatus
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		return objecttest.Respond(http.StatusGone, &status)
	}
	list := s.Lists[r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]]
	to := list.Total
	if limit > 0 {
		to = min(from+limit, list.Total)
	}
	made := list.Make(from, to)
	if to < list.Total {
		made.SetContinue(strconv.Itoa(to))
	}
	response, err := objecttest.Respond(http.StatusOK, made)
	if err == nil {
		s.Answers = append(s.Answers, objecttest.Answer{Limit: limit, Objects: to - from, Read: 0})
		response.Body = &countingBody{response.Body, s, len(s.Answers) - 1}
	}
	if s.Cut != nil {
		half := io.LimitReader(response.Body, response.ContentLength/2)
		response.Body = io.NopCloser(io.MultiReader(half, iotest.ErrReader(s.Cut)))
	}
	return response, err
}

// countingBody counts what is read of an answer.
type countingBody struct {
	io.ReadCloser
	server *ListServer
	index  int
}

func (c *countingBody) Read(into []byte) (int, error) {
	n, err := c.ReadCloser.Read(into)
	c.server.Answers[c.index].Read += n
	return n, err
}

// Reader returns a reader of pods that asks the server.
func (s *ListServer) Reader(t testing.TB) kinds.PodReader {
	t.Helper()
	rate := apiclient.Rate{QPS: 1e6, Burst: 1e6}
	clients, err := apiclient.Connect(&rest.Config{Host: "http://api", Transport: s}, rate, rate)
	if err != nil {
		t.Fatal(err)
	}
	return kinds.PodReader{Apps: clients.Apps.RESTClient(), Core: clients.Core.RESTClient()}
}

// Largest returns how much of a page the reader had to take in at most, pages of a single
// object aside.
func (s *ListServer) Largest() int {
	largest := 0
	for _, a := range s.Answers {
		if a.Limit > 1 {
			largest = max(largest, a.Read)
		}
	}
	return largest
}

// WorkloadOf reduces a workload, whether it opted in or not.
func WorkloadOf(t *testing.T, object any) workload.Workload {
	t.Helper()
	for _, k := range kinds.WorkloadKinds {
		if parts, isOne := k.Parts(object); isOne {
			w, err := workload.NewWorkload(k.Workload, &parts)
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
	}
	t.Fatalf("%T is no workload", object)
	return workload.Workload{}
}

// Reduce reduces an object as the watch of its kind does.
func Reduce(object any, rules *optin.Rules) (*kinds.Observation, error) {
	for _, k := range kinds.ConfigKinds {
		if _, isOne := k.Read(object); isOne {
			return k.Reduce(object, rules)
		}
	}
	for _, k := range kinds.WorkloadKinds {
		if _, isOne := k.Parts(object); isOne {
			return k.Reduce(object, rules)
		}
	}
	if _, isOne := object.(*custom.Object); isOne {
		return kinds.ReduceMount(object)
	}
	if namespaces := (kinds.NamespaceKind{Rules: rules}); rules.NeedNamespaces() {
		return namespaces.Reduce(object)
	}
	return nil, fmt.Errorf("%T is neither a config nor a workload", object)
}
