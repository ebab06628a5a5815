package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/leader"
)

// leaderFlags say whether to ask the leader of the controller, and where it is.
type leaderFlags struct {
	ask       bool
	lease     string
	port      uint16
	statusURL string
}

func (f *leaderFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.BoolVar(&f.ask, "leader", true, "Ask the leader of the controller; if it cannot be asked, show what the cluster shows")
	flags.StringVar(&f.lease, "lease", "kubernetes-deployment-restart-controller", "Name of the Lease by which the controller elects its leader")
	flags.Uint16Var(&f.port, "status-port", 10255, "Port of the status page in the leader's pod (the controller's --status-address)")
	flags.StringVar(&f.statusURL, "status-url", "", "URL of the status page, if the leader runs outside of the cluster; otherwise it is reached as by kubectl port-forward")
}

// leader returns the leader that the flags name, nil if it is not to be asked.
func (s *session) leader(flags *leaderFlags) (*leader.Leader, error) {
	if !flags.ask {
		return nil, nil
	}
	if err := validName("lease", flags.lease); err != nil {
		return nil, err
	}
	config, err := s.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	return leader.New(config, leader.Place{Namespace: s.controllerNamespace, Lease: flags.lease, Port: flags.port, URL: flags.statusURL}), nil
}

// whyNot says why the leader did not answer.
func whyNot(err error) error { return fmt.Errorf("%w (--leader=false does not ask it)", err) }
