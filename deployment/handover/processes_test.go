package handover

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// Processes of one installation come and go at random without having elected a leader.
// They have one probe, and cannot answer it otherwise.
func TestOfSeveralProcessesWithOneProbeOneDrives(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &processes{rivals: rivals{random: rand.New(rand.NewPCG(seed, 0))}}
				ctx, stop := context.WithCancel(t.Context())
				for range 20 {
					switch alive := p.alive(); {
					case alive == 0 || alive < 3 && p.duration(2) == 0:
						p.start(ctx)
					default:
						p.killOne()
					}
					p.watch(t, p.duration(90*time.Second), retryPeriod+overlap)
				}
				if p.alive() == 0 {
					p.start(ctx)
				}
				p.watch(t, calm, retryPeriod+overlap)
				if p.driving() != 1 {
					t.Errorf("of %d processes %d drive in the end", p.alive(), p.driving())
				}
				stop()
				p.group.Wait()
			})
		})
	}
}

// processes are rivals with one probe.
type processes struct {
	rivals

	shared *appsv1.Deployment
}

// process is the API server as one of them sees it.
type process struct {
	apiclient.Apps
	apiclient.Objects[*appsv1.Deployment]

	all *processes
}

func (p *processes) start(ctx context.Context) {
	p.launch(ctx, &rivalEngine{all: &p.rivals}, process{all: p}, func() {})
}

// Deployments implements apiclient.Apps.
func (p process) Deployments(string) apiclient.Deployments { return p }

// Delete implements apiclient.Deployments.
func (p process) Delete(context.Context, string, metav1.DeleteOptions) error {
	time.Sleep(p.all.duration(20 * time.Millisecond))
	p.all.mu.Lock()
	gone := p.all.shared
	p.all.shared = nil
	p.all.mu.Unlock()
	if gone == nil {
		return apierrors.NewNotFound(appsv1.Resource("deployments"), probeName)
	}
	for _, e := range p.all.others(nil) {
		probeObserver{e.monitor}.Forget(must(reduceProbe(gone)))
	}
	return nil
}

// Create implements apiclient.Deployments.
func (p process) Create(_ context.Context, d *appsv1.Deployment, _ metav1.CreateOptions) (*appsv1.Deployment, error) {
	time.Sleep(p.all.duration(20 * time.Millisecond))
	p.all.mu.Lock()
	if p.all.shared != nil {
		p.all.mu.Unlock()
		return nil, apierrors.NewAlreadyExists(appsv1.Resource("deployments"), probeName)
	}
	made := d.DeepCopy()
	p.all.uids++
	made.UID = types.UID(fmt.Sprint("uid-", p.all.uids))
	p.all.shared = made
	p.all.mu.Unlock()
	for _, e := range p.all.others(nil) {
		probeObserver{e.monitor}.Observe(must(reduceProbe(made)))
	}
	return made, nil
}
