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
