package catalog

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
)

// hidesA reads all keys of the ConfigMap and of the Secret web but "a".
func hidesA() corev1.Container {
	container := readsAll("web", false)
	container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{
		SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "web"}},
	})
	container.Env = []corev1.EnvVar{literal("a", "1")}
	return container
}

// recordedByFormer is a story in which an earlier version has recorded the ConfigMap and the Secret. The present version
// then starts, and finds these.
func recordedByFormer(t *testing.T, scheme string, container corev1.Container, settings *corev1.ConfigMap, credentials *corev1.Secret) *story {
	t.Helper()
	s := begin(deployment(container))
	known := data{"a": "1", "b": "1"}
	before := map[ConfigRef]Config{configMapRef("web"): NewConfigMap(configMap("web", known)), secretRef("web"): NewSecret(secret("web", known))}
	m := mentions{namespace: "ns", withHidden: true}
	references, _ := m.references(&s.deployment.Spec.Template.Spec, Filter{})
	checksums, key := Checksums{}, testKey
	if scheme == unkeyedScheme {
		key = ChecksumKey{}
	}
	for ref, config := range before {
		seen := config.seen(selections(referencesTo(references, ref)))
		if checksums[ref] = setChecksum(seen); !key.IsZero() {
			checksums[ref] = config.checksumOf(seen, key)
		}
	}
	writeRecord(s.deployment, checksums, noonPlus(10))
	var b map[string]any
	if err := json.Unmarshal([]byte(s.deployment.Annotations[BasisAnnotation]), &b); err != nil {
		t.Fatal(err)
	}
	if b["scheme"] = scheme; scheme == unkeyedScheme {
		delete(b, "key")
	}
	encoded, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	s.deployment.Annotations[BasisAnnotation] = string(encoded)
	s.catalog.SetKey(testKey)
	listConfigs(s.catalog, Secret, "", listOf(NewSecret(credentials)), noon, true)
	if settings == nil {
		s.listed()
	} else {
		s.listed(settings)
	}
	return s
}

func TestAnUpgradeAfterWhichAKeyNoLongerCountsRestartsNothing(t *testing.T) {
	same := data{"a": "1", "b": "1"}
	pod := Pod{Mounted: noonPlus(5), Started: []Start{{"app", noonPlus(5)}}}
	for _, scheme := range []string{keyedScheme, unkeyedScheme} {
		t.Run(scheme, func(t *testing.T) {
			s := recordedByFormer(t, scheme, hidesA(), configMap("web", same), secret("web", same))
			if diff := cmp.Diff(verdict{Outcome: RecordOnly}, s.decide(t, pod), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("verdict (-want +got):\n%s", diff)
			}
			s.recorded(20)
			if diff := cmp.Diff(verdict{Outcome: Keep}, s.decide(t, pod), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("verdict after that (-want +got):\n%s", diff)
			}
			s.config("web", data{"a": "2", "b": "1"}, 30)
			if got := s.decide(t, pod); got.Outcome != Keep {
				t.Errorf("an edit that nobody sees: %+v", got)
			}
			s.config("web", data{"a": "2", "b": "2"}, 40)
			if got := s.decide(t, pod); got.Outcome != Restart {
				t.Errorf("an edit that a container sees: %+v", got)
			}
		})
	}
}

// The config is not there when the present version starts, so nobody knows what its other keys were.
func TestNoRestartIsLostForAConfigThatIsGoneAtAnUpgrade(t *testing.T) {
	same, pod := data{"a": "1", "b": "1"}, Pod{Mounted: noonPlus(5), Started: []Start{{"app", noonPlus(5)}}}
	for name, test := range map[string]struct {
		returns data
		happens func(*story)
		want    Outcome
	}{
		"it returns as it was":                     {same, func(*story) {}, RecordOnly},
		"with other content that a container sees": {data{"a": "1", "b": "2"}, func(*story) {}, Restart},
		"so, and another config was edited before": {data{"a": "1", "b": "2"}, func(s *story) {
			s.catalog.ObserveConfig(NewSecret(secret("web", data{"a": "2", "b": "1"})), noonPlus(15))
		}, Restart},
		"so, and the controller was replaced before": {data{"a": "1", "b": "2"}, func(s *story) { s.takeOver(secret("web", same)) }, Restart},
		"as it was, and the controller was replaced": {same, func(s *story) { s.takeOver(secret("web", same)) }, RecordOnly},
		"as it was, and an edit that nobody sees was before": {same, func(s *story) {
			s.catalog.ObserveConfig(NewSecret(secret("web", data{"a": "2", "b": "1"})), noonPlus(15))
		}, RecordOnly},
	} {
		t.Run(name, func(t *testing.T) {
			s := recordedByFormer(t, keyedScheme, hidesA(), nil, secret("web", same))
			s.decide(t, pod)
			s.recorded(12)
			test.happens(s)
			if got := s.decide(t, pod); got.Outcome == Restart {
				t.Fatalf("while it is gone: %+v", got)
			}
			s.recorded(20)
			if got := s.decide(t, pod); got.Outcome != Keep {
				t.Errorf("it is recorded, but %+v", got)
			}
			s.created("web", test.returns, 30)
			if got := s.decide(t, pod); got.Outcome != test.want {
				t.Errorf("%+v, want %s", got, test.want)
			}
		})
	}
}

// takeOver replaces the controller by one that finds a Secret, and no ConfigMap.
func (s *story) takeOver(credentials *corev1.Secret) {
	s.catalog = New()
	s.catalog.SetKey(testKey)
	listConfigs(s.catalog, Secret, "", listOf(NewSecret(credentials)), noon, true)
	s.listed()
}

// Nobody knows the keys of the config that counted by the former filter and count by the present one.
func TestNoRestartIsLostForAConfigThatIsGoneWhileTheFilterChanges(t *testing.T) {
	s := begin(deployment(readsAll("web", false)))
	s.listed(configMap("web", data{"a": "1", "b": "1"}))
	s.recorded(10)
	s.restartController()
	s.deployment.Annotations[IgnoreAnnotation] = "configmap/web:a"
	s.catalog.ObserveWorkload(s.reduced())
	s.recorded(20)
	s.created("web", data{"a": "1", "b": "2"}, 30)
	if got := s.decide(t); got.Outcome != Restart {
		t.Errorf("%+v", got)
	}
	s.recorded(40)
	if got := s.present().Applied.filter(); got != (Filter{Ignore: "configmap/web:a"}) {
		t.Errorf("recorded by %+v", got)
	}
}

func TestARecordThatIsMarkedKeepsItsScheme(t *testing.T) {
	same := data{"a": "1", "b": "1"}
	for _, scheme := range []string{keyedScheme, hidingScheme} {
		s := recordedByFormer(t, keyedScheme, hidesA(), configMap("web", same), secret("web", same))
		if scheme == hidingScheme {
			s.recorded(20)
		}
		view, _ := s.catalog.View(deploymentRef("web"))
		marked, isMarked, err := view.Mark(noonPlus(30))
		if err != nil || !isMarked {
			t.Fatal(isMarked, err)
		}
		if basis := marked[BasisAnnotation]; !strings.HasPrefix(basis, `{"scheme":"`+scheme+`"`) {
			t.Errorf("%s: marked as %s", scheme, basis)
		}
	}
}

// Earlier versions can read them.
func TestOnlyRecordsOfTemplatesThatHideKeysHaveTheirOwnScheme(t *testing.T) {
	plain, twice := readsAll("web", false), corev1.Container{Name: "app", Env: []corev1.EnvVar{taken("x", "web", "a", false), taken("x", "web", "b", false)}}
	plainWithKey := readsAll("web", false)
	plainWithKey.Env = []corev1.EnvVar{taken("x", "web", "a", true)}
	for want, containers := range map[string][]corev1.Container{keyedScheme: {plain, plainWithKey}, hidingScheme: {hidesA(), twice}} {
		for _, container := range containers {
			s := begin(deployment(container))
			s.listed(configMap("web", data{"a": "1", "b": "1"}))
			s.recorded(10)
			if basis := s.deployment.Annotations[BasisAnnotation]; !strings.HasPrefix(basis, `{"scheme":"`+want+`"`) {
				t.Errorf("%+v: %s", container.Env, basis)
			}
			if got := s.decide(t); got.Outcome != Keep {
				t.Errorf("%+v", got)
			}
		}
	}
}

// The records of all others are as good as before.
func TestAnUpgradeWritesOnlyTheWorkloadsInWhichAKeyMayNoLongerCount(t *testing.T) {
	same, container := data{"a": "1", "b": "1"}, hidesA()
	for _, want := range []Outcome{RecordOnly, Keep} {
		s := recordedByFormer(t, keyedScheme, container, configMap("web", same), secret("web", same))
		if got := s.decide(t); got.Outcome != want {
			t.Errorf("with %d variables: %+v, want %s", len(container.Env), got, want)
		}
		container.Env = nil
	}
}

func TestAnEditAcrossAnUpgradeCountsIfAContainerSeesIt(t *testing.T) {
	same := data{"a": "1", "b": "1"}
	changed := func(content data, keys ...string) *corev1.ConfigMap {
		cm := configMap("web", content)
		for _, key := range keys {
			cm.ManagedFields = append(cm.ManagedFields, owns("editor of "+key, noonPlus(30), "f:data/f:"+key))
		}
		return cm
	}
	pod := Pod{Mounted: noonPlus(5), Started: []Start{{"app", noonPlus(5)}}}
	for name, test := range map[string]struct {
		found *corev1.ConfigMap
		later data // what a watch shows before the workload is recorded again
		want  Outcome
	}{
		"nothing": {found: configMap("web", same), want: RecordOnly},
		"a key that a container sees, while it was down":          {found: changed(data{"a": "1", "b": "2"}, "b"), want: Restart},
		"one that nobody sees, while it was down":                 {found: changed(data{"a": "2", "b": "1"}, "a"), want: RecordOnly},
		"both, while it was down":                                 {found: changed(data{"a": "2", "b": "2"}, "a", "b"), want: Restart},
		"a key that a container sees, and nothing shows when":     {found: changed(data{"a": "1", "b": "2"}), want: Restart},
		"one that nobody sees, and nothing shows which it was":    {found: changed(data{"a": "2", "b": "1"}), want: Restart}, // in doubt
		"a key that a container sees, just after the upgrade":     {found: configMap("web", same), later: data{"a": "1", "b": "2"}, want: Restart},
		"one that nobody sees, just after the upgrade":            {found: configMap("web", same), later: data{"a": "2", "b": "1"}, want: RecordOnly},
		"a new one that nobody sees, just after the upgrade":      {found: configMap("web", data{"b": "1"}), later: same, want: RecordOnly},
		"one that a container sees is gone, after the upgrade":    {found: configMap("web", same), later: data{"a": "1"}, want: Restart},
		"one that nobody sees is gone, just after the upgrade":    {found: configMap("web", same), later: data{"b": "1"}, want: RecordOnly},
		"a new one that a container sees, just after the upgrade": {found: configMap("web", same), later: data{"a": "1", "b": "1", "c": "1"}, want: Restart},
	} {
		t.Run(name, func(t *testing.T) {
			s := recordedByFormer(t, keyedScheme, hidesA(), test.found, secret("web", same))
			if test.later != nil {
				s.config("web", test.later, 40)
			}
			if got := s.decide(t, pod); got.Outcome != test.want {
				t.Errorf("%+v, want %s", got, test.want)
			}
		})
	}
}

func TestAConfigOfWhichNobodySeesAnythingLeavesTheRecordAtAnUpgrade(t *testing.T) {
	same := data{"a": "1", "b": "1"}
	container := corev1.Container{Name: "app", Env: []corev1.EnvVar{taken("x", "web", "a", false), literal("x", "1")}}
	s := recordedByFormer(t, keyedScheme, container, configMap("web", data{"a": "2", "b": "1"}), secret("web", same))
	if got := s.decide(t); got.Outcome != RecordOnly {
		t.Fatalf("%+v", got)
	}
	s.recorded(20)
	if got := s.decide(t); got.Outcome != Keep || len(s.present().Applied.Checksums) > 0 {
		t.Errorf("%+v, recorded: %v", got, s.present().Applied.Checksums)
	}
}
