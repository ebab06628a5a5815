package handover

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/deployment/digest"
	"kubernetes-deployment-restart-controller/deployment/rollout"
)

func TestAWriteOfTheStatusByOthersIsNewsOnce(t *testing.T) {
	version := func(entries ...metav1.ManagedFieldsEntry) *rollout.Deployment {
		return web(func(d *appsv1.Deployment) { d.ManagedFields = entries })
	}
	remade := version(statusBy("other", 9))
	remade.UID = "uid-of-another"
	for name, test := range map[string]struct {
		versions []*rollout.Deployment
		want     bool // whether the last of them is news
	}{
		"at first sight":              {[]*rollout.Deployment{version(statusBy("other", 3))}, false},
		"the first write":             {[]*rollout.Deployment{version(), version(statusBy("other", 3))}, true},
		"a further write":             {[]*rollout.Deployment{version(statusBy("other", 3)), version(statusBy("other", 4))}, true},
		"a write by yet another":      {[]*rollout.Deployment{version(statusBy("other", 3)), version(statusBy("other", 3), statusBy("third", 4))}, true},
		"shown again":                 {[]*rollout.Deployment{version(), version(statusBy("other", 3)), version(statusBy("other", 3))}, false},
		"a write of its own":          {[]*rollout.Deployment{version(statusBy("other", 3)), version(statusBy("other", 3), statusBy(rollout.FieldManager, 4))}, false},
		"its own takes it over":       {[]*rollout.Deployment{version(statusBy("other", 3)), version(statusBy(rollout.FieldManager, 4))}, false},
		"only an older one is left":   {[]*rollout.Deployment{version(statusBy("old", 1), statusBy("other", 3)), version(statusBy("old", 1))}, false},
		"another of the same name":    {[]*rollout.Deployment{version(), remade}, false},
		"after both, one that is new": {[]*rollout.Deployment{version(statusBy("other", 3)), version(), version(statusBy("other", 5))}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, got := statusWrites{}, false
			for _, d := range test.versions {
				got = w.isNews(d)
			}
			if got != test.want {
				t.Errorf("news: %t", got)
			}
		})
	}
	t.Run("what is gone is forgotten", func(t *testing.T) {
		w, other := statusWrites{}, version()
		other.Name = "other"
		w.isNews(version())
		w.isNews(other)
		w.retain(map[digest.Digest]struct{}{keyOf(other): {}})
		if _, found := w[keyOf(other)]; !found || len(w) != 1 {
			t.Errorf("%d are left, want the one that is listed", len(w))
		}
		w.forget(other)
		if len(w) != 0 {
			t.Errorf("%d are left", len(w))
		}
	})
}
