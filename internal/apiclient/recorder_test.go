package apiclient

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
)

// Events about many objects come in the course of days, so what is remembered of each counts.
func TestTheMemoryOfPastEventsIsSmall(t *testing.T) {
	inUse := func() uint64 {
		runtime.GC()
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := inUse()
	correlator := record.NewEventCorrelatorWithOptions(correlation)
	for i := range 10_000 {
		now := metav1.NewTime(time.Unix(int64(i), 0))
		name := fmt.Sprint("workload-", i)
		if _, err := correlator.EventCorrelate(&corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "namespace", Name: fmt.Sprintf("%s.%x", name, i)},
			InvolvedObject: corev1.ObjectReference{
				APIVersion: "apps/v1", Kind: "Deployment", Namespace: "namespace", Name: name,
				UID: types.UID(fmt.Sprintf("7c1f2a3e-0000-4000-8000-%012d", i)), ResourceVersion: fmt.Sprint(i),
			},
			Source: corev1.EventSource{Component: "kubernetes-deployment-restart-controller"},
			Type:   corev1.EventTypeNormal, Reason: "Restarting", FirstTimestamp: now, LastTimestamp: now, Count: 1,
			Message: fmt.Sprintf("restarting: configmap config-%d changed (keys: DATABASE_URL, LOG_LEVEL, TIMEOUT); secret credentials-%d changed (1 key)", i, i),
		}); err != nil {
			t.Fatal(err)
		}
	}
	after := inUse()
	runtime.KeepAlive(correlator)
	if took := int64(after) - int64(before); took > 3<<20 { //nolint:gosec // a size
		t.Errorf("10,000 Events leave %d KiB behind", took>>10)
	}
}

// Whoever writes the text of an Event must not make it read other than it is, nor add lines to it.
func TestWhatOthersWriteIsVisibleInEvents(t *testing.T) {
	const hostile, want = "held: a\u202eb\u2066c\u009bd\x1b[2J\n\n  Normal  Restarted\tall\U000e0041 is well", `held: a\u202eb\u2066c\u009bd\u001b[2J Normal Restarted all\U000e0041 is well`
	fake := record.NewFakeRecorder(9)
	r := briefRecorder{fake}
	r.Event(nil, "Normal", "Held", hostile)
	r.Eventf(nil, "Normal", "Held", "%s", hostile)
	r.AnnotatedEventf(nil, nil, "Normal", "Held", "%s", hostile)
	r.Event(nil, "Normal", "Held", "two  spaces, 日本語")
	for _, want := range []string{want, want, want, "two  spaces, 日本語"} {
		if got := strings.TrimPrefix(<-fake.Events, "Normal Held "); strings.TrimSuffix(got, "map[]") != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
