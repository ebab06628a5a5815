package handover

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

func TestAnEngineThatIsAloneDrivesAfterAMomentAndKeepsDriving(t *testing.T) {
	live(t, false, func(c *fakeCluster) {
		expect(t, "detail", "[+] deployment engine: making sure that no other controller drives deployments", c.detail())
		c.after(time.Hour)
		expect(t, "history", []string{"drives at 3s"}, c.history())
		expect(t, "requests", []string{"delete", "create"}, c.requested())
		expect(t, "detail", "[+] deployment engine: driving deployments", c.detail())
		expect(t, "events", []string(nil), c.recordedEvents())
		c.monitor.Cleanup(t.Context())
		if c.probe != nil {
			t.Error("the probe is left behind")
		}
	})
}

func TestAnEngineStandsByAsLongAsARivalAnswers(t *testing.T) {
	live(t, false, func(c *fakeCluster) {
		c.after(time.Second)
		c.set(func() { c.isRival = true; c.answer("rival") })
		c.after(time.Minute)
		expect(t, "history", []string{"rests at 1s"}, c.history())
		expect(t, "requests", slices.Repeat([]string{"delete", "create"}, 7), c.requested())
		expect(t, "events", []string{"Warning RivalEngine the deployment engine stands by and does not drive Deployments: rival wrote the status of deployment own/" + probeName +
			". It takes over when it has detected no other controller for 30s"}, c.recordedEvents())
		if count := testutil.ToFloat64(c.monitor.options.ForeignWrites.Of("rival")); count != 7 {
			t.Errorf("%v writes are counted, want 7", count)
		}
		c.set(func() { c.isRival = false })
		c.after(time.Minute)
		expect(t, "history", []string{"rests at 1s", "drives at 1m31s"}, c.history())
		expect(t, "events", []string{"Normal TookOver the deployment engine drives Deployments: it has detected no other controller for 30s"}, c.recordedEvents())
	})
}

// writtenBy is a Deployment whose status somebody else has written.
func writtenBy(manager, namespace string) *rollout.Deployment {
	return web(func(d *appsv1.Deployment) {
		d.Namespace, d.ManagedFields = namespace, []metav1.ManagedFieldsEntry{statusBy(manager, 3)}
	})
}

func TestAnEngineRestsInANamespaceAfterAForeignWriteThere(t *testing.T) {
	live(t, false, func(c *fakeCluster) {
		c.after(time.Minute)
		c.monitor.foreignWrite(writtenBy("kubectl-edit", "ns"))
		expect(t, "history", []string{"drives at 3s", "rests in ns at 1m0s"}, c.history())
		if detail := c.detail(); detail != "[+] deployment engine: driving deployments, but resting in 1 namespace; last kubectl-edit wrote the status of deployment ns/web at 2000-01-01T00:01:00Z" {
			t.Error(detail)
		}
		c.after(time.Hour)
		expect(t, "history", []string{"drives at 3s", "rests in ns at 1m0s", "resumes in ns at 1m3s"}, c.history())
		expect(t, "requests", slices.Repeat([]string{"delete", "create"}, 2), c.requested())
		expect(t, "events", []string{"Warning ForeignStatusWrite kubectl-edit wrote the status. The deployment engine rests in this namespace until it is sure that no other controller drives Deployments"}, c.recordedEvents())
		expect(t, "detail", "[+] deployment engine: driving deployments", c.detail())
		if count := testutil.ToFloat64(c.monitor.options.FalseAlarms); count != 1 {
			t.Errorf("%v false alarms are counted", count)
		}
	})
}

// Tools that drive paused Deployments write their status all the time.
func TestAForeignWriteOfAPausedDeploymentIsNoSignOfARival(t *testing.T) {
	live(t, false, func(c *fakeCluster) {
		c.after(time.Minute)
		paused := writtenBy("rollouts-operator", "ns")
		paused.Paused = true
		c.monitor.foreignWrite(paused)
		expect(t, "history", []string{"drives at 3s"}, c.history())
		expect(t, "detail", "[+] deployment engine: driving deployments", c.detail())
	})
}

// Whoever may write the status of Deployments in one namespace does so all the time.
func TestRepeatedForeignWritesStopTheEngineInTheirNamespaceOnly(t *testing.T) {
	live(t, false, func(c *fakeCluster) {
		c.after(time.Minute)
		for second := range 600 {
			c.monitor.foreignWrite(writtenBy("tenant", "his"))
			if second == 305 {
				c.monitor.foreignWrite(writtenBy("kubectl-edit", "another"))
			}
			c.after(time.Second)
		}
		c.after(time.Minute)
		expect(t, "history", []string{
			"drives at 3s", "rests in his at 1m0s", "rests in another at 6m5s", "resumes in another at 6m13s", "resumes in his at 11m3s",
		}, c.history())
		if count := len(c.requested()); count != 2+2*61 {
			t.Errorf("%d requests: the probe is to be created anew every 10 seconds", count)
		}
		if count := len(c.recordedEvents()); count != 2 {
			t.Errorf("%d Events", count)
		}
	})
}

func TestAnEngineStandsByWhenTheForeignWriterAnswersTheProbeToo(t *testing.T) {
	live(t, false, func(c *fakeCluster) {
		c.after(time.Minute)
		c.set(func() { c.isRival = true })
		c.monitor.foreignWrite(writtenBy("rival", "ns"))
		c.after(time.Second)
		expect(t, "history", []string{"drives at 3s", "rests in ns at 1m0s", "rests at 1m0s"}, c.history())
		c.set(func() { c.isRival = false })
		c.after(time.Minute)
		expect(t, "history", []string{"drives at 3s", "rests in ns at 1m0s", "rests at 1m0s", "drives at 1m30s"}, c.history())
		if count := testutil.ToFloat64(c.monitor.options.FalseAlarms); count != 0 {
			t.Errorf("%v false alarms are counted", count)
		}
	})
}

// Without permissions in the namespace of the probe, nobody can prevent the engine from
// driving forever.
func TestAnEngineTakesOverDespiteRepeatedForeignWrites(t *testing.T) {
	for _, isStandby := range []bool{false, true} {
		live(t, isStandby, func(c *fakeCluster) {
			for range 60 {
				c.monitor.foreignWrite(writtenBy("tenant", "his"))
				c.after(time.Second)
			}
			history := c.history()
			if len(history) != 2 || !strings.HasPrefix(history[0], "rests in his at ") || !strings.HasPrefix(history[1], "drives at ") {
				t.Errorf("standby %t: %v", isStandby, history)
			}
		})
	}
}

func TestANamespaceRestsAsLongAsTheProbeCannotBeSeen(t *testing.T) {
	live(t, false, func(c *fakeCluster) {
		c.after(time.Minute)
		c.probeWatch.Store(nil)
		c.monitor.foreignWrite(writtenBy("kubectl-edit", "ns"))
		c.after(time.Minute)
		expect(t, "history", []string{"drives at 3s", "rests in ns at 1m0s"}, c.history())
		c.probeWatch.Store(new(time.Now()))
		c.after(10 * time.Second)
		if history := c.history(); len(history) != 3 {
			t.Errorf("history %v", history)
		}
	})
}

func TestAnEngineThatDrivesStopsAtOnceWhenSomebodyAnswersItsProbe(t *testing.T) {
	live(t, false, func(c *fakeCluster) {
		c.after(time.Minute)
		c.set(func() { c.answer("rival") })
		expect(t, "history", []string{"drives at 3s", "rests at 1m0s"}, c.history())
		c.after(time.Minute)
		expect(t, "history", []string{"drives at 3s", "rests at 1m0s", "drives at 1m30s"}, c.history())
		expect(t, "requests", slices.Repeat([]string{"delete", "create"}, 2), c.requested())
	})
}

func TestAStandbyDrivesWhenNobodyIsDetected(t *testing.T) {
	live(t, true, func(c *fakeCluster) {
		expect(t, "detail", "[+] deployment engine: standing by for another deployment controller", c.detail())
		c.after(time.Minute)
		expect(t, "history", []string{"drives at 30s"}, c.history())
		expect(t, "events", []string{"Normal TookOver the deployment engine drives Deployments: it has detected no other controller for 30s"}, c.recordedEvents())
	})
}

func TestAnEngineThatCannotCreateItsProbeDoesNotDrive(t *testing.T) {
	live(t, true, func(c *fakeCluster) {
		c.set(func() { c.refusal = errors.New("forbidden") })
		c.after(time.Second)
		c.set(func() { c.probe = nil; c.watch.Replace(nil, "") }) // and the first one goes
		c.after(time.Hour)
		expect(t, "history", []string(nil), c.history())
		if detail := c.detail(); !strings.HasSuffix(detail, "; cannot make its probe: delete deployment own/"+probeName+": forbidden") {
			t.Error(detail)
		}
		c.set(func() { c.refusal = nil })
		c.after(6 * time.Second)
		if len(c.history()) != 1 || strings.Contains(c.detail(), "cannot") {
			t.Errorf("%v; %s", c.history(), c.detail())
		}
	})
}

// The API server created the probe, and the connection was lost before it could answer.
func TestAnEngineForgetsItsTroubleWithAProbeThatIsShown(t *testing.T) {
	for name, isSlow := range map[string]bool{"before the failure": false, "after the failure": true} {
		t.Run(name, func(t *testing.T) {
			live(t, false, func(c *fakeCluster) {
				c.after(time.Second)
				c.set(func() {
					c.loss, c.isSlow = errors.New("connection lost"), isSlow
					c.probe = nil
					c.watch.Replace(nil, "")
				})
				c.after(20 * time.Second)
				if detail := c.detail(); detail != "[+] deployment engine: driving deployments" {
					t.Error(detail)
				}
				expect(t, "requests", slices.Repeat([]string{"delete", "create"}, 2), c.requested())
			})
		})
	}
}

func TestAnEngineWhoseWatchesAreBrokenDoesNotTakeOver(t *testing.T) {
	live(t, false, func(c *fakeCluster) {
		c.engineWatches.Store(nil)
		c.after(time.Minute)
		expect(t, "history", []string(nil), c.history())
		c.engineWatches.Store(new(time.Now()))
		c.after(4 * time.Second)
		if len(c.history()) != 1 {
			t.Errorf("history %v", c.history())
		}
	})
}

func TestAnEngineThatCannotWatchItsProbeDoesNotTakeOver(t *testing.T) {
	live(t, false, func(c *fakeCluster) {
		c.probeWatch.Store(nil)
		c.after(time.Minute)
		expect(t, "history", []string(nil), c.history())
	})
}

func TestTheTimeWithoutARivalCountsFromWhenTheLastWatchWorks(t *testing.T) {
	for name, test := range map[string]struct{ probe, engine, want time.Time }{
		"the probe's works last":       {noonPlus(2), noonPlus(1), noonPlus(2)},
		"the engine's work last":       {noonPlus(1), noonPlus(2), noonPlus(2)},
		"the probe's does not work":    {time.Time{}, noonPlus(1), time.Time{}},
		"one of the engine's does not": {noonPlus(1), time.Time{}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) { expect(t, "since", test.want, latest(test.probe, test.engine)) })
	}
}

// The watches break and work again long before the time to take over.
func TestTheTimeInWhichWatchesWereBrokenDoesNotCount(t *testing.T) {
	live(t, true, func(c *fakeCluster) {
		c.after(5 * time.Second)
		c.engineWatches.Store(nil)
		c.after(20 * time.Second)
		c.engineWatches.Store(new(time.Now()))
		c.after(time.Minute)
		expect(t, "history", []string{"drives at 55s"}, c.history())
	})
}

// A process that was killed leaves its probe, perhaps answered long ago.
func TestAProbeThatWasThereBeforeIsIgnored(t *testing.T) {
	live(t, false, func(c *fakeCluster) {
		left := &probeState{Meta: rollout.Meta{UID: "uid-of-old"}, token: "old", isAnswered: true}
		c.monitor.mu.Lock()
		c.monitor.isShown = false // as before the watch has shown its own
		c.monitor.mu.Unlock()
		c.watch.Replace([]*probeState{left}, "")
		c.watch.Forget(left)
		c.watch.Observe(must(reduceProbe(c.probe)))
		c.after(time.Minute)
		expect(t, "history", []string{"drives at 3s"}, c.history())
	})
}

func TestAProbeThatSomebodyElseCreatedByHandIsIgnored(t *testing.T) {
	probeObserver{&Monitor{}}.Observe(&probeState{Meta: rollout.Meta{UID: "uid-of-stranger"}, isAnswered: true}) // before anything is decided
	live(t, false, func(c *fakeCluster) {
		c.set(func() { c.monitor.isShown = false })
		c.watch.Observe(&probeState{Meta: rollout.Meta{UID: "uid-of-stranger"}, isAnswered: true})
		c.after(time.Minute)
		expect(t, "history", []string{"drives at 3s"}, c.history())
	})
}

// Two processes that should have elected a leader: the one that drives answers the other.
func TestAnEngineThatDrivesAnswersTheProbeOfAnotherProcess(t *testing.T) {
	live(t, false, func(c *fakeCluster) {
		c.after(5 * time.Second)
		c.set(func() {
			c.watch.Forget(must(reduceProbe(c.probe)))
			c.probe = newProbe("own", "token of another", false)
			c.probe.UID = "uid-of-another"
			c.watch.Observe(must(reduceProbe(c.probe)))
		})
		c.after(time.Hour)
		expect(t, "requests", slices.Repeat([]string{"delete", "create"}, 2), c.requested())
		expect(t, "history", []string{"drives at 3s"}, c.history())
		if !must(reduceProbe(c.probe)).isFromDriver {
			t.Error("its probe does not show that it drives")
		}
	})
}

func TestAnEngineStandsByForAnotherProcessThatDrives(t *testing.T) {
	live(t, false, func(c *fakeCluster) {
		c.after(time.Second)
		c.set(func() {
			c.watch.Forget(must(reduceProbe(c.probe)))
			c.probe = newProbe("own", "token of another", true)
			c.probe.UID = "uid-of-another"
			c.watch.Observe(must(reduceProbe(c.probe)))
		})
		c.after(0)
		if detail := c.detail(); !strings.Contains(detail, "standing by, since deployment-engine of another process of this installation replaced deployment own/"+probeName) {
			t.Error(detail)
		}
		c.after(time.Minute)
		expect(t, "history", []string{"rests at 1s", "drives at 31s"}, c.history())
		expect(t, "requests", slices.Repeat([]string{"delete", "create"}, 2), c.requested())
	})
}

func TestAnEngineThatHasNotBegunSaysWhatItWaitsFor(t *testing.T) {
	m := newMonitor(Options{})
	expect(t, "on another replica", "[+] deployment engine: waiting for leadership", m.Detail(false))
	expect(t, "on the leader", "[+] deployment engine: waiting until its watches are synced", m.Detail(true))
}
