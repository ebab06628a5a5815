package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// JSON cannot hold a year after 9999, so one such Event would make the output for all namespaces fail.
func TestTimesOfAnEventThatNoClockShowsAreIgnored(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	forged := time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -12*60*60))
	for name, event := range map[string]*corev1.Event{
		"last":   {FirstTimestamp: metav1.NewTime(noon), LastTimestamp: metav1.NewTime(forged)},
		"event":  {FirstTimestamp: metav1.NewTime(noon), EventTime: metav1.NewMicroTime(forged)},
		"first":  {FirstTimestamp: metav1.NewTime(forged), LastTimestamp: metav1.NewTime(noon)},
		"series": {FirstTimestamp: metav1.NewTime(noon), Series: &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(forged)}},
	} {
		if at := (&Cluster{}).newEvent(event).At; !at.Equal(noon) {
			t.Errorf("%s: the Event is of %s", name, at)
		}
	}
}
