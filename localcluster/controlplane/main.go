// Command controlplane is the control plane of an older version of Kubernetes: kube-apiserver,
// kube-controller-manager or kube-scheduler, whichever its first argument names. The local cluster runs it instead of
// its own (localcluster up --control-plane=FILE). Each version has a file of module requirements, such as 1.34.mod.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

var programs = map[string]func() int{
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
	"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
}

func main() {
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "controlplane: the first argument must be kube-apiserver, kube-controller-manager or kube-scheduler")
		os.Exit(2)
	}
	exitWithParent()
	os.Args = os.Args[1:]
	os.Exit(programs[os.Args[0]]())
}

// exitWithParent ends this process soon after the local cluster that started it is gone, even if that was killed.
func exitWithParent() {
	parent, err := strconv.Atoi(os.Getenv("LOCALCLUSTER_PARENT"))
	if err != nil {
		return // it was started by hand
	}
	go func() {
		for os.Getppid() == parent {
			time.Sleep(200 * time.Millisecond)
		}
		os.Exit(1)
	}()
}
