package status

import "strings"

// Remedy says what helps against the refusal of a request, or a config that is missing, as a clause without a full stop; empty if that is not known.
type Remedy string

const manifest = "the RBAC manifest that you installed it with, such as k8s-manifests/rbac.yaml, or upgrade the chart"

// ApplyManifest says how to grant a permission that was named before.
const ApplyManifest = "Apply " + manifest + "."

// ReleaseAllCommand is the command that removes the hold of all restarts.
const ReleaseAllCommand = "kubectl restarts unhold --all-workloads"

// AwaitAPIServer says what to do about a failure that may pass.
const AwaitAPIServer = "The controller tries again by itself; if this lasts, look at the API server, and at the network to it."

// The remedies.
const (
	GrantPermission Remedy = "the controller lacks this permission: apply " + manifest
	CreateConfig    Remedy = "create the config or key that is missing, or make the reference optional"
	AllowInPolicy   Remedy = "let the controller's account do this in that policy"
	ChangePolicy    Remedy = AllowInPolicy + ", or restart the workload by hand if it lets you"
	RepairWebhook   Remedy = "repair the webhook or its service, or let it ignore failures"
	LookAtPods      Remedy = "list its pods with kubectl get pods, and see why one does not run with kubectl describe pod and kubectl logs"
)

// IsPolicy reports whether a policy or a webhook denied the request.
func (r Remedy) IsPolicy() bool { return r == AllowInPolicy || r == ChangePolicy }

// After returns a text that ends with the remedy, if there is one.
func (r Remedy) After(text string) string { return text + r.suffix() }

// Len returns how many bytes the remedy adds to a text.
func (r Remedy) Len() int { return len(r.suffix()) }

func (r Remedy) suffix() string {
	if r == "" {
		return ""
	}
	return "; " + string(r)
}

const look = "; look with: "

// LookWith tells a person, at the end of a text, to run a command that shows why a pod fails; empty if there is none.
func LookWith(command string) string {
	if command == "" {
		return ""
	}
	return look + command
}

// WithoutRemedy returns the text of an Event up to what to do about it.
func WithoutRemedy(text string) string {
	if i := strings.LastIndex(text, look); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSuffix(text, RemedyIn(text).suffix())
}

// RemedyIn returns the remedy at the end of the text of an Event, empty if there is none.
func RemedyIn(text string) Remedy {
	for _, remedy := range []Remedy{GrantPermission, AllowInPolicy, ChangePolicy, RepairWebhook} {
		if strings.HasSuffix(text, remedy.suffix()) {
			return remedy
		}
	}
	return ""
}
