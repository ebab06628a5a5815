package gate

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Evidence names the pod and the container that showed a failure; empty if none did.
type Evidence struct {
	Pod, Container string
	// HasRestarted means that the container has logs of an earlier run.
	HasRestarted bool
}

// Command returns the command that shows a person why a pod of a namespace fails, empty if there is none. People paste it
// into a shell, so there is none either if a name is not one that the API accepts.
func (e Evidence) Command(namespace string) string {
	isNamed := len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(e.Pod)) == 0
	switch {
	case !isNamed:
		return ""
	case e.HasRestarted && len(validation.IsDNS1123Label(e.Container)) == 0:
		return fmt.Sprintf("kubectl logs -n %s %s -c %s --previous", namespace, e.Pod, e.Container)
	}
	return fmt.Sprintf("kubectl describe pod -n %s %s", namespace, e.Pod)
}

// Command does so for a halt. The pods of a group are in namespaces that whoever reads it may not see.
func (h *Halt) Command() string {
	if IsGroup(h.Config) || len(h.Failed) == 0 {
		return ""
	}
	return h.Evidence.Command(h.Failed[0].Namespace)
}
