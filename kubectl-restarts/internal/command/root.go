// Package command holds the commands of the plugin: flags, what they read, and what they print.
// What they compute is in packages of its own.
package command

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// The exit codes. [exitResult] says what a command has found out: that workloads would restart, or that a content is not delivered.
const (
	exitOK      = 0
	exitError   = 1
	exitResult  = 2
	exitTimeout = 3
)

// exit makes the process end with an exit code. What there is to say has been said.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Run runs the plugin of a version with the given arguments, and returns the exit code.
func Run(ctx context.Context, version string, arguments []string, streams genericiooptions.IOStreams) int {
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	s := &session{IOStreams: streams, flags: genericclioptions.NewConfigFlags(true)}
	root := newRoot(s) //nolint:contextcheck // cobra passes the context to the commands
	root.Version = version
	root.SetArgs(arguments)
	var code exit
	switch err := root.ExecuteContext(ctx); {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	default:
		fmt.Fprintln(streams.ErrOut, "error:", text.Safe(inOneLine(s.unreached(err))))
		return exitError
	}
}

// inOneLine returns the text of an error, to which cobra adds lines if a command is misspelled.
func inOneLine(err error) string {
	message, suggestions, areSome := strings.Cut(err.Error(), "Did you mean this?")
	message = strings.Join(strings.Fields(message), " ")
	if !areSome {
		return message
	}
	return fmt.Sprintf("%s; did you mean %s?", message, strings.Join(strings.Fields(suggestions), " or "))
}

// Where the controller keeps its halts by its manifests.
const (
	defaultControllerNamespace = "deployment-restart-controller"
	defaultHaltsConfigMap      = "kubernetes-deployment-restart-controller-halts"
)

func newRoot(s *session) *cobra.Command {
	root := &cobra.Command{
		Use:           "kubectl-restarts",
		Short:         "See which workloads restart when a ConfigMap or Secret changes",
		Long:          "See what an edit of a ConfigMap or Secret would restart, why a workload restarted or did not, and what waits;\nhold restarts, and release them.\n\nAll commands act with your own permissions. They never print the data of a config, nor the names of\na Secret's keys.",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl restarts"},
		SilenceUsage:  true,
		SilenceErrors: true,

		PersistentPreRunE: func(*cobra.Command, []string) error { return s.validate() },
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.ErrOut)
	root.SetFlagErrorFunc(wrongFlag)
	s.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVar(&s.controllerNamespace, "controller-namespace", defaultControllerNamespace, "Namespace in which the controller runs and keeps its halts")
	root.PersistentFlags().StringVar(&s.haltsConfigMap, "halts-config-map", defaultHaltsConfigMap, "Name of the ConfigMap of halts in that namespace")
	root.PersistentFlags().BoolVar(&s.ask, "leader", true, "Ask the leader of the controller, and whether anybody leads; otherwise show what the cluster shows")
	root.PersistentFlags().StringVar(&s.lease, "lease", "kubernetes-deployment-restart-controller", "Name of the Lease by which the controller elects its leader")
	root.PersistentFlags().Var(&s.workloads, "workload", "Further kind of workload, repeatable, as the controller's flag: RESOURCE.VERSION.GROUP, such as rollouts.v1alpha1.argoproj.io, or RESOURCE.VERSION.GROUP=PATH")
	root.AddCommand(newImpact(s), newExplain(s), newHold(s), newUnhold(s), newResume(s), newUrgent(s), newRetry(s), newPromote(s), newAbort(s), newHistory(s), newStatus(s), newWait(s), newDashboard(s))
	for _, command := range root.Commands() {
		command.Args = withUsage(command.Args)
	}
	return root
}

// unreached says which API server cannot be reached, if that is the error, in place of what was asked of it first.
func (s *session) unreached(err error) error {
	var failed *url.Error
	if !errors.As(err, &failed) {
		return s.missing(err)
	}
	config, _ := s.flags.ToRESTConfig()
	asked, _ := url.Parse(failed.URL)
	if config == nil || asked == nil || asked.Host == "" || !strings.Contains(config.Host, asked.Host) {
		return err
	}
	return fmt.Errorf("cannot reach the API server %s: %w; check --kubeconfig, --context and --server", config.Host, failed.Err)
}

// missing says in which namespace an object is missing, if that is the error.
func (s *session) missing(err error) error {
	var answer apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &answer) || answer.Status().Details == nil || answer.Status().Details.Name == "" {
		return err
	}
	namespace, _, _ := s.namespace()
	return fmt.Errorf("%w in namespace %s", err, namespace)
}

// explained adds what to do to an error of the API server.
func explained(err error, remedy string) error {
	if err == nil || !apierrors.IsForbidden(err) {
		return err
	}
	return fmt.Errorf("%w; %s", err, remedy)
}
