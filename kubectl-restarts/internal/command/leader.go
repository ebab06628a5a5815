package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/leader"
)

// leaderFlags say where the status page of the leader is.
type leaderFlags struct {
	port      uint16
	statusURL string
}

func (f *leaderFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.Uint16Var(&f.port, "status-port", 10255, "Port of the status page in the leader's pod (the controller's --status-address)")
	flags.StringVar(&f.statusURL, "status-url", "", "URL of the status page, if the leader runs outside of the cluster; otherwise it is reached as by kubectl port-forward")
}

// leader returns the leader that the flags name, nil if it is not to be asked.
func (s *session) leader(flags *leaderFlags) (*leader.Leader, error) {
	if !s.ask {
		return nil, nil
	}
	if err := validName("lease", s.lease); err != nil {
		return nil, err
	}
	config, err := s.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	return leader.New(config, s.placeOf(flags)), nil
}

// pages returns the status page of the leader that the flags name.
func (s *session) pages(flags *leaderFlags) (*leader.Pages, error) {
	if err := validName("lease", s.lease); err != nil {
		return nil, err
	}
	config, err := s.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	return leader.NewPages(config, s.placeOf(flags))
}

func (s *session) placeOf(flags *leaderFlags) leader.Place {
	return leader.Place{Namespace: s.controllerNamespace, Lease: s.lease, Port: flags.port, URL: flags.statusURL}
}

// nobodyLeads says that nobody leads, so that nothing restarts, whatever a command promises. It is empty if somebody leads, or
// if the caller cannot know.
func (s *session) nobodyLeads(ctx context.Context) (string, error) {
	from, err := s.leader(&leaderFlags{})
	if from == nil || err != nil {
		return "", err
	}
	now := time.Now()
	gap, isKnown := from.Nobody(ctx, now)
	if !isKnown {
		return "", nil
	}
	return facts.DescribeGap(&gap, now), nil
}

// whyNot says why the leader did not answer.
func whyNot(err error) error { return fmt.Errorf("%w (--leader=false does not ask it)", err) }
