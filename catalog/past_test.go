package catalog

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestPodsRestartThatStartedWhileAKeyWasInTheBinaryData(t *testing.T) {
	s := begin(deployment(readsAll("web", false)))
	s.listed(configMap("web", data{"a": "1"}))
	s.recorded(10)
	binary := configMap("web", nil)
	binary.BinaryData = map[string][]byte{"a": []byte("1")}
	s.catalog.ObserveConfig(NewConfigMap(binary), noonPlus(60))
	s.config("web", data{"a": "1"}, 80)
	requireOutcome(t, s, Restart, startedAt(noonPlus(70)))
	requireOutcome(t, s, Keep, startedAt(noonPlus(50)))
}

func TestAKeyThatMovesToTheBinaryDataIsTheSameFile(t *testing.T) {
	s := begin(deployment(mounts(corev1.VolumeMount{Name: "web", MountPath: "/web"}), volumeOf("web", false)))
	s.listed(configMap("web", data{"a": "1"}))
	s.recorded(10)
	binary := configMap("web", nil)
	binary.BinaryData = map[string][]byte{"a": []byte("1")}
	s.catalog.ObserveConfig(NewConfigMap(binary), noonPlus(60))
	requireOutcome(t, s, Keep, startedAt(noonPlus(30)))
}

// An edit of very many keys is kept as one. It concerns only those who read one of these keys.
func TestAnEditOfManyKeysRestartsOnlyWhoReadsOneOfThem(t *testing.T) {
	content := func(value string) data {
		all := manyKeys(200, "0")
		for i := 100; i < 200; i++ {
			all[keyNamed(i)] = value
		}
		return all
	}
	ofRule := func(keys string) *appsv1.Deployment {
		d := deployment(readsAll("web", false))
		d.Annotations[OnlyAnnotation] = "configmap/web:" + keys
		return d
	}
	for name, test := range map[string]struct {
		reader *appsv1.Deployment
		want   Outcome
	}{
		"a changed key":              {deployment(readsKey("web", keyNamed(150), false)), Restart},
		"another key":                {deployment(readsKey("web", keyNamed(50), false)), Keep},
		"all keys":                   {deployment(readsAll("web", false)), Restart},
		"a changed key, by a filter": {ofRule(keyNamed(150)), Restart},
		"another key, by a filter":   {ofRule(keyNamed(50)), Keep},
		"a mounted file":             {deployment(mounts(corev1.VolumeMount{Name: "v", SubPath: keyNamed(150)}), volumeOf("web", false)), Restart},
		"another mounted file":       {deployment(mounts(corev1.VolumeMount{Name: "v", SubPath: keyNamed(50)}), volumeOf("web", false)), Keep},
	} {
		for then, values := range map[string][]string{
			"once":                {"1"},
			"twice":               {"1", "2"},
			"there and back":      {"1", "0"},
			"many times and back": {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "0"},
		} {
			t.Run(name+", "+then, func(t *testing.T) {
				s := begin(test.reader.DeepCopy())
				s.listed(configMap("web", content("0")))
				s.recorded(10)
				for i, value := range values {
					s.config("web", content(value), float64(60+10*i))
				}
				requireOutcome(t, s, test.want, startedAt(noonPlus(65+10*float64(len(values)-2))))
			})
		}
	}
}

// Whoever edits all keys again and again must not multiply the memory of the config.
func TestEarlierContentOfVeryManyKeysConcernsAllKeys(t *testing.T) {
	s := begin(deployment(readsKey("web", "other", false)))
	s.listed(configMap("web", manyKeys(maxJoinedKeys+1, "0")))
	for i := range 20 {
		s.config("web", manyKeys(maxJoinedKeys+i%2, string(rune('a'+i))), float64(60+i))
	}
	past := s.catalog.past[configMapRef("web")]
	if len(past) == 0 || len(past) > maxPastOfKey {
		t.Errorf("%d contents are kept", len(past))
	}
	for _, p := range past {
		if len(p.joined) > maxJoinedKeys {
			t.Errorf("one concerns %d keys", len(p.joined))
		}
	}
	if oldest := past[0]; oldest.joined != nil || !oldest.concerns(&Reference{Keys: Selection{Names: []string{"other"}}}) {
		t.Errorf("the oldest concerns %d keys", len(oldest.joined))
	}
}
