package record_test

import (
	"encoding/json"
	"maps"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// untimed leaves out when records were written.
var untimed = cmpopts.IgnoreFields(record.Record{}, "Written")

// checksumOfText is how a basis names an annotation.
func checksumOfText(annotation string) string {
	return names.Checksum(xxhash.Sum64String(annotation)).String()
}

// roomy leaves out what the other annotations leave room for.
var roomy = cmpopts.IgnoreFields(record.Record{}, "Room")

func TestARecordIsTrustedOnlyIfAllThatItRestsOnHolds(t *testing.T) {
	checksums := record.Checksums{objecttest.ConfigMapRef("web"): 1, objecttest.SecretRef("tls"): 0xabc}
	trusted := record.Record{Checksums: checksums, Trusted: true, Key: catalogtest.TestKey.ID()}
	distrusted := trusted
	distrusted.Trusted = false
	reverted := func(revert record.Revert) record.Record {
		record := trusted
		record.Reverted = &revert
		return record
	}
	byOriginal := record.Record{Original: checksums}
	recorded := func() *appsv1.Deployment {
		d := objecttest.Deployment(corev1.Container{Name: "app", EnvFrom: append(objecttest.ReadsAll("web", false).EnvFrom, objecttest.ReadsSecret("tls").EnvFrom...)})
		catalogtest.WriteRecord(d, checksums, objecttest.NoonPlus(10))
		return d
	}
	// brought does what a write of somebody else does that changes annotations.
	brought := func(d *appsv1.Deployment, names ...string) {
		d.ManagedFields = nil
		ours := []string{}
		theirs := []string{objecttest.AnnotationField(annotation.EnabledAnnotation)}
		for _, name := range []string{annotation.ChecksumsAnnotation, annotation.BasisAnnotation} {
			if strings.Contains(strings.Join(names, " "), name) {
				theirs = append(theirs, objecttest.AnnotationField(name))
			} else {
				ours = append(ours, objecttest.AnnotationField(name))
			}
		}
		d.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns(annotation.FieldManager, objecttest.NoonPlus(10), ours...), objecttest.Owns("kubectl", objecttest.NoonPlus(20), theirs...)}
	}
	setBasis := func(d *appsv1.Deployment, change func(b map[string]any)) {
		var b map[string]any
		if err := json.Unmarshal([]byte(d.Annotations[annotation.BasisAnnotation]), &b); err != nil {
			panic(err)
		}
		change(b)
		encoded, err := json.Marshal(b)
		if err != nil {
			panic(err)
		}
		d.Annotations[annotation.BasisAnnotation] = string(encoded)
	}
	for name, test := range map[string]struct {
		change func(*appsv1.Deployment)
		want   record.Record
	}{
		"as written": {func(*appsv1.Deployment) {}, trusted},
		"after our own restart": {
			func(d *appsv1.Deployment) {
				objecttest.SetTimestamp(d, "2026-03-01T12:00:00.5Z")
				catalogtest.WriteRecord(d, checksums, objecttest.NoonPlus(10))
			},
			trusted,
		},
		"after a restart that is not ours": {
			func(d *appsv1.Deployment) { objecttest.SetTimestamp(d, "2026-03-01T12:00:00.5Z") },
			reverted(record.Revert{Recorded: objecttest.NoonPlus(10), Later: true}),
		},
		"after our own restart was taken back": {
			func(d *appsv1.Deployment) {
				objecttest.SetTimestamp(d, "2026-03-01T12:00:00.5Z")
				catalogtest.WriteRecord(d, checksums, objecttest.NoonPlus(10))
				objecttest.SetTimestamp(d, "")
			},
			reverted(record.Revert{Restart: "2026-03-01T12:00:00.5Z", Recorded: objecttest.NoonPlus(10)}),
		},
		"no checksums": {func(d *appsv1.Deployment) { delete(d.Annotations, annotation.ChecksumsAnnotation) }, record.Record{}},
		"no basis, as the original controller wrote": {
			func(d *appsv1.Deployment) { delete(d.Annotations, annotation.BasisAnnotation) }, byOriginal,
		},
		"another scheme, which may write checksums as it likes": {
			func(d *appsv1.Deployment) {
				d.Annotations[annotation.ChecksumsAnnotation] = `{"configmap/ns/web":"md5:1"}`
				setBasis(d, func(b map[string]any) { b["scheme"] = "xxh64-keys-v0" })
			}, record.Record{},
		},
		"no basis, brought by an undo": {
			func(d *appsv1.Deployment) {
				delete(d.Annotations, annotation.BasisAnnotation)
				brought(d, annotation.ChecksumsAnnotation)
			}, record.Record{},
		},
		"broken basis": {func(d *appsv1.Deployment) { d.Annotations[annotation.BasisAnnotation] = `{` }, byOriginal},
		"another scheme of this controller": {
			func(d *appsv1.Deployment) { setBasis(d, func(b map[string]any) { b["scheme"] = "keyed-v3" }) }, record.Record{},
		},
		"another template": {
			func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "web:2" }, distrusted,
		},
		"another restart than ours": {
			func(d *appsv1.Deployment) {
				d.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "2026-03-01T12:00:00Z"}
			}, distrusted,
		},
		"the whole record brought by an undo": {
			func(d *appsv1.Deployment) { brought(d, annotation.ChecksumsAnnotation, annotation.BasisAnnotation) }, distrusted,
		},
		"the basis brought by an undo, with checksums that are the same": {
			func(d *appsv1.Deployment) { brought(d, annotation.BasisAnnotation) }, distrusted,
		},
		"checksums of somebody else's making": {
			func(d *appsv1.Deployment) {
				d.Annotations[annotation.ChecksumsAnnotation] = `{"configmap/ns/web":"0000000000000002"}`
				brought(d, annotation.ChecksumsAnnotation)
			}, record.Record{},
		},
		"a copied manifest": {
			func(d *appsv1.Deployment) {
				d.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl-client-side-apply", objecttest.NoonPlus(20), objecttest.AnnotationField(annotation.EnabledAnnotation),
					objecttest.AnnotationField(annotation.ChecksumsAnnotation), objecttest.AnnotationField(annotation.BasisAnnotation))}
			}, distrusted,
		},
		"applied in our name": {
			func(d *appsv1.Deployment) {
				d.ManagedFields[1].Operation = metav1.ManagedFieldsOperationApply
			}, distrusted,
		},
		"managed fields that were wiped": {func(d *appsv1.Deployment) { d.ManagedFields = nil }, distrusted},
		"owned by us and by somebody who applies the same": {
			func(d *appsv1.Deployment) {
				d.ManagedFields = append(d.ManagedFields, objecttest.Owns("argocd", objecttest.NoonPlus(20), objecttest.AnnotationField(annotation.BasisAnnotation)))
			}, trusted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := recorded()
			test.change(d)
			if diff := cmp.Diff(test.want, catalogtest.MustWorkload(d).Record, untimed, roomy); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnUnreadableRecordIsAProblem(t *testing.T) {
	for name, test := range map[string]struct {
		checksums string
		basis     string // empty: ours
		want      string
	}{
		"no JSON":                          {"{", "", "parse " + annotation.ChecksumsAnnotation + ": not a JSON object of strings"},
		"no JSON, of the original":         {"{", "none", "parse " + annotation.ChecksumsAnnotation + ": not a JSON object of strings"},
		"numbers, of the original":         {`{"configmap/ns/a":1}`, "none", "parse " + annotation.ChecksumsAnnotation + ": not a JSON object of strings"},
		"no JSON, of another scheme":       {"[]", `{"scheme":"other"}`, "parse " + annotation.ChecksumsAnnotation + ": not a JSON object of strings"},
		"readable, of the original":        {`{"configmap/ns/a":"anything"}`, "none", ""},
		"an invalid name":                  {`{"pod/ns/a":"0000000000000001"}`, "", "parse " + annotation.ChecksumsAnnotation + `: "pod/ns/a" names no config`},
		"an invalid checksum":              {`{"configmap/ns/a":"xyz"}`, "", "parse " + annotation.ChecksumsAnnotation + ": configmap/ns/a: parse checksum: 3 bytes are not 16 hexadecimal digits"},
		"a checksum that is null":          {`{"configmap/ns/a":null}`, "", "parse " + annotation.ChecksumsAnnotation + ": configmap/ns/a: parse checksum: 0 bytes are not 16 hexadecimal digits"},
		"a name as long as an annotation":  {`{"` + strings.Repeat("x", 1000) + `":""}`, "", "parse " + annotation.ChecksumsAnnotation + `: "` + strings.Repeat("x", 100) + `" names no config`},
		"an empty annotation":              {"", "", "parse " + annotation.ChecksumsAnnotation + ": not a JSON object of strings"},
		"an empty annotation, no basis":    {"", "none", "parse " + annotation.ChecksumsAnnotation + ": not a JSON object of strings"},
		"no config at all, which is legal": {"{}", "none", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := objecttest.Deployment(objecttest.ReadsAll("a", false))
			catalogtest.WriteRecord(d, record.Checksums{}, objecttest.NoonPlus(10))
			d.Annotations[annotation.ChecksumsAnnotation] = test.checksums
			switch test.basis {
			case "":
			case "none":
				delete(d.Annotations, annotation.BasisAnnotation)
			default:
				d.Annotations[annotation.BasisAnnotation] = test.basis
			}
			if diff := cmp.Diff(record.Record{Problem: test.want}, catalogtest.MustWorkload(d).Record, roomy); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheAnnotationsHaveTheFormThatIsDocumented(t *testing.T) {
	checksums := record.Checksums{objecttest.SecretRef("two"): 0x6e79832c18c31594, objecttest.ConfigMapRef("one"): 0x189832cc316e7594}
	got, err := checksums.Annotations(record.Basis{
		Template: record.Fingerprint{0x1f}, Key: catalogtest.TestKey, Written: objecttest.NoonPlus(0.123456789).In(time.FixedZone("CET", 3600)),
		Timestamp: "2026-03-01T12:00:00.1Z",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		annotation.ChecksumsAnnotation: `{"configmap/ns/one":"189832cc316e7594","secret/ns/two":"6e79832c18c31594"}`,
		annotation.BasisAnnotation: `{"scheme":"keyed-v2","key":"1c245def7ce7a116","template":"1f000000000000000000000000000000",` +
			`"checksums":"7480bee130b1ad0b","written":"2026-03-01T12:00:00.123456789Z","timestamp":"2026-03-01T12:00:00.1Z"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

func TestChecksumsThatDoNotFitAreLeftOut(t *testing.T) {
	all := record.Checksums{objecttest.SecretRef("s"): 4, objecttest.ConfigMapRef("b"): 2, objecttest.ConfigMapRef("a"): 1, objecttest.ConfigMapRef("cc"): 3}
	encoded := func(c record.Checksums) string {
		annotations, err := c.Annotations(record.Basis{Key: catalogtest.TestKey})
		if err != nil {
			t.Fatal(err)
		}
		return annotations[annotation.ChecksumsAnnotation]
	}
	for room := range len(encoded(all)) + 10 {
		got := all.LimitTo(room)
		if size := len(encoded(got)); len(got) > 0 && size > room+1 { // an entry counts with its comma, the last one has none
			t.Errorf("%d bytes with room for %d", size, room)
		}
		for i, ref := range []names.ConfigRef{objecttest.ConfigMapRef("a"), objecttest.ConfigMapRef("b"), objecttest.ConfigMapRef("cc"), objecttest.SecretRef("s")} {
			if _, found := got[ref]; found != (i < len(got)) {
				t.Errorf("room for %d: of the first %d configs, %s is there: %t", room, len(got), ref, found)
			}
		}
	}
	if got := all.LimitTo(len(encoded(all))); len(got) != 4 {
		t.Errorf("%d are left though all fit", len(got))
	}
}

func someChecksums(t *rapid.T) record.Checksums {
	name := rapid.StringMatching(`[a-z0-9]([-.a-z0-9]{0,10}[a-z0-9])?`)
	ref := rapid.Custom(func(t *rapid.T) names.ConfigRef {
		return names.ConfigRef{Kind: rapid.SampledFrom([]names.ConfigKind{names.ConfigMap, names.Secret}).Draw(t, "kind"), Namespace: name.Draw(t, "namespace"), Name: name.Draw(t, "name")}
	})
	return rapid.MapOfN(ref, rapid.Map(rapid.Uint64(), func(n uint64) names.Checksum { return names.Checksum(n) }), 0, 5).Draw(t, "checksums")
}

// trustedRecord is what is read back of checksums that were written with TestKey.
func trustedRecord(checksums record.Checksums) record.Record {
	record := record.Record{Checksums: checksums, Trusted: true}
	if len(checksums.Public()) < len(checksums) {
		record.Key = catalogtest.TestKey.ID()
	}
	return record
}

func TestARecordIsReadBackAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checksums := someChecksums(t)
		d := objecttest.Deployment(objecttest.ReadsAll("web", false))
		catalogtest.WriteRecord(d, checksums, objecttest.NoonPlus(10))
		if diff := cmp.Diff(trustedRecord(checksums), catalogtest.First(record.ReadRecord(&d.ObjectMeta, annotation.OwnershipOf(&d.ObjectMeta), &d.Spec.Template, catalogtest.MustWorkload(d).Template)), untimed); diff != "" {
			t.Fatalf("record (-want +got):\n%s", diff)
		}
	})
}

// Anyone who may write to a workload can fill its annotations with an apparent record, even
// in our name. What the catalog keeps of it must not grow with it.
func TestOnlyReferencedConfigsOfARecordAreKept(t *testing.T) {
	const limit = 64 << 10
	long := strings.Repeat("x", 200<<10)
	basisOf := func(d *appsv1.Deployment, change func(b map[string]any)) {
		var b map[string]any
		if err := json.Unmarshal([]byte(d.Annotations[annotation.BasisAnnotation]), &b); err != nil {
			t.Fatal(err)
		}
		change(b)
		encoded, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		d.Annotations[annotation.BasisAnnotation] = string(encoded)
	}
	entries := func(checksums record.Checksums) record.Checksums {
		checksums[objecttest.ConfigMapRef("web")] = 1
		return checksums
	}
	for name, write := range map[string]func(d *appsv1.Deployment){
		"a record of other configs": func(d *appsv1.Deployment) {
			catalogtest.WriteRecord(d, entries(catalogtest.ManyChecksums(5000)), objecttest.Noon)
		},
		"one of the original": func(d *appsv1.Deployment) {
			catalogtest.WriteRecord(d, entries(catalogtest.ManyChecksums(5000)), objecttest.Noon)
			delete(d.Annotations, annotation.BasisAnnotation)
		},
		"one of a config with a long name": func(d *appsv1.Deployment) {
			catalogtest.WriteRecord(d, entries(record.Checksums{objecttest.ConfigMapRef(long): 1}), objecttest.Noon)
		},
		"one of a key with a long name": func(d *appsv1.Deployment) {
			catalogtest.WriteRecord(d, entries(record.Checksums{}), objecttest.Noon)
			basisOf(d, func(b map[string]any) { b["key"] = long })
		},
		"one with a long text for a checksum": func(d *appsv1.Deployment) {
			d.Annotations[annotation.ChecksumsAnnotation] = `{"configmap/ns/web":"` + long + `"}`
		},
		"the same of a long name, in our scheme": func(d *appsv1.Deployment) {
			catalogtest.WriteRecord(d, entries(record.Checksums{}), objecttest.Noon)
			d.Annotations[annotation.ChecksumsAnnotation] = `{"configmap/ns/` + long + `":"1"}`
			basisOf(d, func(b map[string]any) {
				b["checksums"] = checksumOfText(d.Annotations[annotation.ChecksumsAnnotation])
			})
		},
		"one that is no JSON": func(d *appsv1.Deployment) { d.Annotations[annotation.ChecksumsAnnotation] = long },
	} {
		d := objecttest.Deployment(objecttest.ReadsAll("web", false))
		write(d)
		w, bytes := objecttest.Retained(func() workload.Workload { return catalogtest.MustWorkload(d) })
		runtime.KeepAlive(d)
		if bytes > limit || len(w.Record.Checksums) > 1 || len(w.Record.Original) > 1 {
			t.Errorf("%s: %d bytes, record %.300v", name, bytes, w.Record)
		}
	}
}

func TestEqualChecksumsAreTheSameOfTheSameConfigs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := someChecksums(t)
		if !a.Equal(maps.Clone(a)) {
			t.Fatal("not equal to its copy")
		}
		for ref, checksum := range a {
			other := maps.Clone(a)
			other[ref] = checksum + 1
			if a.Equal(other) {
				t.Fatalf("equal although %s differs", ref)
			}
			delete(other, ref)
			if a.Equal(other) || other.Equal(a) {
				t.Fatalf("equal although %s is missing", ref)
			}
		}
	})
}

func FuzzARecordOfAnyFormIsRepairedByTheNextWrite(f *testing.F) {
	const ours = `{"scheme":"keyed-v2","template":"07000000000000000000000000000000"}`
	f.Add(`{"configmap/ns/web":"189832cc316e7594"}`, ours)
	f.Add(`{"configmap/ns/web":"189832cc316e7594","configmap/ns/web":"189832cc316e7595"}`, ours)
	f.Add(`null`, ours)
	f.Add(`{"configmap/ns/web":null}`, ours)
	f.Add(`{"":""}`, `{}`)
	f.Add(``, ``)
	f.Fuzz(func(t *testing.T, encoded, encodedBasis string) {
		meta := metav1.ObjectMeta{
			Annotations:   map[string]string{annotation.ChecksumsAnnotation: encoded, annotation.BasisAnnotation: encodedBasis},
			ManagedFields: []metav1.ManagedFieldsEntry{objecttest.Owns(annotation.FieldManager, objecttest.Noon, objecttest.AnnotationField(annotation.ChecksumsAnnotation), objecttest.AnnotationField(annotation.BasisAnnotation))},
		}
		applied, _ := record.ReadRecord(&meta, annotation.OwnershipOf(&meta), objecttest.NoTemplate, record.Fingerprint{7})
		if applied.Problem != "" && (applied.Trusted || applied.Checksums != nil) {
			t.Fatalf("a record with a problem is relied on: %+v", applied)
		}
		checksums, err := record.ParseChecksums(encoded)
		if err != nil {
			if applied.Trusted {
				t.Fatalf("a record that cannot be parsed is trusted: %v", err)
			}
			return
		}
		meta.Annotations, err = checksums.Annotations(record.Basis{Template: record.Fingerprint{7}, Key: catalogtest.TestKey, Written: objecttest.Noon})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(trustedRecord(checksums), catalogtest.First(record.ReadRecord(&meta, annotation.OwnershipOf(&meta), objecttest.NoTemplate, record.Fingerprint{7})), untimed); diff != "" {
			t.Fatalf("record (-want +got):\n%s", diff)
		}
	})
}
