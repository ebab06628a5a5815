package podtemplate

import (
	"crypto/sha256"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Sum identifies a pod template, or a pod template without a part of it.
type Sum [sha256.Size]byte

// Encoded is an encoded pod template for which several sums can be computed at
// little cost. It shares the template, which must not be modified as long as it
// is in use. It must not be used by several goroutines at once.
type Encoded struct {
	metadata *metav1.ObjectMeta
	text     []byte // all but the metadata
}

// typicalSize is enough for most templates, in bytes. Larger templates take as
// much as they need.
const typicalSize = 2048

var (
	templateForm = formOf(reflect.TypeFor[corev1.PodTemplateSpec]())
	metadataForm = formOf(reflect.TypeFor[metav1.ObjectMeta]())
)

// Encode encodes a pod template, which it does not modify.
func Encode(template *corev1.PodTemplateSpec) Encoded {
	rest := *template
	rest.ObjectMeta = metav1.ObjectMeta{}
	text := templateForm.appendTo(make([]byte, 0, typicalSize), reflect.ValueOf(&rest).Elem())
	return Encoded{metadata: &template.ObjectMeta, text: text}
}

// Sum returns the sum of the whole template.
func (e Encoded) Sum() Sum { return e.sumWith(e.metadata) }

// SumWithoutAnnotations returns the sum of the template without some annotations.
func (e Encoded) SumWithoutAnnotations(names ...string) Sum {
	metadata := *e.metadata
	metadata.Annotations = without(metadata.Annotations, names...)
	return e.sumWith(&metadata)
}

// SumWithout returns the sum of the template without a label and some annotations.
func (e Encoded) SumWithout(label string, annotations ...string) Sum {
	metadata := *e.metadata
	metadata.Labels, metadata.Annotations = without(metadata.Labels, label), without(metadata.Annotations, annotations...)
	return e.sumWith(&metadata)
}

func (e Encoded) sumWith(metadata *metav1.ObjectMeta) Sum {
	return sha256.Sum256(metadataForm.appendTo(e.text, reflect.ValueOf(metadata).Elem()))
}

func without(m map[string]string, keys ...string) map[string]string {
	isThere := func(key string) bool { _, found := m[key]; return found }
	if !slices.ContainsFunc(keys, isThere) {
		return m
	}
	rest := maps.Clone(m)
	for _, key := range keys {
		delete(rest, key)
	}
	return rest
}
