package catalog

import (
	"slices"
	"testing"
	"time"
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
