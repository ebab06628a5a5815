package controller

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/intake"
)

// realFleet is a world in which the rollouts of Deployments take time, and fail with bad content. Requests take time
// too, and fail before or after they have been carried out.
type realFleet struct {
	*world
	mu             sync.Mutex // of the world, and of what follows
	random         *rand.Rand
	faults         float64 // how probable it is that a request fails
	usesWaves      bool
	names, configs []string
	shown          chan *appsv1.Deployment // what the watch is going to show
	logged         strings.Builder
}

func newRealFleet(t *testing.T, seed, number uint64) *realFleet {
	t.Helper()
	f := &realFleet{
		random: rand.New(rand.NewPCG(seed, number)), //nolint:gosec // the same fleet each time
		shown:  make(chan *appsv1.Deployment, 100_000),
		world: &world{
			watches: make(map[string]*intake.ResourceWatch), configMaps: make(map[string]*corev1.ConfigMap), deployments: make(map[string]*appsv1.Deployment),
		},
	}
	f.usesWaves = f.chance(2)
	c, err := newControllerWith(Options{
		API: &rest.Config{Host: "http://world", Transport: f}, QPS: 1e6, Burst: 1e6, CheckPeriod: 10 * time.Second,
		GracePeriod: time.Second, BackoffLimit: time.Duration(f.random.IntN(2)) * time.Minute,
		FanOut:  gatekeeper.FanOutOptions{Gradual: !f.chance(4), Limit: 1 + f.random.IntN(6)},
		Configs: []names.ConfigKind{names.ConfigMap}, Log: slog.New(slog.NewTextHandler(&f.logged, nil)),
	}, &record.FakeRecorder{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.events.Shutdown)
	f.controller = c
	for _, watch := range c.watches.All {
		f.watches[watch.Status().Resource] = watch
	}
	isKnown := func(string) bool { return true }
	c.restarter.KnowsConfigs, c.halts.KnowsConfigs, c.gate.KnowsWorkloads = isKnown, isKnown, isKnown
	c.deliveries.Policy = delivery.Policy{Soak: 30 * time.Second, Deadline: 2 * time.Minute}
	return f
}

func (f *realFleet) locked(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// chance is true once in so many times. Either the caller has the lock, or nobody else needs it.
func (f *realFleet) chance(of int) bool { return f.random.IntN(of) == 0 }

// some is a time up to the longest.
func (f *realFleet) some(longest time.Duration) time.Duration {
	return time.Duration(f.random.Int64N(int64(longest)))
}

// upTo does so with the lock.
func (f *realFleet) upTo(longest time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.some(longest)
}

// write is a write by somebody else.
func (f *realFleet) write(name string, change func(*appsv1.Deployment)) {
	d := f.deployments[name].DeepCopy()
	change(d)
	d.ResourceVersion = f.nextVersion()
	f.deployments[name] = d
	f.shown <- d
}

func (f *realFleet) remove(name string) {
	gone := f.deployments[name].DeepCopy()
	gone.ResourceVersion = f.nextVersion()
	gone.DeletionTimestamp = &gone.CreationTimestamp
	delete(f.deployments, name)
	f.shown <- gone
}

// watch shows the Deployments, a while after they were written.
func (f *realFleet) watch(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case d := <-f.shown:
			time.Sleep(f.upTo(400 * time.Millisecond))
			if d.DeletionTimestamp != nil {
				f.hide("deployments", d)
			} else {
				f.show("deployments", d)
			}
		}
	}
}

// RoundTrip answers after a while. A request fails before it is carried out, or its answer is lost.
func (f *realFleet) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(f.upTo(300 * time.Millisecond))
	f.mu.Lock()
	isFault, how := f.random.Float64() < f.faults, f.random.IntN(4)
	if isFault && how < 2 {
		f.mu.Unlock()
		return nil, errors.New("connection reset by peer")
	}
	answer, err := f.world.RoundTrip(r)
	pause := f.some(300 * time.Millisecond)
	if r.Method == http.MethodPatch && err == nil && answer.StatusCode == http.StatusOK {
		pause += f.wasPatched(r)
	}
	f.mu.Unlock()
	time.Sleep(pause)
	if isFault {
		return nil, errors.New("unexpected EOF")
	}
	return answer, err
}

// wasPatched lets the rollout begin, and now and then lets the owner opt out before the answer arrives, which takes
// so much longer.
func (f *realFleet) wasPatched(r *http.Request) (pause time.Duration) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	name := path[len(path)-3] + "/" + path[len(path)-1]
	f.shown <- f.deployments[name]
	f.rollOut(name)
	if !f.chance(30) {
		return 0
	}
	f.write(name, func(d *appsv1.Deployment) { delete(d.Annotations, annotation.EnabledAnnotation) })
	return 800 * time.Millisecond
}

// rollOut begins a rollout if the template has changed, which takes up to a minute. It fails if a config has bad
// content.
func (f *realFleet) rollOut(name string) {
	d := f.deployments[name]
	restart := d.Spec.Template.Annotations[annotation.TimestampAnnotation]
	if d.Labels["rolled-out"] == restart {
		return
	}
	d.Labels = map[string]string{"rolled-out": restart}
	isBad := f.readsBadContent(d)
	// step changes the status, unless the Deployment is another one or has restarted again.
	step := func(change func(*appsv1.DeploymentStatus)) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if now := f.deployments[name]; now != nil && now.UID == d.UID && now.Labels["rolled-out"] == restart && now.Status.Replicas > 0 {
			f.write(name, func(d *appsv1.Deployment) {
				d.Status.ObservedGeneration = d.Generation
				change(&d.Status)
			})
		}
	}
	begins, ends := f.some(300*time.Millisecond), time.Second+f.some(time.Minute)
	go func() {
		time.Sleep(begins)
		step(func(status *appsv1.DeploymentStatus) {
			status.AvailableReplicas, status.UpdatedReplicas, status.Conditions = 2, 1, nil
		})
		time.Sleep(ends)
		step(func(status *appsv1.DeploymentStatus) {
			if status.AvailableReplicas, status.UpdatedReplicas = 3, 3; isBad {
				status.AvailableReplicas, status.UpdatedReplicas = 2, 1
				status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}}
			}
		})
	}()
}

func (f *realFleet) readsBadContent(d *appsv1.Deployment) bool {
	return slices.ContainsFunc(d.Spec.Template.Spec.Containers[0].EnvFrom, func(from corev1.EnvFromSource) bool {
		return strings.HasPrefix(f.configMaps[d.Namespace+"/"+from.ConfigMapRef.Name].Data["k"], "bad")
	})
}
