package deployment

import (
	"fmt"
	"math/rand"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/randfill"
)

func sumOf(t testing.TB, template *corev1.PodTemplateSpec) TemplateSum {
	t.Helper()
	before := template.DeepCopy()
	sum, err := SumTemplate(template)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(before, template) {
		t.Fatal("the template was modified")
	}
	return sum
}

// isEqual is what a sum stands for.
func isEqual(a, b *corev1.PodTemplateSpec) bool {
	first, second := a.DeepCopy(), b.DeepCopy()
	delete(first.Labels, hashLabel)
	delete(second.Labels, hashLabel)
	return apiequality.Semantic.DeepEqual(first, second)
}

func TestTheSameTemplateHasTheSameSumHoweverItIsWritten(t *testing.T) {
	limits := func(quantity string) func(*corev1.PodTemplateSpec) {
		return func(template *corev1.PodTemplateSpec) {
			template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"memory": resource.MustParse(quantity)}
		}
	}
	none := func(*corev1.PodTemplateSpec) {}
	for name, test := range map[string]struct {
		one, other func(*corev1.PodTemplateSpec)
		same       bool
	}{
		"nothing":                {none, none, true},
		"another image":          {none, func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = "v2" }, false},
		"a hash label":           {none, func(t *corev1.PodTemplateSpec) { t.Labels[hashLabel] = "6c5f67b5f7" }, true},
		"another label":          {none, func(t *corev1.PodTemplateSpec) { t.Labels["a"] = "b" }, false},
		"no labels but the hash": {func(t *corev1.PodTemplateSpec) { t.Labels = nil }, func(t *corev1.PodTemplateSpec) { t.Labels = map[string]string{hashLabel: "x"} }, true},
		"an annotation":          {none, func(t *corev1.PodTemplateSpec) { t.Annotations = map[string]string{"restartedAt": "now"} }, false},
		"empty and absent": {none, func(t *corev1.PodTemplateSpec) {
			t.Spec.Volumes = []corev1.Volume{}
			t.Annotations = map[string]string{}
		}, true},
		"false and absent":          {none, func(t *corev1.PodTemplateSpec) { t.Spec.ShareProcessNamespace = new(false) }, false},
		"an empty struct and none":  {none, func(t *corev1.PodTemplateSpec) { t.Spec.SecurityContext = &corev1.PodSecurityContext{} }, false},
		"binary and decimal":        {limits("1Gi"), limits("1073741824"), true},
		"exponent and decimal":      {limits("1e3"), limits("1000"), true},
		"thousandths":               {limits("1"), limits("1000m"), true},
		"a fraction of a unit":      {limits("1.5Gi"), limits("1610612736"), true},
		"billionths":                {limits("0.000000001"), limits("1n"), true},
		"more than int64":           {limits("9223372036854775808"), limits("9223372036854775808000m"), true},
		"another by a billionth":    {limits("1"), limits("1000000001n"), false},
		"0 in two notations":        {limits("0"), limits("0Gi"), true},
		"0 and absent":              {none, limits("0"), false},
		"no timestamp and absent":   {none, func(t *corev1.PodTemplateSpec) { t.CreationTimestamp = metav1.Time{} }, true},
		"two ports the other way":   {ports(80, 81), ports(81, 80), false},
		"text that moves its place": {env("ab", "c"), env("a", "bc"), false},
	} {
		t.Run(name, func(t *testing.T) {
			one, other := templateOf("v1"), templateOf("v1")
			test.one(&one)
			test.other(&other)
			if got := sumOf(t, &one) == sumOf(t, &other); got != test.same {
				t.Errorf("same sum: %t", got)
			}
			if isEqual(&one, &other) != test.same {
				t.Error("the API sees that differently")
			}
		})
	}
}

func ports(numbers ...int32) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		for _, number := range numbers {
			t.Spec.Containers[0].Ports = append(t.Spec.Containers[0].Ports, corev1.ContainerPort{ContainerPort: number})
		}
	}
}

func env(name, value string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers[0].Env = []corev1.EnvVar{{Name: name, Value: value}}
	}
}

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

func TestASumStandsForEqualityAsTheAPIMeansIt(t *testing.T) {
	rewritten, changed := 0, 0
	for seed := range int64(400) {
		var one corev1.PodTemplateSpec
		filler(seed).Fill(&one)
		other := one.DeepCopy()
		other.Labels[hashLabel] = "another"
		rewritten += otherNotation(other)
		if !isEqual(&one, other) {
			t.Fatalf("seed %d: another notation is another template", seed)
		}
		sum := sumOf(t, &one)
		if sum != sumOf(t, other) {
			t.Fatalf("seed %d: two sums of the same", seed)
		}
		// Any change of a field changes the sum.
		field := changeAField(reflect.ValueOf(other), rand.New(rand.NewSource(seed)))
		if same := sum == sumOf(t, other); same != isEqual(&one, other) {
			t.Fatalf("seed %d: same sum: %t, after a change of %s", seed, same, field)
		} else if !same {
			changed++
		}
	}
	if rewritten < 1000 || changed < 300 {
		t.Errorf("only %d quantities and %d changes were tried", rewritten, changed)
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

// A version of the API that adds a quantity somewhere fails this test.
func TestEveryQuantityOfATemplateIsVisited(t *testing.T) {
	// One of everything: no pointer is nil, no list empty. Types that contain
	// themselves, such as JSON schemas, do not occur in a template.
	var template corev1.PodTemplateSpec
	marked := 0
	fillAll(reflect.ValueOf(&template).Elem(), func(q *resource.Quantity) {
		marked++
		*q = resource.MustParse(fmt.Sprint(marked))
	})
	visited := map[string]bool{}
	eachQuantity(&template, func(q resource.Quantity) resource.Quantity {
		visited[q.String()] = true
		return resource.MustParse("0")
	})
	eachQuantityByReflection(reflect.ValueOf(&template), func(q *resource.Quantity) {
		if !q.IsZero() {
			t.Errorf("quantity %s was not replaced", q)
		}
	})
	if len(visited) != marked || marked < 15 {
		t.Errorf("%d of %d quantities were visited", len(visited), marked)
	}
}

func fillAll(value reflect.Value, mark func(*resource.Quantity)) {
	switch value.Kind() {
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fillAll(value.Elem(), mark)
	case reflect.Struct:
		if q, isQuantity := value.Addr().Interface().(*resource.Quantity); isQuantity {
			mark(q)
			return
		}
		for i := range value.NumField() {
			if value.Type().Field(i).IsExported() {
				fillAll(value.Field(i), mark)
			}
		}
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		fillAll(value.Index(0), mark)
	case reflect.Map:
		value.Set(reflect.MakeMap(value.Type()))
		key, element := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
		fillAll(key, mark)
		fillAll(element, mark)
		value.SetMapIndex(key, element)
	}
}
