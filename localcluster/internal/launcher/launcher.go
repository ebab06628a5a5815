package launcher

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"
)

const usage = `localcluster is a real Kubernetes control plane in one binary, for trying and testing.

Usage:
  localcluster up [flags]          start an empty cluster and run it until Ctrl-C or ` + "`down`" + `
  localcluster down                stop the cluster
  localcluster status              show its components; exit code 1 if one does not run
  localcluster kill COMPONENT      kill a component (SIGKILL)
  localcluster start COMPONENT     start a killed or dead component again
  localcluster kubectl ...         kubectl; by itself it uses the cluster in ./` + defaultDirectory + `
  localcluster COMPONENT ...       be that component: etcd, kube-apiserver, kube-controller-manager,
                                   kube-scheduler or kwok, with its own flags
  localcluster help                show this

Flags of up, down, status, kill and start:
%s
Flags of up:
%s
An extra flag for a component replaces the one of the same name that the cluster would set, for example
  --kube-apiserver-flag=--feature-gates=WatchList=false
`

// Main runs a command of the launcher and returns the exit code: 0, 1 for an error, 2 for wrong usage.
func Main(arguments []string, stdout, stderr io.Writer) int {
	err := dispatch(arguments, stdout, stderr)
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Fprint(stdout, usageText())
		return 0
	}
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "localcluster: %v\n", err)
	var wrongUsage usageError
	if errors.As(err, &wrongUsage) {
		return 2
	}
	return 1
}

func dispatch(arguments []string, stdout, stderr io.Writer) error {
	if len(arguments) == 0 {
		return usagef("a command is missing; see: localcluster help")
	}
	name, rest := arguments[0], arguments[1:]
	switch name {
	case "up":
		return up(rest, stdout, stderr)
	case "down":
		return down(rest, stdout)
	case "status":
		return status(rest, stdout)
	case "kill":
		return kill(rest, stdout)
	case "start":
		return start(rest, stdout)
	case "help", "--help", "-h":
		return pflag.ErrHelp
	}
	return usagef("unknown command %q; see: localcluster help", name)
}

func usageText() string {
	dir, up := newFlagSet("dir"), newFlagSet("up")
	bindDir(dir, new(string))
	bindUp(up, new(Options), map[string]*[]string{})
	up.Lookup("dir").Hidden = true
	const width = 110
	return fmt.Sprintf(usage, dir.FlagUsagesWrapped(width), up.FlagUsagesWrapped(width))
}
