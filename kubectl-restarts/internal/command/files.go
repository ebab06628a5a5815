package command

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/cluster"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// manifests are the configs in files.
type manifests struct {
	configs map[names.ConfigRef]cluster.Object
	// ignored counts the other objects by kind.
	ignored map[string]int
}

// refs returns the names of the configs, sorted.
func (m *manifests) refs() []names.ConfigRef {
	return slices.SortedFunc(maps.Keys(m.configs), func(a, b names.ConfigRef) int { return strings.Compare(a.String(), b.String()) })
}

// readManifests reads files, directories, URLs, the standard input or a kustomization, without asking
// the API server.
func (s *session) readManifests(from *resource.FilenameOptions) (*manifests, error) {
	namespace, isExplicit, err := s.namespace()
	if err != nil {
		return nil, err
	}
	m := &manifests{configs: make(map[names.ConfigRef]cluster.Object), ignored: make(map[string]int)}
	result := resource.NewBuilder(s.flags).Unstructured().Local().ContinueOnError().FilenameParam(false, from).Flatten().Do()
	err = result.Visit(func(info *resource.Info, err error) error {
		if err != nil {
			return err
		}
		object, isObject := info.Object.(*unstructured.Unstructured)
		if !isObject {
			return fmt.Errorf("%s is not an object of Kubernetes", info.Source)
		}
		return m.add(object, namespace, isExplicit)
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// add adds an object. One without a namespace is in the given one, and one of another namespace is
// an error if the caller named the namespace.
func (m *manifests) add(object *unstructured.Unstructured, namespace string, isExplicit bool) error {
	gvk := object.GroupVersionKind()
	var config cluster.Object
	kind := names.ConfigMap
	switch {
	case gvk.Group == "" && gvk.Kind == "ConfigMap":
		config = &corev1.ConfigMap{}
	case gvk.Group == "" && gvk.Kind == "Secret":
		config, kind = &corev1.Secret{}, names.Secret
	default:
		m.ignored[gvk.Kind]++
		return nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, config); err != nil {
		return fmt.Errorf("%s %s cannot be read: %w", strings.ToLower(gvk.Kind), object.GetName(), err)
	}
	switch own := config.GetNamespace(); {
	case own == "":
		config.SetNamespace(namespace)
	case isExplicit && own != namespace:
		return fmt.Errorf("%s %s is in namespace %s, not in %s; leave out --namespace, or correct the file", strings.ToLower(gvk.Kind), object.GetName(), own, namespace)
	}
	ref := names.ConfigRef{Kind: kind, Namespace: config.GetNamespace(), Name: config.GetName()}
	if ref.Name == "" {
		return fmt.Errorf("a %s has no name", strings.ToLower(gvk.Kind))
	}
	if _, isKnown := m.configs[ref]; isKnown {
		return fmt.Errorf("%s is there twice; pass each config once", ref)
	}
	m.configs[ref] = config
	return nil
}

// note says which objects were ignored; empty if none were.
func (m *manifests) note() string {
	if len(m.ignored) == 0 {
		return ""
	}
	parts := make([]string, 0, len(m.ignored))
	for _, kind := range slices.Sorted(maps.Keys(m.ignored)) {
		parts = append(parts, fmt.Sprintf("%d of kind %s", m.ignored[kind], kind))
	}
	return "only ConfigMaps and Secrets are compared; ignored " + text.List(parts, 5)
}

var errNothingToCompare = errors.New("there is no ConfigMap or Secret in what -f names")
