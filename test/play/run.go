package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	catalogannotation "kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/test/harness"
)

const welcome = `
Kubernetes, the controller and two Deployments that read the ConfigMap web-config are running.
Look at what is under way, in a browser: http://%[4]s/config/configmap/default/web-config

Type this in another terminal (in %[1]s):

    export KUBECONFIG=$PWD/%[2]s/kubeconfig PATH=$PWD/bin:$PATH
    alias k="localcluster kubectl"               # make run has built the plugin, too: k restarts --help

An edit restarts first one Deployment, then the other:

    k restarts impact configmap/web-config --key=GREETING
    k patch configmap web-config --type merge -p '{"data":{"GREETING":"good morning"}}'
    export URL=--status-url=http://%[4]s         # in a cluster, the plugin finds the leader by itself
    k restarts wait configmap/web-config $URL    # until no pod has read the earlier content
    k restarts explain deployment/web $URL

With the greeting "broken", the simulated pods crash (they have no logs). One Deployment restarts, and the halt spares the
other:

    k patch configmap web-config --type merge -p '{"data":{"GREETING":"broken"}}'
    k restarts status $URL                       # again after 20 seconds, or with --watch

If the content is right after all, resume with the id that status shows:

    k restarts resume configmap/web-config ID

If it is not, revert it:

    k patch configmap web-config --type merge -p '{"data":{"GREETING":"good evening"}}'

This cluster's kube-controller-manager runs without its deployment controller. What drives the Deployments is the
deployment engine in the same process:

    k rollout status deployment/web              # also: rollout history, undo, restart, pause, resume
    k set image deployment/web web=nginx:1.30
    k restarts history deployment/web

    curl -s http://%[3]s/metrics | grep -E "^[a-z].*(restarts|halts)_total"

Ctrl-C stops everything and cleans up. The controller's log:

`

// runFlags restart gradually, and do not let a person wait long.
var runFlags = []string{"--fan-out=gradual", "--restart-soak=5s", statusPage}

// clusterDirectory is where the cluster of make run is, below the top directory of the repository.
const clusterDirectory = ".localcluster"

// run starts everything and then only watches until ctx ends, which is no error. The
// directory of the cluster is relative to the top one, where a person types.
func run(ctx context.Context, out io.Writer, directory string) (err error) {
	root, err := harness.RepositoryRoot()
	if err != nil {
		return err
	}
	n := newNarrator(out)
	s := &stage{limit: stepLimit}
	defer func() { err = errors.Join(notInterrupted(ctx, err), s.clear()) }()

	n.say("starting a local Kubernetes, without its own deployment controller")
	if err := s.startCluster(ctx, filepath.Join(root, directory), n); err != nil {
		return err
	}
	n.say("starting the controller with %s %s (30s by default)", driveDeployments, strings.Join(runFlags[:2], " "))
	n.detail("It has the permissions of k8s-manifests/%s and %s, and no others.", permissions, enginePermissions)
	log := &gate{out: out}
	if err := s.startController(ctx, log, runFlags...); err != nil {
		return err
	}
	n.say("applying examples/web.yaml, and another Deployment like it")
	applied, err := s.applyExample(ctx)
	if err != nil {
		return err
	}
	n.detail("%s", trimmed(applied))
	if err := s.addReader(ctx); err != nil {
		return err
	}
	heal, err := harness.CrashPods(ctx, s.cluster.Client(), namespace, s.readsBroken(ctx))
	if err != nil {
		return err
	}
	s.cleanups = append(s.cleanups, heal)
	fmt.Fprintf(out, welcome, root, directory, s.controller.Address(), s.controller.StatusAddress())
	log.open()

	select {
	case <-ctx.Done():
		fmt.Fprintln(out, "\nstopping the controller and the cluster")
		return nil
	case <-s.cluster.Exited():
	case <-s.controller.Exited():
	}
	return s.alive()
}

// addReader adds a Deployment that reads what the example reads.
func (s *stage) addReader(ctx context.Context) error {
	deployments := s.cluster.Client().AppsV1().Deployments(namespace)
	web, err := deployments.Get(ctx, deploymentName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	const name = "api"
	labels := map[string]string{appLabel: name}
	api := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{catalogannotation.EnabledAnnotation: catalogannotation.Enabled}}, Spec: web.Spec}
	api.Spec.Selector, api.Spec.Template.Labels = &metav1.LabelSelector{MatchLabels: labels}, labels
	_, err = deployments.Create(ctx, api, metav1.CreateOptions{})
	return err
}

// readsBroken returns whether a pod was made while the greeting was "broken". A simulated pod has no program that would crash.
func (s *stage) readsBroken(ctx context.Context) func(*corev1.Pod) bool {
	known := make(map[types.UID]bool)
	return func(pod *corev1.Pod) bool {
		isBroken, isKnown := known[pod.UID]
		if !isKnown {
			config, err := s.cluster.Client().CoreV1().ConfigMaps(namespace).Get(ctx, configMapName, metav1.GetOptions{})
			isBroken = err == nil && config.Data["GREETING"] == "broken"
			known[pod.UID] = isBroken
		}
		return isBroken
	}
}

// notInterrupted forgets an error that is only the user's wish to end.
func notInterrupted(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}
