package test

import corev1 "k8s.io/api/core/v1"

// Parts of pod templates.

// podOf returns a pod with one container.
func podOf(parts ...func(*corev1.Container)) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{container("main", parts...)}}
}

func container(name string, parts ...func(*corev1.Container)) corev1.Container {
	c := corev1.Container{Name: name, Image: "example/" + name + ":1"}
	for _, part := range parts {
		part(&c)
	}
	return c
}

// envFrom makes the container read all of a config into its environment.
func envFrom(c config) func(*corev1.Container) { return envFromSource(c, nil) }

// envFromOptional is envFrom of a config that may be missing.
func envFromOptional(c config) func(*corev1.Container) { return envFromSource(c, new(true)) }

func envFromSource(c config, optional *bool) func(*corev1.Container) {
	reference := corev1.LocalObjectReference{Name: c.name}
	source := corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: reference, Optional: optional}}
	if c.kind == "secret" {
		source = corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: reference, Optional: optional}}
	}
	return func(container *corev1.Container) { container.EnvFrom = append(container.EnvFrom, source) }
}

// literal sets a variable of the container.
func literal(name, value string) func(*corev1.Container) {
	return func(container *corev1.Container) {
		container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: value})
	}
}

// envKey makes the container read one key of a config into its environment.
func envKey(c config, key string) func(*corev1.Container) { return envKeySource(c, key, nil) }

// envKeyOptional is envKey of a key that may be missing.
func envKeyOptional(c config, key string) func(*corev1.Container) {
	return envKeySource(c, key, new(true))
}

func envKeySource(c config, key string, optional *bool) func(*corev1.Container) {
	reference := corev1.LocalObjectReference{Name: c.name}
	source := &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: reference, Key: key, Optional: optional}}
	if c.kind == "secret" {
		source = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: reference, Key: key, Optional: optional}}
	}
	return func(container *corev1.Container) {
		container.Env = append(container.Env, corev1.EnvVar{Name: "VALUE_OF_" + key, ValueFrom: source})
	}
}

// mount mounts a volume of the pod whole.
func mount(volume string) func(*corev1.Container) {
	return mountOf(corev1.VolumeMount{Name: volume, MountPath: "/etc/" + volume})
}

// mountSubPath mounts one path of a volume.
func mountSubPath(volume, subPath string) func(*corev1.Container) {
	return mountOf(corev1.VolumeMount{Name: volume, MountPath: "/etc/" + volume + "/" + subPath, SubPath: subPath})
}

func mountOf(m corev1.VolumeMount) func(*corev1.Container) {
	return func(container *corev1.Container) { container.VolumeMounts = append(container.VolumeMounts, m) }
}

// volumeOf returns a volume that shows a config, of it only the items if there are any.
func volumeOf(name string, c config, items ...corev1.KeyToPath) corev1.Volume {
	source := corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: c.name}, Items: items,
	}}
	if c.kind == "secret" {
		source = corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: c.name, Items: items}}
	}
	return corev1.Volume{Name: name, VolumeSource: source}
}

// projection returns a config as a part of a projected volume.
func projection(c config, items ...corev1.KeyToPath) corev1.VolumeProjection {
	reference := corev1.LocalObjectReference{Name: c.name}
	if c.kind == "secret" {
		return corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: reference, Items: items}}
	}
	return corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: reference, Items: items}}
}

func projectedVolume(name string, sources ...corev1.VolumeProjection) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: sources},
	}}
}

func item(key, path string) corev1.KeyToPath { return corev1.KeyToPath{Key: key, Path: path} }
