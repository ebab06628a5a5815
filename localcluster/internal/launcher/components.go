package launcher

import (
	"fmt"
	"slices"
	"strings"
)

// The names of the components are the first arguments that make a process of this binary one of them.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	KWOK              = "kwok"
	Kubectl           = "kubectl" // a tool, not a member of a cluster
)

// allComponents are the possible members of a cluster, in the order in which they start.
var allComponents = []string{Etcd, APIServer, ControllerManager, Scheduler, KWOK}

// selectComponents checks a user's choice and returns it in the order in which the components start.
func selectComponents(chosen []string) ([]string, error) {
	for _, name := range chosen {
		if err := checkComponent(name); err != nil {
			return nil, err
		}
	}
	has := func(name string) bool { return slices.Contains(chosen, name) }
	switch {
	case !has(Etcd), !has(APIServer):
		return nil, usagef("--components must include %s and %s: no cluster works without them", Etcd, APIServer)
	case has(Scheduler) && !has(ControllerManager):
		return nil, usagef("--components with %s must include %s: without it nodes stay tainted as not ready and no pod is ever scheduled",
			Scheduler, ControllerManager)
	}
	var selected []string
	for _, name := range allComponents {
		if has(name) {
			selected = append(selected, name)
		}
	}
	return selected, nil
}

func checkComponent(name string) error {
	if !slices.Contains(allComponents, name) {
		return usagef("unknown component %q (known: %s)", name, strings.Join(allComponents, ", "))
	}
	return nil
}

// usageError is a command line that makes no sense. It ends the program with exit code 2.
type usageError struct{ message string }

func (e usageError) Error() string { return e.message }

func usagef(format string, args ...any) error {
	return usageError{fmt.Sprintf(format, args...)}
}
