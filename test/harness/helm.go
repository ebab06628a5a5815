package harness

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Chart returns the path of the Helm chart.
func Chart() (string, error) {
	root, err := RepositoryRoot()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "charts", moduleName), nil
}

// Helm runs Helm and returns what it prints. The home directory, in which it looks for its
// settings, is a folder of the test.
func Helm(ctx context.Context, home string, arguments ...string) ([]byte, error) {
	binary, err := HelmBinary()
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, binary, arguments...)
	command.Env = append(os.Environ(), "HOME="+home, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("helm %s: %w: %s", strings.Join(arguments, " "), err, &stderr)
	}
	return stdout.Bytes(), nil
}
