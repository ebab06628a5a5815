package podtemplate

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// RunsAnnotation is on a Deployment that has fallen back, and holds which configs its pods read: those of the pod template
// that runs, not of the present one. The deployment engine writes it, and the restart controller reads it.
const RunsAnnotation = "com.xing.deployment-restart.runs"

// longestReads is how many bytes the reads of a template may take. Beyond, they are not told.
const longestReads = 16 << 10

// EncodeReads returns the value of [RunsAnnotation] for the ReplicaSet with a UID and a pod spec, of which it takes what
// decides which configs are read. It takes no values of variables, which may be confidential.
func EncodeReads(uid string, spec *corev1.PodSpec) string {
	text, err := json.Marshal(readsOf(spec))
	if err != nil {
		panic(fmt.Sprintf("encode reads: %v", err)) // it was decoded
	}
	if len(text) > longestReads {
		return uid
	}
	return uid + " " + string(text)
}

// UIDOfReads returns that of the ReplicaSet whose reads the value of [RunsAnnotation] holds, empty if it has none.
func UIDOfReads(value string) string {
	uid, _, _ := strings.Cut(value, " ")
	return uid
}

// EncodedReads returns the pod spec that the value of [RunsAnnotation] holds, in JSON. It is empty if there is none, or none
// that the deployment engine may have written: anyone who may change a Deployment can write to it.
func EncodedReads(value string) string {
	_, text, _ := strings.Cut(value, " ")
	if len(text) > longestReads {
		return ""
	}
	return text
}

// readsOf returns what of a pod spec decides which configs its containers read.
func readsOf(spec *corev1.PodSpec) *corev1.PodSpec {
	reads := &corev1.PodSpec{InitContainers: readingContainers(spec.InitContainers), Containers: readingContainers(spec.Containers)}
	for i := range spec.Volumes {
		from := &spec.Volumes[i].VolumeSource
		source := corev1.VolumeSource{ConfigMap: from.ConfigMap, Secret: from.Secret, Projected: from.Projected}
		if from.CSI != nil && from.CSI.Driver == SecretsStoreDriver {
			class := map[string]string{ClassAttribute: from.CSI.VolumeAttributes[ClassAttribute]}
			source.CSI = &corev1.CSIVolumeSource{Driver: SecretsStoreDriver, VolumeAttributes: class}
		}
		if source != (corev1.VolumeSource{}) {
			reads.Volumes = append(reads.Volumes, corev1.Volume{Name: spec.Volumes[i].Name, VolumeSource: source})
		}
	}
	return reads
}

// SecretsStoreDriver is the driver of the Secrets Store CSI driver, and ClassAttribute the attribute of its volumes that names their
// SecretProviderClass; see https://secrets-store-csi-driver.sigs.k8s.io/getting-started/usage.
const (
	SecretsStoreDriver = "secrets-store.csi.k8s.io"
	ClassAttribute     = "secretProviderClass"
)

func readingContainers(containers []corev1.Container) []corev1.Container {
	reading := make([]corev1.Container, len(containers))
	for i := range containers {
		c := &containers[i]
		reading[i] = corev1.Container{Name: c.Name, EnvFrom: c.EnvFrom, VolumeMounts: c.VolumeMounts}
		named := make(map[string]bool, len(c.Env))
		for j := range c.Env {
			named[c.Env[j].Name] = true
		}
		for j := range c.Env {
			reading[i].Env = append(reading[i].Env, withoutValue(&c.Env[j], named))
		}
	}
	return reading
}

// inValue finds the variables in the value of another, as $(NAME), and $$, which stands for $.
var inValue = regexp.MustCompile(`\$\$|\$\(([^)]*)\)`)

// withoutValue returns a variable without its value, of which only the variables in it matter that the container names.
func withoutValue(variable *corev1.EnvVar, named map[string]bool) corev1.EnvVar {
	without := corev1.EnvVar{Name: variable.Name, ValueFrom: variable.ValueFrom}
	for _, found := range inValue.FindAllStringSubmatch(variable.Value, -1) {
		if named[found[1]] {
			without.Value += "$(" + found[1] + ")"
		}
	}
	return without
}
