package template

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// A slow oracle for volumes: build the tree of files, take what lies under the
// mounted paths, and see which keys went in.
func TestVisibleKeysAreThoseOfTheFilesUnderTheMounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		element := rapid.SampledFrom([]string{"a", "b", "ab"})
		nested := rapid.Custom(func(t *rapid.T) []string { return rapid.SliceOfN(element, 1, 3).Draw(t, "elements") })
		items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) []string {
			return append([]string{element.Draw(t, "key")}, nested.Draw(t, "path")...)
		}), 1, 4).Draw(t, "items")
		subPaths := rapid.SliceOfN(nested, 1, 3).Draw(t, "subPaths")

		files := map[string][]string{} // a later item replaces the file of an earlier one
		for _, item := range items {
			files[joinPath(item[1:])] = item
		}
		want := map[string]bool{}
		for _, item := range files {
			for _, subPath := range subPaths {
				if file := item[1:]; len(subPath) <= len(file) && slices.Equal(subPath, file[:len(subPath)]) {
					want[item[0]] = true
				}
			}
		}
		source := ConfigSource{Items: keysToPaths(items)}
		keys, visible := (&mentions{}).itemsOf(&source, newShown(subPathMounts(subPaths)), map[string]struct{}{})
		if visible != (len(want) > 0) {
			t.Fatalf("visible: %v, want %v", visible, want)
		}
		for _, key := range []string{"a", "b", "ab"} {
			if keys.HasName(key) != want[key] {
				t.Fatalf("shows %s: %v, want %v", key, keys.HasName(key), want[key])
			}
		}
	})
}

func keysToPaths(items [][]string) []corev1.KeyToPath {
	var list []corev1.KeyToPath
	for _, item := range items {
		list = append(list, corev1.KeyToPath{Key: item[0], Path: joinPath(item[1:])})
	}
	return list
}

func subPathMounts(subPaths [][]string) []*corev1.VolumeMount {
	var list []*corev1.VolumeMount
	for _, subPath := range subPaths {
		list = append(list, &corev1.VolumeMount{Name: "v", SubPath: joinPath(subPath)})
	}
	return list
}

func joinPath(elements []string) string {
	joined := elements[0]
	for _, element := range elements[1:] {
		joined += "/" + element
	}
	return joined
}
