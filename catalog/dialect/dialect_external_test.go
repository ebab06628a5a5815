package dialect_test

import (
	"strings"
	"testing"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/optin"
)

// Workloads are taken in one after the other, so a large one delays all others.
func TestUnderstandingALongListCostsNoMoreThanAShorterOne(t *testing.T) {
	rules := optin.Rules{Dialects: []optin.Dialect{optin.Reloader, optin.Wave}}
	for _, list := range []string{"a,", "(,", "a|", ".*"} {
		for _, name := range []string{objecttest.ConfigMapNamed, objecttest.ConfigMapExcluded, objecttest.WaveConfigMaps} {
			allocations := func(bytes int) float64 {
				own := objecttest.Annotations{name: strings.Repeat(list, bytes/len(list)), objecttest.WaveOptIn: "true"}
				return testing.AllocsPerRun(1, func() { catalogtest.UnderstandDeployment(&rules, own, nil) })
			}
			if long, short := allocations(250_000), allocations(dialect.LongestList); long > short+100 {
				t.Errorf("%s of %q: %v allocations, %v for a shorter list", name, list, long, short)
			}
		}
	}
}
