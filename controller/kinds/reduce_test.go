package kinds

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/workload"
)

// Requirements without values make the text long, too.
func TestEachRequirementCountsAsPartOfALongSelector(t *testing.T) {
	for count, isUsable := range map[int]bool{800: true, 2000: false} {
		exists := metav1.LabelSelectorRequirement{Key: "a", Operator: metav1.LabelSelectorOpExists}
		selector := &metav1.LabelSelector{MatchExpressions: slices.Repeat([]metav1.LabelSelectorRequirement{exists}, count)}
		if problem := workload.SelectorProblem(selector); (problem == "") != isUsable {
			t.Errorf("with %d requirements, the problem is %q", count, problem)
		}
	}
}
