package decide

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
)

// moments returns the moments of the only cause of the story's decision.
func (s *story) moments(t *testing.T, pods ...Pod) []names.Sequence {
	t.Helper()
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	decision := Decide(view)
	if decision.Outcome == AskPods {
		decision = ByPods(view, pods)
	}
	if decision.Outcome != Restart || len(decision.Causes) != 1 {
		t.Fatalf("%s, %s: %+v", decision.Outcome, decision.Reason, decision.Causes)
	}
	return decision.Causes[0].Moments
}

// momentOf returns the moment of the last edit of a key of the ConfigMap web, or that of its
// creation for an empty key.
func (s *story) momentOf(key string) names.Sequence {
	config := s.catalog.Config(objecttest.ConfigMapRef("web"))
	if key == "" {
		return config.Appeared
	}
	return lastOfKey(config.Edits, key).Seen
}

func TestACauseHasTheMomentsOfTheEditsThatAreTheReason(t *testing.T) {
	all := func() *appsv1.Deployment { return objecttest.Deployment(objecttest.ReadsAll("web", false)) }
	before, changed := objecttest.Data{"a": "1", "b": "1", "c": "1"}, objecttest.Data{"a": "2", "b": "1", "c": "1"}
	const unseen = "(unseen)"
	// editedUnseen is the ConfigMap as it is after kubectl wrote the key a.
	editedUnseen := func(seconds float64) *corev1.ConfigMap {
		cm := objecttest.ConfigMap("web", changed)
		cm.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(seconds), "f:data/f:a")}
		return cm
	}
	recordedByAnother := func(d *appsv1.Deployment, seconds float64) *appsv1.Deployment {
		catalogtest.WriteRecord(d, record.Checksums{objecttest.ConfigMapRef("web"): keysOnly(content.NewConfigMap(objecttest.ConfigMap("web", before)))}, objecttest.NoonPlus(seconds))
		return d
	}
	for name, test := range map[string]struct {
		happens func() *story
		want    []string // keys
	}{
		"two edits since the own record, of which one changed two keys": {func() *story {
			s := begin(all())
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "0", "b": "1", "c": "1"}))
			s.config("web", before, 5)
			s.recorded(10)
			s.config("web", objecttest.Data{"a": "2", "b": "2", "c": "1"}, 20)
			s.config("web", objecttest.Data{"a": "2", "b": "2", "c": "2"}, 30)
			return s
		}, []string{"a", "c"}},
		"an edit of a key that the workload does not see": {func() *story {
			s := begin(objecttest.Deployment(objecttest.ReadsKey("web", "a", false)))
			s.listed(objecttest.ConfigMap("web", before))
			s.recorded(10)
			s.config("web", changed, 20)
			s.config("web", objecttest.Data{"a": "2", "b": "2", "c": "1"}, 30)
			return s
		}, []string{"a"}},
		"an unseen edit in the second of the own record, which knew it": {func() *story {
			s := begin(all())
			s.listed(editedUnseen(10))
			s.recorded(10)
			s.config("web", objecttest.Data{"a": "2", "b": "2", "c": "1"}, 20)
			return s
		}, []string{"b"}},
		"an edit while nobody watched": {func() *story {
			s := begin(recordedByAnother(all(), 10))
			s.listed(editedUnseen(20))
			return s
		}, []string{unseen}},
		"a difference that left no trace": {func() *story {
			s := begin(recordedByAnother(all(), 10))
			s.listed(objecttest.ConfigMap("web", changed))
			return s
		}, []string{unseen}},
		"an edit while nobody watched, and another one": {func() *story {
			s := begin(recordedByAnother(all(), 10))
			s.listed(editedUnseen(20))
			s.config("web", objecttest.Data{"a": "2", "b": "2", "c": "1"}, 30)
			return s
		}, []string{unseen, "b"}},
		"an edit that the watch showed before it showed another process's earlier record": {func() *story {
			s := begin(all())
			s.listed(objecttest.ConfigMap("web", before))
			s.config("web", changed, 20)
			recordedByAnother(s.deployment, 10)
			s.catalog.ObserveWorkload(s.reduced())
			return s
		}, []string{"a"}},
		"an edit long before another process's record": {func() *story {
			s := begin(all())
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "0", "b": "1", "c": "1"}))
			s.config("web", before, 20)
			recordedByAnother(s.deployment, 30)
			s.catalog.ObserveWorkload(s.reduced())
			s.config("web", objecttest.Data{"a": "1", "b": "2", "c": "1"}, 40)
			return s
		}, []string{"b"}},
		"a config that was missing when the catalog began to watch": {func() *story {
			s := begin(recordedByAnother(all(), 10))
			s.listed()
			s.created("web", changed, 20)
			return s
		}, []string{""}},
		"no record: the edits that the pod missed": {func() *story {
			s := begin(all())
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "0", "b": "1", "c": "1"}))
			s.config("web", before, 2)
			s.config("web", objecttest.Data{"a": "1", "b": "2", "c": "1"}, 20)
			return s
		}, []string{"b"}},
		"no record: an unseen edit that the pod missed, and another one": {func() *story {
			s := begin(all())
			s.listed(editedUnseen(20))
			s.config("web", objecttest.Data{"a": "2", "b": "2", "c": "1"}, 30)
			return s
		}, []string{unseen, "b"}},
		"no record: a config without which containers start appears": {func() *story {
			s := begin(objecttest.Deployment(objecttest.ReadsAll("web", true)))
			s.listed()
			s.created("web", changed, 20)
			return s
		}, []string{""}},
		"content that came back": {func() *story {
			s := begin(all())
			s.listed(objecttest.ConfigMap("web", before))
			s.recorded(1)
			s.config("web", changed, 4)
			s.config("web", before, 6)
			return s
		}, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, want := test.happens(), []names.Sequence{}
			for _, key := range test.want {
				if key == unseen {
					want = append(want, 0)
				} else {
					want = append(want, s.momentOf(key))
				}
			}
			if diff := cmp.Diff(want, s.moments(t, startedAt(objecttest.NoonPlus(5)))); diff != "" {
				t.Errorf("moments (-want +got):\n%s", diff)
			}
		})
	}
}

func TestACauseKeepsItsNewestMoments(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(objecttest.ConfigMap("web", objecttest.Data{}))
	s.recorded(10)
	content := objecttest.Data{}
	for i := range 20 {
		content[fmt.Sprintf("%02d", i)] = "1"
		s.config("web", content, float64(20+i))
	}
	var want []names.Sequence
	for i := 4; i < 20; i++ {
		want = append(want, s.momentOf(fmt.Sprintf("%02d", i)))
	}
	if diff := cmp.Diff(want, s.moments(t)); diff != "" {
		t.Errorf("moments (-want +got):\n%s", diff)
	}
}

func TestCausesShareAKeyOrMayDoSo(t *testing.T) {
	c, d := objecttest.ConfigMapRef("c"), objecttest.ConfigMapRef("d")
	for _, test := range []struct {
		a, b Cause
		want bool
	}{
		{Cause{Config: c, Keys: []string{"k", "l"}}, Cause{Config: c, Keys: []string{"l", "m"}}, true},
		{Cause{Config: c, Keys: []string{"k"}}, Cause{Config: c, Keys: []string{"l"}}, false},
		{Cause{Config: c, Keys: []string{"k"}, Unnamed: true}, Cause{Config: c, Keys: []string{"l"}}, true},
		{Cause{Config: c, Keys: []string{"k"}, MoreKeys: 1}, Cause{Config: c, Keys: []string{"l"}}, true},
		{Cause{Config: c}, Cause{Config: d}, false},
	} {
		if got, back := test.a.SharesKey(&test.b), test.b.SharesKey(&test.a); got != test.want || back != test.want {
			t.Errorf("%+v and %+v: %v and %v", test.a, test.b, got, back)
		}
	}
}

func TestACauseReplacesOnlyWhatIsNewInIt(t *testing.T) {
	c := objecttest.ConfigMapRef("c")
	for name, test := range map[string]struct {
		cause Cause
		want  bool
	}{
		"the key":                         {Cause{Config: c, Keys: []string{"a", "k"}}, true},
		"the key of the last restart":     {Cause{Config: c, Keys: []string{"a", "k"}, FormerKeys: []string{"k"}}, false},
		"another key of the last restart": {Cause{Config: c, Keys: []string{"a", "k"}, FormerKeys: []string{"a"}}, true},
		"the config of the last restart":  {Cause{Config: c, Keys: []string{"k"}, Former: true}, false},
		"unknown keys":                    {Cause{Config: c, Keys: []string{"a", "k"}, FormerKeys: []string{"k"}, Unnamed: true}, true},
		"another config":                  {Cause{Config: objecttest.ConfigMapRef("d"), Keys: []string{"k"}}, false},
	} {
		if got := test.cause.Replaces(&Cause{Config: c, Keys: []string{"k"}}); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestADecisionIncludesWhatTheLastRestartDidNotFinish(t *testing.T) {
	c, d := objecttest.ConfigMapRef("c"), objecttest.ConfigMapRef("d")
	for name, test := range map[string]struct {
		causes, former, want []Cause
	}{
		"another config":   {[]Cause{{Config: d, Keys: []string{"k"}}}, []Cause{{Config: c, Keys: []string{"k"}}}, []Cause{{Config: d, Keys: []string{"k"}}, {Config: c, Keys: []string{"k"}, Former: true}}},
		"another key":      {[]Cause{{Config: c, Keys: []string{"k"}}}, []Cause{{Config: c, Keys: []string{"a", "k"}}}, []Cause{{Config: c, Keys: []string{"a", "k"}, FormerKeys: []string{"a"}}}},
		"unknown keys":     {[]Cause{{Config: c, Keys: []string{"k"}}}, []Cause{{Config: c}}, []Cause{{Config: c, Keys: []string{"k"}, Unnamed: true}}},
		"any config":       {nil, []Cause{{Config: c}}, nil},
		"nothing":          {[]Cause{{Config: d}}, nil, []Cause{{Config: d}}},
		"keys of a Secret": {[]Cause{{Config: objecttest.SecretRef("s"), Keys: []string{"k"}}}, []Cause{{Config: objecttest.SecretRef("s")}}, []Cause{{Config: objecttest.SecretRef("s"), Keys: []string{"k"}}}},
	} {
		decision := Decision{Causes: test.causes}
		decision.Include(&Decision{Causes: test.former})
		if diff := cmp.Diff(test.want, decision.Causes); diff != "" || decision.MoreCauses != 0 {
			t.Errorf("%s (%d more): %s", name, decision.MoreCauses, diff)
		}
	}
	var many Decision
	for i := range names.MaxNamed {
		many.Causes = append(many.Causes, Cause{Config: objecttest.ConfigMapRef(fmt.Sprint(i))})
	}
	if many.Include(&Decision{Causes: []Cause{{Config: c}}, MoreCauses: 2}); len(many.Causes) != names.MaxNamed || many.MoreCauses != 3 {
		t.Errorf("%d causes and %d more", len(many.Causes), many.MoreCauses)
	}
	if many.Include(&Decision{Causes: many.Causes, MoreCauses: names.UnknownNumber}); many.MoreCauses >= 0 {
		t.Errorf("%d more, although that is not known", many.MoreCauses)
	}
}
