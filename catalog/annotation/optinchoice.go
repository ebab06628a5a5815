package annotation

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Choice is what an object says with [EnabledAnnotation]. The zero value says nothing.
type Choice uint8

// The choices.
const (
	Unsaid Choice = iota
	OptsIn
	OptsOut // any value but [Enabled]
)

// ChoiceOf returns what an object says.
func ChoiceOf(meta *metav1.ObjectMeta) Choice {
	switch value, found := meta.Annotations[EnabledAnnotation]; {
	case !found:
		return Unsaid
	case value == Enabled:
		return OptsIn
	}
	return OptsOut
}

// OptOuts are the values of [EnabledAnnotation] that opt out as any value but [Enabled] does, and mean it.
var OptOuts = []string{"disabled", "false", "no", "off"}

// IsEnabled reports whether a workload with these annotations opted in.
func IsEnabled(meta *metav1.ObjectMeta) bool { return ChoiceOf(meta) == OptsIn }
