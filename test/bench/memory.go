package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

const (
	configSize = 10 * kibibyte
	// namespaceCount is over how many namespaces the many objects are spread.
	namespaceCount = 20

	// settleTime is how long after readiness the steady memory is read.
	settleTime = 15 * time.Second

	startLimit  = 2 * time.Minute
	recordLimit = 5 * time.Minute
	// readyPoll is short compared with the time that a start takes.
	readyPoll = 5 * time.Millisecond

	steadyTarget, peakTarget, peakWithoutStreaming = 38.0, 56.0, 120.0 // MiB
	manySteadyTarget, manyPeakTarget               = 80.0, 120.0       // MiB
	readyTarget, cpuTarget, idleTarget             = 2.0, 2.0, 4.0     // seconds
)

// population is what a cluster is filled with.
type population struct {
	configs          int // ConfigMaps, and as many Secrets
	configSize, keys int
	deployments      int // with five references each
}

// starts are the samples of several starts. The CPU time is that until readiness, and that
// after the settle time, when nothing is left to do.
type starts struct{ steady, peak, ready, cpu, idle samples }

// measureMemory measures starts of the controller in a cluster full of configs.
func (b *bench) measureMemory(ctx context.Context) ([]row, error) {
	large := population{configs: b.configs, configSize: configSize, keys: smallKeys, deployments: b.deployments}
	streaming, err := b.measureStarts(ctx, large)
	if err != nil || b.quick {
		return b.memoryRows(streaming, starts{}, starts{}), err
	}
	single := large
	single.keys = 1
	oneKey, err := b.measureStarts(ctx, single)
	if err != nil {
		return b.memoryRows(streaming, oneKey, starts{}), err
	}
	paged, err := b.measureStarts(ctx, large, withoutStreamingLists)
	return b.memoryRows(streaming, oneKey, paged), err
}

// measureMany measures starts of the controller in a cluster with very many small configs
// and workloads whose records are all there.
func (b *bench) measureMany(ctx context.Context) ([]row, error) {
	const ofConfigs, ofDeployments = 5, 10 // times those of the memory rows
	many := population{configs: ofConfigs * b.configs, configSize: 512, keys: smallKeys, deployments: ofDeployments * b.deployments}
	if b.quick {
		many.deployments = b.deployments
	}
	measured, err := b.measureStarts(ctx, many)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf(" with %d small configs and %d Deployments", 2*many.configs, many.deployments)
	return []row{
		upTo("resident memory"+what+", steady", manySteadyTarget, measured.steady, "%.1f", "MiB"),
		upTo("the same, peak", manyPeakTarget, measured.peak, "%.1f", "MiB"),
		upTo("the same, ready after start", readyTarget, measured.ready, "%.2f", "s"),
		upTo("the same, all records there: CPU time until idle", idleTarget, measured.idle, "%.2f", "s"),
	}, nil
}

func (b *bench) memoryRows(streaming, oneKey, paged starts) []row {
	var rows []row
	if len(streaming.steady) > 0 {
		rows = append(rows,
			upTo("resident memory, steady", steadyTarget, streaming.steady, "%.1f", "MiB"),
			upTo("resident memory, peak", peakTarget, streaming.peak, "%.1f", "MiB"),
			upTo("ready after start", readyTarget, streaming.ready, "%.2f", "s"),
			upTo("CPU time until ready", cpuTarget, streaming.cpu, "%.2f", "s"))
	}
	if len(oneKey.steady) > 0 {
		rows = append(rows,
			beside("resident memory with 1 key in each config, steady", oneKey.steady, "%.1f", "MiB"),
			beside("resident memory with 1 key in each config, peak", oneKey.peak, "%.1f", "MiB"))
	}
	if len(paged.steady) > 0 {
		rows = append(rows,
			upTo("resident memory without streaming lists, peak", peakWithoutStreaming, paged.peak, "%.1f", "MiB"),
			beside("resident memory without streaming lists, steady", paged.steady, "%.1f", "MiB"),
			beside("ready after start without streaming lists", paged.ready, "%.2f", "s"),
			beside("CPU time until ready without streaming lists", paged.cpu, "%.2f", "s"))
	}
	return rows
}

// measureStarts fills a cluster, lets a controller record everything, and then
// measures how fresh ones start.
func (b *bench) measureStarts(ctx context.Context, p population, clusterFlags ...string) (starts, error) {
	var measured starts
	err := b.onOwnStage(ctx, func(s *stage) error {
		if err := b.fill(ctx, s, p); err != nil {
			return err
		}
		if err := b.recordAll(ctx, s, p.deployments); err != nil {
			return err
		}
		before, err := s.deploymentVersions(ctx)
		if err != nil {
			return err
		}
		for range b.repetitions {
			if err := b.measureStart(ctx, s, &measured); err != nil {
				return err
			}
		}
		return s.expectUntouched(ctx, before)
	}, clusterFlags...)
	return measured, err
}

// fill makes the configs, and Deployments that refer to five of them each.
func (b *bench) fill(ctx context.Context, s *stage, p population) error {
	b.progress.say("creating %d ConfigMaps and %d Secrets of %d bytes in %d keys, %d Deployments", p.configs, p.configs, p.configSize, p.keys, p.deployments)
	namespaces := p.namespaces()
	for number := range namespaces {
		if err := s.makeNamespace(ctx, fillNamespace(number)); err != nil {
			return err
		}
	}
	err := inParallel(ctx, writers, p.configs, func(ctx context.Context, number int) error {
		if number > 0 && number%(p.configs/4) == 0 {
			b.progress.say("%d of %d", number, p.configs)
		}
		namespace, name := fillNamespace(number%namespaces), fillName(number/namespaces)
		return errors.Join(
			s.createConfigMap(ctx, newConfigMap(namespace, name, p.configSize, p.keys)),
			s.createSecret(ctx, newSecret(namespace, name, p.configSize, p.keys)))
	})
	if err != nil {
		return err
	}
	return inParallel(ctx, writers, p.deployments, func(ctx context.Context, number int) error {
		return s.createDeployment(ctx, p.deployment(fmt.Sprintf("deployment-%04d", number), number))
	})
}

// namespaces is over how many namespaces the configs are spread.
func (p population) namespaces() int { return min(namespaceCount, p.configs/5) }

// deployment makes a Deployment that refers to five configs, which depend on the number.
func (p population) deployment(name string, number int) *appsv1.Deployment {
	namespaces := p.namespaces()
	config := func(step int) string { return fillName((number/namespaces + step) % (p.configs / namespaces)) }
	deployment := newDeployment(fillNamespace(number%namespaces), name, config(0))
	addReferences(deployment, config(1), config(2), config(3), config(4))
	return deployment
}

func fillNamespace(number int) string { return fmt.Sprintf("team-%02d", number) }

func fillName(number int) string { return fmt.Sprintf("config-%04d", number) }

// recordAll lets a controller write all records.
func (b *bench) recordAll(ctx context.Context, s *stage, count int) error {
	b.progress.say("letting a controller record the checksums")
	deployments, err := s.follow(ctx, metav1.NamespaceAll)
	if err != nil {
		return err
	}
	defer deployments.close()
	return s.withController(ctx, func(*harness.Controller) error {
		return deployments.await(ctx, recordLimit, count, isRecorded)
	}, "--restart-grace-period=0", "--kube-api-qps=100000", "--kube-api-burst=100000")
}

// measureStart starts a controller, with its defaults but for the flags, and takes its measures.
func (b *bench) measureStart(ctx context.Context, s *stage, measured *starts, flags ...string) error {
	begun := time.Now()
	controller, err := s.installation.LaunchController(ctx, nil, flags...)
	if err != nil {
		return err
	}
	err = b.takeMeasures(ctx, controller, begun, measured)
	return errors.Join(err, controller.Stop())
}

func (b *bench) takeMeasures(ctx context.Context, controller *harness.Controller, begun time.Time, measured *starts) error {
	if err := awaitReady(ctx, controller); err != nil {
		return err
	}
	ready := time.Since(begun)
	cpu, err := cpuSecondsOf(controller.PID())
	if err != nil {
		return err
	}
	if err := pause(ctx, b.settleTime()); err != nil {
		return err
	}
	used, err := memoryOf(controller.PID())
	if err != nil {
		return err
	}
	idle, err := cpuSecondsOf(controller.PID())
	if err != nil {
		return err
	}
	measured.addStart(used, ready, cpu, idle)
	b.progress.say("ready after %.2f s and %.2f CPU-s; %.1f MiB and %.2f CPU-s after %s, peak %.1f MiB",
		ready.Seconds(), cpu, used.resident, idle, b.settleTime(), used.peak)
	return controller.Running()
}

func (s *starts) addStart(used memory, ready time.Duration, cpu, idle float64) {
	s.steady.add(used.resident)
	s.peak.add(used.peak)
	s.ready.addSeconds(ready)
	s.cpu.add(cpu)
	s.idle.add(idle)
}

func (b *bench) settleTime() time.Duration {
	if b.quick {
		return time.Second
	}
	return settleTime
}

// awaitReady is the harness's wait with a finer step.
func awaitReady(ctx context.Context, controller *harness.Controller) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, errTooLate)
	defer cancel()
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for {
		status, answer, err := controller.Get(ctx, "/readyz")
		if err == nil && status == http.StatusOK {
			return nil
		}
		select {
		case <-ticker.C:
		case <-controller.Exited():
			return controller.Running()
		case <-ctx.Done():
			return fmt.Errorf("the controller is not ready: %w; /readyz answers %d: %s", context.Cause(ctx), status, answer)
		}
	}
}

// deploymentVersions returns the resource versions of all Deployments.
func (s *stage) deploymentVersions(ctx context.Context) (map[string]string, error) {
	list, err := s.client.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list deployments: %w", err)
	}
	versions := make(map[string]string, len(list.Items))
	for i := range list.Items {
		deployment := &list.Items[i]
		versions[deployment.Namespace+"/"+deployment.Name] = deployment.ResourceVersion
	}
	return versions, nil
}

// expectUntouched returns an error if a Deployment was written to since.
func (s *stage) expectUntouched(ctx context.Context, before map[string]string) error {
	after, err := s.deploymentVersions(ctx)
	if err != nil {
		return err
	}
	written := 0
	for name, version := range before {
		if after[name] != version {
			written++
		}
	}
	if written > 0 {
		return fmt.Errorf("%d deployments were written to although nothing had changed", written)
	}
	return nil
}
