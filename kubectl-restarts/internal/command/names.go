package command

import (
	"fmt"
	"strings"

	"kubernetes-deployment-restart-controller/catalog"
)

var configKinds = map[string]catalog.ConfigKind{
	"configmap": catalog.ConfigMap, "configmaps": catalog.ConfigMap, "cm": catalog.ConfigMap,
	"secret": catalog.Secret, "secrets": catalog.Secret,
}

var workloadKinds = map[string]catalog.WorkloadKind{
	"deployment": catalog.Deployment, "deployments": catalog.Deployment, "deploy": catalog.Deployment,
	"statefulset": catalog.StatefulSet, "statefulsets": catalog.StatefulSet, "sts": catalog.StatefulSet,
	"daemonset": catalog.DaemonSet, "daemonsets": catalog.DaemonSet, "ds": catalog.DaemonSet,
}

// parseWorkload reads the name of a workload from arguments of the form TYPE/NAME or TYPE NAME.
func (s *session) parseWorkload(arguments []string, namespace string) (catalog.WorkloadRef, error) {
	kind, name, err := typeAndName(arguments)
	if err != nil {
		return catalog.WorkloadRef{}, err
	}
	known, err := s.kindOf(kind)
	switch {
	case err != nil:
		return catalog.WorkloadRef{}, err
	case known == "":
		return catalog.WorkloadRef{}, fmt.Errorf("%.40q is not a type of workload; use deployment/NAME, statefulset/NAME or daemonset/NAME, or RESOURCE.GROUP/NAME of a kind that --workload names", kind)
	}
	return catalog.WorkloadRef{Kind: known, Namespace: namespace, Name: name}, nil
}

// parseConfig reads the name of a config from arguments of the form TYPE/NAME or TYPE NAME.
func parseConfig(arguments []string, namespace string) (catalog.ConfigRef, error) {
	kind, name, err := typeAndName(arguments)
	if err != nil {
		return catalog.ConfigRef{}, err
	}
	known, found := configKinds[strings.ToLower(kind)]
	if !found {
		return catalog.ConfigRef{}, fmt.Errorf("%.40q is not a type of config; use configmap/NAME or secret/NAME", kind)
	}
	return catalog.ConfigRef{Kind: known, Namespace: namespace, Name: name}, nil
}

func typeAndName(arguments []string) (kind, name string, err error) {
	switch len(arguments) {
	case 1:
		kind, name, _ = strings.Cut(arguments[0], "/")
	case 2:
		kind, name = arguments[0], arguments[1]
	}
	if kind == "" || name == "" || strings.Contains(name, "/") {
		return "", "", fmt.Errorf("expected TYPE/NAME or TYPE NAME, got %.100q", strings.Join(arguments, " "))
	}
	return kind, name, nil
}
