package watch

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// scene is a watch that runs against a server.
type scene struct {
	*recorder
	server *server
	watch  *Watch[string]
	log    *lockedBuffer
	stop   func() // returns when the watch has ended
}

// play runs a watch in a synctest bubble, from its first attempt on.
func play(t *testing.T, newServer func() *server, options Options[string], story func(*testing.T, *scene)) {
	t.Helper()
	// Without the handler that spaces errors: it compares the bubble's time with one that it noted outside.
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = handlers[:1]
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		s := &scene{recorder: &recorder{}, server: newServer(), log: &lockedBuffer{}}
		s.stop = func() { cancel(); <-done }
		defer s.stop()
		options.Resource, options.Client = "configmaps", s.server.client()
		options.Kind, options.Reduce, options.Name, options.Observer = configMapKind, reduceToName, nameOf, s.recorder
		options.Log = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
		options.Quarantine = quarantine.New(quarantine.Options{Log: options.Log})
		s.watch = New(options)
		go func() {
			defer close(done)
			s.watch.Run(ctx)
		}()
		synctest.Wait()
		story(t, s)
	})
}

// lockedBuffer is a buffer that a test may read between the writes of others.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

func withoutTime(_ []string, attr slog.Attr) slog.Attr {
	if attr.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return attr
}

// send sends events on the open stream and waits until they have been taken in.
func (s *scene) send(events ...*event) {
	for _, e := range events {
		s.server.events <- e
	}
	synctest.Wait()
}

// pass lets time pass and waits until what it brought has been taken in.
func (s *scene) pass(duration time.Duration) {
	time.Sleep(duration)
	synctest.Wait()
}

// require compares what a scene has come to.
func require(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

func twoConfigMaps() *server {
	return newServer([]*corev1.ConfigMap{configMap("a", "1"), configMap("b", "2")})
}

func TestTheFirstListComesAsAStreamAndEventsFollowOnIt(t *testing.T) {
	play(t, twoConfigMaps, Options[string]{Namespace: "ns", FieldSelector: "metadata.name!=x"}, func(t *testing.T, s *scene) {
		s.send(&event{"ADDED", configMap("c", "6")}, &event{"MODIFIED", configMap("a", "7")}, &event{"DELETED", configMap("b", "8")})
		require(t, "received", []string{"replace a@1,b@2 at 5", "observe c@6", "observe a@7", "forget b@8"}, s.received)
		require(t, "asked", []string{
			"/api/v1/namespaces/ns/configmaps watch=true sendInitialEvents=true fieldSelector=metadata.name!=x",
		}, s.server.asked())
		require(t, "status", "[+] watch configmaps in ns: synced", s.watch.Status().String())
		s.stop()
		require(t, "log", "", s.log.String())
	})
}

func TestAServerThatCannotStreamListsIsReadPageByPage(t *testing.T) {
	paged := func() *server {
		s := newServer([]*corev1.ConfigMap{configMap("a", "1"), configMap("b", "2")}, []*corev1.ConfigMap{configMap("c", "3")}, nil)
		s.noStreams = true
		return s
	}
	play(t, paged, Options[string]{FieldSelector: "metadata.name!=x"}, func(t *testing.T, s *scene) {
		s.send(&event{"MODIFIED", configMap("a", "6")})
		require(t, "received", []string{"replace a@1,b@2,c@3 at 5", "observe a@6"}, s.received)
		require(t, "asked", []string{
			"/api/v1/configmaps watch=true sendInitialEvents=true fieldSelector=metadata.name!=x",
			"/api/v1/configmaps fieldSelector=metadata.name!=x limit=500",
			"/api/v1/configmaps fieldSelector=metadata.name!=x limit=500 continue=1",
			"/api/v1/configmaps fieldSelector=metadata.name!=x limit=500 continue=2",
			"/api/v1/configmaps watch=true resourceVersion=5 fieldSelector=metadata.name!=x",
		}, s.server.asked())
		require(t, "status", "[+] watch configmaps: synced", s.watch.Status().String())
		require(t, "log", "", s.log.String()) // nothing is broken
	})
}

// Each attempt asks for a streaming list first and falls back to a list.
func TestAWatchThatCannotStartTriesAgainUntilItWorks(t *testing.T) {
	forbidden := func() *server {
		s := twoConfigMaps()
		s.fail(refusal(http.StatusForbidden, metav1.StatusReasonForbidden))
		return s
	}
	play(t, forbidden, Options[string]{Namespace: "ns"}, func(t *testing.T, s *scene) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s.watch.Settled(ctx)
		require(t, "settled after", time.Duration(0), time.Since(start))
		got := s.watch.Status()
		require(t, "problem", "list configmaps: it is Forbidden", got.Problem.Error())
		got.Problem = nil
		require(t, "status", Status{Resource: "configmaps", Namespace: "ns", BrokenSince: start, RefusedSince: start}, got)
		require(t, "asked", 2, len(s.server.asked()))

		s.pass(time.Minute)
		if attempts := len(s.server.asked()) / 2; attempts < 60/8 || attempts > 60 {
			t.Errorf("%d attempts in a minute", attempts)
		}
		require(t, "received", []string(nil), s.received)

		s.server.fail(nil)
		select {
		case <-s.watch.Synced():
		case <-time.After(time.Minute):
			t.Fatal("not synced within a minute")
		}
		synctest.Wait()
		took := time.Since(start).Round(time.Millisecond).String()
		require(t, "received", []string{"replace a@1,b@2 at 5"}, s.received)
		require(t, "status", Status{Resource: "configmaps", Namespace: "ns", Synced: true, WorkingSince: time.Now()}, s.watch.Status())
		require(t, "log", `level=WARN msg="cannot watch, trying again" resource=configmaps namespace=ns error="it is Forbidden"
level=INFO msg="watching again" resource=configmaps namespace=ns after=`+took+"\n", s.log.String())
	})
}

func TestAWatchThatMayOnlyListIsBroken(t *testing.T) {
	mayList := func() *server {
		s := twoConfigMaps()
		s.noWatches = true
		return s
	}
	play(t, mayList, Options[string]{}, func(t *testing.T, s *scene) {
		start := s.watch.Status().BrokenSince
		s.pass(time.Minute)
		got := s.watch.Status()
		got.Problem = nil
		require(t, "status", Status{Resource: "configmaps", Synced: true, BrokenSince: start, RefusedSince: start}, got)
		require(t, "received first", "replace a@1,b@2 at 5", s.received[0])
		require(t, "log", `level=WARN msg="cannot watch, trying again" resource=configmaps namespace="" error="it is Forbidden"`+"\n", s.log.String())
	})
}

func TestAWatchThatBreaksLaterStaysSyncedAndGoesOnWhereItWas(t *testing.T) {
	play(t, twoConfigMaps, Options[string]{}, func(t *testing.T, s *scene) {
		s.send(&event{"MODIFIED", configMap("a", "6")})
		s.server.fail(refusal(http.StatusForbidden, metav1.StatusReasonForbidden))
		s.send(nil)
		broken := s.watch.Status()
		require(t, "status", "[!] watch configmaps: synced before, broken since "+time.Now().UTC().Format(time.RFC3339)+": it is Forbidden. "+broken.Remedy(), broken.String())
		if !strings.Contains(broken.Remedy(), "k8s-manifests/rbac.yaml") {
			t.Errorf("it says to do this: %s", broken.Remedy())
		}
		require(t, "working since", time.Time{}, s.watch.Status().WorkingSince)
		s.server.fail(nil)
		s.server.asked()
		again := time.Now()
		s.pass(time.Minute)
		require(t, "status", "[+] watch configmaps: synced", s.watch.Status().String())
		if since := s.watch.Status().WorkingSince; since.Before(again) {
			t.Errorf("working since %s, before it was broken", since)
		}
		require(t, "asked", "/api/v1/configmaps watch=true sendInitialEvents=true", s.server.asked()[0])
	})
}

// After etcd was restored from a backup, versions are lower than those that the watch has seen, and an event of a version
// that was seen before is another one.
func TestAWatchThatWasBrokenForLongListsWhateverTheVersionsAreNow(t *testing.T) {
	play(t, twoConfigMaps, Options[string]{}, func(t *testing.T, s *scene) {
		s.send(&event{"MODIFIED", configMap("a", "9")})
		s.server.fail(refusal(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable))
		s.send(nil)
		s.pass(longBreak)
		s.server.pages, s.server.version = [][]*corev1.ConfigMap{{configMap("a", "3")}}, "4"
		s.server.fail(nil)
		s.server.asked()
		s.pass(time.Minute)
		require(t, "asked", []string{"/api/v1/configmaps watch=true sendInitialEvents=true"}, s.server.asked())
		s.send(&event{"MODIFIED", configMap("a", "5")}, nil)
		s.pass(time.Minute)
		require(t, "asked", []string{"/api/v1/configmaps watch=true resourceVersion=5"}, s.server.asked())
		require(t, "received", []string{"replace a@1,b@2 at 5", "observe a@9", "replace a@3 at 4", "observe a@5"}, s.received)
	})
}

func TestAWatchThatWasBrokenForAMomentGoesOnWhereItWas(t *testing.T) {
	play(t, twoConfigMaps, Options[string]{}, func(t *testing.T, s *scene) {
		s.send(&event{"MODIFIED", configMap("a", "6")})
		s.server.fail(refusal(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests))
		s.send(nil)
		s.pass(longBreak / 5)
		s.server.fail(nil)
		s.server.asked()
		s.pass(time.Minute)
		require(t, "asked", []string{"/api/v1/configmaps watch=true resourceVersion=6"}, s.server.asked())
	})
}

// A server sends bookmarks; whatever lost the stream does not, and may keep answering
// pings.
func TestAWatchThatFallsSilentListsAgain(t *testing.T) {
	play(t, twoConfigMaps, Options[string]{}, func(t *testing.T, s *scene) {
		start := time.Now()
		require(t, "working since", start, s.watch.Status().WorkingSince)
		s.pass(silenceLimit * 3 / 4)
		s.send(&event{"BOOKMARK", configMap("", "7")})
		s.pass(silenceLimit * 3 / 4)
		require(t, "log", "", s.log.String())
		s.server.asked()

		s.pass(silenceLimit / 2)
		if silent := s.watch.Status().WorkingSince.Sub(start); silent < silenceLimit*7/4 {
			t.Errorf("silent until %s", silent)
		}
		require(t, "status", "[+] watch configmaps: synced", s.watch.Status().String())
		log, again, _ := strings.Cut(s.log.String(), "\n")
		require(t, "log", `level=WARN msg="a watch has been silent for too long, listing again" resource=configmaps namespace="" silent=2m0s`, log)
		if !strings.HasPrefix(again, `level=INFO msg="watching again" resource=configmaps namespace="" after=2m0`) || strings.Count(again, "\n") != 1 {
			t.Errorf("the log ends with %s", again)
		}
		require(t, "asked", []string{"/api/v1/configmaps watch=true sendInitialEvents=true"}, s.server.asked())
		s.send(&event{"MODIFIED", configMap("a", "8")})
		require(t, "received", []string{"replace a@1,b@2 at 5", "replace a@1,b@2 at 5", "observe a@8"}, s.received)
	})
}

func TestAServerThatNeverAnswersIsReported(t *testing.T) {
	hanging := func() *server {
		s := twoConfigMaps()
		s.hangs = true
		return s
	}
	play(t, hanging, Options[string]{}, func(t *testing.T, s *scene) {
		s.pass(silenceLimit)
		problem := s.watch.Status().Problem
		if !errors.Is(problem, errSilent) {
			t.Errorf("the problem is %v, want %v", problem, errSilent)
		}
		s.pass(2 * silenceLimit)
		if asked := len(s.server.asked()); asked < 2 {
			t.Errorf("it was asked %d times", asked)
		}
	})
}

// Anyone who can create ConfigMaps can create hundreds of a megabyte.
func TestAPageOfLargeObjectsIsReadInSmallerPages(t *testing.T) {
	large := func() *server {
		config := configMap("a", "1")
		config.Data = map[string]string{"large": strings.Repeat("x", apiclient.MaxPageBytes)}
		s := newServer([]*corev1.ConfigMap{config})
		s.noStreams = true
		return s
	}
	play(t, large, Options[string]{}, func(t *testing.T, s *scene) {
		require(t, "received", []string{"replace a@1 at 5"}, s.received)
		require(t, "asked", []string{
			"/api/v1/configmaps watch=true sendInitialEvents=true",
			"/api/v1/configmaps limit=500",
			"/api/v1/configmaps limit=125",
			"/api/v1/configmaps limit=31",
			"/api/v1/configmaps limit=7",
			"/api/v1/configmaps limit=1",
			"/api/v1/configmaps watch=true resourceVersion=5",
		}, s.server.asked())
	})
}

func TestAStreamingListThatIsCutIsReadPageByPage(t *testing.T) {
	cutting := func() *server {
		s := twoConfigMaps()
		s.cuts = true
		return s
	}
	play(t, cutting, Options[string]{}, func(t *testing.T, s *scene) {
		s.send(&event{"MODIFIED", configMap("a", "6")})
		require(t, "received", []string{"replace a@1,b@2 at 5", "observe a@6"}, s.received)
		require(t, "asked", []string{
			"/api/v1/configmaps watch=true sendInitialEvents=true",
			"/api/v1/configmaps limit=500",
			"/api/v1/configmaps watch=true resourceVersion=5",
		}, s.server.asked())
		require(t, "status", "[+] watch configmaps: synced", s.watch.Status().String())
		require(t, "log", `level=WARN msg="a list ended before it was complete, reading it page by page" resource=configmaps namespace=""`+"\n", s.log.String())
		s.server.cuts = false
		s.send(&event{"ERROR", refusal(http.StatusGone, metav1.StatusReasonExpired)})
		s.pass(time.Minute)
		require(t, "received again", "replace a@1,b@2 at 5", s.received[len(s.received)-1])
		require(t, "asked again", "/api/v1/configmaps watch=true sendInitialEvents=true", s.server.asked()[0])
	})
}

func TestAPageThatNeverArrivesIsAskedForAgain(t *testing.T) {
	hanging := func() *server {
		s := twoConfigMaps()
		s.hangs, s.noStreams = true, true
		return s
	}
	play(t, hanging, Options[string]{}, func(t *testing.T, s *scene) {
		s.pass(apiclient.PageLimit + time.Minute)
		if problem := s.watch.Status().Problem; !errors.Is(problem, apiclient.ErrSlow) {
			t.Errorf("the problem is %v, want %v", problem, apiclient.ErrSlow)
		}
		pages := slices.DeleteFunc(s.server.asked(), func(request string) bool { return !strings.Contains(request, "limit=") })
		if len(pages) != 2 {
			t.Errorf("asked for pages: %q, want two", pages)
		}
	})
}

func TestWhatAWatchMissedComesWithAnotherList(t *testing.T) {
	play(t, twoConfigMaps, Options[string]{}, func(t *testing.T, s *scene) {
		start := s.watch.Status().WorkingSince
		s.server.pages, s.server.version = [][]*corev1.ConfigMap{{configMap("b", "7")}}, "9"
		s.send(&event{"ERROR", refusal(http.StatusGone, metav1.StatusReasonExpired)})
		s.pass(time.Minute)
		require(t, "received", []string{"replace a@1,b@2 at 5", "replace b@7 at 9"}, s.received)
		require(t, "log", "", s.log.String())
		if since := s.watch.Status().WorkingSince; !since.After(start) {
			t.Error("what it missed counts as received")
		}
	})
}

func TestAWatchThatIsEndedIsNotBroken(t *testing.T) {
	hanging := func() *server {
		s := twoConfigMaps()
		s.hangs = true
		return s
	}
	play(t, hanging, Options[string]{}, func(t *testing.T, s *scene) {
		ctx, cancel := context.WithCancel(t.Context())
		settled := make(chan struct{})
		go func() {
			defer close(settled)
			s.watch.Settled(ctx)
		}()
		synctest.Wait()
		select {
		case <-settled:
			t.Error("settled before the first answer")
		default:
		}
		cancel()
		<-settled
		s.stop()
		require(t, "log", "", s.log.String())
		require(t, "status", "[-] watch configmaps: not synced yet", s.watch.Status().String())
	})
}

// What the reflector and the client would log could hold an object.
func TestNothingIsLoggedBehindTheWatchsBack(t *testing.T) {
	var log bytes.Buffer
	var level klog.Level
	if err := level.Set("10"); err != nil {
		t.Fatal(err)
	}
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.Level(-10)})))
	t.Cleanup(func() {
		klog.ClearLogger()
		_ = level.Set("0") // a number is always accepted
	})
	play(t, twoConfigMaps, Options[string]{}, func(_ *testing.T, s *scene) {
		s.send(&event{"MODIFIED", configMap("a", "6")}, &event{"ADDED", unreadable("c")})
		s.server.fail(refusal(http.StatusForbidden, metav1.StatusReasonForbidden))
		s.send(nil)
		s.pass(time.Minute)
	})
	require(t, "log", "", log.String())
}

// Until the server answers, nobody knows what happened since the last sign of life.
func TestAWatchThatFallsSilentIsBrokenUntilItIsOpenAgain(t *testing.T) {
	play(t, twoConfigMaps, Options[string]{}, func(t *testing.T, s *scene) {
		silentSince := time.Now()
		s.server.hang()
		s.pass(silenceLimit + time.Second)
		if status := s.watch.Status(); status.Up() || !status.BrokenSince.Equal(silentSince) || status.Problem == nil {
			t.Errorf("status: %+v", status)
		}
	})
}
