package gitops

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kubernetes-deployment-restart-controller/test/harness"
)

const (
	waitLimit           = 2 * time.Minute
	timestampAnnotation = "com.xing.deployment-restart.timestamp"
)

// web restarts before the others, and fails soon if its pods do not run.
const manifests = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {used: v1}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  annotations: {com.xing.deployment-restart: enabled, com.xing.deployment-restart.wave: "-1"}
spec:
  progressDeadlineSeconds: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: example/main:1, envFrom: [{configMapRef: {name: settings}}]}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store, namespace: shop, annotations: {com.xing.deployment-restart: enabled}}
spec:
  selector: {matchLabels: {app: store}}
  template: {metadata: {labels: {app: store}}, spec: {containers: [{name: main, image: example/main:1, envFrom: [{configMapRef: {name: settings}}]}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: shop, annotations: {com.xing.deployment-restart: enabled}}
spec:
  selector: {matchLabels: {app: agent}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: main, image: example/main:1, envFrom: [{configMapRef: {name: settings}}]}]}}
`

var everything = []string{"deployment/web", "statefulset/store", "daemonset/agent"}

// world is a local cluster with a controller, and the tools that check the health of its workloads.
type world struct {
	*testing.T
	cluster *harness.Cluster
	argo    argoCD
	flux    flux
}

func openWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, argo: newArgoCD(t), flux: newFlux(t)}
	var err error
	w.cluster, err = harness.StartCluster(t.Context(), harness.ClusterOptions{})
	w.must(err)
	w.onEnd(w.cluster.Stop)
	permissions, err := harness.Manifests("rbac.yaml")
	w.must(err)
	installation, err := w.cluster.Install(t.Context(), permissions)
	w.must(err)
	controller, err := installation.StartController(t.Context(), "--fan-out=gradual", "--restart-grace-period=1", "--restart-soak=1s", "--restart-deadline=5s")
	w.must(err)
	w.onEnd(controller.Stop)
	_, err = w.cluster.Apply(t.Context(), []byte(manifests))
	w.must(err)
	return w
}

func TestAWorkloadIsHealthyAgainWhenItsRestartDoesNotWaitAnyMore(t *testing.T) {
	w := openWorld(t)
	w.await("Healthy", status.CurrentStatus, everything...)
	w.awaitRecords()

	w.kubectl("annotate", "configmap/settings", "com.xing.deployment-restart.hold=migration")
	w.edit("v2")
	w.await("Progressing", status.InProgressStatus, everything...)
	for _, name := range everything {
		if own, err := status.Compute(w.get(t.Context(), name)); err != nil || own.Status != status.CurrentStatus {
			t.Errorf("%s: without the mark, it is %v, %v", name, own, err)
		}
	}
	w.edit("v1")
	w.await("Healthy", status.CurrentStatus, everything...)

	w.edit("v3")
	w.await("Progressing", status.InProgressStatus, everything...)
	w.kubectl("annotate", "--overwrite", "deployment/web", enabledAnnotation+"=disabled")
	w.await("Healthy", status.CurrentStatus, "deployment/web")
	w.kubectl("annotate", "--overwrite", "deployment/web", enabledAnnotation+"=enabled")
	w.await("Progressing", status.InProgressStatus, "deployment/web")

	w.kubectl("annotate", "configmap/settings", "com.xing.deployment-restart.hold-")
	w.await("Healthy", status.CurrentStatus, everything...)
	for _, name := range everything {
		if w.timestamp(name) == "" {
			t.Errorf("%s is healthy before its restart", name)
		}
	}
}

func TestTheReadersOfAContentThatBreaksOneAreNotHealthyBeforeItIsReverted(t *testing.T) {
	w := openWorld(t)
	w.await("Healthy", status.CurrentStatus, everything...)
	w.awaitRecords()

	heal, err := harness.CrashPods(t.Context(), w.cluster.Client(), "shop", func(pod *corev1.Pod) bool { return pod.Annotations[timestampAnnotation] != "" })
	w.must(err)
	w.edit("bad")
	w.await("Degraded", status.FailedStatus, "deployment/web")
	w.await("Progressing", status.InProgressStatus, "statefulset/store", "daemonset/agent")
	if w.timestamp("statefulset/store") != "" || w.timestamp("daemonset/agent") != "" {
		t.Error("others have restarted, too")
	}

	w.must(heal())
	w.edit("v1")
	w.await("Healthy", status.CurrentStatus, everything...)
}

// await waits until Argo CD and Flux say this of all the workloads.
func (w *world) await(argo string, flux status.Status, names ...string) {
	w.Helper()
	w.eventually(fmt.Sprintf("%v are %s", names, argo), func(ctx context.Context) error {
		for _, name := range names {
			object := w.get(ctx, name)
			byArgo, err := w.argo.health(object)
			if err != nil {
				return harness.Final(err)
			}
			byFlux, err := w.flux.health(ctx, object)
			if err != nil {
				return harness.Final(err)
			}
			if byArgo != argo || byFlux != flux.String() {
				return fmt.Errorf("%s is %s and %s, with %s and %v", name, byArgo, byFlux, object.GetAnnotations()[basisAnnotation], object.Object["status"])
			}
		}
		return nil
	})
}

// awaitRecords waits until all have a record, and their pods are so old that clocks tell which content they have read.
func (w *world) awaitRecords() {
	w.Helper()
	w.eventually("all have a record", func(ctx context.Context) error {
		for _, name := range everything {
			if w.get(ctx, name).GetAnnotations()[basisAnnotation] == "" {
				return fmt.Errorf("%s has none", name)
			}
		}
		pods, err := w.cluster.Client().CoreV1().Pods("shop").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range pods.Items {
			for _, container := range pods.Items[i].Status.ContainerStatuses {
				if started := container.State.Running; started == nil || time.Since(started.StartedAt.Time) < 3*time.Second {
					return fmt.Errorf("pod %s has just started", pods.Items[i].Name)
				}
			}
		}
		return nil
	})
}

func (w *world) get(ctx context.Context, name string) *unstructured.Unstructured {
	w.Helper()
	output, err := w.cluster.Kubectl(ctx, "get", "--namespace=shop", name, "--output=json")
	w.must(err)
	object := &unstructured.Unstructured{}
	w.must(object.UnmarshalJSON([]byte(output)))
	return object
}

// timestamp returns when a workload was restarted last, empty if it was not.
func (w *world) timestamp(name string) string {
	w.Helper()
	timestamp, _, err := unstructured.NestedString(w.get(w.Context(), name).Object, "spec", "template", "metadata", "annotations", timestampAnnotation)
	w.must(err)
	return timestamp
}

func (w *world) edit(value string) {
	w.Helper()
	w.kubectl("patch", "configmap/settings", "--type=merge", `--patch={"data":{"used":"`+value+`"}}`)
}

func (w *world) kubectl(arguments ...string) {
	w.Helper()
	_, err := w.cluster.Kubectl(w.Context(), append(arguments, "--namespace=shop")...)
	w.must(err)
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
