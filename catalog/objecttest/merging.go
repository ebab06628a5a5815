package objecttest

import (
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

func DrawReference(t *rapid.T) corev1.LocalObjectReference {
	return corev1.LocalObjectReference{Name: rapid.SampledFrom([]string{"web", "web", "other", ""}).Draw(t, "config")}
}

func DrawKey(t *rapid.T) string { return rapid.SampledFrom(DrawnKeys).Draw(t, "key") }

func DrawOptional(t *rapid.T) *bool {
	return rapid.SampledFrom([]*bool{nil, Pointer(false), Pointer(true)}).Draw(t, "optional")
}

func DrawContainer(t *rapid.T, name string) corev1.Container {
	container := corev1.Container{Name: name}
	for range rapid.IntRange(0, 2).Draw(t, "envFrom") {
		from := corev1.EnvFromSource{Prefix: rapid.SampledFrom([]string{"", "", "P_"}).Draw(t, "prefix")}
		if rapid.Bool().Draw(t, "secret") {
			from.SecretRef = &corev1.SecretEnvSource{LocalObjectReference: DrawReference(t), Optional: DrawOptional(t)}
		} else {
			from.ConfigMapRef = &corev1.ConfigMapEnvSource{LocalObjectReference: DrawReference(t), Optional: DrawOptional(t)}
		}
		container.EnvFrom = append(container.EnvFrom, from)
	}
	for range rapid.IntRange(0, 4).Draw(t, "env") {
		container.Env = append(container.Env, drawVariable(t))
	}
	for range rapid.IntRange(0, 3).Draw(t, "mounts") {
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{
			Name:        rapid.SampledFrom([]string{"v", "w"}).Draw(t, "volume"),
			SubPath:     rapid.SampledFrom([]string{"", ".", "a", "b", "a/b", "a/", "..data/b", "d", "d/a", "d-", "c/x"}).Draw(t, "subPath"),
			SubPathExpr: rapid.SampledFrom([]string{"", "", "", "$(X)"}).Draw(t, "subPathExpr"),
		})
	}
	return container
}

func drawVariable(t *rapid.T) corev1.EnvVar {
	variable := corev1.EnvVar{Name: rapid.SampledFrom([]string{"a", "b", "X", "P_a"}).Draw(t, "variable"), ValueFrom: &corev1.EnvVarSource{}}
	switch from := variable.ValueFrom; rapid.IntRange(0, 2).Draw(t, "kind of variable") {
	case 0:
		from.SecretKeyRef = &corev1.SecretKeySelector{LocalObjectReference: DrawReference(t), Key: DrawKey(t), Optional: DrawOptional(t)}
	case 1:
		from.ConfigMapKeyRef = &corev1.ConfigMapKeySelector{LocalObjectReference: DrawReference(t), Key: DrawKey(t), Optional: DrawOptional(t)}
	default:
		variable.Value = rapid.SampledFrom([]string{"", "1", "$(a)", "$$(a)$(X)", "$(P_a) $(b"}).Draw(t, "value")
		variable.ValueFrom = nil
	}
	return variable
}
