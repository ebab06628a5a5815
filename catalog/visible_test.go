package catalog

import (
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

func TestAConfigLacksWhatAWorkloadRequires(t *testing.T) {
	ref, gone := names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: "settings"}, names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: "gone"}
	c := New()
	c.ObserveConfig(content.Config{Ref: ref, Keys: names.NewKeys([]names.Key{{Name: "there", Checksum: 1}})}, time.Time{})
	for name, test := range map[string]struct {
		reference template.Reference
		want      bool
	}{
		"all keys":              {template.Reference{Config: ref}, false},
		"a key":                 {template.Reference{Config: ref, Keys: template.Selection{Names: []string{"there"}}}, false},
		"a missing key":         {template.Reference{Config: ref, Keys: template.Selection{Names: []string{"missing"}}}, true},
		"an optional one":       {template.Reference{Config: ref, Keys: template.Selection{Names: []string{"missing"}}, Optional: true}, false},
		"a missing config":      {template.Reference{Config: gone}, true},
		"an optional one, gone": {template.Reference{Config: gone, Optional: true}, false},
	} {
		w := &workload.Workload{Object: workload.Object{References: []template.Reference{test.reference}}}
		if got := c.LacksRequired(w, test.reference.Config); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
