package template

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// Channel is the way in which a container reads a config.
type Channel uint8

const (
	// Environment variables are read when the container starts.
	Environment Channel = iota
	// Volume files are mounted when the pod starts.
	Volume
	// API means that a program reads the config by itself, which only the workload's annotations show.
	// It counts as read when a container starts, whichever that is.
	API
)

// ChannelNames are how the channels are shown to people.
var ChannelNames = [...]string{Environment: "environment", Volume: "files", API: "API"}

// Reference is a way in which a pod template makes its containers read a config, or in which they read
// one through the API, with all the keys that they see in this way.
type Reference struct {
	Config names.ConfigRef
	Keys   Selection
	// Container is the name of the container that reads its environment. It is empty for
	// volumes: they are mounted when the pod starts, whichever containers use them. It is also empty
	// for what is read through the API.
	Container string
	Channel   Channel
	// Optional means that the container also starts without the config.
	Optional bool
	// Items means that the keys are items of a volume: a pod does not start if one is missing, unlike a file that is only
	// mounted by its name.
	Items bool
	// NeedsMark means that the config counts only if it is marked; see [Filter.Marked].
	NeedsMark bool
}

// MaxReferences is how often a pod template may refer to configs. Each variable from a
// config counts, each envFrom, and each config in a mounted volume; if the mounts or items
// show single keys of the config, each key counts; so does each key that is hidden. More than about 5,000 checksums do not
// fit in a workload's annotations anyway.
const MaxReferences = 10_000

// ReferencesOf returns every way in which the containers of a pod template read configs
// of the given namespace, each once, sorted: environment variables and mounted
// volumes of all containers, including init containers. Containers do not read volumes that
// they do not mount, nor credentials for pulling images and for volume drivers. It returns
// false if there are more than [MaxReferences]. What does not count by the filter is left out, and what
// else counts by it is added.
func ReferencesOf(namespace string, spec *corev1.PodSpec, filter Filter) ([]Reference, bool) {
	m := mentions{namespace: namespace}
	return m.references(spec, filter)
}

func (m *mentions) references(spec *corev1.PodSpec, filter Filter) ([]Reference, bool) {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			m.addEnvironment(&containers[i])
		}
	}
	m.addVolumes(spec)
	if m.count > MaxReferences {
		return nil, false
	}
	rules := filter.Rules(m.namespace)
	references := rules.add(rules.Limit(merged(m.list)), m.namespace)
	keepNamesOnly(references)
	return references, true
}

// keepNamesOnly copies the names of the selected keys, so that nothing else of the pod template stays in memory: a name may
// be the first part of a long path, and a list may have been much longer. Lists that references share stay shared.
func keepNamesOnly(references []Reference) {
	copies := make(map[*string][]string)
	for i := range references {
		names := references[i].Keys.Names
		if len(names) == 0 {
			continue
		}
		kept, isKnown := copies[&names[0]]
		if !isKnown {
			kept = inOneText(names)
			copies[&names[0]] = kept
		}
		references[i].Keys.Names = kept
	}
}

// inOneText returns the same names as parts of one text, which takes less memory than a text for each.
func inOneText(names []string) []string {
	text := strings.Join(names, "")
	same := make([]string, 0, len(names))
	for _, name := range names {
		same, text = append(same, text[:len(name)]), text[len(name):]
	}
	return same
}

// mentions are the references of a pod template as written there: a container may read a
// config in the same way repeatedly. No more are kept than a template may have.
type mentions struct {
	namespace string
	list      []Reference
	count     int
	// hidings is how many selections leave out hidden keys.
	hidings int
}

// add adds a reference. The API accepts any text as the name of a config, and none: add ignores what no config can have
// as its name. One with a slash would be taken for a config of another namespace.
func (m *mentions) add(kind names.ConfigKind, name string, reference Reference) {
	if !names.IsPossibleName(name) {
		return
	}
	listed, _ := reference.Keys.Listed()
	if m.count += max(1, len(listed)); m.count > MaxReferences {
		return
	}
	reference.Config = names.ConfigRef{Kind: kind, Namespace: m.namespace, Name: name}
	m.list = append(m.list, reference)
}

// merged joins references that differ only in their keys, and sorts the result by config.
// References that list no keys come first, so that references that see the same are next to
// each other.
func merged(mentions []Reference) []Reference {
	slices.SortFunc(mentions, func(a, b Reference) int {
		return cmp.Or(compareWays(&a, &b), strings.Compare(a.Container, b.Container))
	})
	references := mentions[:0]
	for same := range names.Runs(mentions, func(a, b *Reference) bool { return compareWays(a, b) == 0 && a.Container == b.Container }) {
		reference := same[0]
		reference.Keys = Union(same)
		reference.Items = !slices.ContainsFunc(same, func(r Reference) bool { return !r.Items })
		references = append(references, reference)
	}
	slices.SortStableFunc(references, func(a, b Reference) int {
		return cmp.Or(compareWays(&a, &b), cmp.Compare(a.Keys.rank(), b.Keys.rank()))
	})
	return slices.Clone(references) // there may have been many more
}

// compareWays orders references by config, by channel, and by whether they are optional.
func compareWays(a, b *Reference) int {
	if order := cmp.Or(names.CompareConfigRefs(a.Config, b.Config), cmp.Compare(a.Channel, b.Channel)); order != 0 || a.Optional == b.Optional {
		return order
	}
	if b.Optional {
		return -1
	}
	return 1
}

// IsSameReference reports whether two references are to the same config in the same way.
func IsSameReference(a, b Reference) bool {
	return compareWays(&a, &b) == 0 && a.Container == b.Container && a.NeedsMark == b.NeedsMark && a.Keys.DataOnly == b.Keys.DataOnly &&
		a.Keys.ByRules == b.Keys.ByRules && a.Keys.HasAll() == b.Keys.HasAll() && slices.Equal(a.Keys.Names, b.Keys.Names)
}

// IsRequired reports whether a pod needs the config to start. Helm gives the Secrets that are not watched names of its own.
func (r *Reference) IsRequired() bool {
	return !r.Optional && r.Channel != API && !r.Config.Kind.IsPerPod() && !r.Config.IsShared() && !strings.HasPrefix(r.Config.Name, "sh.helm.release.v1.")
}

// ReferencesTo returns the references to one config, out of a sorted list.
func ReferencesTo(references []Reference, config names.ConfigRef) []Reference {
	byConfig := func(r Reference, config names.ConfigRef) int { return names.CompareConfigRefs(r.Config, config) }
	start, found := slices.BinarySearchFunc(references, config, byConfig)
	if !found {
		return nil
	}
	end := start + 1
	for end < len(references) && references[end].Config == config {
		end++
	}
	return references[start:end:end]
}

// OfOneConfig reports whether two references are to the same config.
func OfOneConfig(a, b *Reference) bool { return a.Config == b.Config }
