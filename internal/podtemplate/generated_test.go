package podtemplate

import (
	"fmt"
	"math/rand"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/randfill"
)

// filler fills templates at random. Its quantities come in all notations.
func filler(seed int64) *randfill.Filler {
	notations := []resource.Format{resource.DecimalSI, resource.BinarySI, resource.DecimalExponent}
	return randfill.NewWithSeed(seed).NilChance(.6).NumElements(1, 2).MaxDepth(14).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewMilliQuantity(int64(c.Intn(1<<20)), notations[c.Intn(len(notations))])
		},
		// An empty list and an absent one are the same, and randfill makes no empty ones.
		func(labels *map[string]string, c randfill.Continue) {
			if *labels = map[string]string{}; c.Bool() {
				*labels = map[string]string{c.String(5): c.String(5), hashLabel: c.String(5)}
			}
		},
	)
}

// otherNotation writes the quantities of a template in another way.
func otherNotation(template *corev1.PodTemplateSpec) (changed int) {
	rewrite := func(q *resource.Quantity) {
		changed++
		switch text := q.AsDec().String(); changed % 3 {
		case 0:
			*q = resource.MustParse(text)
		case 1:
			*q = *resource.NewMilliQuantity(q.MilliValue(), resource.BinarySI)
		default:
			*q = resource.MustParse(fmt.Sprintf("%dm", q.MilliValue()))
			_ = q.String() // which it then remembers
		}
	}
	eachQuantityByReflection(reflect.ValueOf(template), rewrite)
	return changed
}

// eachQuantityByReflection finds quantities by looking at each field of each type.
func eachQuantityByReflection(value reflect.Value, visit func(*resource.Quantity)) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			eachQuantityByReflection(value.Elem(), visit)
		}
	case reflect.Struct:
		if q, isQuantity := value.Addr().Interface().(*resource.Quantity); isQuantity {
			visit(q)
			return
		}
		for i := range value.NumField() {
			if value.Type().Field(i).IsExported() {
				eachQuantityByReflection(value.Field(i), visit)
			}
		}
	case reflect.Slice:
		for i := range value.Len() {
			eachQuantityByReflection(value.Index(i), visit)
		}
	case reflect.Map:
		for _, key := range value.MapKeys() {
			element := reflect.New(value.Type().Elem()).Elem()
			element.Set(value.MapIndex(key))
			eachQuantityByReflection(element, visit)
			value.SetMapIndex(key, element)
		}
	}
}

// changeAField changes a string, number or bool somewhere in a value, and returns
// where.
func changeAField(root reflect.Value, random *rand.Rand) string {
	type leaf struct {
		path  string
		value reflect.Value
	}
	var leaves []leaf
	var collect func(string, reflect.Value)
	collect = func(path string, value reflect.Value) {
		switch value.Kind() {
		case reflect.Pointer:
			if !value.IsNil() {
				collect(path, value.Elem())
			}
		case reflect.Struct:
			for i := range value.NumField() {
				if field := value.Type().Field(i); field.IsExported() && field.Type != reflect.TypeFor[resource.Quantity]() {
					collect(path+"."+field.Name, value.Field(i))
				}
			}
		case reflect.Slice:
			for i := range value.Len() {
				collect(fmt.Sprintf("%s[%d]", path, i), value.Index(i))
			}
		case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64:
			if value.CanSet() {
				leaves = append(leaves, leaf{path, value})
			}
		}
	}
	collect("template", root)
	if len(leaves) == 0 {
		return "nothing"
	}
	chosen := leaves[random.Intn(len(leaves))]
	switch chosen.value.Kind() {
	case reflect.String:
		chosen.value.SetString(chosen.value.String() + "x")
	case reflect.Bool:
		chosen.value.SetBool(!chosen.value.Bool())
	default:
		chosen.value.SetInt(chosen.value.Int() + 1)
	}
	return chosen.path
}
