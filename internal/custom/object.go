package custom

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	catalogtemplate "kubernetes-deployment-restart-controller/catalog/template"
)

// Object is a workload as it arrives, of which only the metadata has been decoded. It must not be modified.
type Object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              json.RawMessage `json:"spec,omitempty"`
	Status            json.RawMessage `json:"status,omitempty"`
}

// CheckSize is [catalogtemplate.CheckSize] of the parts that have not been decoded.
func (o *Object) CheckSize() (isHeavy bool, err error) {
	return catalogtemplate.CheckSize(o.Spec, o.Status)
}

// NewObject returns an empty object to decode into.
func NewObject() runtime.Object { return &Object{} }

// DeepCopyObject implements runtime.Object. Objects are never modified, so an object can be its own copy.
func (o *Object) DeepCopyObject() runtime.Object { return o }

// List is a page of objects.
type List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Object `json:"items"`
}

// DeepCopyObject implements runtime.Object; see [Object.DeepCopyObject].
func (l *List) DeepCopyObject() runtime.Object { return l }

// fields are the fields of a part of an object, not decoded.
type fields map[string]json.RawMessage

// opened is an object with the fields of its spec. There may be very many of them, so that they are decoded once, whatever
// is to be known of them.
type opened struct {
	*Object
	spec fields
}

func open(o *Object) *opened { return &opened{o, read[fields](o.Spec)} }

// at returns the part of the spec to which a path leads, nil if there is none. The path begins with "spec" and one of its
// fields.
func (o *opened) at(path []string) json.RawMessage {
	part := o.spec[path[1]]
	for _, step := range path[2:] {
		part = read[fields](part)[step]
	}
	if bytes.Equal(bytes.TrimSpace(part), []byte("null")) {
		return nil
	}
	return part
}

// read decodes a part, as far as it has the expected form. What people or controllers leave out, or write in another form
// than the presets know, is zero.
func read[T any](part json.RawMessage) (value T) {
	if len(part) == 0 || utiljson.Unmarshal(part, &value) != nil {
		var zero T
		return zero
	}
	return value
}

// decode decodes a part that must have the expected form. The error names the field that does not, without its content.
func decode[T any](part json.RawMessage) (value T, err error) {
	err = utiljson.Unmarshal(part, &value)
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mismatch) && mismatch.Field == "":
		return value, errors.New("it is not " + inJSON(mismatch.Type))
	case errors.As(err, &mismatch):
		return value, fmt.Errorf("its field %.100q is not %s", mismatch.Field, inJSON(mismatch.Type))
	case err != nil:
		return value, errors.New("it has a field of another form")
	}
	return value, nil
}

// inJSON names what a type is in JSON, for people.
func inJSON(wanted reflect.Type) string {
	switch wanted.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	default:
		return "a number"
	}
}
