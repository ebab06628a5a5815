package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"

	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// allFlag is --all-workloads, in place of an object.
type allFlag bool

func (f *allFlag) add(command *cobra.Command, usage string) {
	command.Flags().BoolVar((*bool)(f), "all-workloads", false, usage)
}

// arguments checks how many there are: one less than usual if there is no object among them.
func (f *allFlag) arguments(check func(int) cobra.PositionalArgs, usual int) cobra.PositionalArgs {
	return func(command *cobra.Command, arguments []string) error {
		if *f {
			return check(usual-1)(command, arguments)
		}
		return check(usual)(command, arguments)
	}
}

// complete completes an object, unless there is none among the arguments.
func (f *allFlag) complete(object cobra.CompletionFunc) cobra.CompletionFunc {
	return func(command *cobra.Command, arguments []string, typed string) ([]string, cobra.ShellCompDirective) {
		if *f {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return object(command, arguments, typed)
	}
}

// findAll checks the flags of a command about everything, and connects to the cluster.
func (w *writer) findAll(ctx context.Context) error {
	if err := w.dryRun.validate(); err != nil {
		return err
	}
	switch _, isExplicit, err := w.namespace(); {
	case err != nil:
		return err
	case isExplicit:
		return errors.New("--all-workloads is about the workloads of all namespaces; leave out --namespace")
	}
	var err error
	if w.cluster, err = w.connect(); err != nil {
		return err
	}
	nobodyLeads, err := w.nobodyLeads(ctx)
	if nobodyLeads != "" {
		w.note(nobodyLeads)
	}
	return err
}

// onHalts reads the ConfigMap of halts and lets a function write to it. The controller may write at the same time, which is
// waited for.
func (w *writer) onHalts(ctx context.Context, write func(*corev1.ConfigMap) error) error {
	return retry.OnError(settling, apierrors.IsConflict, func() error {
		object, err := w.cluster.HaltsConfigMap(ctx)
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("there is no configmap %s in namespace %s, where the controller keeps its halts; say where it is with --controller-namespace and --halts-config-map", w.haltsConfigMap, w.controllerNamespace)
		}
		if err == nil {
			err = write(object)
		}
		return explained(err, "you need permission to get and patch it in namespace "+w.controllerNamespace)
	})
}

func (w *writer) holdAll(ctx context.Context, reason string, overwrite bool) error {
	switch first, _, _ := strings.Cut(reason, " "); {
	case strings.TrimSpace(reason) == "":
		return errNoReason
	case w.isObject(first):
		return fmt.Errorf("give either --all-workloads or %.100s, not both", first)
	}
	if err := w.findAll(ctx); err != nil {
		return err
	}
	err := w.onHalts(ctx, func(object *corev1.ConfigMap) error {
		if former, isHeld := object.Data[gate.HoldEntry]; isHeld && former != reason && !overwrite {
			return fmt.Errorf("all restarts are held already: %s; replace the reason with --overwrite", former)
		}
		if w.dryRun == "client" {
			return nil
		}
		return w.cluster.SetHaltsEntry(ctx, gate.HoldEntry, reason, object.ResourceVersion, w.dryRun == "server")
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w.Out, "all restarts held%s\n", w.dryRun.suffix())
	fmt.Fprintln(w.Out, text.Safe("From about 10 seconds on, no restart of any workload begins in any namespace, until you run: "+status.ReleaseAllCommand+w.haltsFlags()))
	return nil
}

// isObject reports whether an argument names a workload or a config.
func (w *writer) isObject(argument string) bool {
	_, err := w.parseObject(argument, "")
	return err == nil
}

// haltsFlags are the flags that say where the ConfigMap of halts is, if it is not where it usually is.
func (s *session) haltsFlags() (flags string) {
	if s.controllerNamespace != defaultControllerNamespace {
		flags += " --controller-namespace=" + s.controllerNamespace
	}
	if s.haltsConfigMap != defaultHaltsConfigMap {
		flags += " --halts-config-map=" + s.haltsConfigMap
	}
	return flags
}

func (w *writer) unholdAll(ctx context.Context) error {
	if err := w.findAll(ctx); err != nil {
		return err
	}
	var former string
	err := w.onHalts(ctx, func(object *corev1.ConfigMap) error {
		var isHeld bool
		if former, isHeld = object.Data[gate.HoldEntry]; !isHeld {
			return errors.New("there is no hold of all restarts")
		}
		if w.dryRun == "client" {
			return nil
		}
		err := w.cluster.RemoveHaltsEntry(ctx, gate.HoldEntry, former, w.dryRun == "server")
		if apierrors.IsInvalid(err) {
			return fmt.Errorf("the hold of all restarts (%s) was not removed: it has just changed, or the API server refuses the write; look at it and try again: %w", former, err)
		}
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w.Out, "all restarts not held any more%s\n", w.dryRun.suffix())
	fmt.Fprintln(w.Out, text.Safe("Restarts that are due begin within about 10 seconds, by the usual rules, unless something else holds them. The reason was: "+former))
	return nil
}
