package test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"kubernetes-deployment-restart-controller/test/faultproxy"
)

// crowd is a number of workloads, each with a config of its own of the same name.
type crowd struct {
	s       *scene
	members []workload
	configs map[workload]config
	before  map[workload]state
}

// gather makes a crowd of Deployments; every third reads a Secret.
func (s *scene) gather(size int) *crowd {
	s.Helper()
	c := &crowd{s: s, configs: map[workload]config{}, before: map[workload]state{}}
	for i := range size {
		name := "app-" + strconv.Itoa(i)
		config := configMap(name)
		if i%3 == 2 {
			config = secret(name)
		}
		s.make(config, set("used", "v1"))
		w := s.run(name, podOf(envFrom(config)))
		c.members = append(c.members, w)
		c.configs[w] = config
	}
	return c
}

// note waits until all have been recorded, and remembers them as they are.
func (c *crowd) note() {
	c.s.Helper()
	for _, w := range c.members {
		c.before[w] = c.s.started(w)
	}
}

// edit changes the configs of the first members, and returns these.
func (c *crowd) edit(count int, value string) []workload {
	c.s.Helper()
	for _, w := range c.members[:count] {
		c.s.edit(c.configs[w], set("used", value))
	}
	return c.members[:count]
}

// requireRestartsOf waits until the edited ones have been restarted, and fails the
// test unless each of them restarted once, and no others did.
func (c *crowd) requireRestartsOf(edited []workload) {
	c.s.Helper()
	for _, w := range edited {
		c.s.awaitRestart(w, c.before[w])
	}
	c.s.settle()
	for w, before := range c.before {
		restarts := 0
		if slices.Contains(edited, w) {
			restarts = 1
		}
		c.s.requireRestarts(w, before, restarts)
	}
}

func TestAControllerThatIsKilledRightAfterEditsLosesNoEdit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		// dying returns when the controller is to be killed.
		dying func(*scene)
	}{
		{"at once", func(*scene) {}},
		{"within the grace period", func(s *scene) {
			s.eventually("the controller has changes waiting", func(ctx context.Context) error {
				waiting, err := s.controller.Metric(ctx, "changes_waiting_total", nil)
				if err == nil && waiting == 0 {
					err = fmt.Errorf("no change is waiting")
				}
				return err
			})
		}},
		{"while it patches", func(s *scene) {
			s.eventually("the controller has restarted something", func(ctx context.Context) error {
				restarts, err := s.controller.Metric(ctx, "deployment_restarts_total", nil)
				if err == nil && restarts == 0 {
					err = fmt.Errorf("nothing is restarted")
				}
				return err
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSceneApart(t)
			controller := s.startController()
			crowd := s.gather(12)
			crowd.note()
			s.eventually("the controller is idle", controller.Idle)
			edited := crowd.edit(9, "v2")
			c.dying(s)
			s.must(controller.Kill())
			s.startController()
			crowd.requireRestartsOf(edited)
		})
	}
}

func TestEditsWhileTheControllerIsDownRestartOnceAndNothingElse(t *testing.T) {
	s := newSceneApart(t)
	controller := s.startController()
	crowd := s.gather(12)
	crowd.note()
	s.must(controller.Stop())

	crowd.edit(3, "v2")
	edited := crowd.edit(6, "v3") // three of them for the second time
	for _, config := range crowd.configs {
		s.relabel(config, "seen", "by-nobody") // moves the version of every config
	}
	s.startController()
	crowd.requireRestartsOf(edited)
}

func TestAWorkloadWithoutARecordIsRestartedIfItsConfigChangedAfterItsPodsStarted(t *testing.T) {
	s := newSceneApart(t)
	s.make(settings, set("used", "v1"))
	s.make(credentials, set("used", "v1"))
	stale := []workload{
		s.run("app", podOf(envFrom(settings))),
		s.run("files", withVolumes(podOf(mount("files")), volumeOf("files", settings))),
		s.runStateful("stateful", podOf(envFrom(settings))),
		s.runDaemons("daemons", podOf(envFrom(settings))),
	}
	fresh := s.run("fresh", podOf(envFrom(credentials)))
	for _, w := range append(stale, fresh) {
		s.awaitRollout(w)
	}
	s.letTimePass()
	s.edit(settings, set("used", "v2"))
	before := map[workload]state{}
	for _, w := range stale {
		before[w] = s.now(w)
	}
	s.startController()
	for _, w := range stale {
		s.awaitRestart(w, before[w])
	}
	s.started(fresh)
	s.settle()
	for _, w := range stale {
		s.requireRestarts(w, before[w], 1)
	}
	s.started(fresh)
}

// The first start on a cluster that has been in use: the pods run with what the
// configs hold, whenever these were edited.
func TestTheFirstStartRestartsNothingThatHasSeenItsConfigs(t *testing.T) {
	s := newSceneApart(t)
	s.make(settings, set("used", "v1"))
	s.make(credentials, set("used", "v1"))
	s.letTimePass()
	s.edit(settings, set("used", "v2"))
	s.edit(credentials, set("used", "v2"), set("new", "v1"))
	s.letTimePass()
	pod := podOf(envFrom(settings), envFrom(credentials))
	crowd := []workload{s.runStateful("stateful", pod), s.runDaemons("daemons", pod)}
	for i := range 20 {
		crowd = append(crowd, s.run("app-"+strconv.Itoa(i), pod))
	}
	for _, w := range crowd {
		s.awaitRollout(w)
	}
	s.relabel(settings, "seen", "by-nobody")
	s.startController()
	for _, w := range crowd {
		s.started(w)
	}
	s.settle()
	for _, w := range crowd {
		s.started(w)
		s.requireRevisions(w, 1)
	}
}

func TestAControllerThatStartsAgainWithNothingChangedWritesNothing(t *testing.T) {
	s := newSceneApart(t)
	controller := s.startController()
	crowd := s.gather(6)
	s.make(settings, set("used", "v1"))
	s.runStateful("stateful", podOf(envFrom(settings)))
	s.runDaemons("daemons", podOf(envFrom(settings)))
	s.started(statefulSet("stateful"))
	s.started(daemonSet("daemons"))
	crowd.note()
	crowd.requireRestartsOf(crowd.edit(3, "v2"))
	s.must(controller.Stop())
	before := s.versions()

	controller = s.startController()
	s.eventually("the controller has looked at all workloads", func(ctx context.Context) error {
		decisions, err := controller.Metric(ctx, "decisions_total", nil)
		if err == nil && decisions < 9 { // 6, 2 and the marker
			err = fmt.Errorf("%v decisions", decisions)
		}
		return err
	})
	s.eventually("the controller is idle", controller.Idle)
	s.must(controller.Stop()) // whatever it was about to write is written now
	if diff := cmp.Diff(before, s.versions()); diff != "" {
		t.Errorf("resource versions (-before +after):\n%s", diff)
	}
}

// versions returns the resource version of everything in the namespace that the
// controller could have written to or caused to be written.
func (s *scene) versions() map[string]string {
	s.Helper()
	client, err := metadata.NewForConfig(s.cluster.Config())
	s.must(err)
	versions := map[string]string{}
	for resource, selector := range map[schema.GroupVersionResource]string{
		appsv1.SchemeGroupVersion.WithResource("deployments"):  "",
		appsv1.SchemeGroupVersion.WithResource("statefulsets"): "",
		appsv1.SchemeGroupVersion.WithResource("daemonsets"):   "",
		corev1.SchemeGroupVersion.WithResource("configmaps"):   "",
		corev1.SchemeGroupVersion.WithResource("secrets"):      "",
		corev1.SchemeGroupVersion.WithResource("pods"):         "status.phase=Running",
	} {
		list, err := client.Resource(resource).Namespace(s.namespace).List(s.Context(), metav1.ListOptions{FieldSelector: selector})
		s.must(err)
		for i := range list.Items {
			if object := &list.Items[i]; object.DeletionTimestamp == nil {
				versions[resource.Resource+" "+object.Name] = object.ResourceVersion
			}
		}
	}
	return versions
}

// The retry of a patch that was carried out finds the workload changed, by that very patch.
func TestAWriteWhoseAnswerIsLostIsReportedOnce(t *testing.T) {
	s := newSceneApart(t)
	proxy := s.startProxySparing(func(r *http.Request) bool {
		return r.Method != http.MethodPatch || !strings.HasSuffix(r.URL.Path, "/deployments/app")
	})
	s.startController()
	loseAnswer := func() {
		lost := proxy.Injected()[faultproxy.ResetAfter]
		proxy.Inject(faultproxy.Mix{faultproxy.ResetAfter: 1})
		s.eventually("an answer is lost", func(context.Context) error {
			if proxy.Injected()[faultproxy.ResetAfter] == lost {
				return errors.New("none is")
			}
			return nil
		})
		proxy.Inject(nil)
	}
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)))
	loseAnswer()
	before := s.started(app)
	s.edit(settings, set("used", "v2"))
	loseAnswer()
	s.awaitRestart(app, before)
	s.settle()
	s.requireRestarts(app, before, 1)
	s.awaitRestartEvent(app, "restarting: configmap settings changed (keys: used)")
	for _, line := range []string{"msg=recorded", "msg=restarted"} {
		if lines := s.controller.Log().Containing(line, "deployment/"+s.namespace+"/app "); len(lines) != 1 {
			t.Errorf("%s is %d times in the log: %q", line, len(lines), lines)
		}
	}
}
