package test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/test/faultproxy"
)

// ended is how a run of the plugin has ended.
type ended struct {
	code   int
	output string
	err    error
}

// startWait runs kubectl restarts wait for the Secret beside the test.
func (s *scene) startWait(arguments ...string) <-chan ended {
	end := make(chan ended, 1)
	all := append([]string{"wait", "secret/" + credentials.name, "--interval=1s", "--namespace=" + s.namespace}, arguments...)
	go func() {
		code, stdout, stderr, err := s.cluster.RunPlugin(s.Context(), all...)
		end <- ended{code, stdout + stderr, err}
	}()
	return end
}

// awaitWait waits until it has ended with the exit code, after each attempt to make it end, and checks that it shows nothing of the
// Secret.
func (s *scene) awaitWait(end <-chan ended, exitCode int, attempt func()) (output string) {
	s.Helper()
	s.eventually("the wait ends", func(context.Context) error {
		select {
		case e := <-end:
			s.must(e.err)
			if output = e.output; e.code != exitCode || strings.Contains(output, "swordfish") {
				s.Fatalf("the wait ends with %d, want %d:\n%s", e.code, exitCode, output)
			}
			return nil
		default:
			attempt()
			return errors.New("it goes on")
		}
	})
	return output
}

// wait is kubectl restarts wait for the Secret, which must end with the exit code and say all of this.
func (s *scene) wait(exitCode int, says []string, arguments ...string) {
	s.Helper()
	output := s.awaitWait(s.startWait(arguments...), exitCode, func() {})
	for _, want := range says {
		if !strings.Contains(output, want) {
			s.Errorf("kubectl restarts wait %v says\n%s\nwithout %q", arguments, output, want)
		}
	}
}

// mayOnlyWait returns the flag that makes the plugin act as a user who may get Secrets and list pods and workloads, and nothing else.
func (s *scene) mayOnlyWait() string {
	s.Helper()
	return s.mayOnly("may-only-wait",
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments", "statefulsets", "daemonsets"}, Verbs: []string{"list"}})
}

func TestAWaitEndsWhenThePodsAreGoneThatHaveReadAnEarlierContent(t *testing.T) {
	s := newSceneApart(t)
	s.startController("--status-address=127.0.0.1:0")
	leader := "--status-url=http://" + s.controller.StatusAddress()
	s.make(credentials, set("swordfish-key", "swordfish-1"))
	web := s.run("web", podOf(envFrom(credentials)), lingering, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(2)) })
	before := s.started(web)
	s.letTimePass()
	s.wait(0, []string{"Delivered: 2 pods read it, and no running pod has read an earlier content of secret/credentials."}, leader)
	old, err := s.podsOf(t.Context(), web)
	s.must(err)

	s.edit(credentials, set("swordfish-key", "swordfish-2"))
	end := s.startWait(leader)
	s.awaitRestart(web, before)
	s.wait(3, []string{"Not delivered within 1s: 2 of 4 pods may have read", "deployment/web, 2 pods left: they terminate, such as web-", ", which has the finalizer test/lingers. Try: kubectl describe -n " + s.namespace + " pod/web-"}, leader, "--timeout=1s")
	s.requireRunning(end)
	s.takeFinalizers(web)
	s.awaitWait(end, 0, func() {})
	pods, err := s.client.CoreV1().Pods(s.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + web.name})
	s.must(err)
	for i := range pods.Items {
		for j := range old {
			if pods.Items[i].UID == old[j].UID {
				t.Errorf("pod %s is left", old[j].Name)
			}
		}
	}

	as := s.mayOnlyWait()
	s.wait(0, []string{"Delivered: 2 pods read it"}, "--leader=false", as)
	s.wait(1, []string{"you need permission to get what you wait for"}, "--leader=false", "--as=nobody")
}

// Anybody may make a ReplicaSet that is named like those of a Deployment.
func TestAWaitDoesNotTakeAStrangersPodsForThoseOfADeployment(t *testing.T) {
	s := newSceneApart(t)
	s.startController("--status-address=127.0.0.1:0")
	s.make(credentials, set("swordfish-key", "swordfish-1"))
	web := s.run("web", podOf(envFrom(credentials)))
	s.awaitRollout(web)
	labels := map[string]string{"app": "stranger", "pod-template-hash": "abc123"}
	_, err := s.client.AppsV1().ReplicaSets(s.namespace).Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web-abc123"},
		Spec: appsv1.ReplicaSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podOf(envFrom(credentials))},
		},
	}, metav1.CreateOptions{})
	s.must(err)
	s.eventually("the stranger's pod runs", func(ctx context.Context) error {
		set, err := s.client.AppsV1().ReplicaSets(s.namespace).Get(ctx, "web-abc123", metav1.GetOptions{})
		if err == nil && set.Status.ReadyReplicas == 0 {
			err = errors.New("it does not")
		}
		return err
	})
	s.letTimePass()
	s.edit(credentials, label("team", "web")) // which has the date of an edit
	s.wait(2, []string{"Not delivered: 1 of 2 pods may have read", "replicaset/web-abc123, 1 pod left: it is no workload that the controller knows\n"}, "--status-url=http://"+s.controller.StatusAddress())
}

// What a leader does not list says nothing if it does not watch the namespace or the kind of config, and all if it has seen the Secret.
func TestTheWordOfALeaderCountsOnlyIfItWatchesTheSecret(t *testing.T) {
	s := newSceneApart(t)
	s.make(credentials, set("swordfish-key", "swordfish-1"))
	web := s.run("web", podOf(envFrom(credentials)))
	s.awaitRollout(web)
	s.letTimePass()
	s.edit(credentials, set("swordfish-key", "swordfish-2"))
	for _, blind := range [][]string{{"--namespace=default"}, {"--namespace=" + s.namespace, "--configs=configmaps"}} {
		c := s.startControllerForAll(append(blind, "--status-address=127.0.0.1:0")...)
		s.wait(2, []string{"deployment/web, 1 pod left: the leader does not watch it, or not what it reads. Try: kubectl rollout restart -n " + s.namespace + " deployment/web\n"}, "--status-url=http://"+c.StatusAddress())
		s.must(c.Stop())
	}

	c := s.startController("--status-address=127.0.0.1:0")
	leader := "--status-url=http://" + c.StatusAddress()
	s.wait(0, []string{"Delivered: 1 pod reads it"}, leader)
	s.letTimePass()
	s.edit(credentials, label("team", "web")) // which has the date of an edit
	s.wait(3, []string{"deployment/web, 1 pod left: "}, "--leader=false", "--timeout=1s")
	s.wait(0, []string{"Delivered: 1 pod reads it"}, leader)
}

// To such a leader, its watches seem to work.
func TestTheWordOfALeaderThatIsCutOffCountsWhenItHasSeenTheSecret(t *testing.T) {
	s := newSceneApart(t)
	proxy := s.startProxyWith(faultproxy.Options{WatchLife: time.Second})
	s.startController("--status-address=127.0.0.1:0")
	leader := "--status-url=http://" + s.controller.StatusAddress()
	s.make(credentials, set("swordfish-key", "swordfish-1"))
	web := s.run("web", podOf(envFrom(credentials)))
	s.started(web)
	proxy.Inject(faultproxy.Mix{faultproxy.StallWatch: 1})
	s.eventually("all watches stall", func(context.Context) error {
		if stalled := proxy.Stalled(); stalled < 5 { // of Deployments, StatefulSets, DaemonSets, ConfigMaps and Secrets
			return fmt.Errorf("%d do", stalled)
		}
		return nil
	})
	s.letTimePass()
	s.edit(credentials, label("team", "web")) // which has the date of an edit
	s.wait(3, []string{"deployment/web, 1 pod left: nothing shows yet that it restarts\n"}, leader, "--timeout=15s")
	proxy.Inject(nil)
	proxy.Cut()
	s.wait(0, []string{"Delivered: 1 pod reads it"}, leader)
}

func TestAWaitEndsWhereNobodyRestartsAPod(t *testing.T) {
	s := newScene(t)
	s.make(credentials, set("swordfish-key", "swordfish-1"))
	web := s.run("web", podOf(envFrom(credentials)))
	batch := s.run("batch", podOf(envFrom(credentials)), notEnabled)
	before := s.started(web)
	s.awaitRollout(batch)
	s.letTimePass()

	s.edit(credentials, set("swordfish-key", "swordfish-2"))
	s.wait(2, []string{"deployment/batch, 1 pod left: not enabled: ", "Try: kubectl rollout restart -n " + s.namespace + " deployment/batch\n"})
	s.awaitRestart(web, before)
	s.wait(0, []string{"Delivered: 1 pod reads it, and no pod that the controller restarts has read"}, "--enabled-only")
	s.restartByHand(batch)
	s.wait(0, []string{"Delivered: 2 pods read it"})

	s.annotate(web, holdAnnotation, "migration")
	s.letTimePass()
	s.edit(credentials, set("swordfish-key", "swordfish-3"))
	s.wait(2, []string{"deployment/web, 1 pod left: held: the workload is held: migration. Try: kubectl restarts explain -n " + s.namespace + " deployment/web\n"}, "--enabled-only")

	edits := 3
	output := s.awaitWait(s.startWait("--keep-waiting"), 2, func() {
		edits++
		s.edit(credentials, set("swordfish-key", fmt.Sprint("swordfish-", edits)))
	})
	if !strings.Contains(output, ", during the wait: what it waited for is not there any more. With --latest, it waits for what is\n") {
		t.Errorf("an edit during the wait ends it without saying so:\n%s", output)
	}
}

// notEnabled makes a Deployment one that only people restart.
func notEnabled(d *appsv1.Deployment) { d.Annotations = nil }

// restartByHand does what kubectl rollout restart does.
func (s *scene) restartByHand(w workload) {
	s.Helper()
	s.patch(w, `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`)
	s.awaitRollout(w)
}

// requireRunning ends the test if a wait has ended.
func (s *scene) requireRunning(end <-chan ended) {
	s.Helper()
	select {
	case e := <-end:
		s.Fatalf("it has ended although pods are left:\n%s", e.output)
	default:
	}
}

// The API server dates the write that brings a content back, and pods may have started with another one meanwhile.
func TestAContentThatCameAndWentIsSeenByItsDate(t *testing.T) {
	s := newScene(t)
	s.make(credentials, set("swordfish-key", "swordfish-1"))
	early := s.run("early", podOf(envFrom(credentials)), notEnabled)
	s.awaitRollout(early)
	s.letTimePass()
	s.wait(0, []string{"Delivered: 1 pod reads it"})

	s.edit(credentials, set("swordfish-key", "swordfish-2"))
	s.letTimePass()
	late := s.run("late", podOf(envFrom(credentials)), notEnabled)
	s.awaitRollout(late)
	s.letTimePass()
	s.edit(credentials, set("swordfish-key", "swordfish-1"))
	s.letTimePass()
	s.restartByHand(early)
	s.wait(2, []string{"Not delivered: 1 of 2 pods may have read", "  deployment/late, 1 pod left: not enabled: "})
	s.restartByHand(late)
	s.wait(0, []string{"Delivered: 2 pods read it"})
}

func TestAWaitOutlastsATakeoverAndCountsAWorkloadThatIsMadeMeanwhile(t *testing.T) {
	s := newSceneApart(t)
	leader, standby := s.startReplicas(longLease, "--status-address=127.0.0.1:0")
	s.make(credentials, set("swordfish-key", "swordfish-1"))
	web := s.run("web", podOf(envFrom(credentials)))
	before := s.started(web)
	s.letTimePass()
	s.must(leader.Kill())
	s.edit(credentials, set("swordfish-key", "swordfish-2"))
	s.letTimePass()
	end := s.startWait("--status-url=http://" + standby.StatusAddress())
	late := s.run("late", podOf(envFrom(credentials)), notEnabled)
	s.awaitRollout(late)
	s.wait(3, []string{"1 of 2 pods may have read", "deployment/web, 1 pod left: "}, "--timeout=3s", "--status-url=http://"+standby.StatusAddress())
	s.requireRunning(end)

	s.controller = standby
	s.expireLease()
	output := s.awaitWait(end, 0, func() {})
	if s.awaitRestart(web, before); !strings.Contains(output, "Delivered: 2 pods read it") {
		t.Errorf("it ends with\n%s", output)
	}
}

func TestAWaitEndsAtAHalt(t *testing.T) {
	s := newSceneApart(t)
	_, broken, heal := s.runHalted(3)
	wait := []string{"wait", settings.kind + "/" + settings.name, "--interval=1s", "--leader=false"}
	stdout, _ := s.plugin(2, wait...)
	if !strings.Contains(stdout, "  deployment/"+broken.name+", 1 pod left: failed: ") || strings.Count(stdout, ", 1 pod left: held: configmap/settings is halted. Try: ") != 2 {
		t.Errorf("it ends with\n%s", stdout)
	}
	heal()
	s.edit(settings, set("used", "good"))
	s.plugin(0, wait...)
}
