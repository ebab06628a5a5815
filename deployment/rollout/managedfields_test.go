package rollout

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheLastWriteOfTheStatusByOthersIsReadFromTheManagedFields(t *testing.T) {
	spec, scale, untimed := statusBy("kubectl", 9), statusBy("autoscaler", 9), statusBy("timeless", 9)
	spec.Subresource, scale.Subresource, untimed.Time = "", "scale", nil
	for name, test := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    StatusWrite
	}{
		"nobody":             {nil, StatusWrite{}},
		"one":                {[]metav1.ManagedFieldsEntry{statusBy("other", 3)}, StatusWrite{"other", noonPlus(3).Unix()}},
		"the latest":         {[]metav1.ManagedFieldsEntry{statusBy("a", 3), statusBy("b", 5), statusBy("c", 4)}, StatusWrite{"b", noonPlus(5).Unix()}},
		"not its own":        {[]metav1.ManagedFieldsEntry{statusBy("a", 3), statusBy(FieldManager, 5)}, StatusWrite{"a", noonPlus(3).Unix()}},
		"of the status only": {[]metav1.ManagedFieldsEntry{spec, scale}, StatusWrite{}},
		"without a time":     {[]metav1.ManagedFieldsEntry{untimed}, StatusWrite{}},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "write", test.want, LastStatusWrite(test.entries, FieldManager))
		})
	}
}
