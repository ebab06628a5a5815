package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/util/flowcontrol"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/cluster"
)

const waitHelp = `Wait until no pod is left that may have read an earlier content of ConfigMaps or Secrets than the one that
they have now, such as before an earlier credential is revoked.

Every pod that runs in their namespaces and reads them counts, whoever owns it, also one that terminates. The wait ends at
once where pods are left that nobody is going to restart: it says which, why, and what to do. A later edit ends it, too.

You need permission to get the configs, and to list the pods and the workloads. With the leader's status page, the
command knows more. What it may not see is unknown, and never delivered. An edit that only removes keys may
have no date, so that it does not see it.

Exit code: 0 if the content is delivered, or nothing reads it; 1 after an error, or if it cannot be known; 2 if it is not
delivered, or was edited again; 3 after --timeout.`

const waitExamples = `  # Is the earlier password gone?
  kubectl restarts wait secret/db-credentials && ./revoke-earlier-password

  # For all that a file has, at most ten minutes
  kubectl restarts wait -f config.yaml --timeout=10m

  # For the readers that the controller restarts only
  kubectl restarts wait configmap/web-config --enabled-only`

type waitCommand struct {
	*session
	output      outputFlags
	files       genericclioptions.FileNameFlags
	names       []string
	kustom      string
	recurse     bool
	labels      string
	all         bool
	keepWaiting bool
	enabledOnly bool
	latest      bool
	timeout     duration
	interval    duration

	status *statusCommand // which reads how the workloads stand
	from   *cluster.Cluster
}

func newWait(s *session) *cobra.Command {
	c := &waitCommand{session: s, interval: duration{3 * time.Second}}
	c.status = &statusCommand{session: s, noted: make(map[string]bool)}
	c.files = genericclioptions.FileNameFlags{
		Usage: "File, directory or URL whose ConfigMaps and Secrets to wait for, by their names", Filenames: &c.names, Kustomize: &c.kustom, Recursive: &c.recurse,
	}
	command := &cobra.Command{
		Use:     "wait (TYPE/NAME ... | -f FILENAME | -l SELECTOR)",
		Short:   "Wait until no pod is left that has read an earlier content",
		Long:    waitHelp,
		Example: waitExamples,
		Args:    cobra.ArbitraryArgs,
		RunE:    func(command *cobra.Command, arguments []string) error { return c.run(command.Context(), arguments) },

		ValidArgsFunction: s.completeConfigs,
	}
	flags := command.Flags()
	c.files.AddFlags(flags)
	c.output.addStructured(command)
	c.status.flags.add(command)
	flags.StringVarP(&c.labels, "selector", "l", "", "Labels of the ConfigMaps and Secrets to wait for")
	flags.BoolVarP(&c.all, "all-namespaces", "A", false, "Look for readers, and with -l for configs, in all namespaces")
	flags.BoolVar(&c.keepWaiting, "keep-waiting", false, "Also wait for pods that only a person restarts")
	flags.BoolVar(&c.enabledOnly, "enabled-only", false, "Leave out the pods that the controller does not restart for these configs")
	flags.BoolVar(&c.latest, "latest", false, "If a config is edited again, wait for that content")
	flags.Var(&c.timeout, "timeout", "How long to wait at most; 0 means without an end")
	flags.Var(&c.interval, "interval", "How often to look")
	return command
}

func (c *waitCommand) run(ctx context.Context, arguments []string) error {
	if err := c.output.validate(); err != nil {
		return err
	}
	if c.interval.Duration < shortestInterval {
		return fmt.Errorf("--interval must be at least %s, not %s", shortestInterval, c.interval)
	}
	refs, err := c.configs(ctx, arguments)
	if err != nil {
		return err
	}
	w := &waiting{waitCommand: c, refs: refs, bar: newBar(c.ErrOut), told: make(map[string]string)}
	if c.ask {
		if w.pages, err = c.pages(&c.status.flags); err != nil {
			return err
		}
		defer w.pages.Close()
	}
	return w.run(ctx)
}

// Each look lists all pods, page by page: it takes more than sixty requests of about a megabyte if there are 10,000.
const (
	requestsPerSecond = 5
	requestsAtOnce    = 10
)

// configs returns which configs to wait for, and connects to the cluster.
func (c *waitCommand) configs(ctx context.Context, arguments []string) (refs []names.ConfigRef, err error) {
	namespace, _, err := c.namespace()
	if err != nil {
		return nil, err
	}
	fromFiles := len(c.names) > 0 || c.kustom != ""
	if given := []bool{len(arguments) > 0, fromFiles, c.labels != ""}; !isOne(given) {
		return nil, errors.New("say what to wait for: configs such as secret/db-credentials, or files with -f, or labels with -l")
	}
	if fromFiles {
		files := c.files.ToOptions()
		if err := files.RequireFilenameOrKustomize(); err != nil {
			return nil, err
		}
		manifests, err := c.readManifests(&files)
		if err != nil {
			return nil, err
		}
		refs = manifests.refs()
	}
	if refs, err = c.named(refs, arguments, namespace); err != nil {
		return nil, err
	}
	c.pace = flowcontrol.NewTokenBucketRateLimiter(requestsPerSecond, requestsAtOnce)
	if c.from, err = c.connect(); err != nil {
		return nil, err
	}
	if c.labels != "" {
		if c.all {
			namespace = ""
		}
		for _, kind := range []names.ConfigKind{names.ConfigMap, names.Secret} {
			found, err := c.from.Selected(ctx, kind, namespace, c.labels)
			if err != nil {
				return nil, explained(err, "name the configs instead of their labels")
			}
			refs = append(refs, found...)
		}
	}
	if len(refs) == 0 {
		return nil, errors.New("there is no ConfigMap or Secret to wait for")
	}
	return refs, nil
}

// isOne reports whether exactly one is true.
func isOne(of []bool) bool {
	i := slices.Index(of, true)
	return i >= 0 && !slices.Contains(of[i+1:], true)
}

// named adds the configs that arguments name: TYPE/NAME of each, or TYPE NAME of one.
func (*waitCommand) named(refs []names.ConfigRef, arguments []string, namespace string) ([]names.ConfigRef, error) {
	if len(arguments) == 2 && !strings.Contains(arguments[0], "/") {
		ref, err := parseConfig(arguments, namespace)
		return append(refs, ref), err
	}
	for _, argument := range arguments {
		ref, err := parseConfig([]string{argument}, namespace)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs, nil
}
