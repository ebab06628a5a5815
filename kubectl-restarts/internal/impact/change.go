package impact

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

// Change is a change of a config.
type Change struct {
	Ref names.ConfigRef
	// Before is nil if the config does not exist yet.
	Before *content.Config
	After  *content.Config
	// KeysUnknown means that the keys of both are not those that the config has, because the caller
	// may not read it.
	KeysUnknown bool
}

// ConfigMapApplied returns the change that a ConfigMap of a file makes to the one of the cluster,
// which is nil if there is none. The file is the whole content: keys that it lacks are removed. The rules
// say what their annotations mean.
func ConfigMapApplied(rules *facts.OptInRules, present, file *corev1.ConfigMap) Change {
	after := corev1.ConfigMap{ObjectMeta: file.ObjectMeta, Data: file.Data, BinaryData: file.BinaryData}
	if present == nil {
		return newChange(nil, rules.Config(content.NewConfigMap(&after), after.Annotations))
	}
	after.ObjectMeta = applied(&present.ObjectMeta, &file.ObjectMeta)
	before := rules.Config(content.NewConfigMap(present), present.Annotations)
	return newChange(&before, rules.Config(content.NewConfigMap(&after), after.Annotations))
}

// SecretApplied is like [ConfigMapApplied] for a Secret.
func SecretApplied(rules *facts.OptInRules, present, file *corev1.Secret) Change {
	after := corev1.Secret{ObjectMeta: file.ObjectMeta, Data: withStrings(file)}
	if present == nil {
		return newChange(nil, rules.Config(content.NewSecret(&after), after.Annotations))
	}
	after.ObjectMeta = applied(&present.ObjectMeta, &file.ObjectMeta)
	before := rules.Config(content.NewSecret(present), present.Annotations)
	return newChange(&before, rules.Config(content.NewSecret(&after), after.Annotations))
}

// withStrings returns the data of a Secret as the API server would store it: stringData wins.
func withStrings(secret *corev1.Secret) map[string][]byte {
	data := make(map[string][]byte, len(secret.Data)+len(secret.StringData))
	maps.Copy(data, secret.Data)
	for key, value := range secret.StringData {
		data[key] = []byte(value)
	}
	return data
}

// applied returns the metadata of a config to which a file was applied. Annotations of the present
// config that the file does not mention stay. Who wrote which field in the past is left out: what
// changes now is changed by the caller.
func applied(present, file *metav1.ObjectMeta) metav1.ObjectMeta {
	meta := *present.DeepCopy()
	meta.ManagedFields = nil
	for name, value := range file.Annotations {
		metav1.SetMetaDataAnnotation(&meta, name, value)
	}
	return meta
}

func newChange(before *content.Config, after content.Config) Change {
	return Change{Ref: after.Ref, Before: before, After: &after}
}

// KeysChanged returns a change of the given keys of a config, or of all its keys if none is given,
// to content that it does not have. Keys that it lacks are added.
func KeysChanged(present content.Config, keys []string) Change {
	changed := slices.Collect(present.Keys.All())
	for i := range changed {
		if len(keys) == 0 || slices.Contains(keys, changed[i].Name) {
			changed[i].Checksum ^= 1
		}
	}
	for _, name := range keys {
		if !slices.ContainsFunc(changed, func(key names.Key) bool { return key.Name == name }) {
			changed = append(changed, names.Key{Name: name})
		}
	}
	after := present
	after.Edits, after.Keys = nil, names.NewKeys(changed)
	return Change{Ref: present.Ref, Before: &present, After: &after}
}

// anyKey is the name of a key that no workload names. It stands for the keys that are not known.
const anyKey = "\x00"

// UnreadableChanged is like [KeysChanged] for a config that the caller may not read. Which keys it
// has is only known from the workloads that name them; another one stands for the others.
func UnreadableChanged(ref names.ConfigRef, workloads []facts.Workload, keys []string) Change {
	known := []names.Key{{Name: anyKey}}
	if len(keys) == 0 {
		known = append(known, keysNamed(ref, workloads)...)
	}
	present := content.Config{Ref: ref, Keys: names.NewKeys(known)}
	change := KeysChanged(present, keys)
	change.KeysUnknown = len(keys) == 0
	return change
}

// keysNamed returns the keys of a config that workloads name, sorted.
func keysNamed(ref names.ConfigRef, workloads []facts.Workload) []names.Key {
	var each []string
	for i := range workloads {
		for _, reference := range workloads[i].References {
			if reference.Config == ref {
				listed, _ := reference.Keys.Listed()
				each = append(each, listed...)
			}
		}
	}
	slices.Sort(each)
	each = slices.Compact(each)
	keys := make([]names.Key, 0, len(each))
	for _, name := range each {
		keys = append(keys, names.Key{Name: name})
	}
	return keys
}

// IsEmpty reports whether the content stays the same.
func (c *Change) IsEmpty() bool {
	return c.Before != nil && c.Before.Keys.Equal(c.After.Keys)
}

// isSeenElsewhere reports whether workloads of other namespaces may see the change.
func (c *Change) isSeenElsewhere() bool {
	return c.After.Readers() != "" && (!c.IsEmpty() || c.Before.Readers() != c.After.Readers())
}
