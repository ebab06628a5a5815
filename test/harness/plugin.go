package harness

import "context"

// RunPlugin runs the kubectl plugin to its end, as the administrator unless the arguments say
// otherwise.
func (c *Cluster) RunPlugin(ctx context.Context, arguments ...string) (exitCode int, stdout, stderr string, err error) {
	binary, err := PluginBinary()
	if err != nil {
		return 0, "", "", err
	}
	return runToEnd(ctx, binary, append(arguments, "--kubeconfig="+c.Kubeconfig()))
}
