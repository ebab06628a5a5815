package catalog

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// annotationsLimit is how many bytes the names and values of all annotations of an object may
// have together; see the constant TotalAnnotationSizeLimitB of
// k8s.io/apimachinery/pkg/api/validation. annotationsReserve is left for the basis, which may have
// half of it, and for annotations that others add later, also to copies.
const (
	annotationsLimit   = 256 * 1024
	annotationsReserve = 8 * 1024
)

// roomForChecksums returns how many bytes the other annotations of a workload leave for the
// checksums. The record has one of the filters.
func roomForChecksums(meta *metav1.ObjectMeta, present, recorded Filter) int {
	room := annotationsLimit - annotationsReserve - max(present.size(), recorded.size())
	for name, value := range meta.Annotations {
		if name != ChecksumsAnnotation && name != BasisAnnotation {
			room -= len(name) + len(value)
		}
	}
	return room
}

// limitTo returns the checksums whose entries fit in an annotation of that many bytes. It leaves
// out the ones that do not fit, which are the last in the order of names.
func (c Checksums) limitTo(room int) Checksums {
	size := 0
	for ref := range c {
		size += entrySize(ref)
	}
	if size <= room {
		return c
	}
	limited := maps.Clone(c)
	for _, ref := range slices.SortedFunc(maps.Keys(c), func(a, b ConfigRef) int { return compareConfigRefs(b, a) }) {
		if size <= room {
			break
		}
		delete(limited, ref)
		size -= entrySize(ref)
	}
	return limited
}

// entrySize returns how many bytes a config takes in the checksums annotation.
func entrySize(ref ConfigRef) int {
	return len(`"//":"0123456789abcdef",`) + len(ref.Kind.String()) + len(ref.Namespace) + len(ref.Name)
}
