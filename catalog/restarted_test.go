package catalog

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// basisFor returns the basis annotation of a restart for the given causes.
func basisFor(t rapid.TB, checksums Checksums, restarted []Restarted) string {
	annotations, err := checksums.Annotations(Basis{
		Key: testKey, Written: noonPlus(0.123456789), Timestamp: "2026-03-01T12:00:00.1Z", WasWhole: true, RestartedFor: restarted,
		Budget: Budget{Restarts: 4, Last: noonPlus(0.123456789)}, Contradicted: noonPlus(0.123456789),
	})
	if err != nil {
		t.Fatal(err)
	}
	return annotations[BasisAnnotation]
}

func TestTheRecordOfARestartSaysWhatItWasFor(t *testing.T) {
	decision := Decision{Causes: []Cause{
		{Config: configMapRef("all-known"), Keys: []string{"LOG_LEVEL", "PORT"}, Moments: []Sequence{7}},
		{Config: configMapRef("too-many"), Keys: []string{"LOG_LEVEL"}, MoreKeys: 1, Moments: []Sequence{7}},
		{Config: configMapRef("unseen-edits-too"), Keys: []string{"LOG_LEVEL"}, Unnamed: true, Moments: []Sequence{0, 7}},
		{Config: secretRef("db"), Keys: []string{"password"}, Moments: []Sequence{7}},
	}}
	const want = `"for":{"configmap/all-known":["LOG_LEVEL","PORT"],"configmap/too-many":[],"configmap/unseen-edits-too":[],"secret/db":[]}`
	if got := basisFor(t, Checksums{}, decision.RestartedFor()); !strings.Contains(got, want) {
		t.Errorf("basis %s lacks %s", got, want)
	}
	if got := basisFor(t, Checksums{}, (&Decision{}).RestartedFor()); strings.Contains(got, "for") {
		t.Errorf("basis %s of a restart for no config", got)
	}
}

func TestKeysThatWouldMakeTheRecordOfARestartLongAreLeftOut(t *testing.T) {
	const empty = `{"configmap/web":[]}`
	for size, want := range map[int]string{
		1024: `{"configmap/web":["` + strings.Repeat("k", 1024-len(empty)-2) + `"]}`,
		1025: empty,
	} {
		key := strings.Repeat("k", size-len(empty)-2)
		if got, err := encodeRestarted([]Restarted{{configMapRef("web"), []string{key}}}); err != nil || string(got) != want {
			t.Errorf("with %d bytes: %s, %v", size, got, err)
		}
	}
}

func TestTheLargestBasisTakesHalfOfWhatIsReservedAtMost(t *testing.T) {
	var restarted []Restarted
	for i := range maxNamed {
		name := fmt.Sprint(i, strings.Repeat("c", longestName-1))
		restarted = append(restarted, Restarted{ConfigRef{ConfigMap, "ns", name}, []string{strings.Repeat("k", longestName)}})
	}
	size := len(BasisAnnotation) + len(basisFor(t, Checksums{secretRef("db"): 1}, restarted))
	t.Logf("%d bytes", size)
	if size > annotationsReserve/2 {
		t.Errorf("%d bytes", size)
	}
}

// someRestarted are configs that the story's Deployment reads, as they can be recorded.
func someRestarted(t *rapid.T) []Restarted {
	key := rapid.StringMatching(`[-._a-zA-Z0-9]{1,20}`)
	var restarted []Restarted
	for _, ref := range []ConfigRef{configMapRef("a"), configMapRef("b"), secretRef("a"), secretRef("c")} {
		if !rapid.Bool().Draw(t, "is for it") {
			continue
		}
		entry := Restarted{Config: ref}
		if !ref.Kind.IsSecret() {
			keys := rapid.MapOfN(key, rapid.Bool(), 0, maxNamed).Draw(t, "keys")
			entry.Keys = sortedNames(keys)
		}
		restarted = append(restarted, entry)
	}
	return restarted
}

func TestWhatARestartWasForIsReadBackAsItWasWritten(t *testing.T) {
	container := corev1.Container{Name: "app"}
	for _, name := range []string{"a", "b"} {
		container.EnvFrom = append(container.EnvFrom, readsAll(name, false).EnvFrom...)
	}
	for _, name := range []string{"a", "c"} {
		container.EnvFrom = append(container.EnvFrom, readsSecret(name).EnvFrom...)
	}
	rapid.Check(t, func(t *rapid.T) {
		d, want := deployment(container), someRestarted(t)
		writeRecord(d, Checksums{}, noonPlus(10))
		d.Annotations[BasisAnnotation] = basisFor(t, Checksums{}, want)
		if diff := cmp.Diff(want, mustWorkload(d).Applied.RestartedFor, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("read back (-want +got):\n%s", diff)
		}
	})
}

// recordedFor is a Deployment that reads the ConfigMap web and the Secret tls, and whose record has
// the given member.
func recordedFor(member string) *appsv1.Deployment {
	d := deployment(corev1.Container{Name: "app", EnvFrom: append(readsAll("web", false).EnvFrom, readsSecret("tls").EnvFrom...)})
	writeRecord(d, Checksums{configMapRef("web"): 1}, noonPlus(10))
	d.Annotations[BasisAnnotation] = strings.Replace(d.Annotations[BasisAnnotation], `{`, `{`+member+`,`, 1)
	return d
}

func TestOfAForgedMemberOnlyWhatCanBeOursIsKept(t *testing.T) {
	web := []Restarted{{Config: configMapRef("web")}}
	long, many := strings.Repeat("x", 254), strings.Repeat(`"k",`, 10)
	for name, test := range map[string]struct {
		member string
		want   []Restarted
	}{
		"as written":                         {`"for":{"configmap/web":["b","a"],"secret/tls":[]}`, []Restarted{{configMapRef("web"), []string{"a", "b"}}, {Config: secretRef("tls")}}},
		"no keys":                            {`"for":{"configmap/web":null}`, web},
		"keys of a Secret":                   {`"for":{"secret/tls":["password"]}`, []Restarted{{Config: secretRef("tls")}}},
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
			record := mustWorkload(recordedFor(test.member)).Applied
			if !record.Trusted {
				t.Error("the record is not trusted")
			}
			if diff := cmp.Diff(test.want, record.RestartedFor, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
	large := recordedFor(`"for":{"configmap/web":["` + strings.Repeat("x", 200<<10) + `"]}`)
	_, bytes := retained(func() Workload { return mustWorkload(large) })
	if runtime.KeepAlive(large); bytes > 100<<10 { // other tests allocate meanwhile
		t.Errorf("%d bytes are kept", bytes)
	}
}

func TestWhatARestartWasForCountsOnlyIfThisControllerWroteIt(t *testing.T) {
	d := recordedFor(`"for":{"configmap/web":["a"]}`)
	d.ManagedFields[1].Manager = "kubectl"
	if got := mustWorkload(d).Applied.RestartedFor; got != nil {
		t.Errorf("read %v", got)
	}
}

func TestAMarkKeepsWhatTheRestartWasFor(t *testing.T) {
	s := begin(recordedFor(`"for":{"configmap/web":["a"]}`))
	s.listed()
	s.catalog.SetKey(testKey)
	view, _ := s.catalog.View(deploymentRef("web"))
	annotations, marks, err := view.Mark(noonPlus(20))
	if !marks || err != nil {
		t.Fatalf("marks: %t, %v", marks, err)
	}
	maps.Copy(s.deployment.Annotations, annotations)
	want := []Restarted{{configMapRef("web"), []string{"a"}}}
	if marked := s.reduced().Applied; !marked.Marked || cmp.Diff(want, marked.RestartedFor) != "" {
		t.Errorf("marked record %+v", marked)
	}
}
