package quarantine

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var configMaps = corev1.SchemeGroupVersion.WithKind("ConfigMap")

func object(name, version string) Object {
	return Object{Kind: configMaps, Namespace: "ns", Name: name, ResourceVersion: version}
}

func bad() { panic("canary") }

func good() {}

// newSet returns a set, with its log and the places and objects that it has reported.
func newSet() (s *Set, log *bytes.Buffer, reported *[]string) {
	log, reported = &bytes.Buffer{}, &[]string{}
	return New(Options{
		Log: slog.New(slog.NewTextHandler(log, nil)),
		Panicked: func(place Place, o Object) {
			*reported = append(*reported, string(place)+" "+o.Name+"@"+o.ResourceVersion)
		},
	}), log, reported
}

func TestAnObjectIsLeftAloneUntilItChanges(t *testing.T) {
	s, _, reported := newSet()
	for i, step := range []struct {
		version string
		work    func()
		tried   bool
		done    bool
		left    bool
	}{
		{"1", good, true, true, false},
		{"2", bad, true, false, true},
		{"2", good, false, false, true}, // it is not tried
		{"3", bad, true, false, true},
		{"4", good, true, true, false},
		{"4", good, true, true, false},
		{"", bad, true, false, true}, // without a version it always is
		{"", good, true, true, false},
	} {
		tried := false
		done := s.Try(Intake, object("a", step.version), func() {
			tried = true
			step.work()
		})
		if tried != step.tried || done != step.done || (s.Detail() != "") != step.left {
			t.Errorf("step %d: tried %t, done %t, %q", i, tried, done, s.Detail())
		}
	}
	if got := strings.Join(*reported, ", "); got != "intake a@2, intake a@3, intake a@" {
		t.Errorf("reported: %s", got)
	}
}

func TestARecreatedObjectIsTried(t *testing.T) {
	s, _, _ := newSet()
	first, second := object("a", "1"), object("a", "1")
	first.UID, second.UID = "1", "2"
	s.Try(Intake, first, bad)
	if !s.Try(Intake, second, good) {
		t.Error("it is left alone")
	}
}

func TestOnePlaceDoesNotKeepAnotherFromTrying(t *testing.T) {
	s, _, _ := newSet()
	s.Try(Intake, object("a", "1"), bad)
	if !s.Try(Decision, object("a", "1"), good) || s.Detail() == "" {
		t.Errorf("after a decision: %q", s.Detail())
	}
	s.Try(Metrics, object("a", "1"), bad)
	s.Release(object("a", ""))
	if left := s.Detail(); left != "" {
		t.Errorf("after its release: %q", left)
	}
}

func TestAListReleasesWhatIsNotInIt(t *testing.T) {
	s, _, _ := newSet()
	other := object("other", "1")
	other.Namespace = "elsewhere"
	for _, o := range []Object{object("gone", "1"), object("there", "1"), other} {
		s.Try(Intake, o, bad)
	}
	s.Try(Decision, object("gone", "1"), bad) // not taken in at all, so it is not for a list to say
	s.ReleaseIntake("ConfigMap", "ns", []Object{object("there", "1")})
	s.ReleaseIntake("Secret", "", nil)
	const want = "[!] 3 objects left alone after an internal error: configmap/elsewhere/other, configmap/ns/gone, configmap/ns/there"
	if got := s.Detail(); got != want || s.Len() != 3 {
		t.Errorf("%d left\ngot  %s\nwant %s", s.Len(), got, want)
	}
	s.Release(object("gone", ""))
	s.ReleaseIntake("ConfigMap", "", nil)
	if got := s.Detail(); got != "" {
		t.Errorf("after a list of all namespaces: %s", got)
	}
}

func TestAnObjectIsFoundByItsUIDAndItsControllers(t *testing.T) {
	s, _, _ := newSet()
	yes := true
	meta := &metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "own", OwnerReferences: []metav1.OwnerReference{{UID: "owner"}, {UID: "controller", Controller: &yes}}}
	s.Try(Intake, NewObject(configMaps, meta), bad)
	s.Try(Decision, Object{Kind: configMaps, Name: "b", UID: "decided"}, bad)
	for uid, want := range map[types.UID]bool{"own": true, "controller": true, "owner": false, "decided": false} {
		if got := s.NotTakenIn("ns").Has(uid); got != want {
			t.Errorf("%s: %t", uid, got)
		}
	}
	if s.NotTakenIn("another").Has("controller") {
		t.Error("it is found in a namespace that it can only pretend to be controlled from")
	}
}

func TestTheLineForReadyzNamesAFew(t *testing.T) {
	s, _, _ := newSet()
	for i := range 7 {
		s.Try(Intake, object(fmt.Sprint(i), "1"), bad)
		s.Try(Queue, object(fmt.Sprint(i), "1"), bad)
	}
	const want = "[!] 7 objects left alone after an internal error: configmap/ns/0, configmap/ns/1, configmap/ns/2, configmap/ns/3, configmap/ns/4 and 2 more"
	if got := s.Detail(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestASetRemembersNoMoreThanItsLimits(t *testing.T) {
	s, _, reported := newSet()
	of := func(namespace, name string) Object {
		o := object(name, "1")
		o.Namespace = namespace
		return o
	}
	fail := func(namespace string, n int) {
		for i := range n {
			s.Try(Intake, of(namespace, fmt.Sprint(i)), bad)
		}
	}
	isLeft := func(namespace string, i int) bool { return s.leavesAlone(Intake, of(namespace, fmt.Sprint(i))) }
	require := func(want int) {
		t.Helper()
		if s.Len() != want {
			t.Errorf("%d are left, want %d", s.Len(), want)
		}
	}
	fail("greedy", maxObjects+10)
	require(maxObjectsOf)
	if len(*reported) != maxObjects+10 || !isLeft("greedy", maxObjectsOf-1) || isLeft("greedy", maxObjectsOf) {
		t.Errorf("%d reported; what is remembered is tried, or what is not is left alone", len(*reported))
	}
	for i := range maxObjects/maxObjectsOf - 1 {
		fail(fmt.Sprint("other-", i), maxObjectsOf)
	}
	require(maxObjects)
	fail("late", fewObjects+1)
	if require(maxObjects + fewObjects); !isLeft("late", fewObjects-1) {
		t.Error("an object is tried again because other namespaces have so many")
	}
	s.Release(of("greedy", "0"))
	s.Try(Intake, of("greedy", "new"), bad)
	if !s.leavesAlone(Intake, of("greedy", "1")) || s.leavesAlone(Intake, of("greedy", "new")) {
		t.Error("there is room again only below the limit for all")
	}
	s.ReleaseIntake(configMaps.Kind, "", nil)
	if require(0); len(s.of) > 0 {
		t.Errorf("%d namespaces are remembered", len(s.of))
	}
}

// secret is an error of a kind that could quote an object.
type secret struct{ content string }

func (s secret) Error() string { return s.content }

// forged looks like an error of the runtime's.
type forged struct{ secret }

func (forged) RuntimeError() {}

func TestTheLogSaysWhatHappenedAndWhereWithoutContent(t *testing.T) {
	var none map[string]int
	list, one := []int{1}, 1
	for name, test := range map[string]struct {
		work func(digest uint64)
		says string
	}{
		"an index":           {func(uint64) { _ = list[one] }, "index out of range [1] with length 1"},
		"a nil map":          {func(uint64) { none["canary"] = 1 }, "assignment to entry in nil map"},
		"a wrong assertion":  {func(uint64) { _ = any("canary").(int) }, "interface conversion"},
		"a text":             {func(uint64) { panic("canary") }, "a value of type string"},
		"an error":           {func(uint64) { panic(errors.New("canary")) }, "a value of type *errors.errorString"},
		"a wrapped error":    {func(uint64) { panic(fmt.Errorf("%w", secret{"canary"})) }, "a value of type *fmt.wrapError"},
		"a forged error":     {func(uint64) { panic(forged{secret{"canary"}}) }, "a value of type quarantine.forged"},
		"a panic in a defer": {func(uint64) { defer bad(); bad() }, "a value of type string"},
	} {
		t.Run(name, func(t *testing.T) {
			s, log, _ := newSet()
			const digest = 0xcafecafecafe
			s.Try(Intake, object("a", "1"), func() { test.work(digest) })
			line := log.String()
			if !strings.Contains(line, test.says) || !strings.Contains(line, "object=configmap/ns/a") || !strings.Contains(line, "at=intake") {
				t.Errorf("the log does not say what happened:\n%s", line)
			}
			if !strings.Contains(line, "(set_test.go:") || !strings.Contains(line, "quarantine.(*Set).Try (set.go:") {
				t.Errorf("the log does not show where:\n%s", line)
			}
			if strings.Contains(line, "canary") || strings.Contains(line, "cafecafe") {
				t.Errorf("the log has content:\n%s", line)
			}
			s.Try(Intake, object("a", "2"), func() { test.work(digest) })
			if again := strings.TrimPrefix(log.String(), line); !strings.Contains(again, "object=configmap/ns/a") || strings.Contains(again, "stack=") {
				t.Errorf("the second time:\n%s", again)
			}
		})
	}
}

func TestAPanicWhileReportingIsContained(t *testing.T) {
	var log bytes.Buffer
	s := New(Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Panicked: func(Place, Object) { panic("canary") }})
	if s.Try(Intake, object("a", "1"), bad) || !strings.Contains(log.String(), "while reporting another one") || strings.Contains(log.String(), "canary") {
		t.Errorf("the log:\n%s", &log)
	}
}

func TestTheEndOfAGoroutineIsNotAPanic(t *testing.T) {
	s, log, reported := newSet()
	var group sync.WaitGroup
	group.Go(func() { s.Try(Intake, object("a", "1"), runtime.Goexit) })
	group.Wait()
	if log.Len() > 0 || len(*reported) > 0 || s.Detail() != "" {
		t.Errorf("the log: %s, reported: %v, left: %q", log, *reported, s.Detail())
	}
}
