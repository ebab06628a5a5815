package parity

import (
	"context"
	"errors"
	"flag"
	"os"
	"sync"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/test/harness"
)

var (
	self  = flag.Bool("self", false, "compare the original with itself")
	seed  = flag.Uint64("seed", 0, "the seed of the first random scenario; 0 takes the default ones")
	plays = flag.Int("plays", 3, "the number of random scenarios")
)

// Most of a scenario is waiting, for pods and for the clock.
const parallelScenes = "16"

const startLimit = 10 * time.Minute

func TestMain(m *testing.M) { os.Exit(undo.RunTests(m, parallelScenes)) }

// undo ends what the tests share.
var undo harness.Cleanups

// sides are the oracle's and the subject's cluster, started when the first scene
// asks for them.
var sides = sync.OnceValues(openSides)

func openSides() ([2]*side, error) {
	var opened [2]*side
	var errs [2]error
	var starting sync.WaitGroup
	starting.Go(func() { opened[0], errs[0] = openSide("the original", true) })
	starting.Go(func() {
		if *self {
			opened[1], errs[1] = openSide("the original again", true)
		} else {
			opened[1], errs[1] = openSide("the engine", false)
		}
	})
	starting.Wait()
	return opened, errors.Join(errs[:]...)
}

// openSide starts a cluster that is driven by the original or by the engine.
func openSide(name string, original bool) (*side, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	options := harness.ClusterOptions{Nodes: 2}
	if !original {
		options.Arguments = []string{"--without-deployment-controller"}
	}
	cluster, err := harness.StartCluster(ctx, options)
	if err != nil {
		return nil, err
	}
	undo.Add(cluster.Stop)
	s := &side{name: name, cluster: cluster, client: cluster.Client()}
	if s.mirror, err = startMirror(ctx, s.client); err != nil {
		return nil, err
	}
	undo.Add(s.mirror.stop)
	if original {
		return s, nil
	}
	installation, err := install(ctx, cluster)
	if err != nil {
		return nil, err
	}
	if s.engine, err = installation.StartController(ctx, engineFlags...); err != nil {
		return nil, err
	}
	undo.Add(s.engine.Stop)
	return s, s.engine.AwaitDriving(ctx, startLimit)
}

var engineFlags = []string{"--deployment-engine=on", "-v", "1"}

// install gives the engine the permissions of its manifests, and no others.
func install(ctx context.Context, cluster *harness.Cluster) (*harness.Installation, error) {
	manifests, err := harness.Manifests("rbac.yaml", "rbac-deployment-engine.yaml")
	if err != nil {
		return nil, err
	}
	return cluster.Install(ctx, manifests)
}
