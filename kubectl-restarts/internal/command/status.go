package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/custom"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/cluster"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/overview"
)

const statusHelp = `Show which enabled workloads are not settled: those whose restart failed, is held, slowed or waits, and
those that roll; and halts, holds, fan-outs and the last restarts.

The leader of the controller is asked, if it serves its status page and you may forward ports to its pod.
Without it, the command shows what the cluster shows: annotations, statuses, Events and the ConfigMap of
halts, as far as you may read them.`

const statusExamples = `  # What is not settled in this namespace?
  kubectl restarts status

  # All workloads that a hold, a halt or a window keeps back
  kubectl restarts status -A --state=held

  # In the whole cluster, again and again
  kubectl restarts status -A --watch`

type statusCommand struct {
	*session
	output   outputFlags
	flags    leaderFlags
	all      bool
	watch    bool
	interval duration
	states   list
	noted    map[string]bool
}

func newStatus(s *session) *cobra.Command {
	c := &statusCommand{session: s, interval: duration{5 * time.Second}, noted: make(map[string]bool)}
	command := &cobra.Command{
		Use:     "status",
		Short:   "Show what is held, halted, failed, slowed or rolling",
		Long:    statusHelp,
		Example: statusExamples,
		Args:    cobra.NoArgs,
		RunE:    func(command *cobra.Command, _ []string) error { return c.run(command.Context()) },
	}
	c.output.add(command)
	c.flags.add(command)
	command.Flags().BoolVarP(&c.all, "all-namespaces", "A", false, "Look at all namespaces")
	command.Flags().BoolVarP(&c.watch, "watch", "w", false, "Look again and again, and print what has changed")
	command.Flags().Var(&c.interval, "interval", "How often to look with --watch")
	command.Flags().Var(&c.states, "state", "List the enabled workloads in this state, repeatable, or all of them: also settled ones. Such as held, failed or all")
	_ = command.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(stateNames(), cobra.ShellCompDirectiveNoFileComp))
	return command
}

// allStates selects workloads in any state.
const allStates = "all"

func stateNames() (names []string) {
	for _, state := range overview.ListedStates {
		names = append(names, string(state))
	}
	return append(names, allStates)
}

// wanted returns the states to list, none for all.
func (c *statusCommand) wanted() (states []overview.State) {
	for _, state := range c.states {
		if state == allStates {
			return nil
		}
		states = append(states, overview.State(state))
	}
	return states
}

// shortestInterval spares the API server.
const shortestInterval = time.Second

func (c *statusCommand) run(ctx context.Context) error {
	if err := c.output.validate(); err != nil {
		return err
	}
	if c.interval.Duration < shortestInterval {
		return fmt.Errorf("--interval must be at least %s, not %s", shortestInterval, c.interval)
	}
	for _, state := range c.states {
		if err := oneOf("state", state, stateNames()...); err != nil {
			return err
		}
	}
	namespace, _, err := c.namespace()
	if err != nil {
		return err
	}
	if c.all {
		namespace = ""
	}
	from, err := c.connect()
	if err != nil {
		return err
	}
	if c.watch {
		return c.look(ctx, from, namespace)
	}
	report, now, err := c.read(ctx, from, namespace)
	if err != nil {
		return err
	}
	return c.print(c.Out, report, now)
}

// look prints the report whenever it has changed, until the context ends.
func (c *statusCommand) look(ctx context.Context, from *cluster.Cluster, namespace string) error {
	ticker := time.NewTicker(c.interval.Duration)
	defer ticker.Stop()
	last := ""
	for {
		report, now, err := c.read(ctx, from, namespace)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && last == "":
			return err
		case err != nil: // the next look may succeed
			c.note(err.Error())
		default:
			if last, err = c.printChanged(report, now, last); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// printChanged prints the report unless it is the last one, and returns how to recognize it.
func (c *statusCommand) printChanged(report *shown, now time.Time, last string) (string, error) {
	var out bytes.Buffer
	if err := c.print(&out, report.timeless(), time.Time{}); err != nil { // without ages, which change all the time
		return "", err
	}
	if out.String() == last {
		return last, nil
	}
	if last != "" && !c.output.isStructured() {
		fmt.Fprintf(c.Out, "\n--- %s\n", now.Format(time.TimeOnly))
	}
	return out.String(), c.print(c.Out, report, now)
}

func (c *statusCommand) print(w io.Writer, what *shown, now time.Time) error {
	options := c.output.table()
	options.WithNamespace = c.all
	switch isStructured := c.output.isStructured(); {
	case isStructured && what.listing != nil:
		return c.output.print(w, what.listing)
	case isStructured:
		return c.output.print(w, what.report)
	case what.listing != nil:
		return what.listing.Print(w, options, now)
	}
	return what.report.Print(w, options, now)
}

// read returns the overview of a namespace, and when it was read.
func (c *statusCommand) read(ctx context.Context, from *cluster.Cluster, namespace string) (*shown, time.Time, error) {
	in := &overview.Input{Namespace: namespace, Now: time.Now()}
	if err := c.gather(ctx, from, in); err != nil {
		return nil, in.Now, err
	}
	report := overview.Look(in)
	if len(c.states) > 0 {
		return &shown{listing: overview.List(&report, in.Workloads, c.wanted())}, in.Now, nil
	}
	return &shown{report: &report}, in.Now, nil
}

// shown is what is printed: a report, or the workloads in some states.
type shown struct {
	report  *overview.Report
	listing *overview.Listing
}

// timeless returns the same without what changes although nothing happens.
func (s *shown) timeless() *shown {
	if s.report == nil {
		return s
	}
	report := *s.report
	report.Leader = report.Leader.Timeless()
	return &shown{report: &report}
}

// gather reads what the caller may read. Without the workloads there is nothing to show.
func (c *statusCommand) gather(ctx context.Context, from *cluster.Cluster, in *overview.Input) error {
	namespace := in.Namespace
	from.Refresh()
	var err error
	if err = c.askLeader(ctx, namespace, in); err != nil {
		return err
	}
	if in.Leader != nil {
		if err := from.AddReported(kindsOf(in.Leader.Overview)); err != nil {
			return err
		}
	}
	workloads, unlisted, err := from.Workloads(ctx, namespace)
	if err != nil {
		return explained(err, listRemedy(namespace))
	}
	in.Workloads = workloads
	if namespace != "" && len(workloads) == 0 {
		c.noteIfMissing(ctx, from, namespace)
	}
	for _, err := range unlisted {
		c.noteOnce("a kind of workload that the leader names is left out: " + err.Error())
	}
	doubt, err := from.Enable(ctx, in.Workloads)
	if err != nil {
		return err
	}
	if doubt != "" {
		c.noteOnce(doubt)
	}
	if in.Halts, err = from.Halts(ctx); err != nil {
		return err
	}
	if err := c.readConfigs(ctx, from, namespace, in); err != nil {
		return err
	}
	in.Events, err = from.Events(ctx, namespace, "", "")
	if err := c.lack(in, "Events, so restarts that failed or were refused may be missing", err); err != nil {
		return err
	}
	return readSuspects(ctx, from, in)
}

// resources names the configs that are listed.
var resources = map[names.ConfigKind]string{names.ConfigMap: "ConfigMaps", names.Secret: "Secrets"}

// readConfigs reads the metadata of the configs.
func (c *statusCommand) readConfigs(ctx context.Context, from *cluster.Cluster, namespace string, in *overview.Input) error {
	var all []facts.Config
	in.Unlisted = make(map[names.ConfigKind]bool)
	for _, kind := range []names.ConfigKind{names.ConfigMap, names.Secret} {
		configs, err := from.ConfigMetas(ctx, kind, namespace)
		if err := c.lack(in, resources[kind]+", so it is not known which have changed, which are missing, and which hold restarts", err); err != nil {
			return err
		}
		in.Unlisted[kind] = err != nil
		all = append(all, configs...)
	}
	in.Take(all)
	return nil
}

// lack notes what the caller may not list, and what follows from that, if that is the error. Otherwise it returns the error.
// Only beside the answer of the leader it is no more than a note.
func (c *statusCommand) lack(in *overview.Input, what string, err error) error {
	switch {
	case !apierrors.IsForbidden(err):
		return err
	case in.Leader != nil:
		c.noteOnce("what it says is incomplete: " + err.Error())
	default:
		in.Gaps = append(in.Gaps, status.Gap{Text: "You may not list " + what, Why: err.Error()})
	}
	return nil
}

func listRemedy(namespace string) string {
	if namespace == "" {
		return "without permission to list the workloads of the whole cluster, leave out -A"
	}
	return "you need permission to list workloads there"
}

// noteIfMissing says that there is no such namespace, where nothing is found.
func (c *statusCommand) noteIfMissing(ctx context.Context, from *cluster.Cluster, namespace string) {
	if _, err := from.Meta(ctx, cluster.Target{Resource: "namespaces", Name: namespace}); apierrors.IsNotFound(err) {
		c.noteOnce("there is no namespace " + namespace)
	}
}

// maxSuspects is how many ConfigMaps are read to find out whether an edit of them matters.
const maxSuspects = 300

// readSuspects reads the ConfigMaps of which the metadata alone does not decide.
func readSuspects(ctx context.Context, from *cluster.Cluster, in *overview.Input) error {
	suspects := overview.Suspects(in)
	in.Contents = make(map[names.ConfigRef]*content.Config)
	for _, ref := range suspects[:min(len(suspects), maxSuspects)] {
		config, err := from.ReducedConfig(ctx, ref)
		switch {
		case err == nil:
			in.Contents[ref] = config.Config
		case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
			return err
		}
	}
	return nil
}

// kindsOf returns the further kinds of workloads that the leader watches.
func kindsOf(answer *status.Overview) []custom.Kind {
	var kinds []custom.Kind
	for _, k := range answer.Kinds {
		if kind, err := custom.ParseKind(k.Workload); err == nil && len(kinds) < custom.MaxKinds {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// askLeader adds what the leader says is under way, or why it cannot be asked.
func (c *statusCommand) askLeader(ctx context.Context, namespace string, in *overview.Input) error {
	from, err := c.leader(&c.flags)
	if from == nil || err != nil {
		return err
	}
	answer, name, err := from.Overview(ctx, namespace)
	if err != nil {
		in.Gaps = from.Gaps(ctx, whyNot(err), in.Now)
		return ctx.Err()
	}
	in.Leader = &overview.FromLeader{Name: name, Overview: answer}
	return nil
}

func (c *statusCommand) noteOnce(message string) {
	if !c.noted[message] {
		c.noted[message] = true
		c.note(message)
	}
}
