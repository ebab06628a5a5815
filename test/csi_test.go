package test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The driver rotates the files of one pod after the other.
func TestFilesThatTheDriverRotatesRestartTheirWorkloadOnce(t *testing.T) {
	s := newSceneApart(t)
	s.installDriver()
	s.startController("--csi", "--fan-out=gradual", "--restart-soak=1s")
	app, before := s.runMounting("app", "db", "v1", 2)
	other, otherBefore := s.runMounting("other", "db", "v1", 1)
	s.letTimePass()

	pods := s.mountIn(app, "db", "v1")
	resume, err := s.controller.Suspend() // so that both are seen within one grace period
	s.must(err)
	s.report(&pods[0], "db", "canary-2")
	s.report(&pods[1], "db", "canary-2")
	s.must(resume())
	after := s.awaitRestart(app, before)
	s.awaitEvent(app, "Restarting", "restarting: secretproviderclass db was rotated in running pods")
	s.mountIn(app, "db", "canary-2") // in the new pods
	s.settleMounts()
	s.requireRestarts(app, before, 1)
	s.requireRestarts(other, otherBefore, 0)

	s.mountIn(other, "db", "canary-2")
	s.awaitRestart(other, otherBefore)
	s.settleMounts()
	s.requireRestarts(app, after, 0)
	_, metrics, err := s.controller.Get(t.Context(), "/metrics")
	s.must(err)
	for where, text := range map[string]string{
		"the log": strings.Join(s.controller.Log().Containing(""), "\n"), "the metrics": metrics, "the workload": fmt.Sprint(s.now(app)),
	} {
		if strings.Contains(text, "canary-2") || strings.Contains(text, "secret/db") {
			t.Errorf("%s names objects or their versions", where)
		}
	}
}

func TestWhatIsNoRotationRestartsNothing(t *testing.T) {
	s := newSceneApart(t)
	s.installDriver()
	s.startController("--csi")
	app, before := s.runMounting("app", "db", "v1", 2)
	s.letTimePass()

	pods := s.mountIn(app, "db", "v1") // again, which writes nothing
	// It exists, or the garbage collector would delete its status.
	job, err := s.client.CoreV1().Pods(s.namespace).Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "job"}, Spec: podOf()}, metav1.CreateOptions{})
	s.must(err)
	s.report(job, "db", "v1")
	s.report(job, "db", "v2") // a pod of nobody
	s.must(s.client.CoreV1().Pods(s.namespace).Delete(t.Context(), pods[0].Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	if err := s.statuses().Delete(t.Context(), pods[0].Name+"-"+s.namespace+"-db", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		s.must(err) // otherwise the garbage collector was faster
	}
	for uid := range s.awaitPods(app, 2, map[types.UID]bool{pods[0].UID: true}) {
		if uid != pods[1].UID {
			s.reportUID(app, uid, "db", "v2") // a new pod has newer files
		}
	}
	s.settleMounts()
	s.requireRestarts(app, before, 0)
}

// reportUID is report of a pod of a workload with a UID.
func (s *scene) reportUID(w workload, uid types.UID, class, version string) {
	s.Helper()
	pods, err := s.podsOf(s.Context(), w)
	s.must(err)
	for i := range pods {
		if pods[i].UID == uid {
			s.report(&pods[i], class, version)
		}
	}
}

// The workload is recorded when the flag is given, and what was rotated before restarts nothing.
func TestTurningOnRotationsRestartsNothing(t *testing.T) {
	s := newSceneApart(t)
	s.installDriver()
	without := s.startController()
	app, before := s.runMounting("app", "db", "v1", 1)
	s.letTimePass()
	s.mountIn(app, "db", "v2")
	s.settle()
	s.requireRestarts(app, before, 0)
	if checksums, err := before.checksums(); err != nil || len(checksums) > 0 {
		t.Errorf("without the flag the record is %v: %v", checksums, err)
	}
	s.must(without.Stop())

	s.letTimePass()
	s.startController("--csi")
	const entry = "secretproviderclass/NAMESPACE/db"
	key := strings.ReplaceAll(entry, "NAMESPACE", s.namespace)
	recorded := s.await("is recorded with the class", app, func(st state) error {
		checksums, err := st.checksums()
		if err == nil && checksums[key] == "" {
			err = fmt.Errorf("the record is %v", checksums)
		}
		return err
	})
	s.settleMounts()
	s.requireRestarts(app, recorded, 0)
	s.mountIn(app, "db", "v3")
	s.awaitRestart(app, recorded)
}

// What the driver did while no controller ran is in the statuses that it left.
func TestAnotherControllerGoesOnWithRotations(t *testing.T) {
	s := newSceneApart(t)
	s.installDriver()
	first := s.startController("--csi")
	app, before := s.runMounting("app", "db", "v1", 2)
	s.must(first.Kill())
	s.letTimePass()
	pods := s.mountIn(app, "db", "v1")
	s.report(&pods[0], "db", "v2")
	s.letTimePass()

	second := s.startController("--csi")
	after := s.awaitRestart(app, before)
	s.must(second.Kill()) // the new pods have not been reported yet
	s.mountIn(app, "db", "v2")
	s.startController("--csi")
	s.settleMounts()
	s.requireRestarts(app, after, 0)
}

// A standby has seen the rotation that its leader did not live to act on, and finds what the leader has done.
func TestAStandbyGoesOnWithRotations(t *testing.T) {
	s := newSceneApart(t)
	s.installDriver()
	leader, standby := s.startReplicas(longLease, "--csi")
	app, before := s.runMounting("app", "db", "v1", 2)
	other, otherBefore := s.runMounting("other", "files", "v1", 1)
	s.letTimePass()
	s.mountIn(other, "files", "v2")
	otherAfter := s.awaitRestart(other, otherBefore)
	s.mountIn(app, "db", "v2")
	s.must(leader.Kill())
	s.expireLease()
	s.controller = standby
	s.awaitRestart(app, before)
	s.settleMounts()
	s.requireRestarts(app, before, 1)
	s.requireRestarts(other, otherAfter, 0)
}

// A driver that is not installed keeps nobody from restarting. What the manifest grants is used, and suffices.
func TestTheManifestOfRotationsGrantsWhatIsUsedAndNothingElse(t *testing.T) {
	s := newEngineSceneApart(t)
	manifests, home := s.manifestsApart("rbac-namespaced.yaml", "rbac-csi.yaml")
	var err error
	s.installation, err = s.cluster.Install(t.Context(), manifests)
	s.must(err)
	s.startController("--csi")
	s.awaitLine("not installed", podStatuses.resource)
	if _, body, err := s.controller.Get(t.Context(), "/readyz?verbose"); err != nil || !strings.Contains(body, "not installed, waiting for it") {
		t.Errorf("/readyz says %v\n%s", err, body)
	}
	s.make(settings, set("used", "v1"))
	app := s.runStateful("app", podWithClass("db", envFrom(settings)))
	s.awaitRollout(app)
	before := s.awaitRecorded(app)
	s.edit(settings, set("used", "v2"))
	before = s.awaitRestart(app, before)

	s.installDriver()
	s.mountIn(app, "db", "v1")
	s.await("is recorded with the class", app, func(st state) error {
		checksums, err := st.checksums()
		if err == nil && len(checksums) < 2 {
			err = fmt.Errorf("the record is %v", checksums)
		}
		return err
	})
	s.letTimePass()
	s.mountIn(app, "db", "v2")
	s.awaitRestart(app, before)
	s.requireUsed(s.namespace, home, s.rulesOf("rbac-csi.yaml"))
	for _, r := range s.requests(func(r *request) bool { return r.code == http.StatusForbidden }) {
		t.Errorf("lacks the permission to %s %s", r.verb, r.resource)
	}
}

// Who may write statuses can forge rotations of pods of somebody else, as fast as the API server lets them.
func TestForgedRotationsRestartNothingAndDelayNobody(t *testing.T) {
	s := newSceneApart(t)
	s.installDriver()
	s.namespace += "-his"
	s.makeNamespace(s.namespace)
	his := *s // the scene, seen from his namespace
	s.namespace = strings.TrimSuffix(s.namespace, "-his")
	web := configMap("web")
	s.make(web, set("a", "1"))
	app := s.run("app", podOf(envFrom(web)))
	s.startController("--csi", "--namespace", his.namespace)
	s.awaitRollout(app)
	before := s.awaitRecorded(app)
	reader, began := his.runMounting("reader", "db", "v1", 1)
	for i := range 20 {
		his.run(fmt.Sprint("another-", i), podWithClass("db"))
	}
	other := his.run("other", podOf())
	his.awaitRollout(other)
	pods, err := his.podsOf(t.Context(), other)
	s.must(err)

	stop := make(chan struct{})
	var rounds atomic.Int64
	var failed error
	var writing sync.WaitGroup
	writing.Go(func() {
		for ; failed == nil; rounds.Add(1) {
			for i := range 50 {
				select {
				case <-stop:
					return
				default:
					// With an owner that exists, or the garbage collector would delete them.
					failed = errors.Join(failed, his.tryReport(fmt.Sprint("forged-", i), &pods[0], "db", fmt.Sprint(rounds.Load())))
				}
			}
		}
	})
	for i := 0; i < 5 || rounds.Load() < 2 && i < 50; i++ { // a busy machine forges more slowly
		s.letTimePass()
		s.edit(web, set("a", fmt.Sprint("edited-", i)))
		before = s.awaitRestart(app, before)
	}
	close(stop)
	writing.Wait()
	if rounds.Load() < 2 || failed != nil {
		t.Errorf("%d rounds of rotations were forged: %v", rounds.Load(), failed)
	}
	last, lastBegan := his.runMounting("last", "db", "v1", 1)
	his.letTimePass()
	his.mountIn(last, "db", "v2")
	his.awaitRestart(last, lastBegan)
	his.requireRestarts(reader, began, 0)
}
