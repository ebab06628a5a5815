package follow_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/tracker"
)

// othersWhile returns for how long a workload is exposed that others restart, and then we, while a look reads its pods or after it.
func othersWhile(t *testing.T, isMeanwhile bool) (exposedFor time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var d *follow.Deliveries
		var onList func()
		d = deliveriesOf(t, func(r *http.Request) (*http.Response, error) {
			if onList != nil {
				f := onList
				onList = nil
				f()
			}
			if strings.HasSuffix(r.URL.Path, "/pods") {
				return objecttest.Respond(http.StatusOK, &corev1.PodList{})
			}
			return objecttest.Respond(http.StatusOK, &appsv1.ReplicaSetList{})
		}, io.Discard)
		followWeb(d, workload.Rollout{Wanted: 30, Updated: 1, Outdated: 29, Available: 29, Observed: true})
		time.Sleep(time.Second)
		d.Look(t.Context(), webRef)
		time.Sleep(time.Minute)
		w := *d.Catalog.Workload(webRef)
		w.ResourceVersion, w.Timestamp = "2", time.Now().UTC().Format(time.RFC3339Nano) // kubectl rollout restart
		d.Catalog.ObserveWorkload(w)
		again := func() {
			made := tracker.Made{At: time.Now(), Timestamp: time.Now().Add(time.Second).UTC().Format(time.RFC3339Nano), Ran: record.AllRan}
			d.Begin(&w, decide.Decision{Outcome: decide.Restart}, "second", made)
			w.ResourceVersion, w.Timestamp = "3", made.Timestamp
			d.Catalog.ObserveWorkload(w)
		}
		if isMeanwhile {
			onList = again
		}
		d.Look(t.Context(), webRef) // sees that others have restarted it, and reads the pods
		if !isMeanwhile {
			again()
		} else if onList != nil {
			t.Fatal("no pods were read")
		}
		for i := range int32(12) { // it comes further every five minutes
			time.Sleep(5 * time.Minute)
			w.ResourceVersion += "0"
			w.Rollout.Updated, w.Rollout.Outdated = 2+i, 28-i
			d.Catalog.ObserveWorkload(w)
			r := d.Of(webRef)
			if r == nil {
				t.Log("not followed after", time.Since(began))
				break
			}
			exposedFor = r.ExposedUntil(d.Policy).Sub(began)
			d.Look(t.Context(), webRef)
		}
	})
	return exposedFor
}

func TestOthersAreNotForgottenThatALookNotesWhileTheNextRestartBegins(t *testing.T) {
	if before, meanwhile := othersWhile(t, false), othersWhile(t, true); before.Round(time.Minute) != meanwhile.Round(time.Minute) {
		t.Errorf("exposed until %s after it began if the look ends before, and until %s if it ends later", before, meanwhile)
	}
}
