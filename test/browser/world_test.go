package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/test/harness"
)

// world is a local cluster with two replicas of the controller, of which one leads.
type world struct {
	*testing.T
	cluster         *harness.Cluster
	leader, standby *harness.Controller
}

// controllerFlags make the story short. A Deployment that has no deadline of its own keeps the longer one of Kubernetes.
var controllerFlags = []string{
	"--deployment-engine=on", "--fan-out=gradual", "--restart-grace-period=1", "--restart-soak=1s", "--restart-deadline=5s",
	"--status-address=127.0.0.1:0", "--leader-elect", "--leader-elect-retry-period=250ms",
}

// openWorld starts a cluster where all Deployments of the manifests run.
func openWorld(t *testing.T, manifests string) *world {
	t.Helper()
	w := &world{T: t}
	var err error
	w.cluster, err = harness.StartCluster(t.Context(), harness.ClusterOptions{Arguments: []string{"--without-deployment-controller"}})
	w.must(err)
	w.onEnd(w.cluster.Stop)
	permissions, err := harness.Manifests("rbac.yaml", "rbac-deployment-engine.yaml")
	w.must(err)
	installation, err := w.cluster.Install(t.Context(), permissions)
	w.must(err)
	replicas := make([]*harness.Controller, 2)
	for i := range replicas {
		replicas[i], err = installation.StartController(t.Context(), controllerFlags...)
		w.must(err)
		w.onEnd(replicas[i].Stop)
	}
	w.findLeader(replicas)
	_, err = w.cluster.Apply(t.Context(), []byte(manifests))
	w.must(err)
	w.kubectl("wait", "deployments", "--selector=app", "--all-namespaces", "--for=condition=Available", "--timeout="+waitLimit.String())
	w.must(w.leader.Idle(t.Context()))
	return w
}

func (w *world) findLeader(replicas []*harness.Controller) {
	w.Helper()
	w.eventually("one of the replicas leads", func(ctx context.Context) error {
		for i, replica := range replicas {
			if leads, err := replica.Metric(ctx, "leader", nil); err != nil {
				return err
			} else if leads == 1 {
				w.leader, w.standby = replica, replicas[1-i]
				return nil
			}
		}
		return errors.New("none leads")
	})
	w.must(w.leader.AwaitDriving(w.Context(), waitLimit))
}

// deployments returns the manifests of a namespace with Deployments.
func deployments(namespace, config string, spec string, names ...string) string {
	manifests := fmt.Sprintf("---\n{apiVersion: v1, kind: Namespace, metadata: {name: %s}}\n---\n%s\n", namespace, config)
	for _, name := range names {
		manifests += fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: %[2]s, labels: {app: %[1]s}, annotations: {com.xing.deployment-restart: enabled}}
spec:
  selector: {matchLabels: {app: %[1]s}}
%[3]s
`, name, namespace, strings.ReplaceAll(strings.Trim(spec, "\n"), "NAME", name))
	}
	return manifests
}

// breakPods makes all pods of a namespace crash that start after a restart.
func (w *world) breakPods(namespace string) {
	w.Helper()
	heal, err := harness.CrashPods(w.Context(), w.cluster.Client(), namespace, func(pod *corev1.Pod) bool {
		return pod.Annotations["com.xing.deployment-restart.timestamp"] != ""
	})
	w.must(err)
	w.onEnd(heal)
}

func (w *world) kubectl(arguments ...string) {
	w.Helper()
	_, err := w.cluster.Kubectl(w.Context(), arguments...)
	w.must(err)
}

// overview returns what the leader shows.
func (w *world) overview(ctx context.Context) (o status.Overview, err error) {
	code, body, err := w.leader.GetStatus(ctx, "/status.json")
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("status: %d", code)
	}
	if err == nil {
		err = json.Unmarshal([]byte(body), &o)
	}
	return o, err
}

func (w *world) eventually(what string, condition func(context.Context) error) {
	w.Helper()
	if err := harness.Eventually(w.Context(), waitLimit, condition); err != nil {
		w.Fatalf("%s: %v", what, err)
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) onEnd(end func() error) {
	w.Cleanup(func() {
		if err := end(); err != nil {
			w.Error(err)
		}
	})
}
