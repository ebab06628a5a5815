package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/cluster"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/impact"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

const impactHelp = `Show which workloads would restart if ConfigMaps or Secrets changed, and in which order, before
anything is applied.

With -f, the files are compared with the cluster, and only keys that differ count. Each file is taken
for the whole content of its config: keys that it lacks count as removed. Without -f, name a config;
all its keys count as changed, or only those that --key names.

CronJobs and Jobs that read a changed key are counted, if you may list them: they need no restart.

Nothing is written. You need permission to list Deployments, StatefulSets and DaemonSets in the
namespaces of the configs, and to get the configs. A Secret that you may not read counts as changed.

Exit code: 0; 1 after an error; with --exit-code, 2 if a workload would or might restart, and 1 if you
may not read what decides that.`

const impactExamples = `  # What would applying this file restart?
  kubectl restarts impact -f web-config.yaml

  # The same for what a pipeline renders; fails if anything would restart
  helm template shop | kubectl restarts impact -n shop --exit-code -f -

  # Who restarts if one key changes?
  kubectl restarts impact configmap/web-config --key=LOG_LEVEL

  # Who restarts if the credentials change?
  kubectl restarts impact secret/db-credentials -o wide`

type impactCommand struct {
	*session
	output   outputFlags
	files    genericclioptions.FileNameFlags
	names    []string
	kustom   string
	recurse  bool
	keys     list
	exitCode bool

	cluster *cluster.Cluster
	notes   []string
	doubt   string // why more workloads may restart than it seems
}

func newImpact(s *session) *cobra.Command {
	c := &impactCommand{session: s}
	c.files = genericclioptions.FileNameFlags{
		Usage: "File, directory or URL to compare with the cluster", Filenames: &c.names, Kustomize: &c.kustom, Recursive: &c.recurse,
	}
	command := &cobra.Command{
		Use:     "impact (-f FILENAME | TYPE/NAME [--key=KEY])",
		Short:   "Show what would restart if configs changed",
		Long:    impactHelp,
		Example: impactExamples,
		Args:    cobra.MaximumNArgs(2),
		RunE:    func(command *cobra.Command, arguments []string) error { return c.run(command.Context(), arguments) },

		ValidArgsFunction: s.completeConfigs,
	}
	flags := command.Flags()
	c.files.AddFlags(flags)
	c.output.add(command)
	flags.Var(&c.keys, "key", "Key that changes, repeatable; all keys if it is missing. Only with TYPE/NAME")
	flags.BoolVar(&c.exitCode, "exit-code", false, "End with exit code 2 if a workload would or might restart")
	return command
}

func (c *impactCommand) run(ctx context.Context, arguments []string) error {
	fromFiles := len(c.names) > 0 || c.kustom != ""
	switch {
	case fromFiles && len(arguments) > 0, !fromFiles && len(arguments) == 0:
		return errors.New("say what changes: either files with -f, or a config such as configmap/web-config")
	case fromFiles && len(c.keys) > 0:
		return errors.New("--key needs a config such as configmap/web-config; files show themselves which keys change")
	}
	if err := c.output.validate(); err != nil {
		return err
	}
	in, err := c.read(ctx, arguments)
	if err != nil {
		return err
	}
	result := impact.Compute(in)
	shared := ""
	if len(result.Elsewhere) > 0 {
		shared = text.List(result.Elsewhere, maxShared) + " " + text.Are(len(result.Elsewhere)) + " shared with other namespaces: their workloads are not listed here"
		c.notes = append(c.notes, shared)
	}
	if err := c.print(&result); err != nil || !c.exitCode {
		return err
	}
	const unknown = "cannot tell whether a workload would restart: "
	workloads, _ := result.Count()
	switch {
	case workloads+result.With(impact.Maybe) > 0:
		return exit(exitResult)
	case result.Unknown() > 0:
		return errors.New(unknown + c.doubt)
	case shared != "":
		return errors.New(unknown + shared)
	}
	return nil
}

// maxShared is how many shared configs are named.
const maxShared = 10

func (c *impactCommand) validateKeys() error {
	for _, key := range c.keys {
		if problems := validation.IsConfigMapKey(key); len(problems) > 0 {
			return fmt.Errorf("--key: %.40q cannot be a key; keys have letters, digits, '-', '_' and '.'", key)
		}
	}
	return nil
}

// read reads everything that the computation needs.
func (c *impactCommand) read(ctx context.Context, arguments []string) (in *impact.Input, err error) {
	in = &impact.Input{Now: time.Now()}
	if len(arguments) == 0 {
		err = c.readFiles(ctx, in)
	} else {
		err = c.readNamed(ctx, in, arguments)
	}
	if err != nil {
		return nil, err
	}
	halts, err := c.cluster.Halts(ctx)
	if err != nil {
		return nil, err
	}
	in.Hold = halts.Hold
	nobodyLeads, err := c.nobodyLeads(ctx)
	if nobodyLeads != "" {
		c.notes = slices.Insert(c.notes, 0, nobodyLeads)
	}
	return in, err
}

// readFiles takes the changes from files.
func (c *impactCommand) readFiles(ctx context.Context, in *impact.Input) error {
	from := c.files.ToOptions()
	if err := from.RequireFilenameOrKustomize(); err != nil {
		return err
	}
	manifests, err := c.readManifests(&from)
	if err != nil {
		return err
	}
	if note := manifests.note(); note != "" {
		c.notes = append(c.notes, note)
	}
	if len(manifests.configs) == 0 {
		return errNothingToCompare
	}
	if c.cluster, err = c.connect(); err != nil {
		return err
	}
	if err := c.readWorkloads(ctx, in, manifests.refs()); err != nil {
		return err
	}
	for _, ref := range manifests.refs() {
		change, err := c.compare(ctx, ref, manifests.configs[ref], in.Workloads)
		if err != nil {
			return err
		}
		in.Changes = append(in.Changes, change)
	}
	return nil
}

// readWorkloads lists the workloads of the namespaces of the configs.
func (c *impactCommand) readWorkloads(ctx context.Context, in *impact.Input, refs []names.ConfigRef) (err error) {
	namespaces := make(map[string]struct{})
	for _, ref := range refs {
		namespaces[ref.Namespace] = struct{}{}
	}
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		workloads, _, err := c.cluster.Workloads(ctx, namespace)
		if err != nil {
			return explained(err, "without a list of all workloads, the result would be incomplete")
		}
		in.Workloads = append(in.Workloads, workloads...)
		runs, err := c.cluster.Runs(ctx, namespace)
		if err != nil {
			return err
		}
		if runs != nil && in.Runs == nil {
			in.Runs = []facts.Run{}
		}
		in.Runs = append(in.Runs, runs...)
	}
	c.doubt, err = c.cluster.Enable(ctx, in.Workloads)
	if c.doubt != "" {
		c.notes = append(c.notes, c.doubt)
	}
	return err
}

// compare returns the change that a file makes.
func (c *impactCommand) compare(ctx context.Context, ref names.ConfigRef, file cluster.Object, workloads []facts.Workload) (impact.Change, error) {
	present, err := c.cluster.Config(ctx, ref)
	switch {
	case apierrors.IsNotFound(err):
		present = nil
	case apierrors.IsForbidden(err) && ref.Kind.IsSecret():
		c.notes = append(c.notes, unreadable(ref)+": all its keys count as changed")
		return impact.UnreadableChanged(ref, workloads, nil), nil
	case err != nil:
		return impact.Change{}, explained(err, "you need permission to get what you want to compare")
	}
	rules, err := c.cluster.Rules(ctx, ref.Namespace)
	if err != nil {
		return impact.Change{}, err
	}
	var change impact.Change
	switch file := file.(type) {
	case *corev1.ConfigMap:
		object, _ := present.(*corev1.ConfigMap)
		change = impact.ConfigMapApplied(rules, object, file)
		c.noteImmutable(&change, object != nil && isImmutable(object))
	case *corev1.Secret:
		object, _ := present.(*corev1.Secret)
		change = impact.SecretApplied(rules, object, file)
		c.noteImmutable(&change, object != nil && isImmutable(object))
	}
	return change, nil
}

func unreadable(ref names.ConfigRef) string { return "you may not read " + facts.ConfigName(ref) }

func (c *impactCommand) noteImmutable(change *impact.Change, isImmutable bool) {
	if isImmutable && !change.IsEmpty() {
		c.notes = append(c.notes, facts.ConfigName(change.Ref)+" is immutable: the API server rejects the change until the config is deleted and created again")
	}
}

// readNamed takes the change of one config from the arguments.
func (c *impactCommand) readNamed(ctx context.Context, in *impact.Input, arguments []string) error {
	namespace, _, err := c.namespace()
	if err != nil {
		return err
	}
	ref, err := parseConfig(arguments, namespace)
	if err != nil {
		return err
	}
	if err := c.validateKeys(); err != nil {
		return err
	}
	if c.cluster, err = c.connect(); err != nil {
		return err
	}
	if err := c.readWorkloads(ctx, in, []names.ConfigRef{ref}); err != nil {
		return err
	}
	present, err := c.cluster.Config(ctx, ref)
	switch {
	case apierrors.IsForbidden(err):
		c.notes = append(c.notes, unreadable(ref)+": its own hold, window and fan-out are not taken into account")
		in.Changes = []impact.Change{impact.UnreadableChanged(ref, in.Workloads, c.keys)}
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no %s in namespace %s; use -f to see what creating it would restart", facts.ConfigName(ref), namespace)
	case err != nil:
		return err
	}
	rules, err := c.cluster.Rules(ctx, ref.Namespace)
	if err != nil {
		return err
	}
	change := impact.KeysChanged(rules.Config(reduced(present), present.GetAnnotations()), c.keys)
	for _, key := range c.keys {
		if !content.HasKey(change.Before.Keys, key) {
			c.notes = append(c.notes, fmt.Sprintf("%s has no key %s: it counts as added", facts.ConfigName(ref), key))
		}
	}
	in.Changes = []impact.Change{change}
	return nil
}

func reduced(object cluster.Object) content.Config {
	if secret, isSecret := object.(*corev1.Secret); isSecret {
		return content.NewSecret(secret)
	}
	configMap, _ := object.(*corev1.ConfigMap)
	return content.NewConfigMap(configMap)
}

func isImmutable(object cluster.Object) bool {
	switch config := object.(type) {
	case *corev1.Secret:
		return config.Immutable != nil && *config.Immutable
	case *corev1.ConfigMap:
		return config.Immutable != nil && *config.Immutable
	}
	return false
}

func (c *impactCommand) print(result *impact.Result) error {
	if c.output.isStructured() {
		return c.output.print(c.Out, result.Report(c.notes))
	}
	for _, note := range c.notes {
		c.note(note)
	}
	options := c.output.table()
	options.WithNamespace = options.Wide || result.Namespaces() > 1
	return result.Print(c.Out, options)
}
