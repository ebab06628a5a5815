package record

import (
	"strings"
	"testing"

	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

func TestKeysThatWouldMakeTheRecordOfARestartLongAreLeftOut(t *testing.T) {
	const empty = `{"configmap/web":[]}`
	for size, want := range map[int]string{
		1024: `{"configmap/web":["` + strings.Repeat("k", 1024-len(empty)-2) + `"]}`,
		1025: empty,
	} {
		key := strings.Repeat("k", size-len(empty)-2)
		if got, err := encodeRestarted([]Restarted{{objecttest.ConfigMapRef("web"), []string{key}}}); err != nil || string(got) != want {
			t.Errorf("with %d bytes: %s, %v", size, got, err)
		}
	}
}
