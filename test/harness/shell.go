package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// kubectlForShell makes a shell find the bundled kubectl and the plugin.
const kubectlForShell = `kubectl() {
	if [ "$1" = restarts ]; then shift; "$PLUGIN" "$@"; else "$LOCALCLUSTER" kubectl "$@"; fi
}
`

// RunShell runs a command line as the reader of a document types it, as the administrator, and returns what it printed.
func (c *Cluster) RunShell(ctx context.Context, line string) (string, error) {
	plugin, err := PluginBinary()
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, "sh", "-c", kubectlForShell+line)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(), "PLUGIN="+plugin, "LOCALCLUSTER="+c.binary)
	var output, complaint strings.Builder
	command.Stdout, command.Stderr = &output, &complaint
	if err := command.Run(); err != nil {
		return output.String(), fmt.Errorf("run %s: %w: %s", line, err, strings.TrimSpace(complaint.String()))
	}
	return output.String(), nil
}
