package template

import (
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// The kubelet sets the variables of a container's envFrom first, and then those of its env, in their order. A later value
// replaces an earlier one of the same name. A literal value may refer to what was set before it, as $(NAME). So nobody
// sees a value that a later one replaces, unless a value in between that somebody sees refers to it. Commands,
// arguments and a subPathExpr refer to what is left in the end.
//
// Only the pod template decides here. Whether a variable of one envFrom replaces that of another depends on the keys
// of their configs, so both count. A variable that is taken from an optional key may not be set, and replaces nothing.

// addEnvironment adds what a container sees of configs in its environment.
func (m *mentions) addEnvironment(container *corev1.Container) {
	replaced := make(map[string]struct{}) // the names of variables whose values nobody sees, if they are set before this one
	for i := range slices.Backward(container.Env) {
		variable := &container.Env[i]
		if _, isReplaced := replaced[variable.Name]; isReplaced {
			continue
		}
		m.addVariable(container.Name, variable.ValueFrom)
		if IsAlwaysSet(variable) {
			replaced[variable.Name] = struct{}{}
		}
		for name := range variablesIn(variable.Value) {
			delete(replaced, name)
		}
	}
	if len(container.EnvFrom) > 0 {
		m.addEnvFrom(container, m.keysHiddenBy(replaced))
	}
}

func (m *mentions) addVariable(container string, from *corev1.EnvVarSource) {
	if from == nil {
		return
	}
	if ref := from.ConfigMapKeyRef; ref != nil {
		m.addVariables(names.ConfigMap, ref.Name, container, ref.Optional, Selection{Names: []string{ref.Key}})
	}
	if ref := from.SecretKeyRef; ref != nil {
		m.addVariables(names.Secret, ref.Name, container, ref.Optional, Selection{Names: []string{ref.Key}})
	}
}

// addEnvFrom adds the configs whose keys all become variables, but for those keys that are hidden.
func (m *mentions) addEnvFrom(container *corev1.Container, hidden hiddenKeys) {
	selected := make(map[string]Selection, 1)
	for i := range container.EnvFrom {
		from := &container.EnvFrom[i]
		keys, isKnown := selected[from.Prefix]
		if !isKnown {
			keys = m.allBut(hidden.under(from.Prefix))
			selected[from.Prefix] = keys
		}
		if ref := from.ConfigMapRef; ref != nil {
			m.addVariables(names.ConfigMap, ref.Name, container.Name, ref.Optional, keys)
		}
		if ref := from.SecretRef; ref != nil {
			m.addVariables(names.Secret, ref.Name, container.Name, ref.Optional, keys)
		}
	}
}

func (m *mentions) addVariables(kind names.ConfigKind, name, container string, optional *bool, keys Selection) {
	keys.DataOnly = true
	m.add(kind, name, Reference{Keys: keys, Container: container, Channel: Environment, Optional: IsTrue(optional)})
}

// IsAlwaysSet reports whether a container that runs has the variable, whatever is in its configs.
func IsAlwaysSet(variable *corev1.EnvVar) bool {
	from := variable.ValueFrom
	switch {
	case variable.Value != "" || from == nil:
		return true
	case from.ConfigMapKeyRef != nil:
		return !IsTrue(from.ConfigMapKeyRef.Optional)
	case from.SecretKeyRef != nil:
		return !IsTrue(from.SecretKeyRef.Optional)
	case from.FileKeyRef != nil:
		return !IsTrue(from.FileKeyRef.Optional)
	}
	return true
}

// variablesIn yields the names of the variables to which a value refers, as $(NAME). $$ stands for a dollar sign.
func variablesIn(value string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			_, after, _ := strings.Cut(value, "$")
			value = after
			switch {
			case after == "":
				return
			case after[0] == '$':
				value = after[1:]
			case after[0] == '(':
				name, rest, isClosed := strings.Cut(after[1:], ")")
				if !isClosed || !yield(name) {
					return
				}
				value = rest
			}
		}
	}
}
