package command

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/explain"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

func newUrgent(s *session) *cobra.Command {
	w, remove := &writer{session: s}, false
	command := &cobra.Command{
		Use:   "urgent TYPE/NAME [ID]",
		Short: "Let the present content of a config skip the slow start and windows",
		Long: `Mark the present content of a config as urgent: restarts for it do not wait for the slow start, nor for
a window. They still wait for holds, halts, waves, the limit and the budget. The next edit is not urgent.

The id of the content of a ConfigMap is computed from what you can read. That of a Secret is made with
a key of the controller: it is taken from the Event FanOut of the Secret, or you give it.`,
		Example: `  # Deliver the fix at once
  kubectl restarts urgent configmap/web-config

  # Forget about it
  kubectl restarts urgent configmap/web-config --remove`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, a []string) error { return w.urgent(c.Context(), a, remove) },

		ValidArgsFunction: s.completeConfigs,
	}
	w.dryRun.add(command)
	command.Flags().BoolVar(&remove, "remove", false, "Remove the mark")
	return command
}

func (w *writer) urgent(ctx context.Context, arguments []string, remove bool) error {
	if remove && len(arguments) > 1 {
		return errors.New("--remove needs no id")
	}
	o, err := w.findConfig(ctx, arguments[0])
	if err != nil {
		return err
	}
	if remove {
		if err := w.write(ctx, o, annotation.UrgentAnnotation, nil, true); err != nil {
			return err
		}
		w.done(o, "not urgent any more", "Restarts that wait take part in the slow start again.")
		return nil
	}
	id, from := "", ""
	isGiven := len(arguments) > 1
	if isGiven {
		id = arguments[1]
	} else if id, from, err = w.contentID(ctx, o); err != nil {
		return err
	}
	if err := w.write(ctx, o, annotation.UrgentAnnotation, &id, isGiven); err != nil {
		return err
	}
	w.done(o, "urgent", "Restarts for the content "+id+from+" skip the slow start, and windows if all configs that they are for are urgent.")
	return nil
}

var fanOutID = regexp.MustCompile(`^fan-out of ([0-9a-f]{16})\b`)

// contentID returns the id of the present content of a config, and where that comes from, if only the controller
// knows it.
func (w *writer) contentID(ctx context.Context, o *object) (id, from string, err error) {
	ref := o.ref()
	if !ref.Kind.IsSecret() {
		config, err := w.cluster.ReducedConfig(ctx, ref)
		if err != nil {
			return "", "", err
		}
		return facts.ContentID(config.Config), "", nil
	}
	events, err := w.cluster.Events(ctx, ref.Namespace, "Secret", ref.Name)
	if err != nil {
		return "", "", explained(err, "give the id of the content, which is in the Event FanOut of the Secret")
	}
	explain.SortEvents(events)
	edited := editedAt(o.meta)
	for i := range events {
		e := &events[i]
		match := fanOutID.FindStringSubmatch(e.Message)
		switch {
		case match == nil || e.Reason != "FanOut":
		case !e.At.After(edited): // within the same second, either may be the first
			return "", "", fmt.Errorf("the last Event FanOut of %s, of %s, is not later than its last edit, of %s: try again when the controller has seen the edit, or give the id of the content",
				facts.ConfigName(ref), e.At.UTC().Format(time.RFC3339), edited.UTC().Format(time.RFC3339))
		default:
			return match[1], ", which the Event FanOut of " + e.At.UTC().Format(time.RFC3339) + " names,", nil
		}
	}
	return "", "", fmt.Errorf("no Event FanOut of %s has the id of its content; give the id, which is also in the record of each workload that has restarted with it", facts.ConfigName(ref))
}

// editedAt returns when somebody wrote to the data of a Secret last, as far as the API server tells.
func editedAt(meta *metav1.ObjectMeta) (last time.Time) {
	for _, entry := range meta.ManagedFields {
		if entry.Time != nil && entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `"f:data"`) && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}
