package catalog

import (
	"encoding/json"
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
	m := mentions{namespace: "ns", former: true}
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
	s.listed(settings)
	return s
}

func TestAnUpgradeAfterWhichAKeyNoLongerCountsRestartsNothing(t *testing.T) {
	same := data{"a": "1", "b": "1"}
	pod := Pod{Mounted: noonPlus(5), Started: []Start{{"app", noonPlus(5)}}}
	for _, scheme := range []string{formerScheme, unkeyedScheme} {
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

// The records of all others are as good as before.
func TestAnUpgradeWritesOnlyTheWorkloadsInWhichAKeyMayNoLongerCount(t *testing.T) {
	same, container := data{"a": "1", "b": "1"}, hidesA()
	for _, want := range []Outcome{RecordOnly, Keep} {
		s := recordedByFormer(t, formerScheme, container, configMap("web", same), secret("web", same))
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
			s := recordedByFormer(t, formerScheme, hidesA(), test.found, secret("web", same))
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
	s := recordedByFormer(t, formerScheme, container, configMap("web", data{"a": "2", "b": "1"}), secret("web", same))
	if got := s.decide(t); got.Outcome != RecordOnly {
		t.Fatalf("%+v", got)
	}
	s.recorded(20)
	if got := s.decide(t); got.Outcome != Keep || len(s.present().Applied.Checksums) > 0 {
		t.Errorf("%+v, recorded: %v", got, s.present().Applied.Checksums)
	}
}
