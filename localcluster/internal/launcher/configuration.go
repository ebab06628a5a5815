package launcher

import (
	"fmt"
	"os"
	"strings"

	nodestages "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	heartbeatstages "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podstages "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
)

// kwokStages are what KWOK does to nodes and pods: its own default stages. Nodes become Ready and stay so by their
// leases; pods run and are ready at once, those of Jobs complete, deleted ones go.
var kwokStages = strings.Join([]string{
	nodestages.DefaultNodeInit,
	heartbeatstages.DefaultNodeHeartbeatWithLease,
	podstages.DefaultPodReady,
	podstages.DefaultPodComplete,
	podstages.DefaultPodDelete,
}, "\n---\n")

const schedulerConfigFormat = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
clientConnection:
  kubeconfig: %q
  contentType: application/vnd.kubernetes.protobuf
  qps: %d
  burst: %d
`

// writeConfiguration writes everything that the components read before they serve: keys, tokens, kubeconfigs and
// configuration files.
func writeConfiguration(layout Layout, ports Ports, options Options) error {
	if err := writePKI(layout); err != nil {
		return err
	}
	users := newCredentials(options.Components)
	if err := users.write(layout.tokenFile()); err != nil {
		return fmt.Errorf("write token file: %w", err)
	}
	if err := writeKubeconfigs(layout, ports, users, options.Components, options.Kubeconfig); err != nil {
		return err
	}
	scheduler := fmt.Sprintf(schedulerConfigFormat, layout.componentKubeconfig(Scheduler), clientQPS, clientBurst)
	if err := os.WriteFile(layout.schedulerConfig(), []byte(scheduler), 0o600); err != nil {
		return fmt.Errorf("write configuration of the scheduler: %w", err)
	}
	if err := os.WriteFile(layout.kwokStages(), []byte(kwokStages), 0o600); err != nil {
		return fmt.Errorf("write stages of KWOK: %w", err)
	}
	return nil
}
