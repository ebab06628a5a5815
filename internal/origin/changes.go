package origin

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"kubernetes-deployment-restart-controller/internal/brief"
)

// maxChanges is how many changes are named, and longestImage how many bytes of an image.
const (
	maxChanges   = 8
	longestImage = 128
)

// Changes names what differs between two pod templates, such as "image of web: v1 to v2". It names no values but images: those
// of variables may be confidential. It leaves out the labels and annotations with these names.
func Changes(before, after *corev1.PodTemplateSpec, except ...string) []string {
	var changes []string
	for _, part := range []struct {
		name          string
		before, after map[string]string
	}{{"label", before.Labels, after.Labels}, {"annotation", before.Annotations, after.Annotations}} {
		for _, key := range differing(part.before, part.after) {
			if !slices.Contains(except, key) {
				changes = append(changes, part.name+" "+key)
			}
		}
	}
	changes = append(changes, containerChanges("init container", before.Spec.InitContainers, after.Spec.InitContainers)...)
	changes = append(changes, containerChanges("container", before.Spec.Containers, after.Spec.Containers)...)
	for _, field := range differingFields(&before.Spec, &after.Spec) {
		if field != "containers" && field != "initContainers" {
			changes = append(changes, field)
		}
	}
	// Images come first, because they are what most releases are about.
	slices.SortStableFunc(changes, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	if len(changes) > maxChanges {
		more := fmt.Sprintf("%d more", len(changes)-maxChanges+1)
		changes = append(changes[:maxChanges-1], more)
	}
	return changes
}

func rank(change string) int {
	if strings.HasPrefix(change, "image of ") {
		return 0
	}
	return 1
}

// containerChanges names what differs between the containers of two templates, by their names.
func containerChanges(kind string, before, after []corev1.Container) (changes []string) {
	was, is := byName(before), byName(after) // there may be very many
	for i := range after {
		name := after[i].Name
		if was[name] == nil {
			changes = append(changes, kind+" "+name+" added")
			continue
		}
		for _, field := range differingFields(was[name], &after[i]) {
			change := field + " of " + name
			if field == "image" {
				change += ": " + imageChange(was[name].Image, after[i].Image)
			}
			changes = append(changes, change)
		}
	}
	for i := range before {
		if is[before[i].Name] == nil {
			changes = append(changes, kind+" "+before[i].Name+" removed")
		}
	}
	return changes
}

func byName(containers []corev1.Container) map[string]*corev1.Container {
	named := make(map[string]*corev1.Container, len(containers))
	for i := range containers {
		named[containers[i].Name] = &containers[i]
	}
	return named
}

// imageChange says how an image has changed: by its tag or digest if only that has.
func imageChange(before, after string) string {
	repository, was := splitImage(before)
	if same, is := splitImage(after); same == repository && was != "" && is != "" {
		before, after = was, is
	}
	return brief.Within(longestImage, before) + " to " + brief.Within(longestImage, after)
}

// splitImage splits an image into its repository, and its tag or digest or both.
func splitImage(image string) (repository, version string) {
	end := strings.LastIndex(image, "/") + 1
	if i := strings.IndexAny(image[end:], ":@"); i >= 0 {
		return image[:end+i], image[end+i+1:]
	}
	return image, ""
}

// differing returns the keys with different values, sorted.
func differing(before, after map[string]string) (keys []string) {
	for key, value := range after {
		if was, found := before[key]; !found || was != value {
			keys = append(keys, key)
		}
	}
	for key := range before {
		if _, found := after[key]; !found {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// differingFields returns the names, in JSON, of the fields of two structs that differ.
func differingFields[T any](before, after *T) (names []string) {
	a, b := reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem()
	for i := range a.NumField() {
		if !apiequality.Semantic.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}
