package controller

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestARestartIsHeldSinceItIsHeldAndNotSinceItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/one", "a/two")
		w.edited("a/c", "2")
		settle(w)
		began, waits := time.Now(), w.overview().Waiting
		if waits.Total != 1 || !waits.Items[0].Since.Equal(began) {
			t.Fatalf("in the slow start: %+v", waits)
		}
		name := strings.TrimPrefix(waits.Items[0].Workload, "deployment/")
		time.Sleep(20 * time.Second)
		w.changed(name, holdIt)
		settle(w)
		held := time.Now()
		time.Sleep(time.Minute)
		settle(w)
		if o := w.overview(); o.Held.Total != 1 || !o.Held.Items[0].Since.Equal(held) {
			t.Errorf("held at %s: %+v", held, o.Held)
		}
	})
}
