package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/dynamic"

	"kubernetes-deployment-restart-controller/test/faultproxy"
	"kubernetes-deployment-restart-controller/test/harness"
	"kubernetes-deployment-restart-controller/test/soak/model"
)

const (
	grace        = time.Second
	backoffLimit = 8 * time.Second
	slowestWrite = 3 * time.Second // of a restart
	freeRestarts = 3
	nodes        = 2 // two pods of each DaemonSet

	// restartSoak is how long a restart must hold out, restartDeadline how long it may make no progress, and
	// fanOutLimit how many may roll at the same time.
	restartSoak     = time.Second
	restartDeadline = 10 * time.Second
	fanOutLimit     = 30

	// leaseDuration is how long nobody may lead after the leader could not renew its lease.
	leaseDuration = 10 * time.Second

	setUpLimit = 15 * time.Minute

	// lag is how long the controller may take to learn of a change: an API server
	// that is killed and started on a busy machine, and the watches' pauses after that.
	lag = 25 * time.Second

	// stall is that time if a watch stalls until the client gives it up.
	stall = 2*time.Minute + lag

	// patience is how long a change may go without an answer: a watch that stalls, the
	// longest pause between two attempts (30 s), and leaders that are killed meanwhile.
	patience = 3 * time.Minute
)

// options say what to play.
type options struct {
	seed      uint64
	duration  time.Duration // of the disturbances, without the start and the end
	workloads int
	rate      float64 // edits a second; 0 for as many as the machine is good for
	progress  io.Writer
}

// soak is one play.
type soak struct {
	options
	begin       time.Time
	cluster     *harness.Cluster
	objects     dynamic.Interface
	proxy       *faultproxy.Proxy
	world       *world
	judge       *judge
	driver      *driver
	observer    *observer
	replicas    *replicas
	saboteur    *saboteur
	tenant      *tenant
	breaker     *breaker
	people      *people
	account     string
	directory   string // of files that are not the cluster's
	cleanups    harness.Cleanups
	atStart     footprint
	firstLook   int // restarts before the disturbances
	startedAnew int // how often the cluster's own controllers were, so that everything came to rest
	truces      atomic.Int64
	remembered  sync.WaitGroup // of the truces of which it is not known yet whether what was seen in them is remembered
	disturbed   spell          // the time of the disturbances
	spells      []spell        // of hostility
	pods        []model.Pod    // that run at the end
	most        atomic.Int64   // bytes that a controller has had in RAM
}

// run plays a soak and returns its report. An error means that it could not be played;
// what the verdict is stands in the report.
func run(ctx context.Context, o options) (report *report, err error) {
	if o.rate == 0 {
		o.rate = 25 * float64(runtime.NumCPU())
	}
	s := &soak{options: o, begin: time.Now()}
	defer func() { err = errors.Join(err, s.cleanups.Run()) }()
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("open the soak: %w", err)
	}
	if err := s.setUp(ctx); err != nil {
		return nil, fmt.Errorf("set up the soak: %w", err)
	}
	if err := s.disturb(ctx); err != nil {
		return nil, fmt.Errorf("disturb: %w", err)
	}
	return s.conclude(ctx), nil
}

// open starts the cluster and the proxy before it.
func (s *soak) open(ctx context.Context) error {
	directory, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return fmt.Errorf("create a directory: %w", err)
	}
	s.directory = directory
	s.cleanups.Add(func() error { return os.RemoveAll(directory) })
	policy := filepath.Join(directory, "policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return fmt.Errorf("write the audit policy: %w", err)
	}
	s.cluster, err = harness.StartCluster(ctx, harness.ClusterOptions{Nodes: nodes, Arguments: []string{
		"--without-deployment-controller",
		// KWOK takes long to notice that the API server is back. Nodes must not fail over it.
		"--kube-controller-manager-flag=--node-monitor-grace-period=1h",
		"--kwok-flag=--node-lease-duration-seconds=3600",
		"--kube-apiserver-flag=--audit-policy-file=" + policy,
		"--kube-apiserver-flag=--audit-log-path=" + filepath.Join(directory, auditLog),
		"--kube-apiserver-flag=--audit-log-maxsize=100000", // MiB: one file is read at the end
	}})
	if err != nil {
		return err
	}
	s.cleanups.Add(s.cluster.Stop)
	if s.objects, err = dynamic.NewForConfig(s.cluster.Config()); err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	manifests, err := harness.Manifests("rbac.yaml", "rbac-deployment-engine.yaml", "rbac-namespaces.yaml", "admission-policy.yaml",
		"rbac-evict.yaml", "admission-policy-evict.yaml")
	if err != nil {
		return err
	}
	installation, err := s.cluster.Install(ctx, manifests)
	if err != nil {
		return err
	}
	s.proxy, err = faultproxy.Start(faultproxy.Options{Target: s.cluster.Config(), Seed: s.seed})
	if err != nil {
		return err
	}
	s.cleanups.Add(func() error { s.proxy.Close(); return nil })
	direct := installation.Kubeconfig
	installation.Kubeconfig = filepath.Join(directory, "kubeconfig")
	if err := s.proxy.WriteKubeconfig(direct, installation.Kubeconfig); err != nil {
		return err
	}
	s.account = "system:serviceaccount:" + installation.Namespace + ":" + installation.ServiceAccount
	s.replicas = &replicas{installation: installation, flags: []string{
		"--restart-grace-period", strconv.Itoa(int(grace.Seconds())), "--deployment-engine=on", "--namespace-annotations", "--evict", gadgetFlag, widgetFlag,
		"--restart-backoff-limit", backoffLimit.String(), "--leader-elect", "--controller-namespace", installation.Namespace,
		"--leader-elect-lease-duration", leaseDuration.String(), "--leader-elect-renew-deadline", "8s", "--leader-elect-retry-period", "1s",
		"--fan-out=gradual", "--restart-soak", restartSoak.String(), "--restart-deadline", restartDeadline.String(), "--fan-out-limit", strconv.Itoa(fanOutLimit),
	}}
	if err := s.defineGadgets(ctx); err != nil {
		return err
	}
	s.cleanups.Add(s.replicas.stop)
	s.cleanups.Add(func() error { s.proxy.Inject(nil); return nil }) // so that they can give back the lease
	return nil
}

// setUp makes the world and waits until the controllers have got it under control.
func (s *soak) setUp(ctx context.Context) error {
	random := rand.New(rand.NewPCG(s.seed, 0))
	s.world = newWorld(random, s.workloads)
	s.judge = newJudge(s.world, model.Options{Lag: lag, Stall: stall, Patience: patience, Gate: model.Gate{Limit: fanOutLimit, Deadline: restartDeadline},
		Budget: &model.Budget{Free: freeRestarts, Grace: grace, Limit: backoffLimit, Write: slowestWrite}})
	s.replicas.judge = s.judge
	s.breaker = newBreaker(s.cluster.Client())
	s.judge.breaker = s.breaker
	s.people = newPeople(s.cluster.Client(), s.judge, s.replicas.installation.Namespace, s.seed)
	s.driver = &driver{client: s.cluster.Client(), objects: s.objects, judge: s.judge, world: s.world, edits: map[string]int{}, breaker: s.breaker, people: s.people}
	s.saboteur = &saboteur{cluster: s.cluster, replicas: s.replicas, judge: s.judge, random: random, kills: map[string]int{}}
	s.tenant = newTenant(s.cluster.Client(), s.account, s.replicas.addresses)
	kept, stop := context.WithCancel(ctx)
	s.cleanups.Add(func() error { stop(); return nil })
	go s.saboteur.keepUp(kept)
	go s.breaker.work(kept)
	go s.people.watch(kept)
	go (&operator{client: s.cluster.Client(), objects: s.objects}).run(kept)
	s.observer = &observer{client: s.cluster.Client(), objects: s.objects, judge: s.judge, versions: map[string]int{}}
	if err := s.observer.observe(ctx); err != nil {
		return err
	}
	if err := s.replicas.start(ctx); err != nil {
		return err
	}
	s.printf("the cluster and two controllers run; creating %d workloads", s.workloads)
	limited, cancel := context.WithTimeout(ctx, setUpLimit)
	defer cancel()
	if err := s.driver.setUp(limited); err != nil {
		return err
	}
	if err := s.awaitRest(ctx, setUpLimit); err != nil {
		return err
	}
	s.firstLook = s.judge.restarts()
	var err error
	if s.atStart, err = measure(ctx, s.replicas.all()); err != nil {
		return err
	}
	go s.followMemory(kept)
	s.printf("everything runs; each controller uses at most %s", s.atStart)
	return nil
}

// disturb edits, injects and kills until the time is over.
func (s *soak) disturb(ctx context.Context) error {
	begin := time.Now()
	end := begin.Add(s.duration)
	s.disturbed = spell{begin, end}
	ctx, cancel := context.WithDeadline(ctx, end.Add(restLimit)) // to end what is begun
	defer cancel()
	disturbed, stop := context.WithDeadline(ctx, end)
	defer stop()
	s.saboteur.sparing = end.Add(-s.duration / 3)
	errs := make(chan error, 6)
	go func() { errs <- s.haunt(ctx, begin.Add(s.duration/3), begin.Add(s.duration*2/3)) }()
	go func() { errs <- s.driver.disturb(ctx, s.seed, end, s.rate) }()
	go func() { errs <- s.driver.spoilCrowd(ctx, rand.New(rand.NewPCG(s.seed, 4)), end) }()
	go func() { errs <- s.saboteur.work(disturbed, 7*time.Second) }()
	go func() { errs <- s.weather(ctx, disturbed) }()
	go func() { errs <- s.printProgress(disturbed, end) }()
	var all []error
	for range cap(errs) {
		err := <-errs
		if err != nil {
			cancel() // all of them, because the rest of a long soak would be useless
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// weather changes the faults while there are disturbances: everything a little, one kind hard, stalled
// watches that are cut after a while, fair. A truce is brought to its end.
func (s *soak) weather(ctx, disturbed context.Context) error {
	random := rand.New(rand.NewPCG(s.seed, 1))
	defer s.proxy.Inject(nil)
	kinds := faultproxy.Kinds()
	for truce := firstTruce(s.disturbed); disturbed.Err() == nil; {
		last := func(low, high time.Duration) { pause(disturbed, min(between(random, low, high), time.Until(truce))) }
		s.proxy.Inject(faultproxy.Everything(0.15))
		last(4*time.Second, 10*time.Second)
		kind := kinds[random.IntN(len(kinds))]
		s.judge.note("only faults of the kind " + string(kind))
		s.proxy.Inject(faultproxy.Mix{kind: 0.7})
		last(time.Second, 4*time.Second)
		s.proxy.Inject(nil)
		if s.proxy.Stalled() > 0 { // nobody else ends that within the time of a soak
			s.judge.note("connections are cut")
			s.proxy.Cut()
		}
		s.judge.note("no faults")
		if last(0, 4*time.Second); disturbed.Err() == nil && !time.Now().Before(truce) {
			for s.truce(ctx); !time.Now().Before(truce); { // a busy machine may take longer than to the next one
				truce = truce.Add(truceEvery)
			}
		}
	}
	return nil
}

func between(random *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(random.Float64()*float64(high-low))
}

// printProgress prints the state of the soak from time to time, because a soak can take hours.
func (s *soak) printProgress(ctx context.Context, end time.Time) error {
	interval := 15 * time.Second
	for pause(ctx, interval); ctx.Err() == nil; pause(ctx, interval) {
		interval = min(interval*3/2, 5*time.Minute)
		if err := s.alive(); err != nil {
			return err
		}
		s.printf("%d edits, %d restarts, %d faults, %d kills; %s to go",
			sum(s.driver.counts()), s.judge.restarts()-s.firstLook, sum(s.proxy.Injected()), sum(s.saboteur.counts()),
			time.Until(end).Round(time.Second))
	}
	return nil
}

func (s *soak) alive() error {
	select {
	case <-s.cluster.Exited():
		return fmt.Errorf("the local cluster ended by itself; the end of its output:\n%s", s.cluster.Output().Tail(20))
	default:
		return nil
	}
}

// conclude lets everything calm down and judges. What cannot be done any more is part of the
// verdict: a controller that is dead at the end, say.
func (s *soak) conclude(ctx context.Context) *report {
	s.judge.note("the disturbances end")
	s.proxy.Inject(nil)
	s.proxy.Cut()
	calm := time.Now()
	limited, cancel := context.WithTimeout(ctx, restLimit)
	defer cancel()
	s.people.hurry.Store(true)
	calmed := s.driver.calmDown(limited)
	restless := s.awaitRest(ctx, restLimit)
	s.printf("at rest after %s", time.Since(calm).Round(100*time.Millisecond))
	s.remembered.Wait()
	looked := s.lastLook(ctx)
	atEnd, measured := measure(ctx, s.replicas.all())
	r := s.report(atEnd)
	for _, err := range []error{calmed, looked, measured} {
		if err != nil {
			r.add("%v", err)
		}
	}
	if restless != nil {
		r.add("it does not come to rest: %v; %s", restless, s.unfinishedPods(ctx))
		r.logs = append(r.logs, "the first rollout that is not complete: "+s.unrest(ctx))
	}
	if measured == nil {
		if err := leaked(s.atStart, atEnd); err != nil {
			r.add("%v", err)
		}
	}
	s.judgeAudit(r)
	return r
}

func (s *soak) printf(format string, arguments ...any) {
	fmt.Fprintf(s.progress, "%7s  %s\n", time.Since(s.begin).Round(time.Second), fmt.Sprintf(format, arguments...))
}

func (s *saboteur) counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]int{}
	for what, count := range s.kills {
		counts[what] = count
	}
	return counts
}

func sum[K comparable](counts map[K]int) (total int) {
	for _, count := range counts {
		total += count
	}
	return total
}
