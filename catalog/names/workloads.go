package names

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// WorkloadKind is the kind of a workload: one of the following as the API spells it or, for any other kind, its
// resource and API group, such as rollouts.argoproj.io.
type WorkloadKind string

// The kinds of workloads that are part of Kubernetes.
const (
	Deployment  WorkloadKind = "Deployment"
	StatefulSet WorkloadKind = "StatefulSet"
	DaemonSet   WorkloadKind = "DaemonSet"
)

// KubernetesKinds are these kinds. The tables of controller and plugin have a row for each.
var KubernetesKinds = []WorkloadKind{Deployment, StatefulSet, DaemonSet}

// WorkloadRef names a workload.
type WorkloadRef struct {
	Kind      WorkloadKind
	Namespace string
	Name      string
}

// String returns "kind/namespace/name" with the kind in lower case.
func (r WorkloadRef) String() string {
	return strings.ToLower(string(r.Kind)) + "/" + r.Namespace + "/" + r.Name
}

// CompareWorkloadRefs orders workloads by kind, namespace and name.
func CompareWorkloadRefs(a, b WorkloadRef) int {
	return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// ParseWorkloadRef is the inverse of [WorkloadRef.String]. It reports false for any other text.
func ParseWorkloadRef(s string) (WorkloadRef, bool) {
	kind, rest, _ := strings.Cut(s, "/")
	namespace, name, found := strings.Cut(rest, "/")
	known := knownKind(kind)
	if !found || known == "" || namespace == "" || name == "" || strings.Contains(name, "/") {
		return WorkloadRef{}, false
	}
	return WorkloadRef{Kind: known, Namespace: namespace, Name: name}, true
}

// knownKind returns the kind that is written like this, in whatever case; empty if there is none.
func knownKind(name string) WorkloadKind {
	for _, known := range KubernetesKinds {
		if strings.EqualFold(name, string(known)) {
			return known
		}
	}
	name = strings.ToLower(name)
	resource, group, _ := strings.Cut(name, ".")
	if len(validation.IsDNS1035Label(resource)) > 0 || len(validation.IsDNS1123Subdomain(group)) > 0 {
		return ""
	}
	return WorkloadKind(name)
}

// IsCustom reports whether the kind is not part of Kubernetes, but named by its resource and API group.
func (k WorkloadKind) IsCustom() bool { return strings.Contains(string(k), ".") }

// MarshalText makes logs of every format show the workload by its name.
func (r WorkloadRef) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// EveryContainer stands for all containers among the names of containers: programs in any of them may
// read configs through the API. No container has that name, and it sorts before those of containers.
const EveryContainer = "*"
