package record_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

func TestTheLargestBasisTakesHalfOfWhatIsReservedAtMost(t *testing.T) {
	var restarted []record.Restarted
	for i := range names.MaxNamed {
		name := fmt.Sprint(i, strings.Repeat("c", names.LongestName-1))
		restarted = append(restarted, record.Restarted{names.ConfigRef{Kind: names.ConfigMap, Namespace: "ns", Name: name}, []string{strings.Repeat("k", names.LongestName)}})
	}
	size := len(annotation.BasisAnnotation) + len(catalogtest.BasisFor(t, record.Checksums{objecttest.SecretRef("db"): 1}, restarted))
	t.Logf("%d bytes", size)
	if size > record.AnnotationsReserve/2 {
		t.Errorf("%d bytes", size)
	}
}

// someRestarted are configs that the story's Deployment reads, as they can be recorded.
func someRestarted(t *rapid.T) []record.Restarted {
	key := rapid.StringMatching(`[-._a-zA-Z0-9]{1,20}`)
	var restarted []record.Restarted
	for _, ref := range []names.ConfigRef{objecttest.ConfigMapRef("a"), objecttest.ConfigMapRef("b"), objecttest.SecretRef("a"), objecttest.SecretRef("c")} {
		if !rapid.Bool().Draw(t, "is for it") {
			continue
		}
		entry := record.Restarted{Config: ref}
		if !ref.Kind.IsSecret() {
			keys := rapid.MapOfN(key, rapid.Bool(), 0, names.MaxNamed).Draw(t, "keys")
			entry.Keys = objecttest.SortedNames(keys)
		}
		restarted = append(restarted, entry)
	}
	return restarted
}

func TestWhatARestartWasForIsReadBackAsItWasWritten(t *testing.T) {
	container := corev1.Container{Name: "app"}
	for _, name := range []string{"a", "b"} {
		container.EnvFrom = append(container.EnvFrom, objecttest.ReadsAll(name, false).EnvFrom...)
	}
	for _, name := range []string{"a", "c"} {
		container.EnvFrom = append(container.EnvFrom, objecttest.ReadsSecret(name).EnvFrom...)
	}
	rapid.Check(t, func(t *rapid.T) {
		d, want := objecttest.Deployment(container), someRestarted(t)
		catalogtest.WriteRecord(d, record.Checksums{}, objecttest.NoonPlus(10))
		d.Annotations[annotation.BasisAnnotation] = catalogtest.BasisFor(t, record.Checksums{}, want)
		if diff := cmp.Diff(want, catalogtest.MustWorkload(d).Record.RestartedFor, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("read back (-want +got):\n%s", diff)
		}
	})
}

func TestOfAForgedMemberOnlyWhatCanBeOursIsKept(t *testing.T) {
	web := []record.Restarted{{Config: objecttest.ConfigMapRef("web")}}
	long, many := strings.Repeat("x", 254), strings.Repeat(`"k",`, 10)
	for name, test := range map[string]struct {
		member string
		want   []record.Restarted
	}{
		"as written":                         {`"for":{"configmap/web":["b","a"],"secret/tls":[]}`, []record.Restarted{{objecttest.ConfigMapRef("web"), []string{"a", "b"}}, {Config: objecttest.SecretRef("tls")}}},
		"no keys":                            {`"for":{"configmap/web":null}`, web},
		"keys of a Secret":                   {`"for":{"secret/tls":["password"]}`, []record.Restarted{{Config: objecttest.SecretRef("tls")}}},
		"a config that is not referenced":    {`"for":{"configmap/other":["a"]}`, nil},
		"a long name":                        {`"for":{"configmap/` + long + `":["a"]}`, nil},
		"no kind":                            {`"for":{"web":["a"]}`, nil},
		"another kind":                       {`"for":{"pod/web":["a"]}`, nil},
		"no name":                            {`"for":{"configmap/":["a"]}`, nil},
		"a name with a namespace":            {`"for":{"configmap/ns/web":["a"]}`, nil},
		"a long key":                         {`"for":{"configmap/web":["` + long + `"]}`, web},
		"an empty key":                       {`"for":{"configmap/web":["a",""]}`, web},
		"many keys":                          {`"for":{"configmap/web":[` + many + `"l"]}`, web},
		"many configs":                       {`"for":{"configmap/web":[],"1":[],"2":[],"3":[],"4":[],"5":[],"6":[],"7":[],"8":[],"9":[],"10":[]}`, nil},
		"a number":                           {`"for":7`, nil},
		"a list":                             {`"for":["configmap/web"]`, nil},
		"keys that are none":                 {`"for":{"configmap/web":{"a":1}}`, nil},
		"a member that a later version has":  {`"later":{"configmap/web":["a"]}`, nil},
		"the member in a record of this one": {`"for":{}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			record := catalogtest.MustWorkload(catalogtest.RecordedFor(test.member)).Record
			if !record.Trusted {
				t.Error("the record is not trusted")
			}
			if diff := cmp.Diff(test.want, record.RestartedFor, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
	large := catalogtest.RecordedFor(`"for":{"configmap/web":["` + strings.Repeat("x", 200<<10) + `"]}`)
	_, bytes := objecttest.Retained(func() workload.Workload { return catalogtest.MustWorkload(large) })
	if runtime.KeepAlive(large); bytes > 100<<10 { // other tests allocate meanwhile
		t.Errorf("%d bytes are kept", bytes)
	}
}

func TestWhatARestartWasForCountsOnlyIfThisControllerWroteIt(t *testing.T) {
	d := catalogtest.RecordedFor(`"for":{"configmap/web":["a"]}`)
	d.ManagedFields[1].Manager = "kubectl"
	if got := catalogtest.MustWorkload(d).Record.RestartedFor; got != nil {
		t.Errorf("read %v", got)
	}
}
