// Command localcluster is a real Kubernetes control plane in one binary, for trying and testing.
//
// Its first argument says what a process of it is. A component name (etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler, kwok, kubectl) makes it that component, linked in from its Go module. Everything else is a command
// of the launcher, which runs the components as processes of this same binary: one by one they can then be killed and
// started again, as tests of faults need.
package main

import (
	"os"

	"kubernetes-deployment-restart-controller/localcluster/internal/launcher"
)

func main() {
	arguments := os.Args[1:]
	if len(arguments) > 0 {
		if program, ok := programs[arguments[0]]; ok {
			launcher.ExitWithParent()
			os.Args = arguments
			os.Exit(program())
		}
	}
	os.Exit(launcher.Main(arguments, os.Stdout, os.Stderr))
}
