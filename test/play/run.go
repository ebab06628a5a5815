package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"kubernetes-deployment-restart-controller/test/harness"
)

const welcome = `
Kubernetes, the controller and the example are running.
Look at what is under way, in a browser: http://%[4]s/config/configmap/default/web-config

Type this in another terminal (in %[1]s):

    export KUBECONFIG=%[2]s/kubeconfig
    alias k="bin/localcluster kubectl"

    k get deployment,replicaset,configmap,pods   # what is there
    k get deployment web -o yaml | less          # the annotations: enabled, checksums of the configs
    k patch configmap web-config --type merge -p '{"data":{"GREETING":"good morning"}}'
                                                 # or: k edit configmap web-config; then watch the page, or the log below
    k get events --field-selector reason=Restarting
    curl -s http://%[3]s/metrics | grep ^deployment_

    make plugin && export PATH=$PWD/bin:$PATH    # then: k restarts status --status-url=http://%[4]s

This cluster's kube-controller-manager runs without its deployment controller. What drives the Deployment is the
deployment engine in the same process, so these are its work, too:

    k rollout status deployment/web              # watch the pods roll
    k rollout history deployment/web             # one revision for each ReplicaSet
    k set image deployment/web web=nginx:1.30
    k rollout undo deployment/web
    k rollout restart deployment/web             # also: rollout pause, rollout resume
    k scale deployment/web --replicas=5
    k describe deployment web

An edit that changes no value (a label, say) restarts nothing. Ctrl-C stops everything and cleans up.
The controller's log:

`

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
	n.say("starting the controller with %s", driveDeployments)
	n.detail("It has the permissions of k8s-manifests/%s and %s, and no others.", permissions, enginePermissions)
	log := &gate{out: out}
	if err := s.startController(ctx, log, statusPage); err != nil {
		return err
	}
	n.say("applying examples/web.yaml")
	applied, err := s.applyExample(ctx)
	if err != nil {
		return err
	}
	n.detail("%s", trimmed(applied))
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

// notInterrupted forgets an error that is only the user's wish to end.
func notInterrupted(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}
