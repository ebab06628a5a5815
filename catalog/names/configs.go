package names

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// ConfigKind is the kind of a config. It is a number because the catalog holds
// very many references to configs.
type ConfigKind uint8

// The kinds of configs. The zero value is not a kind.
const (
	ConfigMap ConfigKind = iota + 1
	Secret
	// SecretProviderClass is a class of the Secrets Store CSI driver; see [content.CSIMount].
	SecretProviderClass
)

// ConfigKinds holds the properties of each kind.
var ConfigKinds = []ConfigKindRow{
	ConfigMap: {Name: "configmap"},
	Secret:    {Name: "secret", IsSecret: true},

	SecretProviderClass: {Name: "secretproviderclass", IsSecret: true, isPerPod: true},
}

// ConfigKindRow has the properties of one kind.
type ConfigKindRow struct {
	Name string // in lower case, as in the checksums annotation
	// IsSecret means that a checksum must not reveal the content.
	IsSecret bool
	// isPerPod means that each pod has content of its own.
	isPerPod bool
}

// String returns the kind in lower case, as in the checksums annotation.
func (k ConfigKind) String() string { return ConfigKinds[k].Name }

// IsSecret reports whether the content is secret: checksums of it leave the process only with a
// [content.ChecksumKey], and the names of its keys are not shown. They are no secret from whoever may select keys by a [template.Filter],
// whose checksum shows whether there are any.
func (k ConfigKind) IsSecret() bool { return ConfigKinds[k].IsSecret }

// IsPerPod reports whether each pod has content of its own. Such content is not compared with a record,
// and no checksum of it is recorded; see [content.CSIMount].
func (k ConfigKind) IsPerPod() bool { return ConfigKinds[k].isPerPod }

// IsKeyed reports whether checksums of the content are recorded, with a [content.ChecksumKey].
func (k ConfigKind) IsKeyed() bool { return k.IsSecret() && !k.IsPerPod() }

// ParseConfigKind is the inverse of [ConfigKind.String]. It returns 0 for any other string.
func ParseConfigKind(s string) ConfigKind {
	for kind := 1; kind < len(ConfigKinds); kind++ {
		if ConfigKinds[kind].Name == s {
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

// CompareConfigRefs orders configs by kind, namespace and name.
func CompareConfigRefs(a, b ConfigRef) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// ParseConfigRef is the inverse of [ConfigRef.String]. It reports false for any other text.
func ParseConfigRef(s string) (ConfigRef, bool) {
	kind, rest, _ := strings.Cut(s, "/")
	namespace, name, found := strings.Cut(rest, "/")
	ref := ConfigRef{Kind: ParseConfigKind(kind), Namespace: namespace, Name: name}
	return ref, found && ref.Kind != 0 && namespace != "" && IsConfigName(name)
}

// IsClassName reports whether a SecretProviderClass can have the name. Nobody checks names in statuses and volumes.
func IsClassName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

// LongestName is how long the name of a config or key may be, as in the API.
const LongestName = 253

// IsPossibleName reports whether an object can have that name.
func IsPossibleName(name string) bool {
	return name != "" && len(name) <= LongestName && !strings.Contains(name, "/")
}

// IsShared reports whether the config is one of another namespace.
func (r ConfigRef) IsShared() bool { return strings.Contains(r.Name, "/") }

// Source names the config itself, if it is one of another namespace.
func (r ConfigRef) Source() ConfigRef {
	namespace, name, isShared := strings.Cut(r.Name, "/")
	if !isShared {
		return r
	}
	return ConfigRef{r.Kind, namespace, name}
}

// SharedIn names a config in the namespace of readers.
func (r ConfigRef) SharedIn(namespace string) ConfigRef {
	return ConfigRef{r.Kind, namespace, r.Namespace + "/" + r.Name}
}

// IsConfigName reports whether a text is the name of a config, or NAMESPACE/NAME.
func IsConfigName(text string) bool {
	namespace, name, isShared := strings.Cut(text, "/")
	return namespace != "" && (!isShared || name != "" && !strings.Contains(name, "/"))
}
