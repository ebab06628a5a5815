package catalog

import (
	"slices"
	"testing"
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
