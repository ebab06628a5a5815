package launcher

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

const defaultNodes = 3

// Options are what a user asks of `up`.
type Options struct {
	Dir                         string
	Kubeconfig                  string // absolute; empty: only the one in Dir
	Nodes                       int
	WithoutDeploymentController bool
	ControlPlane                string              // absolute; a binary that is the components of Kubernetes; empty: this one
	Components                  []string            // in the order in which they start
	ExtraFlags                  map[string][]string // by component
}

// parseUp reads the flags of `up`. Its error is a usageError, or pflag.ErrHelp where help was asked for.
func parseUp(arguments []string) (Options, error) {
	var options Options
	flags := newFlagSet("up")
	extra := map[string]*[]string{}
	bindUp(flags, &options, extra)
	if err := parseFlags(flags, arguments, 0); err != nil {
		return Options{}, err
	}

	components, err := selectComponents(options.Components)
	if err != nil {
		return Options{}, err
	}
	options.Components = components
	if options.ExtraFlags, err = checkExtraFlags(extra, components); err != nil {
		return Options{}, err
	}
	if options.Nodes, err = checkNodes(options.Nodes, flags.Changed("nodes"), components); err != nil {
		return Options{}, err
	}
	for _, path := range []*string{&options.Kubeconfig, &options.ControlPlane} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return Options{}, fmt.Errorf("resolve %s: %w", *path, err)
		}
	}
	if options.ControlPlane != "" {
		if _, err := exec.LookPath(options.ControlPlane); err != nil {
			return Options{}, usagef("--control-plane: %v", err)
		}
	}
	return options, nil
}

func bindUp(flags *pflag.FlagSet, options *Options, extra map[string]*[]string) {
	bindDir(flags, &options.Dir)
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "write the admin kubeconfig to this `file`, too (always in DIR/kubeconfig)")
	flags.IntVar(&options.Nodes, "nodes", defaultNodes, "`number` of nodes, simulated by KWOK")
	flags.BoolVar(&options.WithoutDeploymentController, "without-deployment-controller", false,
		"run kube-controller-manager without its deployment-controller")
	flags.StringVar(&options.ControlPlane, "control-plane", "",
		"run kube-apiserver, kube-controller-manager and kube-scheduler from this `file`: another version of Kubernetes; see README.md")
	flags.StringSliceVar(&options.Components, "components", allComponents, "run only these `components`")
	for _, name := range allComponents {
		extra[name] = flags.StringArray(name+"-flag", nil, "extra `flag` for "+name+", can be repeated")
	}
}

func bindDir(flags *pflag.FlagSet, dir *string) {
	flags.StringVar(dir, "dir", defaultDirectory, "`directory` of the cluster: state, logs, kubeconfig")
}

func newFlagSet(command string) *pflag.FlagSet {
	flags := pflag.NewFlagSet(command, pflag.ContinueOnError)
	flags.Usage = func() {} // Main prints it, where it belongs
	flags.SortFlags = false
	return flags
}

// parseFlags parses the arguments of a command that takes a fixed number of them besides its flags.
func parseFlags(flags *pflag.FlagSet, arguments []string, positional int) error {
	err := flags.Parse(arguments)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return err
	case err != nil:
		return usagef("%s: %v", flags.Name(), err)
	case flags.NArg() > positional:
		return usagef("%s: unexpected argument %q", flags.Name(), flags.Arg(positional))
	case flags.NArg() < positional:
		return usagef("%s: a component is missing (known: %s)", flags.Name(), strings.Join(allComponents, ", "))
	case flags.Lookup("dir").Value.String() == "":
		return usagef("%s: --dir must not be empty", flags.Name())
	}
	return nil
}

// checkExtraFlags refuses what would be ignored in silence.
func checkExtraFlags(given map[string]*[]string, components []string) (map[string][]string, error) {
	extra := map[string][]string{}
	for _, name := range components {
		extra[name] = *given[name]
	}
	for _, name := range allComponents {
		for _, flag := range *given[name] {
			if _, runs := extra[name]; !runs {
				return nil, usagef("--%s-flag=%s: %s is not among --components", name, flag, name)
			}
			if !strings.HasPrefix(flag, "-") || flagName(flag) == "" {
				return nil, usagef("--%s-flag=%s: must look like --%s-flag=--name=value", name, flag, name)
			}
		}
	}
	return extra, nil
}

// checkNodes returns the number of nodes to create: none where no KWOK keeps them alive.
func checkNodes(nodes int, explicit bool, components []string) (int, error) {
	hasKWOK := slices.Contains(components, KWOK)
	switch {
	case nodes < 0:
		return 0, usagef("--nodes=%d: must not be negative", nodes)
	case !hasKWOK && explicit && nodes > 0:
		return 0, usagef("--nodes=%d: nodes need %s among --components", nodes, KWOK)
	case !hasKWOK:
		return 0, nil
	}
	return nodes, nil
}
