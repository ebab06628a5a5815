package catalog

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// tenKiB is the content of a config of 10 KiB in ten keys.
func tenKiB() map[string]string {
	content := map[string]string{}
	for i := range 10 {
		content[fmt.Sprint("key-", i)] = strings.Repeat(string(rune('a'+i)), 1024)
	}
	return content
}

func BenchmarkNewConfigMapOf10KiB(b *testing.B) {
	cm := configMap("web", tenKiB())
	cm.ManagedFields = []metav1.ManagedFieldsEntry{owns("kubectl", noon, "f:data/f:key-0")}
	b.SetBytes(10 << 10)
	b.ReportAllocs()
	for b.Loop() {
		NewConfigMap(cm)
	}
}

func BenchmarkNewConfigMapThatWasEdited(b *testing.B) {
	cm := configMap("web", tenKiB())
	var paths []string
	for name := range cm.Data {
		paths = append(paths, "f:data/f:"+name)
	}
	cm.ManagedFields = []metav1.ManagedFieldsEntry{owns("kubectl", noonPlus(60), paths...)}
	b.ReportAllocs()
	for b.Loop() {
		NewConfigMap(cm)
	}
}

func BenchmarkNewSecretOf10KiB(b *testing.B) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "tls"}, Data: map[string][]byte{}}
	for name, value := range tenKiB() {
		secret.Data[name] = []byte(value)
	}
	b.SetBytes(10 << 10)
	b.ReportAllocs()
	for b.Loop() {
		NewSecret(secret)
	}
}

func BenchmarkChecksumOfASelection(b *testing.B) {
	config := NewConfigMap(configMap("web", tenKiB()))
	selections := []Selection{{Names: []string{"key-1", "key-5"}, DataOnly: true}, {Names: []string{"key-5", "key-9"}}}
	b.ReportAllocs()
	for b.Loop() {
		config.Checksum(selections, testKey)
	}
}

// ofTenConfigs is a Deployment with ten references.
func ofTenConfigs() corev1.Container {
	container := corev1.Container{Name: "app"}
	for i := range 10 {
		container.EnvFrom = append(container.EnvFrom, readsAll(fmt.Sprint("web-", i), false).EnvFrom...)
	}
	return container
}

func BenchmarkObserveConfigThatChanges(b *testing.B) {
	c := New()
	for i := range 100 {
		d := deployment(readsAll("web", false))
		d.Name = fmt.Sprint("web-", i)
		c.ObserveWorkload(mustWorkload(d))
	}
	content := tenKiB()
	versions := []Config{NewConfigMap(configMap("web", content)), {}}
	content["key-5"] = "another"
	versions[1] = NewConfigMap(configMap("web", content))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if !c.ObserveConfig(versions[i%2], noon) {
			b.Fatal("no news")
		}
	}
}

func BenchmarkDecideOn10References(b *testing.B) {
	for _, change := range []struct {
		name string
		want Outcome
		data map[string]string
	}{
		{"unchanged", Keep, tenKiB()},
		{"changed", Restart, data{"key-0": "another"}},
	} {
		b.Run(change.name, func(b *testing.B) {
			s := begin(deployment(ofTenConfigs()))
			s.listed()
			for i := range 10 {
				s.config(fmt.Sprint("web-", i), tenKiB(), 0)
			}
			s.recorded(10)
			s.config("web-5", change.data, 60)
			b.ReportAllocs()
			for b.Loop() {
				view, _ := s.catalog.View(deploymentRef("web"))
				if decision := Decide(view); decision.Outcome != change.want {
					b.Fatal(decision.Outcome)
				}
			}
		})
	}
}

func BenchmarkNewDeploymentOf10References(b *testing.B) {
	d := deployment(ofTenConfigs())
	checksums := Checksums{}
	for i := range 10 {
		checksums[configMapRef(fmt.Sprint("web-", i))] = Checksum(i)
	}
	writeRecord(d, checksums, noonPlus(10))
	b.ReportAllocs()
	for b.Loop() {
		if w, err := NewWorkload(Deployment, partsOf(d)); err != nil || !w.Applied.Trusted {
			b.Fatal("the record is not trusted")
		}
	}
}

// What a controller that understands other tools spends on a workload that says nothing to them, and on one that does.
func BenchmarkUnderstandADeployment(b *testing.B) {
	for name, annotations := range map[string]map[string]string{
		"silent": {}, "named": {configMapNamed: "web-.*,app", secretNamed: "web"},
	} {
		parts := partsOf(deployment(ofTenConfigs()))
		parts.Meta.Annotations = annotations
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := understanding.Understand(Deployment, *parts); (got.Understood.By == "reloader") != (name == "named") {
					b.Fatalf("%+v", got.Understood)
				}
			}
		})
	}
}

// The pods of one class were all rotated, and none of them is the workload's.
func BenchmarkDecideOnAClassOf10000RotatedPods(b *testing.B) {
	s := begin(deployment(mounts(corev1.VolumeMount{Name: "v"}), volumeOfClass("db")))
	s.catalog.SetKey(testKey)
	var before []Mount
	for i := range 10_000 {
		before = append(before, mountIn(types.UID(fmt.Sprint("pod-", i)), "v1"))
	}
	s.listMounts(1, before...)
	s.catalog.ObserveWorkload(s.reduced())
	s.recorded(2)
	for i := range before {
		s.mounted(mountIn(before[i].Pod, "v2"), 3)
	}
	pods := []Pod{{UID: "own", Created: noon, Started: []Start{{Container: "main", At: noon}}}}
	ref := s.reduced().Ref
	b.ReportAllocs()
	for b.Loop() {
		view, _ := s.catalog.View(ref)
		if d := Decide(view); d.Outcome != AskPods {
			b.Fatal(d)
		}
		if d := DecideByPods(view, pods); d.Outcome == Restart {
			b.Fatal(d)
		}
	}
}

// BenchmarkAnEventOfTheLargestConfigMap is what the watch does for an edit of one of 140,000 keys. Other configs wait for it.
func BenchmarkAnEventOfTheLargestConfigMap(b *testing.B) {
	var edits [2][]byte
	for i := range edits {
		content := manyKeys(140_000, "")
		content[keyNamed(7)] = string(rune('a' + i))
		encoded, err := configMap("large", content).Marshal()
		if err != nil {
			b.Fatal(err)
		}
		edits[i] = encoded
	}
	c := New()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		var cm corev1.ConfigMap
		if err := cm.Unmarshal(edits[i%2]); err != nil {
			b.Fatal(err)
		}
		c.ObserveConfig(NewConfigMap(&cm), noon)
	}
}
