package objecttest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func Secret(name string, content map[string]string) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: metav1.Time{Time: Noon}},
		Data:       map[string][]byte{},
	}
	for key, value := range content {
		s.Data[key] = []byte(value)
	}
	return s
}

func ReadsSecret(name string) corev1.Container {
	return corev1.Container{Name: "app", EnvFrom: []corev1.EnvFromSource{{
		SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
	}}}
}
