package catalog

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPodsRestartThatStartedWhileAKeyWasInTheBinaryData(t *testing.T) {
	s := begin(deployment(readsAll("web", false)))
	s.listed(configMap("web", data{"a": "1"}))
	s.recorded(10)
	binary := configMap("web", nil)
	binary.BinaryData = map[string][]byte{"a": []byte("1")}
	s.catalog.ObserveConfig(NewConfigMap(binary), noonPlus(60))
	s.config("web", data{"a": "1"}, 80)
	requireOutcome(t, s, Restart, startedAt(noonPlus(70)))
	requireOutcome(t, s, Keep, startedAt(noonPlus(50)))
}

func TestAKeyThatMovesToTheBinaryDataIsTheSameFile(t *testing.T) {
	s := begin(deployment(mounts(corev1.VolumeMount{Name: "web", MountPath: "/web"}), volumeOf("web", false)))
	s.listed(configMap("web", data{"a": "1"}))
	s.recorded(10)
	binary := configMap("web", nil)
	binary.BinaryData = map[string][]byte{"a": []byte("1")}
	s.catalog.ObserveConfig(NewConfigMap(binary), noonPlus(60))
	requireOutcome(t, s, Keep, startedAt(noonPlus(30)))
}
