package main

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	enabledAnnotation   = "com.xing.deployment-restart"
	timestampAnnotation = "com.xing.deployment-restart.timestamp"
	checksumsAnnotation = "com.xing.deployment-restart.applied-config-checksums"

	// bareAnnotation opts a Deployment in to the bare process and names its
	// ConfigMap.
	bareAnnotation = "bench.example/bare"

	kibibyte = 1024
)

// randomBytes returns bytes that cannot be compressed, other ones at each call.
func randomBytes(size int) []byte {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	return data
}

// randomText returns text that is hardly better to compress.
func randomText(size int) string {
	return base64.StdEncoding.EncodeToString(randomBytes(size))[:size]
}

func keyName(number int) string { return fmt.Sprintf("KEY_%d", number) }

// newConfigMap makes a ConfigMap of random content: so many bytes in so many keys.
func newConfigMap(namespace, name string, size, keys int) *corev1.ConfigMap {
	data := make(map[string]string, keys)
	for key := range keys {
		data[keyName(key)] = randomText(size / keys)
	}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

func newSecret(namespace, name string, size, keys int) *corev1.Secret {
	data := make(map[string][]byte, keys)
	for key := range keys {
		data[keyName(key)] = randomBytes(size / keys)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

// newDeployment makes an enabled Deployment with one replica that takes its
// environment from the given ConfigMaps.
func newDeployment(namespace, name string, configMaps ...string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	container := corev1.Container{Name: "main", Image: "registry.example/main:1"}
	for _, configMap := range configMaps {
		source := corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}}
		container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{ConfigMapRef: &source})
	}
	replicas := int32(1)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{enabledAnnotation: "enabled"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{container}},
			},
		},
	}
}

// addReferences lets a Deployment refer to more configs in the other ways that
// there are: by one key, and as volumes.
func addReferences(deployment *appsv1.Deployment, keyOf, volumeOf, secretEnv, secretVolume string) {
	pod := &deployment.Spec.Template.Spec
	main := &pod.Containers[0]
	main.Env = append(main.Env, corev1.EnvVar{Name: "ONE_KEY", ValueFrom: &corev1.EnvVarSource{
		ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: keyOf}, Key: keyName(0)},
	}})
	main.EnvFrom = append(main.EnvFrom, corev1.EnvFromSource{
		SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secretEnv}},
	})
	main.VolumeMounts = []corev1.VolumeMount{{Name: "files", MountPath: "/files"}, {Name: "secrets", MountPath: "/secrets"}}
	pod.Volumes = []corev1.Volume{
		{Name: "files", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: volumeOf},
		}}},
		{Name: "secrets", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secretVolume}}},
	}
}
