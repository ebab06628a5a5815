package decide

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
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
	cm := objecttest.ConfigMap("web", tenKiB())
	cm.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.Noon, "f:data/f:key-0")}
	b.SetBytes(10 << 10)
	b.ReportAllocs()
	for b.Loop() {
		content.NewConfigMap(cm)
	}
}

func BenchmarkNewConfigMapThatWasEdited(b *testing.B) {
	cm := objecttest.ConfigMap("web", tenKiB())
	var paths []string
	for name := range cm.Data {
		paths = append(paths, "f:data/f:"+name)
	}
	cm.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(60), paths...)}
	b.ReportAllocs()
	for b.Loop() {
		content.NewConfigMap(cm)
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
		content.NewSecret(secret)
	}
}

func BenchmarkChecksumOfASelection(b *testing.B) {
	config := content.NewConfigMap(objecttest.ConfigMap("web", tenKiB()))
	selections := []template.Selection{{Names: []string{"key-1", "key-5"}, DataOnly: true}, {Names: []string{"key-5", "key-9"}}}
	b.ReportAllocs()
	for b.Loop() {
		config.Checksum(selections, catalogtest.TestKey)
	}
}

// ofTenConfigs is a Deployment with ten references.
func ofTenConfigs() corev1.Container {
	container := corev1.Container{Name: "app"}
	for i := range 10 {
		container.EnvFrom = append(container.EnvFrom, objecttest.ReadsAll(fmt.Sprint("web-", i), false).EnvFrom...)
	}
	return container
}

func BenchmarkObserveConfigThatChanges(b *testing.B) {
	c := catalog.New()
	for i := range 100 {
		d := objecttest.Deployment(objecttest.ReadsAll("web", false))
		d.Name = fmt.Sprint("web-", i)
		c.ObserveWorkload(catalogtest.MustWorkload(d))
	}
	data := tenKiB()
	versions := []content.Config{content.NewConfigMap(objecttest.ConfigMap("web", data)), {}}
	data["key-5"] = "another"
	versions[1] = content.NewConfigMap(objecttest.ConfigMap("web", data))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if !c.ObserveConfig(versions[i%2], objecttest.Noon) {
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
		{"changed", Restart, objecttest.Data{"key-0": "another"}},
	} {
		b.Run(change.name, func(b *testing.B) {
			s := begin(objecttest.Deployment(ofTenConfigs()))
			s.listed()
			for i := range 10 {
				s.config(fmt.Sprint("web-", i), tenKiB(), 0)
			}
			s.recorded(10)
			s.config("web-5", change.data, 60)
			b.ReportAllocs()
			for b.Loop() {
				view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
				if decision := Decide(view); decision.Outcome != change.want {
					b.Fatal(decision.Outcome)
				}
			}
		})
	}
}

func BenchmarkNewDeploymentOf10References(b *testing.B) {
	d := objecttest.Deployment(ofTenConfigs())
	checksums := record.Checksums{}
	for i := range 10 {
		checksums[objecttest.ConfigMapRef(fmt.Sprint("web-", i))] = names.Checksum(i)
	}
	catalogtest.WriteRecord(d, checksums, objecttest.NoonPlus(10))
	b.ReportAllocs()
	for b.Loop() {
		if w, err := workload.NewWorkload(names.Deployment, catalogtest.PartsOf(d)); err != nil || !w.Record.Trusted {
			b.Fatal("the record is not trusted")
		}
	}
}

// What a controller that understands other tools spends on a workload that says nothing to them, and on one that does.
func BenchmarkUnderstandADeployment(b *testing.B) {
	for name, annotations := range map[string]map[string]string{
		"silent": {}, "named": {objecttest.ConfigMapNamed: "web-.*,app", objecttest.SecretNamed: "web"},
	} {
		parts := catalogtest.PartsOf(objecttest.Deployment(ofTenConfigs()))
		parts.Meta.Annotations = annotations
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := dialect.Understand(&catalogtest.Understanding, names.Deployment, *parts); (got.Understood.By == "reloader") != (name == "named") {
					b.Fatalf("%+v", got.Understood)
				}
			}
		})
	}
}

// The pods of one class were all rotated, and none of them is the workload's.
func BenchmarkDecideOnAClassOf10000RotatedPods(b *testing.B) {
	s := begin(objecttest.Deployment(objecttest.Mounts(corev1.VolumeMount{Name: "v"}), catalogtest.VolumeOfClass("db")))
	s.catalog.SetKey(catalogtest.TestKey)
	var before []content.CSIMount
	for i := range 10_000 {
		before = append(before, catalogtest.MountIn(types.UID(fmt.Sprint("pod-", i)), "v1"))
	}
	s.listMounts(1, before...)
	s.catalog.ObserveWorkload(s.reduced())
	s.recorded(2)
	for i := range before {
		s.mounted(catalogtest.MountIn(before[i].Pod, "v2"), 3)
	}
	pods := []Pod{{UID: "own", Created: objecttest.Noon, Started: []Start{{Container: "main", At: objecttest.Noon}}}}
	ref := s.reduced().Ref
	b.ReportAllocs()
	for b.Loop() {
		view, _ := s.catalog.View(ref)
		if d := Decide(view); d.Outcome != AskPods {
			b.Fatal(d)
		}
		if d := ByPods(view, pods); d.Outcome == Restart {
			b.Fatal(d)
		}
	}
}

// BenchmarkAnEventOfTheLargestConfigMap is what the watch does for an edit of one of 140,000 keys. Other configs wait for it.
func BenchmarkAnEventOfTheLargestConfigMap(b *testing.B) {
	var edits [2][]byte
	for i := range edits {
		content := objecttest.ManyKeys(140_000, "")
		content[objecttest.KeyNamed(7)] = string(rune('a' + i))
		encoded, err := objecttest.ConfigMap("large", content).Marshal()
		if err != nil {
			b.Fatal(err)
		}
		edits[i] = encoded
	}
	c := catalog.New()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		var cm corev1.ConfigMap
		if err := cm.Unmarshal(edits[i%2]); err != nil {
			b.Fatal(err)
		}
		c.ObserveConfig(content.NewConfigMap(&cm), objecttest.Noon)
	}
}
