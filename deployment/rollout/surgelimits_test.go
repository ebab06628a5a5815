package rollout

import (
	"math"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

func TestLimitsArePercentagesRoundedUpAndDownOrNumbers(t *testing.T) {
	for name, test := range map[string]struct {
		surge, unavailable string
		replicas           int64
		want               Limits
	}{
		"the API's default, 3 replicas":       {"25%", "25%", 3, Limits{1, 0}},
		"the API's default, 4 replicas":       {"25%", "25%", 4, Limits{1, 1}},
		"the API's default, 10 replicas":      {"25%", "25%", 10, Limits{3, 2}},
		"the API's default, 1 replica":        {"25%", "25%", 1, Limits{1, 0}},
		"the API's default, none":             {"25%", "25%", 0, Limits{0, 0}},
		"numbers":                             {"3", "2", 10, Limits{3, 2}},
		"30 % of 10, as in the documentation": {"30%", "30%", 10, Limits{3, 3}},
		"both 0":                              {"0", "0", 10, Limits{0, 1}},
		"both 0 %":                            {"0%", "0%", 10, Limits{0, 1}},
		"both 0, no replicas":                 {"0", "0", 0, Limits{0, 0}},
		"unavailable comes to 0":              {"0", "1%", 10, Limits{0, 1}},
		"surge alone":                         {"1", "0", 10, Limits{1, 0}},
		"unavailable alone":                   {"0", "1", 10, Limits{0, 1}},
		"absent":                              {"", "", 10, Limits{0, 1}},
		"100 %":                               {"100%", "100%", 10, Limits{10, 10}},
		"more than 100 %":                     {"250%", "250%", 10, Limits{25, 10}},
		"more than all":                       {"20", "20", 10, Limits{20, 10}},
		"the smallest share":                  {"1%", "1%", 1, Limits{1, 0}},
		"below 0":                             {"-3", "-2", 10, Limits{0, 1}},
		"of the greatest number":              {"100%", "100%", math.MaxInt32, Limits{math.MaxInt32, math.MaxInt32}},
		"more than the greatest number":       {"200%", "200%", math.MaxInt32, Limits{math.MaxInt32, math.MaxInt32}},
	} {
		t.Run(name, func(t *testing.T) {
			strategy := rolling(test.surge, test.unavailable)
			got, err := resolveLimits(&strategy, test.replicas)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, "limits", test.want, got)
		})
	}
}

func TestRecreateHasNoLimits(t *testing.T) {
	strategy := rolling("50%", "50%")
	strategy.Type = appsv1.RecreateDeploymentStrategyType
	got, err := recreate{}.limits(&strategy, 10)
	if err != nil || got != (Limits{}) {
		t.Errorf("limits %v, error %v", got, err)
	}
}

func TestInvalidLimitsAreErrors(t *testing.T) {
	for name, test := range map[string]struct {
		surge, unavailable intstr.IntOrString
		want               string
	}{
		"surge":       {intstr.FromString("many"), intstr.FromInt32(1), "resolve maxSurge: invalid value for IntOrString: invalid type: string is not a percentage"},
		"unavailable": {intstr.FromInt32(1), intstr.FromString("x%"), `resolve maxUnavailable: invalid value for IntOrString: invalid value "x%": strconv.Atoi: parsing "x": invalid syntax`},
		"empty":       {intstr.FromString(""), intstr.FromInt32(1), "resolve maxSurge: invalid value for IntOrString: invalid type: string is not a percentage"},
	} {
		t.Run(name, func(t *testing.T) {
			strategy := appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &test.surge, MaxUnavailable: &test.unavailable},
			}
			if _, err := resolveLimits(&strategy, 10); err == nil || err.Error() != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}

func TestLimitsAlwaysLeaveRoomForAStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) *intstr.IntOrString {
			value := intstr.FromInt32(rapid.Int32().Draw(t, name))
			if rapid.Bool().Draw(t, name+" in percent") {
				value = intstr.FromString(strconv.Itoa(int(value.IntVal)) + "%")
			}
			return &value
		}
		replicas := rapid.Int64Range(0, math.MaxInt32).Draw(t, "replicas")
		strategy := rolling("", "")
		strategy.RollingUpdate.MaxSurge, strategy.RollingUpdate.MaxUnavailable = draw("surge"), draw("unavailable")
		got, err := resolveLimits(&strategy, replicas)
		if err != nil {
			t.Fatal(err)
		}
		if got.MaxSurge < 0 || got.MaxSurge > math.MaxInt32 || got.MaxUnavailable < 0 || got.MaxUnavailable > replicas {
			t.Fatalf("out of range: %+v", got)
		}
		if replicas > 0 && got.MaxSurge+got.MaxUnavailable == 0 {
			t.Fatal("no step is possible")
		}
	})
}
