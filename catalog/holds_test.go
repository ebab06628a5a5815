package catalog

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

func TestTheCatalogKnowsWhatHoldsRestarts(t *testing.T) {
	c, now := New(), objecttest.Noon
	holds := func() (all []string) {
		c.Holds(func(h HoldNote) { all = append(all, h.Namespace+" "+h.On.String()+": "+h.Text) })
		slices.Sort(all)
		return all
	}
	require := func(when string, want ...string) {
		t.Helper()
		if got := holds(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	web := workload.Workload{Object: workload.Object{Ref: names.WorkloadRef{Kind: names.Deployment, Namespace: "shop", Name: "web"}, UID: "1", ResourceVersion: "1", Policy: &policy.WorkloadPolicy{Hold: "migration"}}}
	settings := content.Config{Ref: names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: "settings"}, Policy: &policy.ConfigPolicy{Hold: "approval"}}
	c.ObserveWorkload(web)
	c.ObserveConfig(settings, now)
	require("with holds", "shop configmap/shop/settings: approval", "shop deployment/shop/web: migration")
	web.ResourceVersion, web.Policy = "2", nil
	c.ObserveWorkload(web)
	require("without that of the workload", "shop configmap/shop/settings: approval")
	c.ForgetConfig(settings.Ref, now)
	require("without the config")
	web.ResourceVersion, web.Policy = "3", &policy.WorkloadPolicy{Hold: "again"}
	c.ObserveWorkload(web)
	c.ForgetWorkload(web.Ref)
	require("without the workload")
}

func TestAHoldIsAsOldAsItsFieldManagerSays(t *testing.T) {
	created, set, later := objecttest.NoonPlus(-60), objecttest.NoonPlus(-30), objecttest.NoonPlus(-10)
	only := `{"f:metadata":{"f:annotations":{"f:` + annotation.HoldAnnotation + `":{}}}}`
	manifest := `{"f:data":{"f:k":{}},"f:metadata":{"f:annotations":{".":{},"f:` + annotation.HoldAnnotation + `":{}}}}`
	owner := func(fields string, at time.Time) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: "m", Operation: "Update", Time: &metav1.Time{Time: at}, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	read := func(owners ...metav1.ManagedFieldsEntry) content.Config {
		meta := metav1.ObjectMeta{CreationTimestamp: metav1.Time{Time: created}, Annotations: map[string]string{annotation.HoldAnnotation: "wait"}, ManagedFields: owners}
		return content.Config{Ref: objecttest.ConfigMapRef("c"), Policy: policy.ReadConfigPolicy(&meta)}
	}
	for name, test := range map[string]struct {
		config      content.Config
		wasKnown    bool
		want        time.Time
		wantAtLeast bool
	}{
		"set alone":                               {read(owner(only, set), owner(`{"f:data":{"f:k":{}}}`, later)), false, set, false},
		"set by an owner of more":                 {read(owner(manifest, later)), false, later, true},
		"set at the creation":                     {read(owner(manifest, created)), false, created, false},
		"set by an owner of more, as was seen":    {read(owner(manifest, later)), true, later, false},
		"set by nobody who is known":              {read(), false, objecttest.Noon, true},
		"set at a time that no clock shows":       {read(owner(manifest, time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -12*60*60)))), false, objecttest.Noon, true},
		"set by nobody who is known, as was seen": {read(), true, objecttest.Noon, false},
	} {
		c := New()
		if test.wasKnown {
			c.ObserveConfig(content.Config{Ref: objecttest.ConfigMapRef("c")}, objecttest.Noon)
			c.PassTime(objecttest.Noon)
		}
		c.ObserveConfig(test.config, objecttest.Noon)
		c.PassTime(objecttest.Noon)
		if since, atLeast := c.HeldSince(objecttest.ConfigMapRef("c")); !since.Equal(test.want) || atLeast != test.wantAtLeast {
			t.Errorf("%s: since %s, at least: %t; want %s, %t", name, since, atLeast, test.want, test.wantAtLeast)
		}
	}
}

// As when the references of a namespace become too many, and fewer again.
func TestAHoldKeepsItsAgeWhileItsWorkloadIsForgotten(t *testing.T) {
	c := New()
	c.PassTime(objecttest.Noon)
	web := workload.Workload{Object: workload.Object{Ref: names.WorkloadRef{Kind: names.Deployment, Namespace: "shop", Name: "web"}, UID: "1", ResourceVersion: "1", Policy: &policy.WorkloadPolicy{Hold: "migration", HoldSet: policy.HoldTime{At: objecttest.NoonPlus(-60), IsExact: true}}}}
	for range 2 {
		observed := web
		c.ObserveWorkload(observed)
		c.LeaveAlone(web.Ref)
		if since, atLeast := c.HeldSince(web.Ref); !since.Equal(objecttest.NoonPlus(-60)) || atLeast {
			t.Errorf("since %s, at least: %t", since, atLeast)
		}
		c.ForgetWorkload(web.Ref)
	}
}

func TestAHoldIsAsOldAsItWasWhenItWasLastNotThere(t *testing.T) {
	c := New()
	early, late := content.Config{Ref: objecttest.ConfigMapRef("early"), Policy: &policy.ConfigPolicy{Hold: "a"}}, content.Config{Ref: objecttest.ConfigMapRef("late"), Policy: &policy.ConfigPolicy{Hold: "b"}}
	require := func(ref names.ConfigRef, want time.Time, wantAtLeast bool) {
		t.Helper()
		if since, atLeast := c.HeldSince(ref); !since.Equal(want) || atLeast != wantAtLeast {
			t.Errorf("%s: since %s, at least: %t; want %s, %t", ref, since, atLeast, want, wantAtLeast)
		}
	}
	c.ObserveConfig(early, objecttest.Noon)
	require(early.Ref, time.Time{}, false)
	c.PassTime(objecttest.NoonPlus(10))
	require(early.Ref, objecttest.NoonPlus(10), true)
	c.PassTime(objecttest.NoonPlus(20))
	c.ObserveConfig(late, objecttest.NoonPlus(21))
	c.PassTime(objecttest.NoonPlus(30))
	late.Policy = &policy.ConfigPolicy{Hold: "for another reason"}
	c.ObserveConfig(late, objecttest.NoonPlus(31))
	require(early.Ref, objecttest.NoonPlus(10), true)
	require(late.Ref, objecttest.NoonPlus(20), false)
	c.ForgetConfig(late.Ref, objecttest.NoonPlus(40))
	require(late.Ref, time.Time{}, false)
	c.PassTime(objecttest.NoonPlus(50))
	c.ObserveConfig(late, objecttest.NoonPlus(51))
	require(late.Ref, objecttest.NoonPlus(50), false)
}
