package podtemplate

import (
	"math/rand"
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const hashLabel = appsv1.DefaultDeploymentUniqueLabelKey

// sumOf computes the sum of a template, which must not be modified.
func sumOf(t testing.TB, template *corev1.PodTemplateSpec) Sum {
	t.Helper()
	before := template.DeepCopy()
	sum := Encode(template).Sum()
	if !reflect.DeepEqual(before, template) {
		t.Fatal("the template was modified")
	}
	return sum
}

func web() *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "example/app:1"}}},
	}
}

func TestTheEncodingHoldsWhatIsSetAndNothingElse(t *testing.T) {
	template := web()
	template.Spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
		TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(80)},
	}}
	template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"memory": resource.MustParse("1Gi"), "cpu": resource.MustParse("0.5")}
	template.Spec.HostUsers = new(false)
	template.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	const want = "d4:specd" +
		"10:containersl" +
		"d5:image13:example/app:14:name3:app" +
		"14:readinessProbed9:tcpSocketd4:portd6:IntVali80eeee" +
		"9:resourcesd6:limitsd3:cpu6:500e-36:memory12:1073741824e0eee" +
		"e" +
		"9:hostUsersi0e" +
		"7:volumesld8:emptyDirde4:name3:tmpee" +
		"ee"
	if got := string(Encode(template).text); got != want {
		t.Errorf("encoded as\n%s, want\n%s", got, want)
	}
}

func TestTheSameTemplateHasTheSameSumHoweverItIsWritten(t *testing.T) {
	type change = func(*corev1.PodTemplateSpec)
	none := func(*corev1.PodTemplateSpec) {}
	limits := func(quantity string) change {
		return func(template *corev1.PodTemplateSpec) {
			template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"memory": resource.MustParse(quantity)}
		}
	}
	ports := func(numbers ...int32) change {
		return func(t *corev1.PodTemplateSpec) {
			for _, number := range numbers {
				t.Spec.Containers[0].Ports = append(t.Spec.Containers[0].Ports, corev1.ContainerPort{ContainerPort: number})
			}
		}
	}
	env := func(name, value string) change {
		return func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].Env = []corev1.EnvVar{{Name: name, Value: value}}
		}
	}
	volume := func(source corev1.VolumeSource) change {
		return func(t *corev1.PodTemplateSpec) { t.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: source}} }
	}
	emptyDir := func(limit *resource.Quantity) change {
		return volume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: limit}})
	}
	created := func(at time.Time) change {
		return func(t *corev1.PodTemplateSpec) { t.CreationTimestamp = metav1.Time{Time: at} }
	}
	noon := time.Date(2026, 1, 20, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		one, other change
		same       bool
	}{
		"nothing":       {none, none, true},
		"another image": {none, func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = "v2" }, false},
		"another label": {none, func(t *corev1.PodTemplateSpec) { t.Labels["a"] = "b" }, false},
		"an annotation": {none, func(t *corev1.PodTemplateSpec) { t.Annotations = map[string]string{"restartedAt": "now"} }, false},
		"empty and absent": {none, func(t *corev1.PodTemplateSpec) {
			t.Spec.Volumes = []corev1.Volume{}
			t.Spec.NodeSelector = map[string]string{}
			t.Annotations = map[string]string{}
		}, true},
		"a label without a value":     {none, func(t *corev1.PodTemplateSpec) { t.Labels["a"] = "" }, false},
		"false and absent":            {none, func(t *corev1.PodTemplateSpec) { t.Spec.ShareProcessNamespace = new(false) }, false},
		"0 and absent":                {none, func(t *corev1.PodTemplateSpec) { t.Spec.Priority = new(int32(0)) }, false},
		"an empty struct and none":    {none, func(t *corev1.PodTemplateSpec) { t.Spec.SecurityContext = &corev1.PodSecurityContext{} }, false},
		"an empty volume of a kind":   {volume(corev1.VolumeSource{}), emptyDir(nil), false},
		"an empty element and none":   {none, func(t *corev1.PodTemplateSpec) { t.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{}} }, false},
		"another size limit":          {emptyDir(nil), emptyDir(new(resource.MustParse("0"))), false},
		"binary and decimal":          {limits("1Gi"), limits("1073741824"), true},
		"exponent and decimal":        {limits("1e3"), limits("1000"), true},
		"thousandths":                 {limits("1"), limits("1000m"), true},
		"a fraction of a unit":        {limits("1.5Gi"), limits("1610612736"), true},
		"billionths":                  {limits("0.000000001"), limits("1n"), true},
		"more than int64":             {limits("9223372036854775808"), limits("9223372036854775808000m"), true},
		"beyond the largest unit":     {limits("1000E"), limits("1"), false},
		"another by a billionth":      {limits("1"), limits("1000000001n"), false},
		"nothing in two notations":    {limits("0"), limits("0Gi"), true},
		"a limit of 0 and none":       {none, limits("0"), false},
		"no time and absent":          {none, created(time.Time{}), true},
		"a time":                      {none, created(noon), false},
		"another time":                {created(noon), created(noon.Add(time.Nanosecond)), false},
		"another time zone":           {created(noon), created(noon.In(time.FixedZone("elsewhere", 3600))), true},
		"two ports the other way":     {ports(80, 81), ports(81, 80), false},
		"text that moves its place":   {env("ab", "c"), env("a", "bc"), false},
		"text that looks encoded":     {env("a", "5:value1:b"), env("a5:value", "1:b"), false},
		"a label and an annotation":   {func(t *corev1.PodTemplateSpec) { t.Labels["a"] = "b" }, func(t *corev1.PodTemplateSpec) { t.Annotations = map[string]string{"a": "b"} }, false},
		"a setting for another field": {func(t *corev1.PodTemplateSpec) { t.Spec.HostIPC = true }, func(t *corev1.PodTemplateSpec) { t.Spec.HostPID = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			one, other := web(), web()
			test.one(one)
			test.other(other)
			if got := sumOf(t, one) == sumOf(t, other); got != test.same {
				t.Errorf("same sum: %t", got)
			}
			if apiequality.Semantic.DeepEqual(one, other) != test.same {
				t.Error("the API sees that differently")
			}
		})
	}
}

func TestASumWithoutALabelOrAnAnnotationEqualsThatOfATemplateWithoutIt(t *testing.T) {
	marked := web()
	marked.Labels[hashLabel] = "6c5f67b5f7"
	marked.Annotations = map[string]string{timestamp: "now", "cause": "an edit"}
	for name, test := range map[string]struct {
		sum  func(Encoded) Sum
		bare func(*corev1.PodTemplateSpec)
	}{
		"a label and an annotation": {func(e Encoded) Sum { return e.SumWithout(hashLabel, "cause") }, func(t *corev1.PodTemplateSpec) {
			delete(t.Labels, hashLabel)
			delete(t.Annotations, "cause")
		}},
		"the last annotations":            {func(e Encoded) Sum { return e.SumWithoutAnnotations(timestamp, "cause") }, func(t *corev1.PodTemplateSpec) { t.Annotations = nil }},
		"one annotation of several":       {func(e Encoded) Sum { return e.SumWithoutAnnotations("note", "cause") }, func(t *corev1.PodTemplateSpec) { delete(t.Annotations, "cause") }},
		"one label of several":            {func(e Encoded) Sum { return e.SumWithout(hashLabel) }, func(t *corev1.PodTemplateSpec) { delete(t.Labels, hashLabel) }},
		"a label of its name":             {func(e Encoded) Sum { return e.SumWithout(timestamp) }, func(*corev1.PodTemplateSpec) {}},
		"an annotation that is not there": {func(e Encoded) Sum { return e.SumWithoutAnnotations("note") }, func(*corev1.PodTemplateSpec) {}},
	} {
		t.Run(name, func(t *testing.T) {
			encoded, before, bare := Encode(marked), marked.DeepCopy(), marked.DeepCopy()
			test.bare(bare)
			if test.sum(encoded) != sumOf(t, bare) {
				t.Error("another sum")
			}
			if encoded.Sum() != sumOf(t, marked) {
				t.Error("the sum of the whole template has changed")
			}
			if !reflect.DeepEqual(before, marked) {
				t.Error("the template was modified")
			}
		})
	}
}

func TestASumStandsForEqualityAsTheAPIMeansIt(t *testing.T) {
	rewritten, changed := 0, 0
	for seed := range int64(400) {
		var one corev1.PodTemplateSpec
		filler(seed).Fill(&one)
		other := one.DeepCopy()
		rewritten += otherNotation(other)
		if !apiequality.Semantic.DeepEqual(&one, other) {
			t.Fatalf("seed %d: another notation is another template", seed)
		}
		sum := sumOf(t, &one)
		if sum != sumOf(t, other) {
			t.Fatalf("seed %d: two sums of the same", seed)
		}
		// Any change of a field changes the sum.
		field := changeAField(reflect.ValueOf(other), rand.New(rand.NewSource(seed)))
		if same := sum == sumOf(t, other); same != apiequality.Semantic.DeepEqual(&one, other) {
			t.Fatalf("seed %d: same sum: %t, after a change of %s", seed, same, field)
		} else if !same {
			changed++
		}
	}
	if rewritten < 1000 || changed < 300 {
		t.Errorf("only %d quantities and %d changes were tried", rewritten, changed)
	}
}

// Workloads come as protobuf, and some of their revisions as JSON.
func TestASumDoesNotDependOnHowATemplateWasSent(t *testing.T) {
	for seed := range int64(200) {
		var template corev1.PodTemplateSpec
		filler(seed).Fill(&template)
		sum := sumOf(t, &template)
		encoded, err := template.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		var decoded corev1.PodTemplateSpec
		if err := decoded.Unmarshal(encoded); err != nil {
			t.Fatal(err)
		}
		if sum != sumOf(t, &decoded) {
			t.Fatalf("seed %d: another sum after protobuf", seed)
		}
	}
}

func TestIndistinguishableTypesAreRejected(t *testing.T) {
	for name, value := range map[string]any{
		"a hidden field":                 struct{ hidden int }{},
		"an interface":                   struct{ Any any }{},
		"a number with a point":          1.5,
		"a map of another kind":          map[string]int{},
		"a list whose elements are none": []*int{nil},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Errorf("%T has a form", value)
				}
			}()
			formOf(reflect.TypeOf(value))
		})
	}
}

func TestATypeMayContainItself(t *testing.T) {
	type tree struct {
		Name     string `json:"name"`
		Branches []tree `json:"branches,omitempty"`
	}
	grown := tree{Name: "a", Branches: []tree{{Name: "b"}, {}}}
	got := string(formOf(reflect.TypeFor[tree]()).appendTo(nil, reflect.ValueOf(&grown).Elem()))
	if want := "d8:branchesld4:name1:bedee4:name1:ae"; got != want {
		t.Errorf("encoded as %s, want %s", got, want)
	}
}
