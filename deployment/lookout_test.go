package deployment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/apiclient"
	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/watch"
)

// neighbourhood plays an API server with a probe in it, its watch, and a rival.
type neighbourhood struct {
	apiclient.Apps
	apiclient.Objects[*appsv1.Deployment]

	lookout *lookout
	events  *record.FakeRecorder
	start   time.Time
	hears   atomic.Pointer[time.Time] // since when, nil if it is deaf
	sees    atomic.Pointer[time.Time] // since when its watch of the probe works, nil if not

	written sync.Mutex
	diary   []string // when the engine began and ended to drive

	mu       sync.Mutex
	isRival  bool  // somebody answers probes
	refusal  error // of requests for probes
	loss     error // in place of the answer to a creation
	isSlow   bool  // the watch is, then
	probe    *appsv1.Deployment
	versions int
	requests []string
}

// live runs a test in the neighbourhood of a lookout, whose patience is 30 seconds.
func live(t *testing.T, isSpare bool, test func(*neighbourhood)) {
	synctest.Test(t, func(t *testing.T) {
		n := &neighbourhood{events: record.NewFakeRecorder(100), start: time.Now()}
		n.hears.Store(&n.start)
		n.sees.Store(&n.start)
		n.lookout = &lookout{
			prober: prober{apps: n, namespace: "own"}, events: n.events, writes: newMetrics().rivalWrites, alarms: newMetrics().falseAlarms, log: slog.New(slog.DiscardHandler),
			drive:    func() { n.write("drives") },
			rest:     func() { n.write("rests") },
			restIn:   func(namespace string) { n.write("rests in " + namespace) },
			resumeIn: func(namespace string) { n.write("resumes in " + namespace) },
			seesSince: func() (since time.Time) {
				if sees := n.sees.Load(); sees != nil {
					since = *sees
				}
				return since
			},
			hearsSince: func() (since time.Time) {
				if hears := n.hears.Load(); hears != nil {
					since = *hears
				}
				return since
			},
			patience: func() time.Duration { return silenceLimit },
			woken:    make(chan struct{}, 1),
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			n.lookout.run(ctx, isSpare)
		}()
		synctest.Wait()
		test(n)
		stop()
		<-done
	})
}

func (n *neighbourhood) write(what string) {
	n.written.Lock()
	defer n.written.Unlock()
	n.diary = append(n.diary, fmt.Sprintf("%s at %s", what, time.Since(n.start)))
}

// read returns what was written so far.
func (n *neighbourhood) read() []string {
	n.written.Lock()
	defer n.written.Unlock()
	return slices.Clone(n.diary)
}

// asked returns the requests so far.
func (n *neighbourhood) asked() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.requests)
}

// after lets time pass.
func (n *neighbourhood) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// set changes the neighbourhood.
func (n *neighbourhood) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

// Deployments implements apiclient.Apps.
func (n *neighbourhood) Deployments(string) apiclient.Deployments { return n }

// Create implements apiclient.Deployments. The watch is faster than the answer.
func (n *neighbourhood) Create(_ context.Context, d *appsv1.Deployment, _ metav1.CreateOptions) (*appsv1.Deployment, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests = append(n.requests, "create")
	if n.refusal != nil {
		return nil, n.refusal
	}
	if n.probe != nil {
		return nil, apierrors.NewAlreadyExists(appsv1.Resource("deployments"), d.Name)
	}
	n.versions++
	n.probe = d.DeepCopy()
	n.probe.UID = types.UID(fmt.Sprint("uid-", n.versions))
	if n.loss != nil && n.isSlow {
		time.AfterFunc(time.Second, func() { n.set(func() { n.lookout.Observe(must(reduceProbe(n.probe))) }) })
		return nil, n.loss
	}
	n.lookout.Observe(must(reduceProbe(n.probe)))
	if n.isRival {
		n.answer("rival")
	}
	if n.loss != nil {
		return nil, n.loss
	}
	return n.probe.DeepCopy(), nil
}

// answer must be called with the lock held.
func (n *neighbourhood) answer(manager string) {
	n.probe.Status.ObservedGeneration = 1
	n.probe.ManagedFields = []metav1.ManagedFieldsEntry{statusBy(manager, 1)}
	n.lookout.Observe(must(reduceProbe(n.probe)))
}

// Delete implements apiclient.Deployments.
func (n *neighbourhood) Delete(_ context.Context, name string, options metav1.DeleteOptions) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests = append(n.requests, "delete")
	switch {
	case n.refusal != nil:
		return n.refusal
	case n.probe == nil:
		return apierrors.NewNotFound(appsv1.Resource("deployments"), name)
	case options.Preconditions != nil && *options.Preconditions.UID != n.probe.UID:
		return apierrors.NewConflict(appsv1.Resource("deployments"), name, errors.New("another UID"))
	}
	gone := must(reduceProbe(n.probe))
	n.probe = nil
	n.lookout.Forget(gone)
	return nil
}

// told returns the Events since the last call.
func (n *neighbourhood) told() (events []string) {
	for {
		select {
		case event := <-n.events.Events:
			events = append(events, event)
		default:
			return events
		}
	}
}

func (n *neighbourhood) detail() string { return n.lookout.detail(true, watch.Status{}) }

func TestAnEngineThatIsAloneDrivesAfterAMomentAndStaysAtIt(t *testing.T) {
	live(t, false, func(n *neighbourhood) {
		expect(t, "detail", "[+] deployment engine: making sure that nobody else drives deployments", n.detail())
		n.after(time.Hour)
		expect(t, "diary", []string{"drives at 3s"}, n.read())
		expect(t, "requests", []string{"delete", "create"}, n.asked())
		expect(t, "detail", "[+] deployment engine: driving deployments", n.detail())
		expect(t, "events", []string(nil), n.told())
		n.lookout.leave(t.Context())
		if n.probe != nil {
			t.Error("the probe is left behind")
		}
	})
}

func TestAnEngineStandsByAsLongAsARivalAnswers(t *testing.T) {
	live(t, false, func(n *neighbourhood) {
		n.after(time.Second)
		n.set(func() { n.isRival = true; n.answer("rival") })
		n.after(time.Minute)
		expect(t, "diary", []string{"rests at 1s"}, n.read())
		expect(t, "requests", slices.Repeat([]string{"delete", "create"}, 7), n.asked())
		expect(t, "events", []string{"Warning RivalEngine stands by and does not drive Deployments: rival wrote the status of deployment own/" + probeName +
			". Takes over when nobody else was heard for 30s"}, n.told())
		if count := testutil.ToFloat64(n.lookout.writes.Of("rival")); count != 7 {
			t.Errorf("%v writes are counted, want 7", count)
		}
		n.set(func() { n.isRival = false })
		n.after(time.Minute)
		expect(t, "diary", []string{"rests at 1s", "drives at 1m31s"}, n.read())
		expect(t, "events", []string{"Normal TookOver drives Deployments: nobody else was heard for 30s"}, n.told())
	})
}

// writtenBy is a Deployment whose status somebody else has written.
func writtenBy(manager, namespace string) *rollout.Deployment {
	return web(3, "v1", func(d *appsv1.Deployment) {
		d.Namespace, d.ManagedFields = namespace, []metav1.ManagedFieldsEntry{statusBy(manager, 3)}
	})
}

func TestAnEngineRestsInANamespaceWhenSomebodyWritesAStatusThere(t *testing.T) {
	live(t, false, func(n *neighbourhood) {
		n.after(time.Minute)
		n.lookout.heard(writtenBy("kubectl-edit", "ns"))
		expect(t, "diary", []string{"drives at 3s", "rests in ns at 1m0s"}, n.read())
		if detail := n.detail(); detail != "[+] deployment engine: driving deployments, but resting in 1 namespaces; last kubectl-edit wrote the status of deployment ns/web at 2000-01-01T00:01:00Z" {
			t.Error(detail)
		}
		n.after(time.Hour)
		expect(t, "diary", []string{"drives at 3s", "rests in ns at 1m0s", "resumes in ns at 1m3s"}, n.read())
		expect(t, "requests", slices.Repeat([]string{"delete", "create"}, 2), n.asked())
		expect(t, "events", []string{"Warning ForeignStatusWrite kubectl-edit wrote the status. The deployment engine rests in this namespace until it is sure that nobody else drives Deployments"}, n.told())
		expect(t, "detail", "[+] deployment engine: driving deployments", n.detail())
		if count := testutil.ToFloat64(n.lookout.alarms); count != 1 {
			t.Errorf("%v false alarms are counted", count)
		}
	})
}

// Whoever may write the status of Deployments in one namespace does so all the time.
func TestWhoeverWritesStatusesOnAndOnStopsTheEngineInHisNamespaceOnly(t *testing.T) {
	live(t, false, func(n *neighbourhood) {
		n.after(time.Minute)
		for second := range 600 {
			n.lookout.heard(writtenBy("tenant", "his"))
			if second == 305 {
				n.lookout.heard(writtenBy("kubectl-edit", "another"))
			}
			n.after(time.Second)
		}
		n.after(time.Minute)
		expect(t, "diary", []string{
			"drives at 3s", "rests in his at 1m0s", "rests in another at 6m5s", "resumes in another at 6m13s", "resumes in his at 11m3s",
		}, n.read())
		if count := len(n.asked()); count != 2+2*61 {
			t.Errorf("%d requests: the probe is to be made anew every 10 seconds", count)
		}
		if count := len(n.told()); count != 2 {
			t.Errorf("%d Events", count)
		}
	})
}

func TestAnEngineStandsByWhenWhoeverWritesAStatusAnswersTheProbeToo(t *testing.T) {
	live(t, false, func(n *neighbourhood) {
		n.after(time.Minute)
		n.set(func() { n.isRival = true })
		n.lookout.heard(writtenBy("rival", "ns"))
		n.after(time.Second)
		expect(t, "diary", []string{"drives at 3s", "rests in ns at 1m0s", "rests at 1m0s"}, n.read())
		n.set(func() { n.isRival = false })
		n.after(time.Minute)
		expect(t, "diary", []string{"drives at 3s", "rests in ns at 1m0s", "rests at 1m0s", "drives at 1m30s"}, n.read())
		if count := testutil.ToFloat64(n.lookout.alarms); count != 0 {
			t.Errorf("%v false alarms are counted", count)
		}
	})
}

// Without permissions in the namespace of the probe, nobody can prevent the engine from
// driving forever.
func TestAnEngineTakesOverThoughSomebodyWritesStatusesOnAndOn(t *testing.T) {
	for _, isSpare := range []bool{false, true} {
		live(t, isSpare, func(n *neighbourhood) {
			for range 60 {
				n.lookout.heard(writtenBy("tenant", "his"))
				n.after(time.Second)
			}
			diary := n.read()
			if len(diary) != 2 || !strings.HasPrefix(diary[0], "rests in his at ") || !strings.HasPrefix(diary[1], "drives at ") {
				t.Errorf("spare %t: %v", isSpare, diary)
			}
		})
	}
}

func TestANamespaceRestsAsLongAsTheProbeCannotBeSeen(t *testing.T) {
	live(t, false, func(n *neighbourhood) {
		n.after(time.Minute)
		n.sees.Store(nil)
		n.lookout.heard(writtenBy("kubectl-edit", "ns"))
		n.after(time.Minute)
		expect(t, "diary", []string{"drives at 3s", "rests in ns at 1m0s"}, n.read())
		n.sees.Store(new(time.Now()))
		n.after(10 * time.Second)
		if diary := n.read(); len(diary) != 3 {
			t.Errorf("diary %v", diary)
		}
	})
}

func TestAnEngineThatDrivesStopsAtOnceWhenSomebodyAnswersItsProbe(t *testing.T) {
	live(t, false, func(n *neighbourhood) {
		n.after(time.Minute)
		n.set(func() { n.answer("rival") })
		expect(t, "diary", []string{"drives at 3s", "rests at 1m0s"}, n.read())
		n.after(time.Minute)
		expect(t, "diary", []string{"drives at 3s", "rests at 1m0s", "drives at 1m30s"}, n.read())
		expect(t, "requests", slices.Repeat([]string{"delete", "create"}, 2), n.asked())
	})
}

func TestASpareDrivesWhenNobodyIsHeard(t *testing.T) {
	live(t, true, func(n *neighbourhood) {
		expect(t, "detail", "[+] deployment engine: standing by for another deployment controller", n.detail())
		n.after(time.Minute)
		expect(t, "diary", []string{"drives at 30s"}, n.read())
		expect(t, "events", []string{"Normal TookOver drives Deployments: nobody else was heard for 30s"}, n.told())
	})
}

func TestAnEngineThatCannotMakeItsProbeDoesNotDrive(t *testing.T) {
	live(t, true, func(n *neighbourhood) {
		n.set(func() { n.refusal = errors.New("forbidden") })
		n.after(time.Second)
		n.set(func() { n.probe = nil; n.lookout.Replace(nil, "") }) // and the first one goes
		n.after(time.Hour)
		expect(t, "diary", []string(nil), n.read())
		if detail := n.detail(); !strings.HasSuffix(detail, "; cannot make its probe: delete deployment own/"+probeName+": forbidden") {
			t.Error(detail)
		}
		n.set(func() { n.refusal = nil })
		n.after(6 * time.Second)
		if len(n.read()) != 1 || strings.Contains(n.detail(), "cannot") {
			t.Errorf("%v; %s", n.read(), n.detail())
		}
	})
}

// The API server made the probe, and the connection was lost before it could answer.
func TestAnEngineForgetsItsTroubleWithAProbeThatIsShown(t *testing.T) {
	for name, isSlow := range map[string]bool{"before the failure": false, "after the failure": true} {
		t.Run(name, func(t *testing.T) {
			live(t, false, func(n *neighbourhood) {
				n.after(time.Second)
				n.set(func() {
					n.loss, n.isSlow = errors.New("connection lost"), isSlow
					n.probe = nil
					n.lookout.Replace(nil, "")
				})
				n.after(20 * time.Second)
				if detail := n.detail(); detail != "[+] deployment engine: driving deployments" {
					t.Error(detail)
				}
				expect(t, "requests", slices.Repeat([]string{"delete", "create"}, 2), n.asked())
			})
		})
	}
}

func TestAnEngineThatCannotHearDoesNotTakeOver(t *testing.T) {
	live(t, false, func(n *neighbourhood) {
		n.hears.Store(nil)
		n.after(time.Minute)
		expect(t, "diary", []string(nil), n.read())
		n.hears.Store(new(time.Now()))
		n.after(4 * time.Second)
		if len(n.read()) != 1 {
			t.Errorf("diary %v", n.read())
		}
	})
}

// The watches break and work again long before the time to take over.
func TestTheTimeInWhichAnEngineCouldNotHearIsNotSilence(t *testing.T) {
	live(t, true, func(n *neighbourhood) {
		n.after(5 * time.Second)
		n.hears.Store(nil)
		n.after(20 * time.Second)
		n.hears.Store(new(time.Now()))
		n.after(time.Minute)
		expect(t, "diary", []string{"drives at 55s"}, n.read())
	})
}

func TestAnEngineHearsSinceTheLastOfItsWatchesWorks(t *testing.T) {
	follows := func(since time.Time) follower { return idleWatch{status: watch.Status{WorkingSince: since}} }
	for name, test := range map[string]struct {
		probes time.Time
		others []follower
		want   time.Time
	}{
		"the probe's works last":       {noonPlus(3), []follower{follows(noonPlus(1)), follows(noonPlus(2))}, noonPlus(3)},
		"another works last":           {noonPlus(1), []follower{follows(noonPlus(3)), follows(noonPlus(2))}, noonPlus(3)},
		"the probe's does not work":    {time.Time{}, []follower{follows(noonPlus(1))}, time.Time{}},
		"another does not work":        {noonPlus(1), []follower{follows(time.Time{}), follows(noonPlus(2))}, time.Time{}},
		"another, the last, works not": {noonPlus(1), []follower{follows(noonPlus(2)), follows(time.Time{})}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Engine{probes: follows(test.probes), watches: test.others}
			expect(t, "since", test.want, e.hearsSince())
		})
	}
}

func TestAnEngineDoesNotBeginWithoutItsReplicaSets(t *testing.T) {
	var watched []string
	for _, w := range newIdleEngine(t).watches {
		watched = append(watched, w.Status().Resource)
	}
	expect(t, "watched", []string{"replicasets", "deployments"}, watched)
}

// idleWatch follows nothing.
type idleWatch struct {
	follower

	status watch.Status
}

func (w idleWatch) Status() watch.Status { return w.status }

// A process that was killed leaves its probe, perhaps answered long ago.
func TestAProbeThatWasThereBeforeSaysNothing(t *testing.T) {
	live(t, false, func(n *neighbourhood) {
		left := &sighting{Meta: rollout.Meta{UID: "uid-of-old"}, token: "old", isAnswered: true}
		n.lookout.mu.Lock()
		n.lookout.isShown = false // as before the watch has shown its own
		n.lookout.mu.Unlock()
		n.lookout.Replace([]*sighting{left}, "")
		n.lookout.Forget(left)
		n.lookout.Observe(must(reduceProbe(n.probe)))
		n.after(time.Minute)
		expect(t, "diary", []string{"drives at 3s"}, n.read())
	})
}

func TestAProbeThatSomebodyElseHasMadeByHandSaysNothing(t *testing.T) {
	l := &lookout{}
	l.Observe(&sighting{Meta: rollout.Meta{UID: "uid-of-stranger"}, isAnswered: true}) // before anything is decided
	live(t, false, func(n *neighbourhood) {
		n.set(func() { n.lookout.isShown = false })
		n.lookout.Observe(&sighting{Meta: rollout.Meta{UID: "uid-of-stranger"}, isAnswered: true})
		n.after(time.Minute)
		expect(t, "diary", []string{"drives at 3s"}, n.read())
	})
}

// Two processes that should have elected a leader: the one that drives answers the other.
func TestAnEngineThatDrivesAnswersTheProbeOfAnotherProcess(t *testing.T) {
	live(t, false, func(n *neighbourhood) {
		n.after(5 * time.Second)
		n.set(func() {
			n.lookout.Forget(must(reduceProbe(n.probe)))
			n.probe = newProbe("own", "token of another", false)
			n.probe.UID = "uid-of-another"
			n.lookout.Observe(must(reduceProbe(n.probe)))
		})
		n.after(time.Hour)
		expect(t, "requests", slices.Repeat([]string{"delete", "create"}, 2), n.asked())
		expect(t, "diary", []string{"drives at 3s"}, n.read())
		if !must(reduceProbe(n.probe)).isFromDriver {
			t.Error("its probe does not tell that it drives")
		}
	})
}

func TestAnEngineStandsByForAnotherProcessThatDrives(t *testing.T) {
	live(t, false, func(n *neighbourhood) {
		n.after(time.Second)
		n.set(func() {
			n.lookout.Forget(must(reduceProbe(n.probe)))
			n.probe = newProbe("own", "token of another", true)
			n.probe.UID = "uid-of-another"
			n.lookout.Observe(must(reduceProbe(n.probe)))
		})
		n.after(0)
		if detail := n.detail(); !strings.Contains(detail, "standing by, since deployment-engine of another process of this installation replaced deployment own/"+probeName) {
			t.Error(detail)
		}
		n.after(time.Minute)
		expect(t, "diary", []string{"rests at 1s", "drives at 31s"}, n.read())
		expect(t, "requests", slices.Repeat([]string{"delete", "create"}, 2), n.asked())
	})
}

func TestAnEngineThatStandsByWritesNothing(t *testing.T) {
	s := newStage()
	s.do([]string{"deployment", "replicas=3"})
	s.engine.rest()
	d := rollout.NewDeployment(s.deployment())
	_, err := s.engine.executor.apply(t.Context(), d, []rollout.Action{rollout.CreateReplicaSet{Name: "web-1", Replicas: 3}})
	if !errors.Is(err, errResting) || len(s.cluster.replicaSets) != 0 {
		t.Errorf("%d ReplicaSets, error %v", len(s.cluster.replicaSets), err)
	}
	s.engine.wake(d.Key())
	if s.engine.queue.Len() != 0 {
		t.Error("it is queued")
	}
	s.engine.resting.add("ns")
	s.engine.rest()
	if count := s.engine.resting.count(); count != 0 {
		t.Errorf("it rests in %d namespaces in particular", count)
	}
}

func TestAnEngineWritesNothingInANamespaceWhereItRests(t *testing.T) {
	s := newStage()
	s.do([]string{"deployment", "replicas=3"})
	d := rollout.NewDeployment(s.deployment())
	s.engine.caches.deployments.feed("").Observe(packDeployment(d))
	create := []rollout.Action{rollout.CreateReplicaSet{Name: "web-1", Replicas: 3}}
	s.engine.resting.add("ns")
	if _, err := s.engine.executor.apply(t.Context(), d, create); !errors.Is(err, errResting) || len(s.cluster.replicaSets) != 0 {
		t.Errorf("%d ReplicaSets, error %v", len(s.cluster.replicaSets), err)
	}
	s.engine.resumeIn("another")
	if s.engine.drives("ns") || !s.engine.drives("another") {
		t.Error("it goes on elsewhere")
	}
	s.engine.resumeIn("ns")
	if s.engine.queue.Len() != 1 {
		t.Error("the Deployment is not queued")
	}
	if _, err := s.engine.executor.apply(t.Context(), d, create); err != nil || len(s.cluster.replicaSets) != 1 {
		t.Errorf("%d ReplicaSets, error %v", len(s.cluster.replicaSets), err)
	}
}

func TestAnEngineHearsOthersButNotItselfNorItsProbe(t *testing.T) {
	e := newIdleEngine(t)
	e.lookout.prober.namespace = "own"
	drives := hearing{e.caches.deployments.feed(""), e, statusWrites{}}
	own := web(0, "v1", func(d *appsv1.Deployment) { d.Namespace, d.Name = "own", probeName })
	foreign := web(0, "v1", func(d *appsv1.Deployment) { d.Namespace, d.Name = "others", probeName })
	drives.Replace([]packedDeployment{packDeployment(web(3, "v1")), packDeployment(own), packDeployment(foreign)}, "5")
	drives.Observe(packDeployment(own))
	if e.caches.deployments.get(own.Key()) != nil {
		t.Error("it drives its own probe")
	}
	if e.caches.deployments.get(foreign.Key()) == nil {
		t.Error("it does not drive the probe of another installation")
	}
	written := func(manager string, second float64) packedDeployment {
		return packDeployment(web(3, "v1", func(d *appsv1.Deployment) { d.ManagedFields = []metav1.ManagedFieldsEntry{statusBy(manager, second)} }))
	}
	drives.Observe(written(rollout.FieldManager, 3))
	drives.Observe(written("rival", 4))
	drives.Replace([]packedDeployment{written("rival", 5)}, "7")
	if count := testutil.ToFloat64(e.metrics.rivalWrites.Of("rival")); count != 2 {
		t.Errorf("%v writes are counted, want 2", count)
	}
	if count := testutil.CollectAndCount(e.metrics.rivalWrites); count != 2 {
		t.Errorf("%d managers are counted, want that one and the usual one", count)
	}
	drives.Forget(written("rival", 5))
	if len(drives.writes) != 0 {
		t.Error("what is gone is not forgotten")
	}
}

func TestAThousandFieldManagersMakeFewSeries(t *testing.T) {
	e := newIdleEngine(t)
	for i := range 1000 {
		e.lookout.heard(writtenBy(fmt.Sprintf("manager-%d", i), "ns"))
	}
	if count := testutil.CollectAndCount(e.metrics.rivalWrites); count != namedManagers+1 {
		t.Errorf("%d series, want one for each of %d managers and one for the others", count, namedManagers)
	}
}

func TestAnEngineThatHasNotBegunSaysWhatItWaitsFor(t *testing.T) {
	l := &lookout{}
	expect(t, "on a standby", "[+] deployment engine: waiting to lead", l.detail(false, watch.Status{}))
	expect(t, "on the leader", "[+] deployment engine: waiting until its watches are synced", l.detail(true, watch.Status{}))
}
