package catalog

import (
	"path"
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

// names tells whether a key of that name is selected, wherever it stands.
func (s Selection) names(name string) bool {
	if s.Names == nil {
		return true
	}
	_, found := slices.BinarySearch(s.Names, name)
	return found
}

// Channel is the way in which a container reads a config.
type Channel int

const (
	// Environment variables are read when the container starts.
	Environment Channel = iota
	// Volume files are put in place when the pod starts.
	Volume
)

// Reference is one way in which a pod template makes a container read a config.
type Reference struct {
	Config    ConfigRef
	Keys      Selection
	Container string // the name of the reading container
	Channel   Channel
	// Optional tells that the container starts without the config, too.
	Optional bool
}

// References lists every way in which the containers of a pod template read
// ConfigMaps and Secrets of the given namespace: environment variables and
// mounted volumes of all containers, init containers included. A volume that no
// container mounts is not read. Credentials for pulling images and for volume
// drivers are not read by containers.
func References(namespace string, spec *corev1.PodSpec) []Reference {
	var references []Reference
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			references = append(references, environmentReferences(namespace, &containers[i])...)
			references = append(references, volumeReferences(namespace, spec.Volumes, &containers[i])...)
		}
	}
	// The API still accepts a reference without a name, which refers to nothing.
	return slices.DeleteFunc(references, func(r Reference) bool { return r.Config.Name == "" })
}

func environmentReferences(namespace string, container *corev1.Container) []Reference {
	var references []Reference
	add := func(kind ConfigKind, name string, optional *bool, names ...string) {
		references = append(references, Reference{
			Config:    ConfigRef{Kind: kind, Namespace: namespace, Name: name},
			Keys:      Selection{Names: names, DataOnly: true},
			Container: container.Name,
			Channel:   Environment,
			Optional:  isTrue(optional),
		})
	}
	for _, from := range container.EnvFrom {
		if ref := from.ConfigMapRef; ref != nil {
			add(ConfigMap, ref.Name, ref.Optional)
		}
		if ref := from.SecretRef; ref != nil {
			add(Secret, ref.Name, ref.Optional)
		}
	}
	for _, env := range container.Env {
		if env.ValueFrom == nil {
			continue
		}
		if ref := env.ValueFrom.ConfigMapKeyRef; ref != nil {
			add(ConfigMap, ref.Name, ref.Optional, ref.Key)
		}
		if ref := env.ValueFrom.SecretKeyRef; ref != nil {
			add(Secret, ref.Name, ref.Optional, ref.Key)
		}
	}
	return references
}

func volumeReferences(namespace string, volumes []corev1.Volume, container *corev1.Container) []Reference {
	var references []Reference
	for i := range volumes {
		mounts := mountsOf(volumes[i].Name, container)
		if len(mounts) == 0 {
			continue
		}
		for _, source := range configSources(&volumes[i]) {
			keys, visible := visibleKeys(source.items, mounts)
			if !visible {
				continue
			}
			references = append(references, Reference{
				Config:    ConfigRef{Kind: source.kind, Namespace: namespace, Name: source.name},
				Keys:      keys,
				Container: container.Name,
				Channel:   Volume,
				Optional:  isTrue(source.optional),
			})
		}
	}
	return references
}

func mountsOf(volume string, container *corev1.Container) []corev1.VolumeMount {
	var mounts []corev1.VolumeMount
	for _, mount := range container.VolumeMounts {
		if mount.Name == volume {
			mounts = append(mounts, mount)
		}
	}
	return mounts
}

// configSource is a config that a volume is made of.
type configSource struct {
	kind     ConfigKind
	name     string
	items    []corev1.KeyToPath
	optional *bool
}

func configSources(volume *corev1.Volume) []configSource {
	var sources []configSource
	if v := volume.ConfigMap; v != nil {
		sources = append(sources, configSource{ConfigMap, v.Name, v.Items, v.Optional})
	}
	if v := volume.Secret; v != nil {
		sources = append(sources, configSource{Secret, v.SecretName, v.Items, v.Optional})
	}
	if volume.Projected == nil {
		return sources
	}
	for _, projection := range volume.Projected.Sources {
		if p := projection.ConfigMap; p != nil {
			sources = append(sources, configSource{ConfigMap, p.Name, p.Items, p.Optional})
		}
		if p := projection.Secret; p != nil {
			sources = append(sources, configSource{Secret, p.Name, p.Items, p.Optional})
		}
	}
	return sources
}

// visibleKeys selects the keys that the mounts of one volume show. Without
// items every key is a file of its own name. It returns false if the mounts
// show nothing of the config.
func visibleKeys(items []corev1.KeyToPath, mounts []corev1.VolumeMount) (Selection, bool) {
	subPaths, literal := literalSubPaths(mounts)
	if !literal && len(items) == 0 {
		return Selection{}, true
	}
	names := []string{}
	if len(items) == 0 {
		for _, subPath := range subPaths {
			names = append(names, firstElement(subPath))
		}
	}
	for _, item := range items {
		if !literal || shown(path.Clean(item.Path), subPaths) {
			names = append(names, item.Key)
		}
	}
	slices.Sort(names)
	return Selection{Names: slices.Compact(names)}, len(names) > 0
}

// dataDirectory is the link in a volume to the directory that holds its files; those at the
// top are links through it.
const dataDirectory = "..data"

// literalSubPaths returns the subPaths of the mounts, and false if one of them
// mounts the whole volume or a path that is only known when the pod starts.
func literalSubPaths(mounts []corev1.VolumeMount) ([]string, bool) {
	var subPaths []string
	for _, mount := range mounts {
		subPath := path.Clean(mount.SubPath)
		if below, found := strings.CutPrefix(subPath+"/", dataDirectory+"/"); found {
			subPath = path.Clean(below)
		}
		if mount.SubPathExpr != "" || subPath == "." {
			return nil, false
		}
		subPaths = append(subPaths, subPath)
	}
	return subPaths, true
}

func firstElement(p string) string {
	first, _, _ := strings.Cut(p, "/")
	return first
}

// shown tells whether one of the subPaths is the file or a directory above it.
func shown(file string, subPaths []string) bool {
	return slices.ContainsFunc(subPaths, func(subPath string) bool {
		return file == subPath || strings.HasPrefix(file, subPath+"/")
	})
}

func isTrue(b *bool) bool { return b != nil && *b }
