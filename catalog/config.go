package catalog

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConfigKind is the kind of a config. It is a number because the catalog holds
// very many references to configs.
type ConfigKind uint8

// The kinds of configs. The zero value is not a kind.
const (
	ConfigMap ConfigKind = iota + 1
	Secret
	// SecretProviderClass is a class of the Secrets Store CSI driver; see [Mount].
	SecretProviderClass
)

// configKinds holds the properties of each kind.
var configKinds = []configKindRow{
	ConfigMap: {name: "configmap"},
	Secret:    {name: "secret", isSecret: true},

	SecretProviderClass: {name: "secretproviderclass", isSecret: true, isPerPod: true},
}

type configKindRow struct {
	name string // in lower case, as in the checksums annotation
	// isSecret means that a checksum must not reveal the content.
	isSecret bool
	// isPerPod means that each pod has content of its own.
	isPerPod bool
}

// String returns the kind in lower case, as in the checksums annotation.
func (k ConfigKind) String() string { return configKinds[k].name }

// IsSecret reports whether the content is secret: checksums of it leave the process only with a
// [ChecksumKey], and the names of its keys are not shown. They are no secret from whoever may select keys by a [Filter],
// whose checksum shows whether there are any.
func (k ConfigKind) IsSecret() bool { return configKinds[k].isSecret }

// IsPerPod reports whether each pod has content of its own. Such content is not compared with a record,
// and no checksum of it is recorded; see [Mount].
func (k ConfigKind) IsPerPod() bool { return configKinds[k].isPerPod }

// isKeyed reports whether checksums of the content are recorded, with a [ChecksumKey].
func (k ConfigKind) isKeyed() bool { return k.IsSecret() && !k.IsPerPod() }

// parseConfigKind is the inverse of [ConfigKind.String]. It returns 0 for any other string.
func parseConfigKind(s string) ConfigKind {
	for kind := 1; kind < len(configKinds); kind++ {
		if configKinds[kind].name == s {
			return ConfigKind(kind)
		}
	}
	return 0
}

// ConfigRef names a ConfigMap, a Secret or a SecretProviderClass.
type ConfigRef struct {
	Kind      ConfigKind
	Namespace string
	Name      string
}

// String returns "kind/namespace/name", the name of the config in the
// checksums annotation.
func (r ConfigRef) String() string {
	return r.Kind.String() + "/" + r.Namespace + "/" + r.Name
}

// NameWithin names a config in its namespace: "kind/name".
func (r ConfigRef) NameWithin() string { return r.Kind.String() + "/" + r.Name }

// MarshalText makes logs of every format show the config by its name.
func (r ConfigRef) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func compareConfigRefs(a, b ConfigRef) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// ParseConfigRef is the inverse of [ConfigRef.String]. It reports false for any other text.
func ParseConfigRef(s string) (ConfigRef, bool) {
	kind, rest, _ := strings.Cut(s, "/")
	namespace, name, found := strings.Cut(rest, "/")
	ref := ConfigRef{Kind: parseConfigKind(kind), Namespace: namespace, Name: name}
	return ref, found && ref.Kind != 0 && namespace != "" && isConfigName(name)
}

// Key is what the catalog keeps of one key of a config.
type Key struct {
	Name     string
	Checksum Checksum
	// Binary means that the key is in a ConfigMap's binaryData, which environment variables
	// cannot use. It is not part of the checksum: in a volume, the same bytes are the same
	// file.
	Binary bool
}

// Config is what the catalog keeps of a ConfigMap or Secret, which is never its data. Of a SecretProviderClass it keeps a
// [Mount] for each pod instead.
type Config struct {
	Ref  ConfigRef
	Keys []Key // sorted by name
	// Created is when the config was created, by the API server's clock, in seconds of Unix
	// time; 0 if that is not known.
	Created uint32
	// Deleted marks a config that is gone but still referenced. Its keys are kept to detect
	// whether it comes back with the same content.
	Deleted bool
	// Appeared is the moment at which the watch showed the config as new, and 0
	// if it was there when the catalog began to watch.
	Appeared Sequence
	// Edits holds the known changes of the content; it is empty for most configs.
	Edits []Edit
	// Policy is what the config's annotations ask of restarts, nil for most configs and for those
	// that are gone.
	Policy *ConfigPolicy
}

// Edit is the last known change of one key's content.
type Edit struct {
	// Key is the name of the key, empty if the edit stands for several ones, of keys that are no longer known; see [foldEdits].
	Key string
	// At is when the edit happened: the time at which the watch showed it or, if no
	// controller watched, the time in the config's managedFields, in whole seconds.
	At time.Time
	// Seen is the moment at which the watch showed it, and 0 if no controller watched.
	Seen Sequence
	// Writer is the field manager that made the edit, empty if it is not known.
	Writer string
	// dated is when the API server dates an edit that a watch showed, in seconds of Unix time; 0
	// if it does not.
	dated uint32
	// binary means that the edit concerns only binaryData: the watch showed that the key was not in the data before or after,
	// nor did an edit of the key concern the data that this one replaces.
	binary bool
	// creation means that the edit is the creation of the whole config.
	creation bool
	// onlyLost means that an edit stands for several ones, of keys that the config no longer had.
	onlyLost bool
}

// Sequence orders the observations of the watches: a later observation has a larger
// sequence. 0 is the time before the catalog watched.
type Sequence uint64

// NewConfigMap reduces a ConfigMap to what the catalog keeps of it.
func NewConfigMap(cm *corev1.ConfigMap) Config {
	keys := make([]Key, 0, len(cm.Data)+len(cm.BinaryData))
	for name, value := range cm.Data {
		keys = append(keys, Key{Name: name, Checksum: keyChecksum(name, value)})
	}
	for name, value := range cm.BinaryData {
		keys = append(keys, Key{Name: name, Checksum: keyChecksum(name, value), Binary: true})
	}
	return newConfig(ConfigMap, &cm.ObjectMeta, keys)
}

// NewSecret reduces a Secret to what the catalog keeps of it.
func NewSecret(secret *corev1.Secret) Config {
	keys := make([]Key, 0, len(secret.Data))
	for name, value := range secret.Data {
		keys = append(keys, Key{Name: name, Checksum: keyChecksum(name, value)})
	}
	return newConfig(Secret, &secret.ObjectMeta, keys)
}

// usualKeys is the number of keys that configs seldom exceed.
const usualKeys = 256

func newConfig(kind ConfigKind, meta *metav1.ObjectMeta, keys []Key) Config {
	slices.SortFunc(keys, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	// Many configs have keys of the same names, which can share one copy. A config with
	// very many keys is unlikely to share their names with others, and looking them up
	// would take longer than everything else.
	if len(keys) <= usualKeys {
		for i := range keys {
			keys[i].Name = unique.Make(keys[i].Name).Value()
		}
	}
	edits := recordedEdits(meta)
	byName := newKeyFinder(keys)
	for i := range edits { // one copy of each name, here too
		if key, found := byName.find(edits[i].Key); found {
			edits[i].Key = key.Name
		}
	}
	return Config{
		Ref:     ConfigRef{Kind: kind, Namespace: unique.Make(meta.Namespace).Value(), Name: meta.Name},
		Created: unixSeconds(meta.CreationTimestamp.Time),
		Keys:    keys,
		Edits:   edits,
		Policy:  readConfigPolicy(meta),
	}
}

// Checksum returns the checksum to record of the keys that any of the selections sees. For
// a Secret it uses the checksum key.
func (c *Config) Checksum(selections []Selection, key ChecksumKey) Checksum {
	return c.checksumOf(c.seen(selections), key)
}

// checksumOf returns the checksum to record of the given keys of the config.
func (c *Config) checksumOf(seen []Key, key ChecksumKey) Checksum {
	if c.Ref.Kind.IsSecret() {
		return key.checksum(c.Ref.Source(), seen)
	}
	return setChecksum(seen)
}

func (c *Config) seen(selections []Selection) []Key {
	if slices.ContainsFunc(selections, Selection.everything) {
		return c.Keys
	}
	var seen []Key
	for _, key := range c.Keys {
		if slices.ContainsFunc(selections, func(s Selection) bool { return s.selects(key) }) {
			seen = append(seen, key)
		}
	}
	return seen
}

// SelectedKeys returns the names of the keys that any of the references selects, which are references of a
// workload to this config in their order. The names are sorted, and each once, however many references there are.
func (c *Config) SelectedKeys(references []Reference) []string {
	var names []string
	for _, key := range c.seen(selections(references)) {
		names = append(names, key.Name)
	}
	return names
}

// shows reports whether the config has a key that the selection selects.
func (c *Config) shows(selection Selection) bool {
	names, isList := selection.Listed()
	if !isList {
		return slices.ContainsFunc(c.Keys, selection.selects)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		key, found := findKey(c.Keys, name)
		return found && selection.selects(key)
	})
}

// findKey finds a key in a sorted list.
func findKey(keys []Key, name string) (Key, bool) {
	i, found := slices.BinarySearchFunc(keys, name, func(key Key, name string) int { return strings.Compare(key.Name, name) })
	if !found {
		return Key{}, false
	}
	return keys[i], true
}

// changedKeys returns the names of the keys in which two contents differ:
// changed, added or removed.
func changedKeys(before, after []Key) []string {
	var names []string
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].Name < after[0].Name:
			names, before = append(names, before[0].Name), before[1:]
		case len(before) == 0 || after[0].Name < before[0].Name:
			names, after = append(names, after[0].Name), after[1:]
		default:
			if before[0] != after[0] {
				names = append(names, after[0].Name)
			}
			before, after = before[1:], after[1:]
		}
	}
	return names
}
