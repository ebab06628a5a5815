package harness

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The variables of the environment that name other binaries than those in bin/.
const (
	LocalClusterVariable = "LOCALCLUSTER_BINARY"
	ControllerVariable   = "CONTROLLER_BINARY"
	HelmVariable         = "HELM_BINARY"
	PromtoolVariable     = "PROMTOOL_BINARY"
	PluginVariable       = "PLUGIN_BINARY"
)

// ControlPlaneVariable is the variable of the environment that names the binary of an older control plane,
// for all clusters of the tests; see make test-versions.
const ControlPlaneVariable = "CONTROL_PLANE_BINARY"

const moduleName = "kubernetes-deployment-restart-controller"

// LocalClusterBinary returns the path of the local cluster's binary. The error of
// a missing one names the make target that builds it.
func LocalClusterBinary() (string, error) {
	return binary(LocalClusterVariable, "localcluster", "make localcluster")
}

// ControllerBinary returns the path of the controller's binary. The error of a
// missing one names the make target that builds it.
func ControllerBinary() (string, error) {
	return binary(ControllerVariable, moduleName, "make build")
}

// HelmBinary returns the path of Helm's binary. The error of a missing one names the make
// target that builds it.
func HelmBinary() (string, error) {
	return binary(HelmVariable, "helm", "make bin/helm")
}

// PromtoolBinary returns the path of Prometheus' tool. The error of a missing one names the
// make target that builds it.
func PromtoolBinary() (string, error) {
	return binary(PromtoolVariable, "promtool", "make bin/promtool")
}

// PluginBinary returns the path of the binary of the kubectl plugin. The error of a missing one
// names the make target that builds it.
func PluginBinary() (string, error) {
	return binary(PluginVariable, "kubectl-restarts", "make plugin")
}

// RepositoryRoot returns the directory of the project's go.mod, looked for from
// the working directory upwards.
func RepositoryRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for directory := start; ; directory = filepath.Dir(directory) {
		if declaresModule(filepath.Join(directory, "go.mod")) {
			return directory, nil
		}
		if directory == filepath.Dir(directory) {
			return "", fmt.Errorf("find the repository: no go.mod of module %s in %s or above", moduleName, start)
		}
	}
}

func binary(variable, name, target string) (string, error) {
	path := os.Getenv(variable)
	if path == "" {
		root, err := RepositoryRoot()
		if err != nil {
			return "", err
		}
		path = filepath.Join(root, "bin", name)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("%s is missing: run `%s` first, or set %s", path, target, variable)
	case err != nil:
		return "", fmt.Errorf("find %s: %w", name, err)
	case info.IsDir():
		return "", fmt.Errorf("%s is a directory: %s wants a file", path, variable)
	}
	return path, nil
}

func declaresModule(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if strings.TrimSpace(lines.Text()) == "module "+moduleName {
			return true
		}
	}
	return false
}
