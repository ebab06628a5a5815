package controller

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/halts"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/status"
)

func TestAConfigMapOfHaltsThatCannotBeReadIsTheFirstThingThatIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web")
		server := &objecttest.HaltServer{Failures: slices.Repeat([]int{http.StatusForbidden}, 100)}
		began := time.Now()
		log := w.log()
		pass := w.takeOver(t, server, nil)
		w.edited("a/c", "2")
		pass(5 * time.Second)
		settle(w)
		explained := w.controller.Board.Explain(objecttest.DeploymentNamed("a/web"), time.Now())
		const remedy = status.ApplyManifest
		if text := explained.Text; explained.State != status.Deciding || !strings.HasPrefix(text, failures.ErrHaltsUnknown.Error()+": get configmap own/halts: ") {
			t.Errorf("it is %s: %s", explained.State, text)
		}
		const waits = "Restarts wait for a minute, and then begin without the halts of former leaders, because the controller cannot read or update the ConfigMap of halts"
		gaps := w.controller.Gaps("a")
		if len(gaps) != 1 || gaps[0].Text != waits || !gaps[0].Since.Equal(began) || gaps[0].Why == "" || gaps[0].Remedy != status.ApplyManifest {
			t.Errorf("it says: %+v", gaps)
		}
		if _, detail := w.controller.Ready(); !strings.Contains(detail, "[!] "+waits+" since ") || !strings.Contains(detail, remedy) {
			t.Errorf("/readyz says: %s", detail)
		}
		pass(70 * time.Second)
		settle(w)
		if gaps := w.controller.Gaps(""); len(w.restarted()) != 1 || len(gaps) != 1 || !strings.HasPrefix(gaps[0].Text, "Halts of former leaders are ignored, if there are any, because ") {
			t.Errorf("restarted %v, and it says: %+v", w.restarted(), gaps)
		}
		server.Mu.Lock()
		server.Failures = nil
		server.Mu.Unlock()
		pass(2 * halts.Period)
		if gaps := w.controller.Gaps(""); len(gaps) > 0 {
			t.Errorf("afterwards: %+v", gaps)
		}
		if n := strings.Count(log.String(), "keeps the halts of restarts in the ConfigMap again"); n != 1 {
			t.Errorf("the log says %d times that it is over:\n%s", n, log)
		}
	})
}

// Those that wait have been tried less and less often by then.
func TestRestartsThatWaitAMinuteForHaltsBeginWhenItIsSaidThatTheyDo(t *testing.T) {
	for name, hangs := range map[string]time.Duration{"refused": 0, "hanging": 25 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := gradual(t, "a/web")
				pass := w.takeOver(t, &objecttest.HaltServer{Failures: slices.Repeat([]int{http.StatusForbidden}, 1000), Hangs: hangs}, nil)
				w.edited("a/c", "2")
				for second := range 61 {
					settle(w)
					gaps, state := w.controller.Gaps("a"), w.controller.Board.Explain(objecttest.DeploymentNamed("a/web"), time.Now()).State
					isOver := second >= 60
					if hasBegun := len(w.restarted()) > 0; hasBegun != isOver || state == status.Deciding == isOver {
						t.Fatalf("after %d s, restarts have begun: %t, and the state is %s", second, hasBegun, state)
					}
					if len(gaps) > 0 && strings.Contains(gaps[0].Text, "are ignored") != isOver || isOver && len(gaps) == 0 {
						t.Fatalf("after %d s: %+v", second, gaps)
					}
					pass(time.Second)
				}
			})
		})
	}
}

func TestRestartsThatWaitForHaltsThatTheAPIServerDoesNotServeSayWhatToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web")
		server := &objecttest.HaltServer{Failures: slices.Repeat([]int{http.StatusInternalServerError}, 100)}
		began := time.Now()
		w.takeOver(t, server, nil)(5 * time.Second)
		gaps := w.controller.Gaps("a")
		if len(gaps) != 1 || !strings.Contains(gaps[0].Text, "Restarts wait for a minute") || !gaps[0].Since.Equal(began) || gaps[0].Why == "" || gaps[0].Remedy != status.AwaitAPIServer {
			t.Errorf("it says: %+v", gaps)
		}
		if _, detail := w.controller.Ready(); !strings.Contains(detail, status.AwaitAPIServer) {
			t.Errorf("/readyz says: %s", detail)
		}
	})
}

// The Secret of the key is such an object, too.
func TestAKeyThatCannotBeLoadedIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newWorld(t).controller
		server := &objecttest.SecretServer{Failures: slices.Repeat([]int{http.StatusForbidden}, 100)}
		server.Object.TypeMeta = metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"}
		server.Object.Name, server.Object.Namespace, server.Object.ResourceVersion = objecttest.TestKeySecret, "own", "1"
		c.keys.Core, c.keys.Namespace, c.keys.Secret = server.Core(t), "own", objecttest.TestKeySecret
		if _, found := c.keys.Find(t.Context()); !found {
			t.Fatal("no key")
		}
		if gaps := c.Gaps(""); len(gaps) != 1 || !strings.HasPrefix(gaps[0].Text, "The controller cannot load the key") || !strings.Contains(gaps[0].Remedy, status.ApplyManifest) {
			t.Errorf("it says: %+v", gaps)
		}
		if err := c.restarter.KeyObject.Waits(failures.ErrKeyUnknown); !strings.Contains(err.Error(), ": get secret own/") || !failures.IsWaiting(err) {
			t.Errorf("workloads wait because %v", err)
		}
		server.Failures = nil
		c.keys.Find(t.Context())
		if gaps := c.Gaps(""); len(gaps) > 0 {
			t.Errorf("afterwards: %+v", gaps)
		}
	})
}
