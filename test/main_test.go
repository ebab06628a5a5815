// Package test holds the end-to-end tests: the restart controller as a process of
// its own, with the permissions of its own ServiceAccount, on real control planes whose
// nodes and pods KWOK plays.
//
// Clusters are started when the first test asks for them. In the one, a single
// controller watches all namespaces, and many tests share it, each in a namespace of
// its own ([newScene]). In the other no controller runs by itself: tests that need
// other flags, or that kill it, start their own for their own namespace
// ([newSceneApart]).
//
// The tests of the deployment engine have two more such clusters, without
// Kubernetes' own deployment controller: in the one, a single engine drives all
// Deployments ([newEngineScene]), in the other each test starts its own
// ([newEngineSceneApart]). kubectl is the client ([scene.kubectl]), and what the
// engine asks of the API server is read in its audit log ([scene.requests]).
//
// That something does not happen is never proved by waiting for a while: a marker
// edit is made after the edit that must do nothing, and once the marker's workload
// has been restarted, everything before it has been dealt with ([scene.settle]).
package test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/test/harness"
)

// The tests wait most of the time, for grace periods, pods and clusters of their own:
// far more of them than there are processors run side by side.
const parallelTests = "12"

const startLimit = 10 * time.Minute

func TestMain(m *testing.M) { os.Exit(undo.RunTests(m, parallelTests)) }

// undo ends what the tests share.
var undo harness.Cleanups

// place is a cluster where the controller has its permissions.
type place struct {
	cluster      *harness.Cluster
	installation *harness.Installation
	controller   *harness.Controller // of all namespaces; nil where each test starts its own
	auditLog     string              // a file; empty if there is no audit log
	hasEngine    bool                // the engine is to drive Deployments, in place of Kubernetes' own controller
}

// sharedPlace has one controller for all namespaces.
var sharedPlace = sync.OnceValues(func() (*place, error) {
	p, err := openPlace()
	if err != nil {
		return nil, err
	}
	p.controller, err = p.installation.StartController(context.Background(), "-r", "1", "-v", "1")
	if err != nil {
		return nil, err
	}
	undo.Add(p.controller.Stop)
	return p, nil
})

// placeApart has no controller of its own.
var placeApart = sync.OnceValues(func() (*place, error) { return openPlace() })

// openPlace starts a cluster, with further arguments of "localcluster up".
func openPlace(arguments ...string) (*place, error) {
	return openPlaceWithPermissions([]string{"rbac.yaml", "rbac-namespaces.yaml", "rbac-evict.yaml", "rbac-workloads.yaml", "rbac-csi.yaml"}, arguments...)
}

// openPlaceWithPermissions starts a cluster where the controller has the permissions of these
// manifests, with the admission policies in place.
func openPlaceWithPermissions(names []string, arguments ...string) (*place, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if _, err := harness.ControllerBinary(); err != nil {
		return nil, err
	}
	cluster, err := harness.StartCluster(ctx, harness.ClusterOptions{Nodes: 3, Arguments: arguments})
	if err != nil {
		return nil, err
	}
	undo.Add(cluster.Stop)
	manifests, err := harness.Manifests(append(names, "admission-policy.yaml", "admission-policy-evict.yaml")...)
	if err != nil {
		return nil, err
	}
	installation, err := cluster.Install(ctx, manifests)
	if err != nil {
		return nil, err
	}
	return &place{cluster: cluster, installation: installation}, nil
}
