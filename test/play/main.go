// Command play shows both engines at work on a local cluster, whose
// kube-controller-manager runs without its own deployment controller.
//
//	play run    starts a local cluster, the controller and the example, says what
//	            to type next, and follows the controller's log until Ctrl-C.
//	play demo   plays the story by itself, prints each step as it happens, and
//	            exits with 0 only if it saw every one of them.
//	play demo-fan-out
//	            does the same with a config that twenty Deployments share: bad content
//	            breaks one of them, and good content reaches all.
//	play demo-rollout
//	            does the same with releases that take steps: a bad one breaks one pod of
//	            eight and falls back, and people promote a good one.
//
// All run the controller with the permissions of k8s-manifests/rbac.yaml and
// rbac-deployment-engine.yaml, and leave neither a process nor a file behind. The first
// two apply examples/web.yaml.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const usage = `Usage: play run|demo|demo-fan-out|demo-rollout
  run            start a local cluster, the controller and the example, until Ctrl-C
  demo           play the story by itself; exit 0 only if every step was seen
  demo-fan-out   the same, with a bad and a good config that twenty Deployments share
  demo-rollout   the same, with a bad and a good release that take steps
`

func main() {
	os.Exit(play(os.Args[1:]))
}

func play(arguments []string) int {
	if len(arguments) != 1 {
		fmt.Fprint(os.Stderr, usage)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	switch arguments[0] {
	case "run":
		return finish(run(ctx, os.Stdout, clusterDirectory))
	case "demo":
		return finish(demo(ctx, os.Stdout, stepLimit))
	case "demo-fan-out":
		return finish(demoFanOut(ctx, os.Stdout, signsFor(os.Stdout)))
	case "demo-rollout":
		return finish(demoRollout(ctx, os.Stdout, signsFor(os.Stdout)))
	default:
		fmt.Fprint(os.Stderr, usage)
		return 2
	}
}

func finish(err error) int {
	if err != nil {
		fmt.Fprintf(os.Stderr, "\nFAILED: %v\n", err)
		return 1
	}
	return 0
}
