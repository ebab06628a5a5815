package catalog

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheCatalogKnowsWhatHoldsRestarts(t *testing.T) {
	c, now := New(), noon
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
	web := Workload{Ref: WorkloadRef{Deployment, "shop", "web"}, UID: "1", ResourceVersion: "1", Policy: &WorkloadPolicy{Hold: "migration"}}
	settings := Config{Ref: ConfigRef{ConfigMap, "shop", "settings"}, Policy: &ConfigPolicy{Hold: "approval"}}
	c.ObserveWorkload(web)
	c.ObserveConfig(settings, now)
	require("with holds", "shop configmap/shop/settings: approval", "shop deployment/shop/web: migration")
	web.ResourceVersion, web.Policy = "2", nil
	c.ObserveWorkload(web)
	require("without that of the workload", "shop configmap/shop/settings: approval")
	c.ForgetConfig(settings.Ref, now)
	require("without the config")
	web.ResourceVersion, web.Policy = "3", &WorkloadPolicy{Hold: "again"}
	c.ObserveWorkload(web)
	c.ForgetWorkload(web.Ref)
	require("without the workload")
}

func TestAHoldIsAsOldAsItsFieldManagerSays(t *testing.T) {
	created, set, later := noonPlus(-60), noonPlus(-30), noonPlus(-10)
	only := `{"f:metadata":{"f:annotations":{"f:` + HoldAnnotation + `":{}}}}`
	manifest := `{"f:data":{"f:k":{}},"f:metadata":{"f:annotations":{".":{},"f:` + HoldAnnotation + `":{}}}}`
	owner := func(fields string, at time.Time) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: "m", Operation: "Update", Time: &metav1.Time{Time: at}, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	read := func(owners ...metav1.ManagedFieldsEntry) Config {
		meta := metav1.ObjectMeta{CreationTimestamp: metav1.Time{Time: created}, Annotations: map[string]string{HoldAnnotation: "wait"}, ManagedFields: owners}
		return Config{Ref: configMapRef("c"), Policy: readConfigPolicy(&meta)}
	}
	for name, test := range map[string]struct {
		config      Config
		wasKnown    bool
		want        time.Time
		wantAtLeast bool
	}{
		"set alone":                               {read(owner(only, set), owner(`{"f:data":{"f:k":{}}}`, later)), false, set, false},
		"set by an owner of more":                 {read(owner(manifest, later)), false, later, true},
		"set at the creation":                     {read(owner(manifest, created)), false, created, false},
		"set by an owner of more, as was seen":    {read(owner(manifest, later)), true, later, false},
		"set by nobody who is known":              {read(), false, noon, true},
		"set at a time that no clock shows":       {read(owner(manifest, time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -12*60*60)))), false, noon, true},
		"set by nobody who is known, as was seen": {read(), true, noon, false},
	} {
		c := New()
		if test.wasKnown {
			c.ObserveConfig(Config{Ref: configMapRef("c")}, noon)
			c.PassTime(noon)
		}
		c.ObserveConfig(test.config, noon)
		c.PassTime(noon)
		if since, atLeast := c.HeldSince(configMapRef("c")); !since.Equal(test.want) || atLeast != test.wantAtLeast {
			t.Errorf("%s: since %s, at least: %t; want %s, %t", name, since, atLeast, test.want, test.wantAtLeast)
		}
	}
}

// As when the references of a namespace become too many, and fewer again.
func TestAHoldKeepsItsAgeWhileItsWorkloadIsForgotten(t *testing.T) {
	c := New()
	c.PassTime(noon)
	web := Workload{Ref: WorkloadRef{Deployment, "shop", "web"}, UID: "1", ResourceVersion: "1", Policy: &WorkloadPolicy{Hold: "migration", HoldSet: HoldTime{noonPlus(-60), true}}}
	for range 2 {
		observed := web
		c.ObserveWorkload(observed)
		c.LeaveAlone(web.Ref)
		if since, atLeast := c.HeldSince(web.Ref); !since.Equal(noonPlus(-60)) || atLeast {
			t.Errorf("since %s, at least: %t", since, atLeast)
		}
		c.ForgetWorkload(web.Ref)
	}
}

func TestAHoldIsAsOldAsItWasWhenItWasLastNotThere(t *testing.T) {
	c := New()
	early, late := Config{Ref: configMapRef("early"), Policy: &ConfigPolicy{Hold: "a"}}, Config{Ref: configMapRef("late"), Policy: &ConfigPolicy{Hold: "b"}}
	require := func(ref ConfigRef, want time.Time, wantAtLeast bool) {
		t.Helper()
		if since, atLeast := c.HeldSince(ref); !since.Equal(want) || atLeast != wantAtLeast {
			t.Errorf("%s: since %s, at least: %t; want %s, %t", ref, since, atLeast, want, wantAtLeast)
		}
	}
	c.ObserveConfig(early, noon)
	require(early.Ref, time.Time{}, false)
	c.PassTime(noonPlus(10))
	require(early.Ref, noonPlus(10), true)
	c.PassTime(noonPlus(20))
	c.ObserveConfig(late, noonPlus(21))
	c.PassTime(noonPlus(30))
	late.Policy = &ConfigPolicy{Hold: "for another reason"}
	c.ObserveConfig(late, noonPlus(31))
	require(early.Ref, noonPlus(10), true)
	require(late.Ref, noonPlus(20), false)
	c.ForgetConfig(late.Ref, noonPlus(40))
	require(late.Ref, time.Time{}, false)
	c.PassTime(noonPlus(50))
	c.ObserveConfig(late, noonPlus(51))
	require(late.Ref, noonPlus(50), false)
}
