package record

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// AnnotationsLimit is how many bytes the names and values of all annotations of an object may
// have together; see the constant TotalAnnotationSizeLimitB of
// k8s.io/apimachinery/pkg/api/validation. AnnotationsReserve is left for the basis, which may have
// half of it, and for annotations that others add later, also to copies.
const (
	AnnotationsLimit   = 256 * 1024
	AnnotationsReserve = 8 * 1024
)

// RoomForChecksums returns how many bytes the other annotations of a workload leave for the
// checksums. The record has one of the filters.
func RoomForChecksums(meta *metav1.ObjectMeta, present, recorded template.Filter) int {
	room := AnnotationsLimit - AnnotationsReserve - max(present.Size(), recorded.Size())
	for name, value := range meta.Annotations {
		if name != annotation.ChecksumsAnnotation && name != annotation.BasisAnnotation {
			room -= len(name) + len(value)
		}
	}
	return room
}

// LimitTo returns the checksums whose entries fit in an annotation of that many bytes. It leaves
// out the ones that do not fit, which are the last in the order of names.
func (c Checksums) LimitTo(room int) Checksums {
	size := 0
	for ref := range c {
		size += EntrySize(ref)
	}
	if size <= room {
		return c
	}
	limited := maps.Clone(c)
	for _, ref := range slices.SortedFunc(maps.Keys(c), func(a, b names.ConfigRef) int { return names.CompareConfigRefs(b, a) }) {
		if size <= room {
			break
		}
		delete(limited, ref)
		size -= EntrySize(ref)
	}
	return limited
}

// EntrySize returns how many bytes a config takes in the checksums annotation.
func EntrySize(ref names.ConfigRef) int {
	return len(`"//":"0123456789abcdef",`) + len(ref.Kind.String()) + len(ref.Namespace) + len(ref.Name)
}
