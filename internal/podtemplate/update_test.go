package podtemplate

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// updated makes of the API types what an update could make of them: each struct has
// more fields, of each kind, with and without omitempty, before and after those that
// it had, and these in another order.
type updated map[reflect.Type]reflect.Type

// added are the fields that an update adds. Their names are the first and the last ones.
type added struct {
	AAText     string              `json:"aaText"`
	AAPointer  *string             `json:"aaPointer,omitempty"`
	AANumber   int32               `json:"aaNumber"`
	AASwitch   bool                `json:"aaSwitch"`
	AAList     []string            `json:"aaList"`
	AAStruct   corev1.Probe        `json:"aaStruct"`
	ZZMap      map[string]string   `json:"zzMap"`
	ZZAmounts  corev1.ResourceList `json:"zzAmounts"`
	ZZQuantity resource.Quantity   `json:"zzQuantity"`
	ZZTime     metav1.Time         `json:"zzTime"`
	ZZText     string              `json:"zzText,omitempty"`
	ZZStruct   struct {
		Inner struct {
			Text string `json:"text"`
		} `json:"inner"`
	} `json:"zzStruct,omitempty"`
}

func (u updated) typeOf(t reflect.Type) reflect.Type {
	if _, special := specialForms[t]; special {
		return t
	}
	switch t.Kind() {
	case reflect.Pointer:
		return reflect.PointerTo(u.typeOf(t.Elem()))
	case reflect.Slice:
		return reflect.SliceOf(u.typeOf(t.Elem()))
	case reflect.Struct:
		if _, found := u[t]; !found {
			u[t] = u.structOf(t)
		}
		return u[t]
	default:
		return t
	}
}

func (u updated) structOf(t reflect.Type) reflect.Type {
	var fields []reflect.StructField
	for f := range t.Fields() {
		fields = append(fields, reflect.StructField{Name: f.Name, Type: u.typeOf(f.Type), Tag: f.Tag, Anonymous: f.Anonymous})
	}
	for f := range reflect.TypeFor[added]().Fields() {
		// The struct's own name keeps them apart from those of a struct that it embeds.
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		tag := reflect.StructTag(`json:"` + name + t.Name() + `,` + options + `"`)
		fields = append(fields, reflect.StructField{Name: f.Name + t.Name(), Type: f.Type, Tag: tag})
	}
	slices.Reverse(fields)
	return reflect.StructOf(fields)
}

// move sets what is set in a value of an API type in one of the updated type.
func move(from, to reflect.Value) {
	if from.Type() == to.Type() {
		to.Set(from)
		return
	}
	switch from.Kind() {
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
			move(from.Elem(), to.Elem())
		}
	case reflect.Slice:
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			move(from.Index(i), to.Index(i))
		}
	default:
		for i := range from.NumField() {
			move(from.Field(i), to.FieldByName(from.Type().Field(i).Name))
		}
	}
}

func TestFieldsThatAnUpdateAddsDoNotChangeTheEncoding(t *testing.T) {
	target := updated{}.typeOf(reflect.TypeFor[corev1.PodTemplateSpec]())
	form := formOf(target)
	for seed := range int64(200) {
		var template corev1.PodTemplateSpec
		filler(seed).Fill(&template)
		later := reflect.New(target).Elem()
		move(reflect.ValueOf(&template).Elem(), later)
		want := string(templateForm.appendTo(nil, reflect.ValueOf(&template).Elem()))
		if got := string(form.appendTo(nil, later)); got != want {
			t.Fatalf("seed %d: encoded as\n%s, want\n%s", seed, got, want)
		}
	}
}

func TestAFieldThatAnUpdateAddsCountsOnceItIsSet(t *testing.T) {
	target := updated{}.typeOf(reflect.TypeFor[corev1.PodTemplateSpec]())
	form := formOf(target)
	later := reflect.New(target).Elem()
	before := string(form.appendTo(nil, later))
	later.FieldByName("AAPointerPodTemplateSpec").Set(reflect.ValueOf(new(string)))
	if got := string(form.appendTo(nil, later)); got == before {
		t.Errorf("encoded as %s with the field set", got)
	}
}
