package restart_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/pending"
)

func TestARefusedRestartThatIsOnlyToBeRecordedLaterHasALastWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newContest(t, objecttest.Removed)
		v.BackoffLimit = time.Hour
		v.fight(20)
		v.Backlogs.Note(pending.ObservedChange{Workload: objecttest.Web, Subject: objecttest.Web, Since: time.Now(), Due: time.Now(), Count: 1})
		v.Failed(objecttest.Web, objecttest.RefusalWith(http.StatusForbidden, metav1.StatusReasonForbidden, objecttest.LackedPermission))
		if v.step() {
			t.Fatal("the record is not put off")
		}
		v.undo = nil
		time.Sleep(2 * time.Hour)
		v.step()
		var last string
		for len(v.recorder.Events) > 0 {
			last = <-v.recorder.Events
		}
		if last != "Normal RestartsResumed no restart is due any more, and nothing is left to apply" {
			t.Errorf("the last word is %q", last)
		}
	})
}
