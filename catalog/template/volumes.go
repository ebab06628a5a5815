package template

import (
	"cmp"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/podtemplate"
)

// addVolumes adds the references of the mounted volumes.
func (m *mentions) addVolumes(spec *corev1.PodSpec) {
	var mounts map[string][]*corev1.VolumeMount
	for i := range spec.Volumes {
		sources := ConfigSources(&spec.Volumes[i])
		if len(sources) == 0 {
			continue
		}
		if mounts == nil {
			mounts = mountsByVolume(spec)
		}
		mounted := mounts[spec.Volumes[i].Name]
		if len(mounted) == 0 {
			continue
		}
		m.addSources(newShown(mounted), sources)
	}
}

// addSources adds the sources of a mounted volume. A file of a later source replaces one of an earlier source at the same
// path. If the later one is optional, the file may not be there.
func (m *mentions) addSources(of shown, sources []ConfigSource) {
	replaced := make(map[string]struct{}) // the paths of files that nobody sees, if they come before this one
	for i := range slices.Backward(sources) {
		source := &sources[i]
		keys, visible := m.keysOf(source, of, replaced)
		switch {
		case source.Kind == 0: // it is no config
		case source.Kind.IsPerPod():
			m.add(source.Kind, source.Name, Reference{Channel: Volume}) // nobody knows which of its files are which objects
		case visible:
			m.add(source.Kind, source.Name, Reference{Keys: keys, Channel: Volume, Optional: IsTrue(source.Optional), Items: len(source.Items) > 0})
		}
	}
}

// mountsByVolume returns the mounts of each volume. It does not matter which container
// mounts the volume: everything that a mount shows is read when the pod starts.
func mountsByVolume(spec *corev1.PodSpec) map[string][]*corev1.VolumeMount {
	byVolume := make(map[string][]*corev1.VolumeMount)
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			mounts := containers[i].VolumeMounts
			for j := range mounts {
				byVolume[mounts[j].Name] = append(byVolume[mounts[j].Name], &mounts[j])
			}
		}
	}
	return byVolume
}

// ConfigSource is a config from which a volume is made. In a projected volume, a source that is no config has the kind 0,
// and its files as items.
type ConfigSource struct {
	Kind     names.ConfigKind
	Name     string
	Items    []corev1.KeyToPath
	Optional *bool
}

// ConfigSources are the configs that containers can read.
func ConfigSources(volume *corev1.Volume) []ConfigSource {
	var sources []ConfigSource
	if v := volume.ConfigMap; v != nil {
		sources = append(sources, ConfigSource{Kind: names.ConfigMap, Name: v.Name, Items: v.Items, Optional: v.Optional})
	}
	if v := volume.Secret; v != nil {
		sources = append(sources, ConfigSource{Kind: names.Secret, Name: v.SecretName, Items: v.Items, Optional: v.Optional})
	}
	if v := volume.CSI; v != nil && v.Driver == SecretsStoreDriver && names.IsClassName(v.VolumeAttributes[ClassAttribute]) {
		sources = append(sources, ConfigSource{Kind: names.SecretProviderClass, Name: v.VolumeAttributes[ClassAttribute]})
	}
	if volume.Projected == nil {
		return sources
	}
	for i := range volume.Projected.Sources {
		sources = append(sources, projectedSource(&volume.Projected.Sources[i]))
	}
	if !slices.ContainsFunc(sources, func(s ConfigSource) bool { return s.Kind != 0 }) {
		return nil
	}
	return sources
}

func projectedSource(projection *corev1.VolumeProjection) ConfigSource {
	var other ConfigSource
	file := func(path string) { other.Items = append(other.Items, corev1.KeyToPath{Path: path}) }
	switch {
	case projection.ConfigMap != nil:
		p := projection.ConfigMap
		return ConfigSource{Kind: names.ConfigMap, Name: p.Name, Items: p.Items, Optional: p.Optional}
	case projection.Secret != nil:
		p := projection.Secret
		return ConfigSource{Kind: names.Secret, Name: p.Name, Items: p.Items, Optional: p.Optional}
	case projection.DownwardAPI != nil:
		for _, item := range projection.DownwardAPI.Items {
			file(item.Path)
		}
	case projection.ServiceAccountToken != nil:
		file(projection.ServiceAccountToken.Path)
	case projection.ClusterTrustBundle != nil:
		file(projection.ClusterTrustBundle.Path)
	}
	return other // an older kubelet may not know another kind of source, so that it replaces nothing
}

// shown is what the mounts of a volume show of it.
type shown struct {
	// whole means that one of the mounts shows the whole volume, or a path that is only
	// known when the pod starts.
	whole bool
	// paths are the mounted paths, in the order of [comparePaths]. No path is below another.
	paths []string
	// files are the first elements of the paths, sorted: the selected keys if each key is a
	// file of its own name.
	files []string
}

// dataDirectory is the link in a volume to the directory that holds its files; the files at
// the top are links through it.
const dataDirectory = "..data"

func newShown(mounts []*corev1.VolumeMount) shown {
	paths := make([]string, 0, len(mounts))
	for _, mount := range mounts {
		subPath := path.Clean(mount.SubPath)
		if below, found := strings.CutPrefix(subPath+"/", dataDirectory+"/"); found {
			subPath = path.Clean(below)
		}
		if mount.SubPathExpr != "" || subPath == "." {
			return shown{whole: true}
		}
		paths = append(paths, subPath)
	}
	slices.SortFunc(paths, comparePaths)
	var s shown
	for _, p := range paths {
		if last := len(s.paths) - 1; last < 0 || !isIn(p, s.paths[last]) {
			s.paths = append(s.paths, p)
			first, _, _ := strings.Cut(p, "/")
			s.files = append(s.files, first)
		}
	}
	slices.Sort(s.files)
	s.files = slices.Compact(s.files)
	return s
}

// keysOf selects the keys of a source that are shown, and not replaced by what comes after it. It adds the paths of its
// files to those that replace what comes before it. It returns false if nothing of the source is shown.
func (m *mentions) keysOf(source *ConfigSource, of shown, replaced map[string]struct{}) (Selection, bool) {
	switch {
	case len(source.Items) > 0:
		return m.itemsOf(source, of, replaced)
	case of.whole:
		return m.allBut(m.keysHiddenBy(replaced)), true
	}
	names := of.files // without items, every key is a file of its own name: the same for all configs of the volume
	if hidden := m.keysHiddenBy(replaced); len(hidden) > 0 {
		m.hidings++
		names = slices.DeleteFunc(slices.Clone(names), hidden.has)
	}
	return Selection{Names: names}, len(names) > 0
}

// itemsOf is [mentions.keysOf] of a source with items.
func (m *mentions) itemsOf(source *ConfigSource, of shown, replaced map[string]struct{}) (Selection, bool) {
	names := make([]string, 0, len(source.Items))
	for _, item := range slices.Backward(source.Items) {
		if _, isReplaced := replaced[item.Path]; isReplaced {
			continue
		}
		if of.whole || of.shows(path.Clean(item.Path)) {
			names = append(names, item.Key)
		}
		if !IsTrue(source.Optional) {
			replaced[item.Path] = struct{}{}
		}
	}
	slices.Sort(names)
	return Selection{Names: slices.Compact(names)}, len(names) > 0
}

// shows reports whether one of the paths is the file or a directory above it. Among the
// paths that do not sort after the file, such a path is the last.
func (s shown) shows(file string) bool {
	i, found := slices.BinarySearchFunc(s.paths, file, comparePaths)
	return found || i > 0 && isIn(file, s.paths[i-1])
}

// isIn reports whether a file is the path or lies below it.
func isIn(file, path string) bool {
	below, found := strings.CutPrefix(file, path)
	return found && (below == "" || below[0] == '/')
}

// comparePaths orders paths so that a path is followed by the paths below it: the slash
// comes before every other character.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i] == b[i]:
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		default:
			return cmp.Compare(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b))
}

// The Secrets Store CSI driver mounts what a SecretProviderClass names as files. For each pod and class it writes a
// SecretProviderClassPodStatus, with the versions of the objects that it has mounted. When it rotates them, it replaces
// the files of one pod after the other, and the versions in their statuses. So there is no content that all pods share,
// and nothing to compare with a record: a pod is stale if its own status says something else than when the pod started.

// How the pod template refers to such a class.
const (
	SecretsStoreDriver = podtemplate.SecretsStoreDriver
	ClassAttribute     = podtemplate.ClassAttribute
)

// IsTrue reports whether an optional value is there and true.
func IsTrue(b *bool) bool { return b != nil && *b }
