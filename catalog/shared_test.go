package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// othersFlags is the ConfigMap flags of the namespace others, shared with the given namespaces.
func othersFlags(content data, readers string) *corev1.ConfigMap {
	cm := configMap("flags", content)
	if cm.Namespace = "others"; readers != "" {
		cm.Annotations = map[string]string{ReadersAnnotation: readers}
	}
	return cm
}

var (
	flagsThere = ConfigRef{ConfigMap, "others", "flags"}
	flagsHere  = ConfigRef{ConfigMap, "ns", "others/flags"}
)

// readsFlagsOfOthers is a story in which a Deployment reads the ConfigMap flags of the namespace others through
// the API, besides its own ConfigMap web.
func readsFlagsOfOthers(flags ...*corev1.ConfigMap) *story {
	s := begin(deployment(readsAll("web", false)))
	s.deployment.Annotations[AlsoAnnotation] = "configmap/others/flags"
	s.listed(append(flags, configMap("web", data{"key": "1"}))...)
	s.recorded(10)
	return s
}

func (s *story) shows(cm *corev1.ConfigMap, seconds float64) bool {
	return s.catalog.ObserveConfig(NewConfigMap(cm), noonPlus(seconds))
}

func TestAConfigIsSharedWithTheNamespacesThatItsAnnotationNames(t *testing.T) {
	for text, test := range map[string]struct {
		want, problem string
		with          []string // of team-a, team-b and shop
	}{
		"":                                     {},
		"team-a":                               {want: "team-a", with: []string{"team-a"}},
		" team-b,,team-? ,":                    {want: "team-?,team-b", with: []string{"team-a", "team-b"}},
		"*":                                    {want: "*", with: []string{"team-a", "team-b", "shop"}},
		"team-[ab],shop":                       {want: "shop", problem: `cannot use "team-[ab]": a name has a character that no name has`, with: []string{"shop"}},
		"shop/web":                             {problem: `cannot use "shop/web"`},
		strings.Repeat("a,", maxReaderEntries): {problem: "the limits are 1024 bytes and 50 entries; the config is not shared"},
		strings.Repeat("a", 100<<10):           {problem: "the limits are 1024 bytes and 50 entries; the config is not shared"},
	} {
		config := NewConfigMap(othersFlags(data{}, text))
		var with []string
		for _, namespace := range []string{"team-a", "team-b", "shop"} {
			if _, isShared := config.sharedSince(namespace); isShared {
				with = append(with, namespace)
			}
		}
		policy := ConfigPolicy{}
		if config.Policy != nil {
			policy = *config.Policy
		}
		if policy.Readers != test.want || !slices.Equal(with, test.with) || !strings.Contains(policy.Problem, test.problem) || (policy.Problem == "") != (test.problem == "") {
			t.Errorf("%.40q: %q with %v, %q", text, policy.Readers, with, policy.Problem)
		}
	}
}

// Whoever names a config must not learn whether it exists.
func TestAConfigThatIsNotSharedLooksLikeOneThatIsAbsent(t *testing.T) {
	absent := readsFlagsOfOthers()
	for name, flags := range map[string]*corev1.ConfigMap{
		"not shared":         othersFlags(data{"key": "1"}, ""),
		"shared with others": othersFlags(data{"key": "1"}, "team-a"),
	} {
		s := readsFlagsOfOthers(flags)
		want, _ := absent.catalog.View(deploymentRef("web"))
		got, _ := s.catalog.View(deploymentRef("web"))
		ignored := cmpopts.IgnoreFields(View{}, "Sequence", "Complete")
		if diff := cmp.Diff(want, got, ignored, cmpopts.IgnoreFields(Workload{}, "EnabledSeen", "RecordSeen"), cmp.AllowUnexported(Filtering{})); diff != "" {
			t.Errorf("%s (-absent +got):\n%s", name, diff)
		}
		if s.shows(othersFlags(data{"key": "2"}, ""), 20) {
			t.Errorf("%s: an edit is news", name)
		}
		if got := s.decide(t, startedAt(noonPlus(5))); got.Outcome != Keep {
			t.Errorf("%s: %+v after an edit", name, got)
		}
		if s.catalog.HasConfig(flagsHere) || len(s.catalog.NamesElsewhere(flagsThere)) > 0 || len(s.catalog.past) > 0 {
			t.Errorf("%s: it is known", name)
		}
	}
}

// So must not those that could read the config before.
func TestTheEndOfSharingLooksLikeADeletion(t *testing.T) {
	var records []string
	for name, end := range map[string]func(*story){
		"deleted":           func(s *story) { s.catalog.ForgetConfig(flagsThere, noonPlus(20)) },
		"no longer shared":  func(s *story) { s.shows(othersFlags(data{"key": "1"}, ""), 20) },
		"shared and edited": func(s *story) { s.shows(othersFlags(data{"key": "2"}, "team-a"), 20) },
	} {
		s := readsFlagsOfOthers(othersFlags(data{"key": "1"}, "n*"))
		end(s)
		if got := s.decide(t, startedAt(noonPlus(5))); got.Outcome != Keep {
			t.Errorf("%s: %+v", name, got)
		}
		s.deployment.Annotations[IgnoreAnnotation] = "configmap/web" // makes it record again
		s.catalog.ObserveWorkload(s.reduced())
		view, _ := s.catalog.View(deploymentRef("web"))
		decision := Decide(view)
		records = append(records, fmt.Sprint(decision.Outcome, decision.Reason, decision.Checksums, decision.Without))
	}
	if slices.Sort(records); len(slices.Compact(records)) != 1 {
		t.Errorf("the records differ: %q", records)
	}
}

func TestAnEditOfASharedConfigRestartsItsReadersElsewhere(t *testing.T) {
	s := readsFlagsOfOthers(othersFlags(data{"key": "1"}, "ns"))
	if !s.shows(othersFlags(data{"key": "2"}, "ns"), 20) {
		t.Error("it is no news")
	}
	if names := s.catalog.NamesElsewhere(flagsThere); !slices.Equal(names, []ConfigRef{flagsHere}) {
		t.Errorf("its names are %v", names)
	}
	if readers := s.catalog.WorkloadsReferencing(flagsThere); len(readers) > 0 {
		t.Errorf("its owner sees %v", refsOf(readers))
	}
	if readers := s.catalog.WorkloadsReferencing(flagsHere); len(readers) != 1 {
		t.Errorf("its readers are %v", refsOf(readers))
	}
	got := s.decide(t, startedAt(noonPlus(5)))
	if got.Outcome != Restart || len(got.Causes) != 1 || got.Causes[0].Config != flagsHere {
		t.Errorf("%+v", got)
	}
}

func TestSharingAConfigIsOnlyRecordedAndWhatFollowsCounts(t *testing.T) {
	for name, test := range map[string]struct {
		before *corev1.ConfigMap
		listed bool
		want   Outcome
	}{
		"unedited":                 {othersFlags(data{"key": "1"}, ""), false, RecordOnly},
		"edited":                   {othersFlags(data{"key": "0"}, ""), false, Restart}, // by the same write
		"edited or not, in a list": {othersFlags(data{"key": "0"}, ""), true, RecordOnly},
		"shared with more":         {othersFlags(data{"key": "1"}, "team-a"), false, RecordOnly},
	} {
		s := readsFlagsOfOthers(test.before)
		shared := othersFlags(data{"key": "1"}, "ns,team-a")
		if test.listed {
			listConfigs(s.catalog, ConfigMap, "others", listOf(NewConfigMap(shared)), noonPlus(20), false)
		} else if !s.shows(shared, 20) {
			t.Errorf("%s: it is no news", name)
		}
		if got := s.decide(t, startedAt(noonPlus(5))); got.Outcome != test.want {
			t.Errorf("%s: %+v", name, got)
		}
		s.recorded(30)
		s.shows(othersFlags(data{"key": "3"}, "ns,team-a"), 40)
		if got := s.decide(t, startedAt(noonPlus(35))); got.Outcome != Restart {
			t.Errorf("%s: %+v after an edit", name, got)
		}
	}
}

func TestAConfigThatIsSharedAgainIsComparedWithWhatItIsThen(t *testing.T) {
	s := readsFlagsOfOthers(othersFlags(data{"key": "1"}, "ns"))
	s.shows(othersFlags(data{"key": "1"}, ""), 20)
	s.shows(othersFlags(data{"key": "2"}, ""), 30)
	s.shows(othersFlags(data{"key": "2"}, "ns"), 40)
	if got := s.decide(t, startedAt(noonPlus(5))); got.Outcome != RecordOnly {
		t.Errorf("%+v", got)
	}
	s.recorded(50)
	for range 2 * maxSharingSteps { // each is one more value to remember
		s.shows(othersFlags(data{"key": "2"}, ""), 60)
		s.shows(othersFlags(data{"key": "2"}, "n?"), 70)
	}
	s.shows(othersFlags(data{"key": "3"}, "n?"), 80)
	if got := s.decide(t, startedAt(noonPlus(5))); got.Outcome != Restart {
		t.Errorf("after an edit: %+v", got)
	}
}

// The others' turn to read it makes no difference to those who read it already.
func TestSharingAConfigWithOthersChangesNothingForItsReaders(t *testing.T) {
	s := readsFlagsOfOthers(othersFlags(data{"key": "1"}, "ns"))
	s.shows(othersFlags(data{"key": "2"}, "ns"), 20)
	s.shows(othersFlags(data{"key": "2"}, "n*,team-a"), 30)
	if got := s.decide(t, startedAt(noonPlus(5))); got.Outcome != Restart {
		t.Errorf("%+v", got)
	}
}

func TestASharedConfigThatIsCreatedRestartsPodsThatStartedWithoutIt(t *testing.T) {
	for name, begins := range map[string]func() *story{
		"for the first time": func() *story { return readsFlagsOfOthers() },
		"again, with other content": func() *story {
			s := readsFlagsOfOthers(othersFlags(data{"key": "0"}, "ns"))
			s.catalog.ForgetConfig(flagsThere, noonPlus(15))
			return s
		},
	} {
		for started, restarts := range map[float64]bool{5: true, 30: false} {
			s := begins()
			cm := othersFlags(data{"key": "1"}, "ns")
			cm.CreationTimestamp.Time = noonPlus(20)
			s.shows(cm, 20)
			if got := s.decide(t, startedAt(noonPlus(started))); (got.Outcome == Restart) != (restarts || got.Asked == false) {
				t.Errorf("%s, pods of %g: %+v", name, started, got)
			}
		}
	}
	s := readsFlagsOfOthers(othersFlags(data{"key": "1"}, "ns"))
	s.catalog.ForgetConfig(flagsThere, noonPlus(15))
	s.shows(othersFlags(data{"key": "1"}, "ns"), 20)
	if got := s.decide(t, startedAt(noonPlus(5))); got.Outcome == Restart {
		t.Errorf("again, with the same content: %+v", got)
	}
}

func TestAContentHasOneIDWhicheverNamespaceSeesIt(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "others", Name: "tls", Annotations: map[string]string{ReadersAnnotation: "*"}}, Data: map[string][]byte{"key": []byte("x")}}
	c := New()
	c.SetKey(testKey)
	c.ObserveConfig(NewSecret(secret), noon)
	there, here := c.ContentID(ConfigRef{Secret, "others", "tls"}, nil), c.ContentID(ConfigRef{Secret, "ns", "others/tls"}, nil)
	if there == "" || there != here {
		t.Errorf("%q and %q", there, here)
	}
}

func TestNamingConfigsThatAreNotSharedCostsNothingButTheirNames(t *testing.T) {
	c := New()
	d := deployment(readsAll("web", false))
	d.Annotations[AlsoAnnotation] = entriesOf("configmap/others/flags-%02d", maxFilterEntries)
	for i := range 100 {
		d.Name = fmt.Sprint("web", i)
		c.ObserveWorkload(mustWorkload(d))
	}
	for i := range maxFilterEntries {
		for content := range 3 {
			cm := othersFlags(data{"key": fmt.Sprint(content)}, "")
			cm.Name = fmt.Sprintf("flags-%02d", i)
			if c.ObserveConfig(NewConfigMap(cm), noonPlus(float64(content))) {
				t.Fatal("it is news")
			}
		}
		ref := ConfigRef{ConfigMap, "others", fmt.Sprintf("flags-%02d", i)}
		if c.isReferenced(ref) {
			t.Fatalf("%s is referenced", ref)
		}
		if c.ForgetConfig(ref, noonPlus(5)); i > 0 {
			continue
		}
		if known, _ := c.configs.get(ref.scope(), ref.Name); known != nil {
			t.Error("it is kept although it is gone")
		}
	}
	if len(c.past) > 0 || c.gone > 0 {
		t.Errorf("%d past contents, %d configs that are gone", len(c.past), c.gone)
	}
}

// The index has what the workloads say, and nothing stays of it in the end.
func TestTheIndexOfOtherNamespacesFollowsWorkloadsAndConfigs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, version := New(), 0
		naming, readers := map[WorkloadRef]bool{}, ""
		workload := func(t *rapid.T) *appsv1.Deployment {
			d := deployment(readsAll("web", false))
			d.Namespace = rapid.SampledFrom([]string{"team-a", "team-b"}).Draw(t, "namespace")
			d.Name = rapid.SampledFrom([]string{"one", "two"}).Draw(t, "workload")
			version++
			d.ResourceVersion = fmt.Sprint(version)
			return d
		}
		isThere := false
		t.Repeat(map[string]func(*rapid.T){
			"name it": func(t *rapid.T) {
				d := workload(t)
				names := rapid.Bool().Draw(t, "names")
				if names {
					d.Annotations[AlsoAnnotation] = "configmap/others/flags"
				}
				w := mustWorkload(d)
				c.ObserveWorkload(w)
				naming[w.Ref] = names
			},
			"forget a workload": func(t *rapid.T) {
				w := mustWorkload(workload(t))
				c.ForgetWorkload(w.Ref)
				delete(naming, w.Ref)
			},
			"write the config": func(t *rapid.T) {
				readers, isThere = rapid.SampledFrom([]string{"", "team-a", "team-?"}).Draw(t, "readers"), true
				version++
				c.ObserveConfig(NewConfigMap(othersFlags(data{"key": fmt.Sprint(version)}, readers)), noonPlus(float64(version)))
			},
			"delete the config": func(t *rapid.T) {
				c.ForgetConfig(flagsThere, noonPlus(float64(version)))
				isThere = false
			},
			"": func(t *rapid.T) {
				for _, namespace := range []string{"team-a", "team-b"} {
					here := flagsThere.sharedIn(namespace)
					var want []string
					for ref, names := range naming {
						if names && ref.Namespace == namespace {
							want = append(want, ref.String())
						}
					}
					var got []string
					for _, ref := range refsOf(c.WorkloadsReferencing(here)) {
						got = append(got, ref.String())
					}
					slices.Sort(want)
					slices.Sort(got)
					if !slices.Equal(got, want) {
						t.Fatalf("read by %v, want %v", got, want)
					}
					if isSeen := c.HasConfig(here); isSeen != (isThere && isReader(readers, namespace)) {
						t.Fatalf("seen from %s: %t", namespace, isSeen)
					}
					hasName := slices.Contains(c.NamesElsewhere(flagsThere), here)
					if isThere && hasName != (len(want) > 0 && isReader(readers, namespace)) {
						t.Fatalf("has a name in %s: %t", namespace, hasName)
					}
				}
			},
		})
		for ref := range naming {
			c.ForgetWorkload(ref)
		}
		c.ForgetConfig(flagsThere, noonPlus(1e6))
		if len(c.elsewhere) > 0 || len(c.past) > 0 || len(c.referencing) > 0 || c.gone > 0 || c.configs.size > 0 {
			t.Fatalf("left: %v, %v, %v, %d, %d", c.elsewhere, c.past, c.referencing, c.gone, c.configs.size)
		}
	})
}

func TestARecordFromBeforeManyConfigsWereSharedIsCopiedOnce(t *testing.T) {
	flags := make([]*corev1.ConfigMap, 0, maxFilterEntries)
	var also []string
	for i := range cap(flags) {
		cm := othersFlags(data{"key": "1"}, "ns")
		cm.Name = fmt.Sprintf("f%02d", i)
		flags, also = append(flags, cm), append(also, "configmap/others/"+cm.Name)
	}
	s := begin(deployment(readsAll("web", false)))
	s.deployment.Annotations[AlsoAnnotation] = strings.Join(also, ",")
	s.listed(append(flags, configMap("web", data{"key": "1"}))...)
	s.recorded(10)
	allocations := func() float64 {
		return testing.AllocsPerRun(10, func() { s.catalog.View(deploymentRef("web")) })
	}
	before := allocations()
	for _, readers := range []string{"nobody", "ns"} {
		for _, cm := range flags {
			cm.Annotations[ReadersAnnotation] = readers
			s.shows(cm, 20)
		}
	}
	if view, _ := s.catalog.View(deploymentRef("web")); len(view.Workload.Applied.Checksums) != 1 || len(view.Configs) != 1+len(flags) {
		t.Fatalf("%d configs are recorded, and %d known", len(view.Workload.Applied.Checksums), len(view.Configs))
	}
	if after := allocations(); after > before+50 {
		t.Errorf("%v allocations, %v before", after, before)
	}
}
