package decide

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// An edit of very many keys is kept as one. It concerns only those who read one of these keys.
func TestAnEditOfManyKeysRestartsOnlyWhoReadsOneOfThem(t *testing.T) {
	content := func(value string) objecttest.Data {
		all := objecttest.ManyKeys(200, "0")
		for i := 100; i < 200; i++ {
			all[objecttest.KeyNamed(i)] = value
		}
		return all
	}
	ofRule := func(keys string) *appsv1.Deployment {
		d := objecttest.Deployment(objecttest.ReadsAll("web", false))
		d.Annotations[annotation.OnlyAnnotation] = "configmap/web:" + keys
		return d
	}
	for name, test := range map[string]struct {
		reader *appsv1.Deployment
		want   Outcome
	}{
		"a changed key":              {objecttest.Deployment(objecttest.ReadsKey("web", objecttest.KeyNamed(150), false)), Restart},
		"another key":                {objecttest.Deployment(objecttest.ReadsKey("web", objecttest.KeyNamed(50), false)), Keep},
		"all keys":                   {objecttest.Deployment(objecttest.ReadsAll("web", false)), Restart},
		"a changed key, by a filter": {ofRule(objecttest.KeyNamed(150)), Restart},
		"another key, by a filter":   {ofRule(objecttest.KeyNamed(50)), Keep},
		"a mounted file":             {objecttest.Deployment(objecttest.Mounts(corev1.VolumeMount{Name: "v", SubPath: objecttest.KeyNamed(150)}), objecttest.VolumeOf("web", false)), Restart},
		"another mounted file":       {objecttest.Deployment(objecttest.Mounts(corev1.VolumeMount{Name: "v", SubPath: objecttest.KeyNamed(50)}), objecttest.VolumeOf("web", false)), Keep},
	} {
		for then, values := range map[string][]string{
			"once":                {"1"},
			"twice":               {"1", "2"},
			"there and back":      {"1", "0"},
			"many times and back": {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "0"},
		} {
			t.Run(name+", "+then, func(t *testing.T) {
				s := begin(test.reader.DeepCopy())
				s.listed(objecttest.ConfigMap("web", content("0")))
				s.recorded(10)
				for i, value := range values {
					s.config("web", content(value), float64(60+10*i))
				}
				requireOutcome(t, s, test.want, startedAt(objecttest.NoonPlus(65+10*float64(len(values)-2))))
			})
		}
	}
}

// Whoever edits all keys again and again must not multiply the memory of the config.
func TestEarlierContentOfVeryManyKeysConcernsAllKeys(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsKey("web", "other", false)))
	s.listed(objecttest.ConfigMap("web", objecttest.ManyKeys(content.MaxJoinedKeys+1, "0")))
	for i := range 20 {
		s.config("web", objecttest.ManyKeys(content.MaxJoinedKeys+i%2, string(rune('a'+i))), float64(60+i))
	}
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	past := view.Past[objecttest.ConfigMapRef("web")]
	if len(past) == 0 || len(past) > content.MaxPastOfKey {
		t.Errorf("%d contents are kept", len(past))
	}
	for _, p := range past {
		if len(p.Joined) > content.MaxJoinedKeys {
			t.Errorf("one concerns %d keys", len(p.Joined))
		}
	}
	if oldest := past[0]; oldest.Joined != nil || !oldest.Concerns(&template.Reference{Keys: template.Selection{Names: []string{"other"}}}) {
		t.Errorf("the oldest concerns %d keys", len(oldest.Joined))
	}
}
