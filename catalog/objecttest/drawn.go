package objecttest

import (
	"encoding/binary"
	"maps"
	"regexp"
	"slices"

	"github.com/cespare/xxhash/v2"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// DrawReference draws the name of a config; most are alike.
func DrawReference(t *rapid.T) corev1.LocalObjectReference {
	return corev1.LocalObjectReference{Name: rapid.SampledFrom([]string{"web", "web", "other", ""}).Draw(t, "config")}
}

// DrawKey draws a key.
func DrawKey(t *rapid.T) string { return rapid.SampledFrom(DrawnKeys).Draw(t, "key") }

// DrawOptional draws whether a reference is optional, which it need not say.
func DrawOptional(t *rapid.T) *bool {
	return rapid.SampledFrom([]*bool{nil, Pointer(false), Pointer(true)}).Draw(t, "optional")
}

// DrawContainer draws a container that reads configs in several ways.
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

// DrawnKeys are all keys that drawn configs have.
var DrawnKeys = []string{"a", "b", "c"}

// Dollars finds what the kubelet expands in the value of a variable.
var Dollars = regexp.MustCompile(`\$\$|\$\(([^)]*)\)`)

// EncodeContent is the slow and obvious form of what is hashed: for each key, in
// the order of their names, the name, and what the encoding of the key with
// its value hashes to.
func EncodeContent(content map[string]string) []byte {
	encoded := binary.LittleEndian.AppendUint64(nil, uint64(len(content)))
	for _, name := range slices.Sorted(maps.Keys(content)) {
		encoded = append(encoded, EncodeString(name)...)
		encoded = binary.LittleEndian.AppendUint64(encoded, xxhash.Sum64(EncodeKey(name, content[name])))
	}
	return encoded
}

// EncodeKey is the slow and obvious encoding of a key with its value.
func EncodeKey(name, value string) []byte { return append(EncodeString(name), EncodeString(value)...) }

// EncodeString is a string after its length.
func EncodeString(s string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(s))), s...)
}

// Contents draws the content of a config; contents are often alike.
func Contents(t *rapid.T, label string) map[string]string {
	// Few letters, so that contents are often alike.
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab=;\x00\x01")), 0, 4, -1)
	return rapid.MapOfN(text, text, 0, 3).Draw(t, label)
}
