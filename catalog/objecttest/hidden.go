package objecttest

import corev1 "k8s.io/api/core/v1"

func Literal(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }

// Taken takes a variable from a key of a ConfigMap.
func Taken(name, config, key string, optional bool) corev1.EnvVar {
	variable := ReadsKey(config, key, optional).Env[0]
	variable.Name = name
	return variable
}

func ManyLiterals(n int) (all []corev1.EnvVar) {
	for i := range n {
		all = append(all, Literal(KeyNamed(i), "1"))
	}
	return all
}
