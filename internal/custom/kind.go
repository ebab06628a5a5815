package custom

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// Kind is a kind of workload, by its resource in the plural.
type Kind struct {
	Resource, Version, Group string
	// Path leads to the pod template. The first step is "spec".
	Path []string
}

// MaxKinds is how many kinds may be asked for.
const MaxKinds = 10

// templatePath is where most kinds have their pod template.
const templatePath = ".spec.template"

// form is what a user writes, for messages.
const form = "RESOURCE.VERSION.GROUP or RESOURCE.VERSION.GROUP=PATH, such as rollouts.v1alpha1.argoproj.io"

// versions are the names that the versions of an API have.
var versions = regexp.MustCompile(`^v[0-9]+([a-z]+[0-9]+)?$`)

// steps are the names that fields have.
var steps = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// ParseKind reads a kind from its form RESOURCE.VERSION.GROUP, optionally followed by = and the path of the pod template,
// such as .spec.jobTemplate.template.
func ParseKind(text string) (Kind, error) {
	name, path, hasPath := strings.Cut(text, "=")
	parts := strings.SplitN(name, ".", 3)
	if len(parts) != 3 || len(validation.IsDNS1035Label(parts[0])) > 0 || !versions.MatchString(parts[1]) || len(validation.IsDNS1123Subdomain(parts[2])) > 0 {
		return Kind{}, fmt.Errorf("%.100q is not a kind of workload; write %s", text, form)
	}
	k := Kind{Resource: parts[0], Version: parts[1], Group: parts[2]}
	if !hasPath {
		path = templatePath
	}
	steps, err := parsePath(path)
	if err != nil {
		return Kind{}, fmt.Errorf("%.100q: %w", text, err)
	}
	k.Path = steps
	return k, k.check()
}

func parsePath(path string) ([]string, error) {
	all := strings.Split(path, ".")
	isStep := func(step string) bool { return steps.MatchString(step) }
	if len(all) < 3 || len(all) > 10 || all[0] != "" || all[1] != "spec" || slices.ContainsFunc(all[1:], func(s string) bool { return !isStep(s) }) {
		return nil, fmt.Errorf("%.100q is not the path of a pod template; write it like %s", path, templatePath)
	}
	return all[1:], nil
}

// check returns why workloads of the kind cannot be restarted, nil if they can.
func (k Kind) check() error {
	switch {
	case k.Group == "apps" && slices.Contains([]string{"deployments", "statefulsets", "daemonsets"}, k.Resource):
		return fmt.Errorf("%s are watched anyway", k.Name())
	case k.Group == "apps":
		return fmt.Errorf("%s cannot be restarted by their pod template; ask for the kind that makes them", k.Name())
	case k.Group == "batch":
		return fmt.Errorf("%s need no restart: each run reads the configs anew", k.Name())
	case k.preset() != nil && k.PathText() != templatePath:
		return fmt.Errorf("%s have their pod template at %s, not at %s", k.Name(), templatePath, k.PathText())
	}
	return nil
}

// ParseKinds reads kinds, none of which may be there twice.
func ParseKinds(texts []string) ([]Kind, error) {
	if len(texts) > MaxKinds {
		return nil, fmt.Errorf("there are %d kinds, more than %d", len(texts), MaxKinds)
	}
	kinds := make([]Kind, 0, len(texts))
	for _, text := range texts {
		kind, err := ParseKind(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(kinds, func(k Kind) bool { return k.Name() == kind.Name() }) {
			return nil, fmt.Errorf("%s is there twice", kind.Name())
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// Name returns the kind as the catalog and kubectl know it, such as rollouts.argoproj.io.
func (k Kind) Name() names.WorkloadKind { return names.WorkloadKind(k.Resource + "." + k.Group) }

// GroupVersion returns the version of the API that has the kind.
func (k Kind) GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: k.Group, Version: k.Version}
}

// PathText returns the path in the form that [ParseKind] reads.
func (k Kind) PathText() string { return "." + strings.Join(k.Path, ".") }

// String returns the form that [ParseKind] reads.
func (k Kind) String() string {
	text := k.Resource + "." + k.Version + "." + k.Group
	if path := k.PathText(); path != templatePath {
		text += "=" + path
	}
	return text
}
