package catalog

import (
	"cmp"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// addVolumes adds the references of the mounted volumes.
func (m *mentions) addVolumes(spec *corev1.PodSpec) {
	var mounts map[string][]*corev1.VolumeMount
	for i := range spec.Volumes {
		sources := configSources(&spec.Volumes[i])
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
		shown := newShown(mounted)
		for k := range sources {
			source := &sources[k]
			if source.kind.IsPerPod() {
				m.add(source.kind, source.name, Reference{Channel: Volume}) // nobody knows which of its files are which objects
			} else if keys, visible := source.keys(shown); visible {
				m.add(source.kind, source.name, Reference{Keys: keys, Channel: Volume, Optional: isTrue(source.optional)})
			}
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

// configSource is a config from which a volume is made.
type configSource struct {
	kind     ConfigKind
	name     string
	items    []corev1.KeyToPath
	optional *bool
}

func configSources(volume *corev1.Volume) []configSource {
	var sources []configSource
	if v := volume.ConfigMap; v != nil {
		sources = append(sources, configSource{kind: ConfigMap, name: v.Name, items: v.Items, optional: v.Optional})
	}
	if v := volume.Secret; v != nil {
		sources = append(sources, configSource{kind: Secret, name: v.SecretName, items: v.Items, optional: v.Optional})
	}
	if v := volume.CSI; v != nil && v.Driver == secretsStoreDriver && isClassName(v.VolumeAttributes[classAttribute]) {
		sources = append(sources, configSource{kind: SecretProviderClass, name: v.VolumeAttributes[classAttribute]})
	}
	if volume.Projected == nil {
		return sources
	}
	for i := range volume.Projected.Sources {
		if p := volume.Projected.Sources[i].ConfigMap; p != nil {
			sources = append(sources, configSource{kind: ConfigMap, name: p.Name, items: p.Items, optional: p.Optional})
		}
		if p := volume.Projected.Sources[i].Secret; p != nil {
			sources = append(sources, configSource{kind: Secret, name: p.Name, items: p.Items, optional: p.Optional})
		}
	}
	return sources
}

// keys selects the keys of the config that count, given what the mounts show of the volume. It
// returns false if no key does.
func (s *configSource) keys(of shown) (Selection, bool) { return of.keys(s.items) }

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

// keys selects the keys of a config that are shown, given the items of the volume's source.
// Without items, every key is a file of its own name. It returns false if the mounts show
// nothing of the config.
func (s shown) keys(items []corev1.KeyToPath) (Selection, bool) {
	switch {
	case len(items) == 0 && s.whole:
		return Selection{}, true
	case len(items) == 0:
		return Selection{Names: s.files}, true // the same for all configs of the volume
	}
	names := make([]string, 0, len(items))
	for i := range items {
		if s.whole || s.shows(path.Clean(items[i].Path)) {
			names = append(names, items[i].Key)
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
