package custom

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
)

const (
	// longestContainer and longestKey are how many bytes these names may have, as in the templates of the API's own kinds.
	longestContainer = 63
	longestKey       = 253
)

var (
	errContainer = errors.New("it has a container whose name is longer than 63 bytes")
	errKey       = errors.New("it has a key of a config that is longer than 253 bytes")
)

// checkNames returns an error if a pod has names that no API server would accept in a kind of its own, and that would be
// kept. It quotes none.
func checkNames(spec *corev1.PodSpec) error {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			if len(containers[i].Name) > longestContainer {
				return errContainer
			}
			if err := checkVariables(containers[i].Env); err != nil {
				return err
			}
		}
	}
	for i := range spec.Volumes {
		if err := checkVolume(&spec.Volumes[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkVariables(variables []corev1.EnvVar) error {
	for i := range variables {
		from := variables[i].ValueFrom
		if from == nil {
			continue
		}
		if ref := from.ConfigMapKeyRef; ref != nil && len(ref.Key) > longestKey {
			return errKey
		}
		if ref := from.SecretKeyRef; ref != nil && len(ref.Key) > longestKey {
			return errKey
		}
	}
	return nil
}

func checkVolume(volume *corev1.Volume) error {
	var lists [][]corev1.KeyToPath
	if v := volume.ConfigMap; v != nil {
		lists = append(lists, v.Items)
	}
	if v := volume.Secret; v != nil {
		lists = append(lists, v.Items)
	}
	if v := volume.Projected; v != nil {
		for i := range v.Sources {
			if p := v.Sources[i].ConfigMap; p != nil {
				lists = append(lists, p.Items)
			}
			if p := v.Sources[i].Secret; p != nil {
				lists = append(lists, p.Items)
			}
		}
	}
	for _, items := range lists {
		for i := range items {
			if len(items[i].Key) > longestKey {
				return errKey
			}
		}
	}
	return nil
}
