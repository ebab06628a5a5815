package deployment

import (
	"crypto/sha256"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TemplateSum identifies a pod template: two have the same sum if, and only if,
// they are equal but for the label pod-template-hash. Equal is meant as the API
// means it: absent and empty lists are the same, and so are 1Gi and 1073741824.
// By this a Deployment's ReplicaSet is recognised, and not by the hash, which
// changes with the version of the API.
//
// A sum of 32 bytes stands for a decoded template of several KiB, and comparing
// two costs nothing.
type TemplateSum [sha256.Size]byte

// SumTemplate computes the sum of a template and does not modify it. The sum is
// for this process only: another version of the API encodes other fields.
func SumTemplate(template *corev1.PodTemplateSpec) (TemplateSum, error) {
	canonical := template.DeepCopy()
	delete(canonical.Labels, hashLabel)
	eachQuantity(canonical, canonicalQuantity)
	encoded, err := canonical.Marshal() // maps are encoded in the order of their keys
	if err != nil {
		return TemplateSum{}, fmt.Errorf("encode pod template: %w", err)
	}
	return sha256.Sum256(encoded), nil
}

// canonicalQuantity returns the same amount in decimal notation.
func canonicalQuantity(q resource.Quantity) resource.Quantity {
	q.Add(resource.Quantity{}) // forgets the notation that it was read in
	q.Format = resource.DecimalSI
	return q
}

// eachQuantity replaces every quantity of a template.
func eachQuantity(template *corev1.PodTemplateSpec, replace func(resource.Quantity) resource.Quantity) {
	spec := &template.Spec
	list := func(quantities corev1.ResourceList) {
		for name, quantity := range quantities {
			quantities[name] = replace(quantity)
		}
	}
	divisor := func(selector *corev1.ResourceFieldSelector) {
		if selector != nil {
			selector.Divisor = replace(selector.Divisor)
		}
	}
	container := func(env []corev1.EnvVar, resources *corev1.ResourceRequirements) {
		list(resources.Limits)
		list(resources.Requests)
		for i := range env {
			if from := env[i].ValueFrom; from != nil {
				divisor(from.ResourceFieldRef)
			}
		}
	}
	list(spec.Overhead)
	if spec.Resources != nil {
		container(nil, spec.Resources)
	}
	for i := range spec.InitContainers {
		container(spec.InitContainers[i].Env, &spec.InitContainers[i].Resources)
	}
	for i := range spec.Containers {
		container(spec.Containers[i].Env, &spec.Containers[i].Resources)
	}
	for i := range spec.EphemeralContainers {
		container(spec.EphemeralContainers[i].Env, &spec.EphemeralContainers[i].Resources)
	}
	for i := range spec.Volumes {
		eachVolumeQuantity(&spec.Volumes[i].VolumeSource, replace, list, divisor)
	}
}

// eachVolumeQuantity replaces every quantity of a volume.
func eachVolumeQuantity(volume *corev1.VolumeSource, replace func(resource.Quantity) resource.Quantity, list func(corev1.ResourceList), divisor func(*corev1.ResourceFieldSelector)) {
	if volume.EmptyDir != nil && volume.EmptyDir.SizeLimit != nil {
		*volume.EmptyDir.SizeLimit = replace(*volume.EmptyDir.SizeLimit)
	}
	files := func(items []corev1.DownwardAPIVolumeFile) {
		for i := range items {
			divisor(items[i].ResourceFieldRef)
		}
	}
	if volume.DownwardAPI != nil {
		files(volume.DownwardAPI.Items)
	}
	if volume.Projected != nil {
		for _, source := range volume.Projected.Sources {
			if source.DownwardAPI != nil {
				files(source.DownwardAPI.Items)
			}
		}
	}
	if volume.Ephemeral != nil && volume.Ephemeral.VolumeClaimTemplate != nil {
		list(volume.Ephemeral.VolumeClaimTemplate.Spec.Resources.Limits)
		list(volume.Ephemeral.VolumeClaimTemplate.Spec.Resources.Requests)
	}
}
