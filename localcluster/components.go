package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"

	"kubernetes-deployment-restart-controller/localcluster/internal/launcher"
)

// programs are the components that a process of this binary can be. Each reads its arguments from os.Args, whose
// first element is the component's name, and returns the exit code.
var programs = map[string]func() int{
	launcher.Etcd:              runEtcd,
	launcher.APIServer:         func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	launcher.ControllerManager: func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
	launcher.Scheduler:         func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
	launcher.KWOK:              runKWOK,
	launcher.Kubectl:           runKubectl,
}

func runEtcd() int {
	etcdmain.Main(os.Args)
	return 0
}

func runKubectl() int {
	launcher.UseDefaultKubeconfig(os.Args[1:])
	// kubectl logs before it parses its flags; the verbosity must be known by then.
	if _, err := logs.GlogSetter(kubectl.GetLogVerbosity(os.Args)); err != nil {
		fmt.Fprintln(os.Stderr, "set log verbosity:", err)
	}
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err) // prints and exits as kubectl does
	}
	return 0
}

// runKWOK does what KWOK's own main does, with two differences that this binary makes necessary: other components
// have registered a flag "version" globally, which collides with KWOK's own, and KWOK parses its --config with a flag
// set of only two flags, which must not stop at the ones that it does not know.
func runKWOK() int {
	pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ExitOnError)
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, logger := kwoklog.InitFlags(ctx, flags)
	ctx, err := kwokconfig.InitFlags(ctx, flags)
	if err != nil {
		logger.Error("Read configuration", "err", err)
		return 1
	}
	command := kwok.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	if err := command.ExecuteContext(ctx); err != nil {
		logger.Error("Run", "err", err)
		return 1
	}
	return 0
}
