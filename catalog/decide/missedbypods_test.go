package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// A record that is trusted has a checksum of just what the environment sees. Where none
// does, the edits are asked, and must say the same.
func TestWithoutATrustedRecordBinaryDataDoesNotMatterForEnvironments(t *testing.T) {
	withBinary := func(binary string, fields ...metav1.ManagedFieldsEntry) *corev1.ConfigMap {
		cm := objecttest.ConfigMap("web", objecttest.Data{"a": "1"})
		cm.BinaryData = map[string][]byte{"bin": []byte(binary)}
		cm.ManagedFields = fields
		return cm
	}
	for name, test := range map[string]struct {
		happens func(s *story)
		want    verdict
	}{
		"edited while a watch showed it": {func(s *story) {
			s.listed(withBinary("1"))
			s.recorded(10)
			s.release("web:2")
			s.catalog.ObserveConfig(content.NewConfigMap(withBinary("2")), objecttest.NoonPlus(60))
		}, verdict{Asked: true, Outcome: RecordOnly}},
		"edited while nobody watched": {func(s *story) {
			s.restartController(withBinary("2", objecttest.Owns("kubectl", objecttest.NoonPlus(60), "f:binaryData/f:bin")))
			s.release("web:2")
		}, verdict{Asked: true, Outcome: RecordOnly}},
		"moved there from the data": {func(s *story) {
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1", "bin": "1"}))
			s.recorded(10)
			s.release("web:2")
			s.catalog.ObserveConfig(content.NewConfigMap(withBinary("1")), objecttest.NoonPlus(60))
		}, askedRestartFor("web", "bin")},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
			test.happens(s)
			got := s.decide(t, startedAt(objecttest.NoonPlus(20)))
			got.Asked = test.want.Asked // whether the pods decide does not matter here
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}
