package podtemplate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// form is how the values of a type are encoded.
type form struct {
	// appendTo appends a value, set or not.
	appendTo func(text []byte, value reflect.Value) []byte
	// isSet reports whether a value is set. It is nil for structs, which are set
	// unless they are encoded as an empty dictionary.
	isSet func(value reflect.Value) bool
}

// forms are the forms of structs, which may contain themselves.
type forms map[reflect.Type]*form

// formOf returns the form of a type. It panics if the type has no form. That cannot go
// unnoticed: a program with such a type in a pod template does not start.
func formOf(t reflect.Type) *form { return make(forms).of(t) }

func (known forms) of(t reflect.Type) *form {
	if special, found := specialForms[t]; found {
		return special
	}
	switch t.Kind() {
	case reflect.String:
		return &form{func(text []byte, v reflect.Value) []byte { return appendString(text, v.String()) }, isNotZero}
	case reflect.Bool:
		return &form{func(text []byte, v reflect.Value) []byte { return appendBool(text, v.Bool()) }, isNotZero}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return &form{func(text []byte, v reflect.Value) []byte { return appendInt(text, v.Int()) }, isNotZero}
	case reflect.Pointer:
		element := known.of(t.Elem())
		return &form{func(text []byte, v reflect.Value) []byte { return element.appendTo(text, v.Elem()) }, isNotNil}
	case reflect.Slice:
		return known.ofList(t)
	case reflect.Struct:
		return known.ofStruct(t)
	default:
		panic(fmt.Sprintf("cannot encode values of type %s", t))
	}
}

// specialForms are the forms of maps, and of types that hide their contents.
var specialForms = map[reflect.Type]*form{
	reflect.TypeFor[resource.Quantity](): special(appendQuantity, func(q resource.Quantity) bool { return !q.IsZero() }),
	reflect.TypeFor[metav1.Time]():       special(appendTime, func(t metav1.Time) bool { return !t.IsZero() }),
	reflect.TypeFor[metav1.FieldsV1]():   special(appendFields, func(f metav1.FieldsV1) bool { return f.GetRawString() != "" }),
	reflect.TypeFor[corev1.ResourceList](): special(func(text []byte, quantities corev1.ResourceList) []byte {
		return appendMap(text, quantities, appendQuantity)
	}, func(quantities corev1.ResourceList) bool { return len(quantities) > 0 }),
	reflect.TypeFor[map[string]string](): special(func(text []byte, m map[string]string) []byte {
		return appendMap(text, m, appendString[string])
	}, func(m map[string]string) bool { return len(m) > 0 }),
}

func special[T any](appendTo func([]byte, T) []byte, isSet func(T) bool) *form {
	value := func(v reflect.Value) T { return *v.Addr().Interface().(*T) }
	return &form{
		func(text []byte, v reflect.Value) []byte { return appendTo(text, value(v)) },
		func(v reflect.Value) bool { return isSet(value(v)) },
	}
}

func isNotZero(v reflect.Value) bool  { return !v.IsZero() }
func isNotNil(v reflect.Value) bool   { return !v.IsNil() }
func isNotEmpty(v reflect.Value) bool { return v.Len() > 0 }

func (known forms) ofList(t reflect.Type) *form {
	if t.Elem().Kind() == reflect.Pointer {
		panic(fmt.Sprintf("cannot encode values of type %s, whose elements can be nil", t))
	}
	element := known.of(t.Elem())
	return &form{func(text []byte, v reflect.Value) []byte {
		text = append(text, 'l')
		for i := range v.Len() {
			text = element.appendTo(text, v.Index(i))
		}
		return append(text, 'e')
	}, isNotEmpty}
}

// field is a field of a struct, or of one that is embedded in it.
type field struct {
	name  string // as it is encoded
	index []int
	form  *form
}

func (known forms) ofStruct(t reflect.Type) *form {
	if found := known[t]; found != nil {
		return found
	}
	structForm := &form{}
	known[t] = structForm
	fields := known.fieldsOf(t)
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	structForm.appendTo = func(text []byte, v reflect.Value) []byte {
		text = append(text, 'd')
		for i := range fields {
			text = fields[i].appendTo(text, v)
		}
		return append(text, 'e')
	}
	return structForm
}

// fieldsOf returns the fields of a struct. It includes the fields of structs that are
// embedded in the sense of encoding/json.
func (known forms) fieldsOf(t reflect.Type) []field {
	var fields []field
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported():
			panic(fmt.Sprintf("cannot encode values of type %s, which hides %s", t, f.Name))
		case name == "" && f.Anonymous:
			for _, inner := range known.fieldsOf(f.Type) {
				inner.index = append(slices.Clone(f.Index), inner.index...)
				fields = append(fields, inner)
			}
		case name == "":
			fields = append(fields, field{f.Name, f.Index, known.of(f.Type)})
		default:
			fields = append(fields, field{name, f.Index, known.of(f.Type)})
		}
	}
	return fields
}

// appendTo appends a struct's field if it is set.
func (f *field) appendTo(text []byte, of reflect.Value) []byte {
	value := of.FieldByIndex(f.index)
	if f.form.isSet != nil && !f.form.isSet(value) {
		return text
	}
	named := appendString(text, f.name)
	encoded := f.form.appendTo(named, value)
	if f.form.isSet == nil && len(encoded)-len(named) == len(emptyDictionary) {
		return text
	}
	return encoded
}
