package deployment

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/brief"
	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/series"
	"kubernetes-deployment-restart-controller/watch"
)

// The reasons of Events about the probe.
const (
	reasonRival    = "RivalEngine"
	reasonTookOver = "TookOver"
)

// reasonForeignWrite is the reason of Events about Deployments whose status another field
// manager writes.
const reasonForeignWrite = "ForeignStatusWrite"

const (
	// probeTimeout limits the requests for a probe.
	probeTimeout = 10 * time.Second
	// farewellTimeout limits the last request of an engine that ends.
	farewellTimeout = 2 * time.Second
	// deafPause is how long to wait for broken watches before checking again.
	deafPause = time.Second
)

// lookout listens for rivals, and lets the engine drive Deployments only while there is no
// rival. It implements watch.Observer for the watch of the probe. Its methods may be called
// by several goroutines at once.
type lookout struct {
	prober prober
	events record.EventRecorder
	// writes counts the writes of others by their field manager, and alarms counts how often
	// a namespace has rested needlessly because of such a write.
	writes *series.Counter
	alarms prometheus.Counter
	log    *slog.Logger
	// drive and rest make the engine start and stop driving, everywhere. They do not block,
	// and are called one at a time.
	drive, rest func()
	// restIn makes the engine stop driving in a namespace, and resumeIn makes it start
	// again. They do not block either.
	restIn, resumeIn func(namespace string)
	// hearsSince returns since when all watches that the engine needs in order to drive have
	// worked, and seesSince since when the watch of the probe has worked; zero if one of
	// them does not work.
	hearsSince, seesSince func() time.Time
	// patience is how long a rival must be silent.
	patience func() time.Duration

	woken chan struct{}

	mu      sync.Mutex
	rivalry *rivalry // nil until the engine may drive
	rival   rival    // the rival that was heard last
	foreign rival    // the last one that wrote the status of another Deployment
	// token is the token of the probe that was made last, empty if there was no probe.
	// isShown means that the watch has reached that probe: what the watch showed earlier
	// existed before.
	token   string
	isShown bool
	present rollout.Meta // the probe that is in place
	made    types.UID    // the probe that this process made last
	problem error        // why no probe can be made, nil if the last attempt succeeded
}

// rival is another controller that drives Deployments, as identified by what was heard of
// it.
type rival struct {
	manager    string // the field manager
	deed       string
	deployment types.NamespacedName
	heard      time.Time
}

// What the engine can hear of others.
const (
	wroteStatus = "wrote the status of"
	replaced    = "of another process of this installation replaced"
)

func (r rival) String() string {
	return fmt.Sprintf("%s %s deployment %s", r.manager, r.deed, r.deployment)
}

// run decides whether the engine drives until the context ends. It may be called once.
func (l *lookout) run(ctx context.Context, isSpare bool) {
	l.begin(isSpare)
	for ctx.Err() == nil {
		step, due := l.next()
		switch step {
		case makeProbe:
			l.makeProbe(ctx)
		case takeOver:
			l.takeOver()
		case resume:
			l.resume()
		case holdOn:
			l.holdOn(ctx, due)
		}
	}
}

func (l *lookout) begin(isSpare bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rivalry = newRivalry(isSpare, time.Now(), l.patience())
	if isSpare {
		l.log.Info("standing by for another deployment controller", "takes_over_after", l.rivalry.patience.Round(time.Second).String())
	} else {
		l.log.Info("making sure that nobody else drives deployments")
	}
}

// hasBegun reports whether the engine may drive, as far as its own process is concerned.
func (l *lookout) hasBegun() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rivalry != nil
}

// next returns what to do now, and until when to wait. Silence counts only if a rival could
// have been heard all the time: a watch may have been broken and work again.
func (l *lookout) next() (step, time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	step, due := l.rivalry.next(now)
	var since time.Time
	switch step {
	case takeOver:
		since = l.hearsSince()
	case resume:
		since = l.seesSince()
	default:
		return step, due
	}
	if since.IsZero() {
		return holdOn, now.Add(deafPause)
	}
	l.rivalry.miss(since)
	return l.rivalry.next(now)
}

func (l *lookout) holdOn(ctx context.Context, due time.Time) {
	var expired <-chan time.Time
	if !due.IsZero() {
		timer := time.NewTimer(time.Until(due))
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-expired:
	case <-l.woken:
	case <-ctx.Done():
	}
}

// wake makes run check again what to do.
func (l *lookout) wake() {
	select {
	case l.woken <- struct{}{}:
	default: // it will check anyway
	}
}

// makeProbe makes a new probe. If that fails, it is tried again, and the engine does not
// begin to drive until it succeeds.
func (l *lookout) makeProbe(ctx context.Context) {
	token := string(uuid.NewUUID())
	l.mu.Lock()
	l.rivalry.begin(time.Now())
	l.token, l.isShown = token, false
	drives := l.rivalry.phase == driving
	l.mu.Unlock()

	bounded, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	made, err := l.prober.replace(bounded, token, drives)
	if ctx.Err() != nil && err != nil {
		return // the engine ends
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.made, l.problem = made, nil
		return
	case l.isShown:
		return // the probe exists, only the answer was lost
	}
	l.rivalry.fail(time.Now())
	level := slog.LevelWarn
	if l.problem != nil && l.problem.Error() == err.Error() {
		level = slog.LevelDebug // reported before
	}
	l.problem = err
	l.log.Log(ctx, level, "cannot make sure that nobody else drives deployments, trying again; see docs/engine.md for the rights that it takes", "error", err)
}

// takeOver makes the engine drive, unless a rival was heard just now.
func (l *lookout) takeOver() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if step, _ := l.rivalry.next(time.Now()); step != takeOver {
		return
	}
	stoodBy := l.rivalry.phase == standingBy
	l.rivalry.drive()
	l.rivalry.trust()
	for namespace := range l.rivalry.suspects {
		l.restIn(namespace)
	}
	l.drive()
	l.log.Info("driving deployments")
	if stoodBy {
		l.events.Eventf(l.reference(), corev1.EventTypeNormal, reasonTookOver, "drives Deployments: nobody else was heard for %s", silenceLimit)
	}
}

// resume makes the engine continue where it rests, unless a rival was heard just now.
func (l *lookout) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if step, _ := l.rivalry.next(time.Now()); step != resume {
		return
	}
	trusted := l.rivalry.trust()
	for _, namespace := range trusted {
		l.resumeIn(namespace)
	}
	l.alarms.Add(float64(len(trusted)))
	l.log.Info("driving deployments again where somebody else has written their status: nobody has answered the probe",
		"namespaces", len(trusted), "first", trusted[0], "last_write", l.foreign.String())
}

// heard takes in that another field manager has written the status of a Deployment. The
// engine rests in its namespace until it has made sure that the writer does not drive
// Deployments.
func (l *lookout) heard(d *rollout.Deployment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes.Inc(d.StatusBy.Manager)
	if l.rivalry == nil {
		return // the engine does not drive anyway
	}
	l.foreign = rival{manager: d.StatusBy.Manager, deed: wroteStatus, deployment: d.Key(), heard: time.Now()}
	if !l.rivalry.suspect(d.Namespace) || l.rivalry.phase != driving {
		return // it already rests there, or will rest there after it takes over, until it is sure
	}
	l.restIn(d.Namespace)
	l.log.Warn("resting in a namespace: somebody else has written the status of a deployment", "manager", d.StatusBy.Manager, "deployment", d.Key().String())
	l.events.Eventf(d.Reference(), corev1.EventTypeWarning, reasonForeignWrite,
		"%s wrote the status. The deployment engine rests in this namespace until it is sure that nobody else drives Deployments", d.StatusBy.Manager)
	l.wake()
}

// hear takes in that another controller drives Deployments. The engine stops immediately.
// Callers must hold the lock.
func (l *lookout) hear(manager, deed string, deployment types.NamespacedName) {
	if deed == wroteStatus {
		l.writes.Inc(manager)
	}
	now, patience := time.Now(), l.patience()
	l.rival = rival{manager: manager, deed: deed, deployment: deployment, heard: now}
	if l.rivalry.hear(now, patience) {
		l.rest()
		l.log.Warn("standing by: somebody else drives deployments", "manager", manager, "deployment", deployment.String(), "takes_over_after_silence_of", patience.Round(time.Second).String())
		l.events.Eventf(l.reference(), corev1.EventTypeWarning, reasonRival,
			"stands by and does not drive Deployments: %s. Takes over when nobody else was heard for %s", l.rival, silenceLimit)
	}
	l.wake()
}

func (l *lookout) reference() *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: rollout.DeploymentKind.GroupVersion().String(), Kind: rollout.DeploymentKind.Kind,
		Namespace: l.prober.namespace, Name: probeName, UID: l.present.UID, ResourceVersion: l.present.ResourceVersion,
	}
}

// Observe implements watch.Observer. A probe that the watch shows after this process' own
// probe is as good as that, whichever process made it: another process of this installation
// is asking too. A process that drives makes itself heard by replacing the probe with its
// own.
func (l *lookout) Observe(s *sighting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token == "" || !l.isShown && s.token != l.token {
		return
	}
	isOwn, isNew := s.token == l.token, l.present.UID != s.UID || l.rivalry.shown.IsZero()
	l.isShown, l.present = true, s.Meta
	if isOwn {
		l.made, l.problem = s.UID, nil // the answer that says so may have been lost
	}
	switch {
	case isNew && isOwn:
		l.rivalry.show(time.Now())
	case isNew:
		l.rivalry.displace(time.Now())
	}
	if isNew && !isOwn && s.isFromDriver {
		l.rivalry.answered = true
		l.hear(rollout.FieldManager, replaced, s.Key())
	}
	if s.isAnswered && !l.rivalry.answered {
		l.rivalry.answered = true
		l.hear(s.answer.Manager, wroteStatus, s.Key())
	}
	l.wake()
}

// Forget implements watch.Observer.
func (l *lookout) Forget(s *sighting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isShown && s.UID == l.present.UID {
		l.rivalry.lose(time.Now())
		l.wake()
	}
}

// Replace implements watch.Observer.
func (l *lookout) Replace(all []*sighting, _ string) {
	for _, s := range all {
		l.Observe(s)
	}
	if len(all) > 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isShown {
		l.rivalry.lose(time.Now())
		l.wake()
	}
}

// leave deletes the probe that this process made.
func (l *lookout) leave(ctx context.Context) {
	l.mu.Lock()
	made := l.made
	l.mu.Unlock()
	if made == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellTimeout)
	defer cancel()
	if err := l.prober.remove(ctx, made); err != nil {
		l.log.Warn("the probe is left behind", "error", err)
	}
}

// detail describes in one line what the engine is doing.
func (l *lookout) detail(leads bool, probes watch.Status) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var line strings.Builder
	line.WriteString("[+] deployment engine: ")
	switch {
	case l.rivalry == nil && leads:
		line.WriteString("waiting until its watches are synced")
	case l.rivalry == nil:
		line.WriteString("waiting to lead")
	case l.rivalry.phase == driving && len(l.rivalry.suspects) == 0:
		line.WriteString("driving deployments")
	case l.rivalry.phase == driving:
		fmt.Fprintf(&line, "driving deployments, but resting in %d namespaces; last %s at %s",
			len(l.rivalry.suspects), l.foreign, l.foreign.heard.UTC().Format(time.RFC3339))
	case l.rivalry.phase == makingSure:
		line.WriteString("making sure that nobody else drives deployments")
	case l.rival == rival{}:
		line.WriteString("standing by for another deployment controller")
	default:
		fmt.Fprintf(&line, "standing by, since %s at %s", l.rival, l.rival.heard.UTC().Format(time.RFC3339))
	}
	if l.problem != nil {
		fmt.Fprintf(&line, "; cannot make its probe: %s", brief.Text(l.problem.Error()))
	}
	if probes.Problem != nil {
		fmt.Fprintf(&line, "; cannot watch its probe: %s", brief.Text(probes.Problem.Error()))
	}
	return line.String()
}
