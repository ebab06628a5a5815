package watch

import (
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAWatchWaitsForAResourceThatIsNotInstalled(t *testing.T) {
	play(t, func() *server {
		s := twoConfigMaps()
		s.fail(refusal(http.StatusNotFound, metav1.StatusReasonNotFound))
		return s
	}, Options[string]{Title: "gadgets.example.com", MayBeMissing: true}, func(t *testing.T, s *scene) {
		s.pass(time.Hour)
		require(t, "status while it is missing", "[+] watch gadgets.example.com: not installed, waiting for it", s.watch.Status().String())
		s.watch.Settled(t.Context())
		if status := s.watch.Status(); !status.Missing || status.Synced || !status.BrokenSince.IsZero() || status.Up() {
			t.Errorf("status: %+v", status)
		}
		require(t, "log", 1, strings.Count(s.log.String(), "not installed"))
		require(t, "other log", 1, strings.Count(s.log.String(), "\n"))

		s.server.fail(nil)
		s.pass(time.Minute)
		require(t, "status when it is there", "[+] watch gadgets.example.com: synced", s.watch.Status().String())
		require(t, "log when it is there", 1, strings.Count(s.log.String(), "the resource is installed now"))
	})
}

// What was enabled does not restart any more, so it should not look as if all were well.
func TestAResourceThatIsUninstalledBreaksItsWatch(t *testing.T) {
	play(t, twoConfigMaps, Options[string]{Title: "gadgets.example.com", MayBeMissing: true}, func(t *testing.T, s *scene) {
		s.pass(time.Minute)
		s.server.fail(refusal(http.StatusNotFound, metav1.StatusReasonNotFound))
		s.server.events <- nil
		s.pass(time.Minute)
		status := s.watch.Status()
		if status.Missing || !status.Synced || status.BrokenSince.IsZero() || status.Up() {
			t.Errorf("status while it is uninstalled: %+v", status)
		}
		if got := status.String(); !strings.HasPrefix(got, "[!] watch gadgets.example.com: synced before, broken since ") || !strings.Contains(got, string(metav1.StatusReasonNotFound)) {
			t.Errorf("status while it is uninstalled: %s", got)
		}
		s.server.fail(nil)
		s.pass(time.Minute)
		require(t, "status when it is there again", "[+] watch gadgets.example.com: synced", s.watch.Status().String())
	})
}

func TestAResourceThatMustExistIsNotWaitedFor(t *testing.T) {
	play(t, func() *server {
		s := twoConfigMaps()
		s.fail(refusal(http.StatusNotFound, metav1.StatusReasonNotFound))
		return s
	}, Options[string]{}, func(t *testing.T, s *scene) {
		s.pass(time.Minute)
		if status := s.watch.Status(); status.Missing || status.BrokenSince.IsZero() {
			t.Errorf("status: %+v", status)
		}
	})
}
