package catalog

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Selection selects keys of a config: those that a container gets to see.
type Selection struct {
	// Names are the selected keys, sorted; nil selects all.
	Names []string
	// DataOnly leaves out a ConfigMap's binaryData.
	DataOnly bool
}

func (s Selection) everything() bool { return s.Names == nil && !s.DataOnly }

func (s Selection) selects(key Key) bool {
	if s.DataOnly && key.Binary {
		return false
	}
	return s.names(key.Name)
}

// names reports whether a key of that name is selected, wherever it stands.
func (s Selection) names(name string) bool {
	if s.Names == nil {
		return true
	}
	_, found := slices.BinarySearch(s.Names, name)
	return found
}

// Channel is the way in which a container reads a config.
type Channel uint8

const (
	// Environment variables are read when the container starts.
	Environment Channel = iota
	// Volume files are put in place when the pod starts.
	Volume
)

// Reference is a way in which a pod template makes its containers read a config, with
// all that is seen of it in this way.
type Reference struct {
	Config ConfigRef
	Keys   Selection
	// Container is the name of the container whose environment it is. It is empty for
	// volumes: they are put in place when the pod starts, whichever containers mount them.
	Container string
	Channel   Channel
	// Optional tells that the container starts without the config, too.
	Optional bool
}

// MaxReferences is how often a pod template may refer to configs. Each variable that is
// taken from a config counts, each envFrom, and each config in a volume that is mounted; if
// the mounts or items show single keys of it, each of these. More than about 5,000
// checksums do not fit in a workload's annotations anyway.
const MaxReferences = 10_000

// referencesOf returns every way in which the containers of a pod template read
// ConfigMaps and Secrets of the given namespace, each once, sorted: environment
// variables and mounted volumes of all containers, init containers included. A volume
// that no container mounts is not read. Credentials for pulling images and for volume
// drivers are not read by containers. It returns false if there are more than
// [MaxReferences].
func referencesOf(namespace string, spec *corev1.PodSpec) ([]Reference, bool) {
	m := mentions{namespace: namespace}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			m.addEnvironment(&containers[i])
		}
	}
	m.addVolumes(spec)
	if m.count > MaxReferences {
		return nil, false
	}
	return merged(m.list), true
}

// mentions are the references of a pod template as they stand there: a container may
// read a config in one way again and again. No more are kept than a template may have.
type mentions struct {
	namespace string
	list      []Reference
	count     int
}

// add adds a reference. The API still accepts one without a name, which refers to nothing.
func (m *mentions) add(kind ConfigKind, name string, reference Reference) {
	if name == "" {
		return
	}
	if m.count += max(1, len(reference.Keys.Names)); m.count > MaxReferences {
		return
	}
	reference.Config = ConfigRef{Kind: kind, Namespace: m.namespace, Name: name}
	m.list = append(m.list, reference)
}

func (m *mentions) addEnvironment(container *corev1.Container) {
	add := func(kind ConfigKind, name string, optional *bool, keys ...string) {
		m.add(kind, name, Reference{
			Keys:      Selection{Names: keys, DataOnly: true},
			Container: container.Name,
			Channel:   Environment,
			Optional:  isTrue(optional),
		})
	}
	for i := range container.EnvFrom {
		if ref := container.EnvFrom[i].ConfigMapRef; ref != nil {
			add(ConfigMap, ref.Name, ref.Optional)
		}
		if ref := container.EnvFrom[i].SecretRef; ref != nil {
			add(Secret, ref.Name, ref.Optional)
		}
	}
	for i := range container.Env {
		from := container.Env[i].ValueFrom
		if from == nil {
			continue
		}
		if ref := from.ConfigMapKeyRef; ref != nil {
			add(ConfigMap, ref.Name, ref.Optional, ref.Key)
		}
		if ref := from.SecretKeyRef; ref != nil {
			add(Secret, ref.Name, ref.Optional, ref.Key)
		}
	}
}

// addVolumes adds what the volumes bring that are mounted.
func (m *mentions) addVolumes(spec *corev1.PodSpec) {
	if !slices.ContainsFunc(spec.Volumes, holdsConfigs) {
		return
	}
	mounts := mountsByVolume(spec)
	for i := range spec.Volumes {
		volume := &spec.Volumes[i]
		if len(mounts[volume.Name]) == 0 || !holdsConfigs(*volume) {
			continue
		}
		shown := newShown(mounts[volume.Name])
		for _, source := range configSources(volume) {
			if keys, visible := shown.keys(source.items); visible {
				m.add(source.kind, source.name, Reference{Keys: keys, Channel: Volume, Optional: isTrue(source.optional)})
			}
		}
	}
}

// merged makes one of the references that differ in nothing but the keys, and sorts them:
// by config, then those first that see all keys, so that what sees the same is together.
func merged(mentions []Reference) []Reference {
	slices.SortFunc(mentions, func(a, b Reference) int {
		return cmp.Or(compareWays(&a, &b), strings.Compare(a.Container, b.Container))
	})
	references := mentions[:0]
	for same := range runs(mentions, func(a, b *Reference) bool { return compareWays(a, b) == 0 && a.Container == b.Container }) {
		reference := same[0]
		reference.Keys = union(same)
		references = append(references, reference)
	}
	slices.SortStableFunc(references, func(a, b Reference) int {
		return cmp.Or(compareWays(&a, &b), cmp.Compare(min(1, len(a.Keys.Names)), min(1, len(b.Keys.Names))))
	})
	return slices.Clone(references) // there may have been many more
}

// compareWays orders references by config, channel and whether they are optional.
func compareWays(a, b *Reference) int {
	if order := cmp.Or(compareConfigRefs(a.Config, b.Config), cmp.Compare(a.Channel, b.Channel)); order != 0 || a.Optional == b.Optional {
		return order
	}
	if b.Optional {
		return -1
	}
	return 1
}

// union selects what any of the references of one channel does.
func union(references []Reference) Selection {
	all := references[0].Keys
	if len(references) == 1 {
		return all
	}
	var names []string
	for i := range references {
		if references[i].Keys.Names == nil {
			return Selection{DataOnly: all.DataOnly}
		}
		names = append(names, references[i].Keys.Names...)
	}
	slices.Sort(names)
	return Selection{Names: slices.Compact(names), DataOnly: all.DataOnly}
}

func isTrue(b *bool) bool { return b != nil && *b }
