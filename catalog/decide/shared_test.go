package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

var flagsHere = names.ConfigRef{Kind: names.ConfigMap, Namespace: "ns", Name: "others/flags"}

// readsFlagsOfOthers is a story in which a Deployment reads the ConfigMap flags of the namespace others through
// the API, besides its own ConfigMap web.
func readsFlagsOfOthers(flags ...*corev1.ConfigMap) *story {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.deployment.Annotations[annotation.AlsoAnnotation] = "configmap/others/flags"
	s.listed(append(flags, objecttest.ConfigMap("web", objecttest.Data{"key": "1"}))...)
	s.recorded(10)
	return s
}

func (s *story) shows(cm *corev1.ConfigMap, seconds float64) bool {
	return s.catalog.ObserveConfig(content.NewConfigMap(cm), objecttest.NoonPlus(seconds))
}

// Whoever names a config must not learn whether it exists.
func TestAConfigThatIsNotSharedLooksLikeOneThatIsAbsent(t *testing.T) {
	absent := readsFlagsOfOthers()
	for name, flags := range map[string]*corev1.ConfigMap{
		"not shared":         objecttest.OthersFlags(objecttest.Data{"key": "1"}, ""),
		"shared with others": objecttest.OthersFlags(objecttest.Data{"key": "1"}, "team-a"),
	} {
		s := readsFlagsOfOthers(flags)
		want, _ := absent.catalog.View(objecttest.DeploymentRef("web"))
		got, _ := s.catalog.View(objecttest.DeploymentRef("web"))
		ignored := cmpopts.IgnoreFields(catalog.View{}, "Sequence", "Complete")
		if diff := cmp.Diff(want, got, ignored, cmpopts.IgnoreFields(workload.Workload{}, "EnabledSeen", "RecordSeen"), cmp.AllowUnexported(workload.Filtering{})); diff != "" {
			t.Errorf("%s (-absent +got):\n%s", name, diff)
		}
		if s.shows(objecttest.OthersFlags(objecttest.Data{"key": "2"}, ""), 20) {
			t.Errorf("%s: an edit is news", name)
		}
		if got := s.decide(t, startedAt(objecttest.NoonPlus(5))); got.Outcome != Keep {
			t.Errorf("%s: %+v after an edit", name, got)
		}
		if s.catalog.HasConfig(flagsHere) || len(s.catalog.NamesElsewhere(objecttest.FlagsThere)) > 0 {
			t.Errorf("%s: it is known", name)
		}
	}
}

// So must not those that could read the config before.
func TestTheEndOfSharingLooksLikeADeletion(t *testing.T) {
	var records []string
	for name, end := range map[string]func(*story){
		"deleted":           func(s *story) { s.catalog.ForgetConfig(objecttest.FlagsThere, objecttest.NoonPlus(20)) },
		"no longer shared":  func(s *story) { s.shows(objecttest.OthersFlags(objecttest.Data{"key": "1"}, ""), 20) },
		"shared and edited": func(s *story) { s.shows(objecttest.OthersFlags(objecttest.Data{"key": "2"}, "team-a"), 20) },
	} {
		s := readsFlagsOfOthers(objecttest.OthersFlags(objecttest.Data{"key": "1"}, "n*"))
		end(s)
		if got := s.decide(t, startedAt(objecttest.NoonPlus(5))); got.Outcome != Keep {
			t.Errorf("%s: %+v", name, got)
		}
		s.deployment.Annotations[annotation.IgnoreAnnotation] = "configmap/web" // makes it record again
		s.catalog.ObserveWorkload(s.reduced())
		view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
		decision := Decide(view)
		records = append(records, fmt.Sprint(decision.Outcome, decision.Reason, decision.Checksums, decision.Without))
	}
	if slices.Sort(records); len(slices.Compact(records)) != 1 {
		t.Errorf("the records differ: %q", records)
	}
}

func TestAnEditOfASharedConfigRestartsItsReadersElsewhere(t *testing.T) {
	s := readsFlagsOfOthers(objecttest.OthersFlags(objecttest.Data{"key": "1"}, "ns"))
	if !s.shows(objecttest.OthersFlags(objecttest.Data{"key": "2"}, "ns"), 20) {
		t.Error("it is no news")
	}
	if listed := s.catalog.NamesElsewhere(objecttest.FlagsThere); !slices.Equal(listed, []names.ConfigRef{flagsHere}) {
		t.Errorf("its names are %v", listed)
	}
	if readers := s.catalog.WorkloadsReferencing(objecttest.FlagsThere); len(readers) > 0 {
		t.Errorf("its owner sees %v", catalogtest.RefsOf(readers))
	}
	if readers := s.catalog.WorkloadsReferencing(flagsHere); len(readers) != 1 {
		t.Errorf("its readers are %v", catalogtest.RefsOf(readers))
	}
	got := s.decide(t, startedAt(objecttest.NoonPlus(5)))
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
		"unedited":                 {objecttest.OthersFlags(objecttest.Data{"key": "1"}, ""), false, RecordOnly},
		"edited":                   {objecttest.OthersFlags(objecttest.Data{"key": "0"}, ""), false, Restart}, // by the same write
		"edited or not, in a list": {objecttest.OthersFlags(objecttest.Data{"key": "0"}, ""), true, RecordOnly},
		"shared with more":         {objecttest.OthersFlags(objecttest.Data{"key": "1"}, "team-a"), false, RecordOnly},
	} {
		s := readsFlagsOfOthers(test.before)
		shared := objecttest.OthersFlags(objecttest.Data{"key": "1"}, "ns,team-a")
		if test.listed {
			listConfigs(s.catalog, names.ConfigMap, "others", objecttest.ListOf(content.NewConfigMap(shared)), objecttest.NoonPlus(20), false)
		} else if !s.shows(shared, 20) {
			t.Errorf("%s: it is no news", name)
		}
		if got := s.decide(t, startedAt(objecttest.NoonPlus(5))); got.Outcome != test.want {
			t.Errorf("%s: %+v", name, got)
		}
		s.recorded(30)
		s.shows(objecttest.OthersFlags(objecttest.Data{"key": "3"}, "ns,team-a"), 40)
		if got := s.decide(t, startedAt(objecttest.NoonPlus(35))); got.Outcome != Restart {
			t.Errorf("%s: %+v after an edit", name, got)
		}
	}
}

func TestAConfigThatIsSharedAgainIsComparedWithWhatItIsThen(t *testing.T) {
	s := readsFlagsOfOthers(objecttest.OthersFlags(objecttest.Data{"key": "1"}, "ns"))
	s.shows(objecttest.OthersFlags(objecttest.Data{"key": "1"}, ""), 20)
	s.shows(objecttest.OthersFlags(objecttest.Data{"key": "2"}, ""), 30)
	s.shows(objecttest.OthersFlags(objecttest.Data{"key": "2"}, "ns"), 40)
	if got := s.decide(t, startedAt(objecttest.NoonPlus(5))); got.Outcome != RecordOnly {
		t.Errorf("%+v", got)
	}
	s.recorded(50)
	for range 2 * policy.MaxSharingSteps { // each is one more value to remember
		s.shows(objecttest.OthersFlags(objecttest.Data{"key": "2"}, ""), 60)
		s.shows(objecttest.OthersFlags(objecttest.Data{"key": "2"}, "n?"), 70)
	}
	s.shows(objecttest.OthersFlags(objecttest.Data{"key": "3"}, "n?"), 80)
	if got := s.decide(t, startedAt(objecttest.NoonPlus(5))); got.Outcome != Restart {
		t.Errorf("after an edit: %+v", got)
	}
}

// The others' turn to read it makes no difference to those who read it already.
func TestSharingAConfigWithOthersChangesNothingForItsReaders(t *testing.T) {
	s := readsFlagsOfOthers(objecttest.OthersFlags(objecttest.Data{"key": "1"}, "ns"))
	s.shows(objecttest.OthersFlags(objecttest.Data{"key": "2"}, "ns"), 20)
	s.shows(objecttest.OthersFlags(objecttest.Data{"key": "2"}, "n*,team-a"), 30)
	if got := s.decide(t, startedAt(objecttest.NoonPlus(5))); got.Outcome != Restart {
		t.Errorf("%+v", got)
	}
}

func TestASharedConfigThatIsCreatedRestartsPodsThatStartedWithoutIt(t *testing.T) {
	for name, begins := range map[string]func() *story{
		"for the first time": func() *story { return readsFlagsOfOthers() },
		"again, with other content": func() *story {
			s := readsFlagsOfOthers(objecttest.OthersFlags(objecttest.Data{"key": "0"}, "ns"))
			s.catalog.ForgetConfig(objecttest.FlagsThere, objecttest.NoonPlus(15))
			return s
		},
	} {
		for started, restarts := range map[float64]bool{5: true, 30: false} {
			s := begins()
			cm := objecttest.OthersFlags(objecttest.Data{"key": "1"}, "ns")
			cm.CreationTimestamp.Time = objecttest.NoonPlus(20)
			s.shows(cm, 20)
			if got := s.decide(t, startedAt(objecttest.NoonPlus(started))); (got.Outcome == Restart) != (restarts || got.Asked == false) {
				t.Errorf("%s, pods of %g: %+v", name, started, got)
			}
		}
	}
	s := readsFlagsOfOthers(objecttest.OthersFlags(objecttest.Data{"key": "1"}, "ns"))
	s.catalog.ForgetConfig(objecttest.FlagsThere, objecttest.NoonPlus(15))
	s.shows(objecttest.OthersFlags(objecttest.Data{"key": "1"}, "ns"), 20)
	if got := s.decide(t, startedAt(objecttest.NoonPlus(5))); got.Outcome == Restart {
		t.Errorf("again, with the same content: %+v", got)
	}
}

func TestAContentHasOneIDWhicheverNamespaceSeesIt(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "others", Name: "tls", Annotations: map[string]string{annotation.ReadersAnnotation: "*"}}, Data: map[string][]byte{"key": []byte("x")}}
	c := catalog.New()
	c.SetKey(catalogtest.TestKey)
	c.ObserveConfig(content.NewSecret(secret), objecttest.Noon)
	there, here := c.ContentID(names.ConfigRef{Kind: names.Secret, Namespace: "others", Name: "tls"}, nil), c.ContentID(names.ConfigRef{Kind: names.Secret, Namespace: "ns", Name: "others/tls"}, nil)
	if there == "" || there != here {
		t.Errorf("%q and %q", there, here)
	}
}

func TestARecordFromBeforeManyConfigsWereSharedIsCopiedOnce(t *testing.T) {
	flags := make([]*corev1.ConfigMap, 0, template.MaxFilterEntries)
	var also []string
	for i := range cap(flags) {
		cm := objecttest.OthersFlags(objecttest.Data{"key": "1"}, "ns")
		cm.Name = fmt.Sprintf("f%02d", i)
		flags, also = append(flags, cm), append(also, "configmap/others/"+cm.Name)
	}
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.deployment.Annotations[annotation.AlsoAnnotation] = strings.Join(also, ",")
	s.listed(append(flags, objecttest.ConfigMap("web", objecttest.Data{"key": "1"}))...)
	s.recorded(10)
	allocations := func() float64 {
		return testing.AllocsPerRun(10, func() { s.catalog.View(objecttest.DeploymentRef("web")) })
	}
	before := allocations()
	for _, readers := range []string{"nobody", "ns"} {
		for _, cm := range flags {
			cm.Annotations[annotation.ReadersAnnotation] = readers
			s.shows(cm, 20)
		}
	}
	if view, _ := s.catalog.View(objecttest.DeploymentRef("web")); len(view.Workload.Record.Checksums) != 1 || len(view.Configs) != 1+len(flags) {
		t.Fatalf("%d configs are recorded, and %d known", len(view.Workload.Record.Checksums), len(view.Configs))
	}
	if after := allocations(); after > before+50 {
		t.Errorf("%v allocations, %v before", after, before)
	}
}
