package apiclient_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// eventAPI is an API server for Events. Respond may take its time.
type eventAPI struct {
	mu      sync.Mutex
	respond func(request *http.Request, number int) (code int, err error)
	number  int
	written []string // method and namespace
	at      []time.Duration
	begun   time.Time
}

func (a *eventAPI) RoundTrip(request *http.Request) (*http.Response, error) {
	a.mu.Lock()
	a.number++
	number := a.number
	a.mu.Unlock()
	code, err := a.respond(request, number)
	if err != nil {
		return nil, err
	}
	content := `{"kind":"Event","apiVersion":"v1"}`
	if code >= 400 {
		content = fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d}`, code)
	} else {
		a.mu.Lock()
		a.written = append(a.written, request.Method+" "+strings.Split(request.URL.Path, "/")[4])
		a.at = append(a.at, time.Since(a.begun))
		a.mu.Unlock()
	}
	return &http.Response{
		StatusCode: code, Request: request, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(content)),
	}, nil
}

// writes returns what is written, and when, once nothing moves any more.
func (a *eventAPI) writes() ([]string, []time.Duration) {
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.written), slices.Clone(a.at)
}

// recording runs a test in synthetic time with a recorder that writes to the server.
func recording(t *testing.T, api *eventAPI, run func(events record.EventRecorder)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rate := apiclient.Rate{QPS: 1e6, Burst: 1e6}
		api.begun = time.Now()
		clients, err := apiclient.Connect(&rest.Config{Host: "http://api", Transport: api}, rate, rate)
		if err != nil {
			t.Fatal(err)
		}
		broadcaster := record.NewBroadcaster()
		run(clients.Recorder(broadcaster, "test"))
		broadcaster.Shutdown()
	})
}

func about(namespace, name string) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Deployment", Namespace: namespace, Name: name}
}

func TestAWebhookThatHangsForEventsOfOneNamespaceDoesNotDelayOthers(t *testing.T) {
	for name, end := range map[string]func() (int, error){
		"the Event is written in the end": func() (int, error) { return http.StatusCreated, nil },
		"the Event is denied":             func() (int, error) { return http.StatusInternalServerError, nil },
		"no answer comes":                 func() (int, error) { return 0, errors.New("connection lost") },
	} {
		t.Run(name, func(t *testing.T) {
			api := &eventAPI{respond: func(request *http.Request, _ int) (int, error) {
				if strings.Contains(request.URL.Path, "/hostile/") {
					time.Sleep(29 * time.Second)
					return end()
				}
				return http.StatusCreated, nil
			}}
			recording(t, api, func(events record.EventRecorder) {
				for i := range 600 {
					events.Event(about("hostile", fmt.Sprint("d", i)), "Normal", "Restarting", "x")
				}
				synctest.Wait()
				events.Event(about("other", "web"), "Normal", "Restarting", "x")
				if written, at := api.writes(); len(written) != 1 || written[0] != "POST other" || at[0] != 0 {
					t.Errorf("written at once: %q after %v", written, at)
				}
				time.Sleep(72 * time.Hour)
				if name != "the Event is written in the end" {
					return
				}
				if written, _ := api.writes(); len(written) != 501 {
					t.Errorf("%d Events are written; the first 500 of a namespace should be", len(written))
				}
				events.Event(about("hostile", "later"), "Normal", "Restarting", "x")
				time.Sleep(time.Minute)
				if written, _ := api.writes(); len(written) != 502 {
					t.Error("an Event is dropped although none waits")
				}
			})
		})
	}
}

func TestNoEventIsLostWhenTheAPIServerIsSlowOrAway(t *testing.T) {
	api := &eventAPI{respond: func(_ *http.Request, number int) (int, error) {
		time.Sleep(20 * time.Second)
		if number <= 40 {
			return 0, errors.New("connection refused")
		}
		return http.StatusCreated, nil
	}}
	recording(t, api, func(events record.EventRecorder) {
		for i := range 40 {
			events.Event(about(fmt.Sprint("ns", i/2), fmt.Sprint("d", i)), "Normal", "Restarting", "x")
		}
		time.Sleep(time.Hour)
		if written, _ := api.writes(); len(written) != 40 {
			t.Errorf("%d of 40 Events are written", len(written))
		}
	})
}

func TestARepeatedEventIsCountedOrCreatedIfItIsGone(t *testing.T) {
	var gone atomic.Bool
	api := &eventAPI{respond: func(request *http.Request, _ int) (int, error) {
		if request.Method == http.MethodPatch && gone.Load() {
			return http.StatusNotFound, nil
		}
		return http.StatusCreated, nil
	}}
	recording(t, api, func(events record.EventRecorder) {
		for range 3 {
			events.Event(about("ns", "web"), "Normal", "Restarting", "x")
			written, _ := api.writes()
			gone.Store(len(written) == 2)
		}
		written, _ := api.writes()
		if got := strings.Join(written, ", "); got != "POST ns, PATCH ns, POST ns" {
			t.Errorf("got %s", got)
		}
	})
}

func TestWaitingEventsAreLimitedAndManyNamespacesDoNotSilenceOthers(t *testing.T) {
	api := &eventAPI{respond: func(request *http.Request, _ int) (int, error) {
		if strings.Contains(request.URL.Path, "/hostile") {
			time.Sleep(29 * time.Second)
		}
		return http.StatusCreated, nil
	}}
	recording(t, api, func(events record.EventRecorder) {
		for i := range 20 * 600 {
			events.Event(about(fmt.Sprint("hostile", i/600), fmt.Sprint("d", i)), "Normal", "Restarting", "x")
			synctest.Wait()
		}
		events.Event(about("other", "web"), "Normal", "Restarting", "x")
		if written, _ := api.writes(); len(written) != 1 || written[0] != "POST other" {
			t.Errorf("written at once: %q", written)
		}
		time.Sleep(5 * time.Hour)
		want := 10*500 + 10*5 + 1
		if written, _ := api.writes(); len(written) != want {
			t.Errorf("%d Events are written, want %d", len(written), want)
		}
	})
}

func TestALastingEventIsCreatedUnderANameThatTheNextProcessGivesItToo(t *testing.T) {
	var names []string
	api := &eventAPI{respond: func(request *http.Request, _ int) (int, error) {
		body, err := io.ReadAll(request.Body)
		event, _, errOfBody := apiclient.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if request.Method == http.MethodPost && errOfBody == nil {
			names = append(names, event.(*corev1.Event).Name)
		}
		return http.StatusCreated, errors.Join(err, errOfBody)
	}}
	for process := range 2 {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Duration(process) * time.Hour)
			rate := apiclient.Rate{QPS: 1e6, Burst: 1e6}
			clients, err := apiclient.Connect(&rest.Config{Host: "http://api", Transport: api}, rate, rate)
			if err != nil {
				t.Fatal(err)
			}
			broadcaster := record.NewBroadcaster()
			events := clients.Recorder(broadcaster, "test", "Lasting")
			long := about("ns", strings.Repeat("x", 253))
			for _, event := range []struct {
				object          *corev1.ObjectReference
				reason, message string
			}{{about("ns", "web"), "Lasting", "x"}, {about("ns", "web"), "Lasting", "y"}, {about("ns", "api"), "Lasting", "x"}, {long, "Lasting", "x"}, {about("ns", "web"), "Passing", "x"}} {
				events.Event(event.object, "Warning", event.reason, event.message)
				synctest.Wait()
			}
			broadcaster.Shutdown()
			time.Sleep(time.Minute)
		})
	}
	if len(names) != 10 {
		t.Fatalf("%d Events were created", len(names))
	}
	seen := make(map[string]bool)
	for i := range 5 {
		first, second := names[i], names[5+i]
		if isPassing := i == 4; (first == second) == isPassing || seen[first] || len(first) > 253 {
			t.Errorf("Event %d: %s in one process, %s in the next", i, first, second)
		}
		seen[first] = true
	}
}

// storedEvents is an API server that knows when each Event was seen last.
type storedEvents map[string]time.Time

func (stored storedEvents) RoundTrip(request *http.Request) (*http.Response, error) {
	respond := func(code int, content string) (*http.Response, error) {
		return &http.Response{
			StatusCode: code, Request: request, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(content)),
		}, nil
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	var event corev1.Event
	if request.Method == http.MethodPost {
		if _, _, err := apiclient.Codecs.UniversalDeserializer().Decode(body, nil, &event); err != nil {
			return nil, err
		}
		if _, exists := stored[event.Name]; exists {
			return respond(http.StatusConflict, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"AlreadyExists","code":409}`)
		}
	} else {
		if err := json.Unmarshal(body, &event); err != nil {
			return nil, err
		}
		event.Name = path.Base(request.URL.Path)
	}
	stored[event.Name] = event.LastTimestamp.Time
	return respond(http.StatusOK, `{"kind":"Event","apiVersion":"v1"}`)
}

// What has ended and begins again under the next leader is news, whatever a former one has said of it.
func TestALastingEventOfAFormerProcessSaysWhenItWasSeenLast(t *testing.T) {
	stored := storedEvents{}
	for process := range 2 {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Duration(process) * time.Hour)
			rate := apiclient.Rate{QPS: 1e6, Burst: 1e6}
			clients, err := apiclient.Connect(&rest.Config{Host: "http://api", Transport: stored}, rate, rate)
			if err != nil {
				t.Fatal(err)
			}
			broadcaster := record.NewBroadcaster()
			clients.Recorder(broadcaster, "test", "Lasting").Event(about("ns", "web"), "Warning", "Lasting", "x")
			synctest.Wait()
			for name, at := range stored {
				if !at.Equal(time.Now()) {
					t.Errorf("%s was seen last at %v, want %v", name, at.UTC(), time.Now().UTC())
				}
			}
			broadcaster.Shutdown()
			time.Sleep(time.Minute)
		})
	}
	if len(stored) != 1 {
		t.Errorf("there are %d Events", len(stored))
	}
}
