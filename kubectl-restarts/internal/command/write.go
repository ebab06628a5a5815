package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/cluster"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/release"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// object is a workload or a config that a command writes an annotation to.
type object struct {
	cluster.Target
	name string             // as kubectl names it
	kind names.WorkloadKind // empty for a config
	// notEnabled is why a workload is not enabled, empty if it is or may be.
	notEnabled string
	meta       *metav1.ObjectMeta
}

// dryRunFlag is --dry-run, as kubectl has it.
type dryRunFlag string

func (f *dryRunFlag) add(command *cobra.Command) {
	command.Flags().StringVar((*string)(f), "dry-run", "none", `"none" writes, "server" lets the API server check the write only, "client" writes and checks nothing`)
	command.Flags().Lookup("dry-run").NoOptDefVal = "server"
	_ = command.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]string{"none", "server", "client"}, cobra.ShellCompDirectiveNoFileComp))
}

func (f *dryRunFlag) validate() error {
	return oneOf("dry-run", string(*f), "none", "server", "client")
}

// suffix is what kubectl appends to what it says that it has done.
func (f *dryRunFlag) suffix() string {
	if *f == "none" {
		return ""
	}
	return fmt.Sprintf(" (%s dry run)", string(*f))
}

// writer writes one annotation to one object.
type writer struct {
	*session
	dryRun  dryRunFlag
	cluster *cluster.Cluster
}

// find reads the object that an argument of the form TYPE/NAME names.
func (w *writer) find(ctx context.Context, argument string) (*object, error) {
	if err := w.dryRun.validate(); err != nil {
		return nil, err
	}
	namespace, _, err := w.namespace()
	if err != nil {
		return nil, err
	}
	o, err := w.parseObject(argument, namespace)
	if err != nil {
		return nil, err
	}
	if w.cluster, err = w.connect(); err != nil {
		return nil, err
	}
	if o.meta, err = w.cluster.Meta(ctx, o.Target); err != nil {
		return nil, err
	}
	if o.notEnabled, err = w.whyNotEnabled(ctx, o); err != nil {
		return nil, err
	}
	nobodyLeads, err := w.nobodyLeads(ctx)
	if nobodyLeads != "" {
		w.note(nobodyLeads)
	}
	return o, err
}

// parseObject reads the name of a workload or a config.
func (s *session) parseObject(argument, namespace string) (*object, error) {
	kind, name, err := typeAndName([]string{argument})
	if err != nil {
		return nil, err
	}
	var o object
	if known, isConfig := configKinds[strings.ToLower(kind)]; isConfig {
		o.name = known.String()
	} else if o.kind, err = s.kindOf(kind); err != nil {
		return nil, err
	} else if o.kind != "" {
		o.name = strings.ToLower(string(o.kind))
	} else {
		return nil, fmt.Errorf("%.40q is neither a type of workload nor of config; use deployment, statefulset, daemonset, configmap or secret, or a kind that --workload names", kind)
	}
	o.Target = cluster.Target{Resource: o.name + "s", Namespace: namespace, Name: name}
	if o.kind.IsCustom() {
		o.Resource = o.name
	}
	o.name += "/" + name
	return &o, nil
}

// whyNotEnabled returns why a workload does not count, empty if it does or may count, and for a config.
func (w *writer) whyNotEnabled(ctx context.Context, o *object) (string, error) {
	if o.kind == "" {
		return "", nil
	}
	found, err := w.choosing(ctx, o)
	if err != nil {
		return "", err
	}
	alone := []facts.Workload{found}
	_, err = w.cluster.Enable(ctx, alone)
	if alone[0].Enabled || alone[0].EnabledUnknown {
		return "", err
	}
	return alone[0].Why(), err
}

// choosing returns a workload with what it says. That takes its pod template if it may speak as to another tool.
func (w *writer) choosing(ctx context.Context, o *object) (facts.Workload, error) {
	ref := names.WorkloadRef{Kind: o.kind, Namespace: o.Namespace, Name: o.Target.Name}
	rules, err := w.cluster.Rules(ctx, o.Namespace)
	if err == nil && len(rules.Dialects) > 0 {
		return w.cluster.Workload(ctx, ref)
	}
	mistyped := dialect.EnablingMistakes(&rules.Rules, &workload.Parts{Meta: o.meta})
	return facts.Workload{Workload: workload.Workload{Object: workload.Object{Ref: ref}}, Choice: annotation.ChoiceOf(o.meta), Mistyped: mistyped}, err
}

// write sets the annotation, or removes it if the value is nil. The object must not have changed since
// it was found if that matters.
func (w *writer) write(ctx context.Context, o *object, annotation string, value *string, mayHaveChanged bool) error {
	if w.dryRun == "client" {
		return nil
	}
	version := o.meta.ResourceVersion
	if mayHaveChanged {
		version = ""
	}
	err := w.cluster.Annotate(ctx, o.Target, annotation, value, version, w.dryRun == "server")
	if apierrors.IsConflict(err) {
		return fmt.Errorf("%s has just changed; try again: %w", o.name, err)
	}
	return explained(err, "you need permission to patch it")
}

// done says what was done, and what happens next.
func (w *writer) done(o *object, what, next string) {
	fmt.Fprintf(w.Out, "%s %s%s\n", o.name, text.Safe(what), w.dryRun.suffix())
	if next != "" {
		fmt.Fprintln(w.Out, text.Safe(next))
	}
	if o.notEnabled != "" {
		w.note(o.name + " is not enabled, so the controller leaves it alone: " + o.notEnabled)
	}
}

var errConfigOnly = errors.New("this works for configs only; use configmap/NAME or secret/NAME")

// findConfig is like find for a config.
func (w *writer) findConfig(ctx context.Context, argument string) (*object, error) {
	o, err := w.find(ctx, argument)
	if err == nil && o.kind != "" {
		return nil, errConfigOnly
	}
	return o, err
}

// findDeployment is like find for a Deployment.
func (w *writer) findDeployment(ctx context.Context, argument string) (*object, error) {
	o, err := w.find(ctx, argument)
	if err == nil && o.kind != names.Deployment {
		return nil, errors.New("this works for Deployments only; use deployment/NAME")
	}
	return o, err
}

// settling is how long a command waits for a controller that is just changing a Deployment: three seconds in all.
var settling = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Steps: 6}

// onRollout writes by how the rollout of a Deployment stands. A controller that has not seen its last change yet, or changes it at the
// same time, is waited for.
func (w *writer) onRollout(ctx context.Context, o *object, write func(*release.Rollout) error) error {
	o.notEnabled = "" // that is about restarts for configs
	isUnsettled := func(err error) bool { return errors.Is(err, release.ErrUnobserved) || apierrors.IsConflict(err) }
	return retry.OnError(settling, isUnsettled, func() error {
		d, err := w.cluster.Deployment(ctx, o.Namespace, o.Target.Name)
		if err != nil {
			return err
		}
		o.meta = &d.ObjectMeta
		rollout, err := release.RolloutOf(d)
		if err != nil {
			return fmt.Errorf("%s: %w; try again", o.name, err)
		}
		return write(&rollout)
	})
}

// seeRollout names the command that shows how a rollout goes on.
func seeRollout(o *object) string {
	return "See how that goes with: kubectl rollout status -n " + o.Namespace + " " + o.name
}

// ref returns the name of an object that is a config.
func (o *object) ref() names.ConfigRef {
	kind, name, _ := strings.Cut(o.name, "/")
	return names.ConfigRef{Kind: configKinds[kind], Namespace: o.Namespace, Name: name}
}
