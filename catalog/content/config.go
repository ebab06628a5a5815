package content

import (
	"slices"
	"strconv"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// Config is what the catalog keeps of a ConfigMap or Secret, which is never its data. Of a SecretProviderClass it keeps a
// [CSIMount] for each pod instead.
type Config struct {
	Ref  names.ConfigRef
	Keys names.Keys
	// Created is when the config was created, by the API server's clock, in seconds of Unix
	// time; 0 if that is not known.
	Created uint32
	// Deleted marks a config that is gone but still referenced. Its keys are kept to detect
	// whether it comes back with the same content.
	Deleted bool
	// Appeared is the moment at which the watch showed the config as new, and 0
	// if it was there when the catalog began to watch.
	Appeared names.Sequence
	// Edits holds the known changes of the content; it is empty for most configs.
	Edits []annotation.Edit
	// Policy is what the config's annotations ask of restarts, nil for most configs and for those
	// that are gone.
	Policy *policy.ConfigPolicy
	// Version is the resource version of the object, 0 if it is no number; see [Config.ResourceVersion].
	Version uint64
}

// ResourceVersion returns the resource version of a config, which may be nil; empty if it does not exist, or has none.
func (c *Config) ResourceVersion() string {
	if c == nil || c.Deleted || c.Version == 0 {
		return ""
	}
	return strconv.FormatUint(c.Version, 10)
}

// NewConfigMap reduces a ConfigMap to what the catalog keeps of it.
func NewConfigMap(cm *corev1.ConfigMap) Config {
	keys := make([]names.Key, 0, len(cm.Data)+len(cm.BinaryData))
	for name, value := range cm.Data {
		keys = append(keys, names.Key{Name: name, Checksum: KeyChecksum(name, value)})
	}
	for name, value := range cm.BinaryData {
		keys = append(keys, names.Key{Name: name, Checksum: KeyChecksum(name, value), Binary: true})
	}
	return newConfig(names.ConfigMap, &cm.ObjectMeta, keys)
}

// NewSecret reduces a Secret to what the catalog keeps of it.
func NewSecret(secret *corev1.Secret) Config {
	keys := make([]names.Key, 0, len(secret.Data))
	for name, value := range secret.Data {
		keys = append(keys, names.Key{Name: name, Checksum: KeyChecksum(name, value)})
	}
	return newConfig(names.Secret, &secret.ObjectMeta, keys)
}

func newConfig(kind names.ConfigKind, meta *metav1.ObjectMeta, all []names.Key) Config {
	keys, edits := names.NewKeys(all), annotation.RecordedEdits(meta)
	byName := newKeyFinder(keys)
	for i := range edits { // one copy of each name
		if key, found := byName.find(edits[i].Key); found {
			edits[i].Key = key.Name
		}
	}
	version, _ := strconv.ParseUint(meta.ResourceVersion, 10, 64)
	return Config{
		Version: version,
		Ref:     names.ConfigRef{Kind: kind, Namespace: unique.Make(meta.Namespace).Value(), Name: meta.Name},
		Created: names.UnixSeconds(meta.CreationTimestamp.Time),
		Keys:    keys,
		Edits:   edits,
		Policy:  policy.ReadConfigPolicy(meta),
	}
}

// Checksum returns the checksum to record of the keys that any of the selections sees. For
// a Secret it uses the checksum key.
func (c *Config) Checksum(selections []template.Selection, key ChecksumKey) names.Checksum {
	return c.ChecksumOf(c.Seen(selections), key)
}

// ChecksumOf returns the checksum to record of the given keys of the config.
func (c *Config) ChecksumOf(seen names.Keys, key ChecksumKey) names.Checksum {
	if c.Ref.Kind.IsSecret() {
		return key.checksum(c.Ref.Source(), seen)
	}
	return SetChecksum(seen)
}

// Seen returns the keys that the selections show.
func (c *Config) Seen(selections []template.Selection) names.Keys {
	if slices.ContainsFunc(selections, template.Selection.Everything) {
		return c.Keys
	}
	return c.Keys.Where(func(key names.Key) bool {
		return slices.ContainsFunc(selections, func(s template.Selection) bool { return s.Selects(key) })
	})
}

// SelectedKeys returns the names of the keys that any of the references selects, which are references of a
// workload to this config in their order. The names are sorted, and each once, however many references there are.
func (c *Config) SelectedKeys(references []template.Reference) []string {
	return c.Seen(Selections(references)).Names()
}

// Shows reports whether the config has a key that the selection selects.
func (c *Config) Shows(selection template.Selection) bool {
	listed, isList := selection.Listed()
	if !isList {
		listed = c.Keys.Names()
	}
	return slices.ContainsFunc(listed, func(name string) bool {
		key, found := FindKey(c.Keys, name)
		return found && selection.Selects(key)
	})
}

// ChangedKeys returns the names of the keys in which two contents differ:
// changed, added or removed.
func ChangedKeys(before, after names.Keys) []string {
	var changed []string
	was, is := before.Names(), after.Names()
	for i, j := 0, 0; i < len(was) || j < len(is); {
		switch {
		case j == len(is) || i < len(was) && was[i] < is[j]:
			changed = append(changed, was[i])
			i++
		case i == len(was) || is[j] < was[i]:
			changed = append(changed, is[j])
			j++
		default:
			if before.At(i) != after.At(j) {
				changed = append(changed, is[j])
			}
			i, j = i+1, j+1
		}
	}
	return changed
}

// Hold returns why the config holds restarts, empty if it does not, and since when.
func (c *Config) Hold() (text string, set policy.HoldTime) {
	if c.Policy == nil || c.Deleted {
		return "", policy.HoldTime{}
	}
	return c.Policy.Hold, c.Policy.HoldSet
}

// Binary returns the config as if it had only its binaryData.
func (c *Config) Binary() *Config {
	rest := *c
	rest.Keys = c.Keys.Where(func(key names.Key) bool { return key.Binary })
	rest.Edits = slices.DeleteFunc(slices.Clone(c.Edits), func(edit annotation.Edit) bool {
		mayBe := edit.IsJoined() && rest.Keys.Len() > 0
		return !mayBe && !HasKey(rest.Keys, edit.Key)
	})
	return &rest
}

// ContentID is [catalog.Catalog.ContentID] for a config that exists.
func (c *Config) ContentID(keys []string, key ChecksumKey) string {
	return c.Checksum(SelectionOf(keys), key).String()
}

// SelectionOf selects the given keys, or all if none is given.
func SelectionOf(keys []string) []template.Selection {
	var selection template.Selection
	if len(keys) > 0 {
		selection.Names = slices.Sorted(slices.Values(keys))
	}
	return []template.Selection{selection}
}

// Selections returns what the references to a config select, as one selection for each
// channel.
func Selections(references []template.Reference) []template.Selection {
	var all []template.Selection
	for ofChannel := range names.Runs(references, func(a, b *template.Reference) bool { return a.Channel == b.Channel }) {
		all = append(all, template.Union(ofChannel))
	}
	return all
}

// SeenBy returns the keys that any of the selections sees of a config, none if there is no config.
func (c *Config) SeenBy(selections []template.Selection) names.Keys {
	if c == nil {
		return names.Keys{}
	}
	return c.Seen(selections)
}
