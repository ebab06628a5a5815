package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// untimed leaves out when records were written.
var untimed = cmpopts.IgnoreFields(AppliedState{}, "Written")

func TestARecordIsTrustedOnlyIfAllThatItRestsOnHolds(t *testing.T) {
	checksums := Checksums{configMapRef("web"): 1, secretRef("tls"): 0xabc}
	trusted := AppliedState{Checksums: checksums, Trusted: true, Key: testKey.ID()}
	distrusted := trusted
	distrusted.Trusted = false
	reverted := func(revert Revert) AppliedState {
		record := trusted
		record.Reverted = &revert
		return record
	}
	byOriginal := AppliedState{Original: checksums}
	recorded := func() *appsv1.Deployment {
		d := deployment(corev1.Container{Name: "app", EnvFrom: append(readsAll("web", false).EnvFrom, readsSecret("tls").EnvFrom...)})
		writeRecord(d, checksums, noonPlus(10))
		return d
	}
	// brought does what a write of somebody else does that changes annotations.
	brought := func(d *appsv1.Deployment, names ...string) {
		d.ManagedFields = nil
		ours := []string{}
		theirs := []string{annotationField(EnabledAnnotation)}
		for _, name := range []string{ChecksumsAnnotation, BasisAnnotation} {
			if strings.Contains(strings.Join(names, " "), name) {
				theirs = append(theirs, annotationField(name))
			} else {
				ours = append(ours, annotationField(name))
			}
		}
		d.ManagedFields = []metav1.ManagedFieldsEntry{owns(FieldManager, noonPlus(10), ours...), owns("kubectl", noonPlus(20), theirs...)}
	}
	setBasis := func(d *appsv1.Deployment, change func(*basis)) {
		var b basis
		if err := json.Unmarshal([]byte(d.Annotations[BasisAnnotation]), &b); err != nil {
			panic(err)
		}
		change(&b)
		encoded, err := json.Marshal(b)
		if err != nil {
			panic(err)
		}
		d.Annotations[BasisAnnotation] = string(encoded)
	}
	for name, test := range map[string]struct {
		change func(*appsv1.Deployment)
		want   AppliedState
	}{
		"as written": {func(*appsv1.Deployment) {}, trusted},
		"after our own restart": {
			func(d *appsv1.Deployment) {
				setTimestamp(d, "2026-03-01T12:00:00.5Z")
				writeRecord(d, checksums, noonPlus(10))
			},
			trusted,
		},
		"after a restart that is not ours": {
			func(d *appsv1.Deployment) { setTimestamp(d, "2026-03-01T12:00:00.5Z") },
			reverted(Revert{Recorded: noonPlus(10), Later: true}),
		},
		"after our own restart was taken back": {
			func(d *appsv1.Deployment) {
				setTimestamp(d, "2026-03-01T12:00:00.5Z")
				writeRecord(d, checksums, noonPlus(10))
				setTimestamp(d, "")
			},
			reverted(Revert{Restart: "2026-03-01T12:00:00.5Z", Recorded: noonPlus(10)}),
		},
		"no checksums": {func(d *appsv1.Deployment) { delete(d.Annotations, ChecksumsAnnotation) }, AppliedState{}},
		"no basis, as the original controller wrote": {
			func(d *appsv1.Deployment) { delete(d.Annotations, BasisAnnotation) }, byOriginal,
		},
		"another scheme, which may write checksums as it likes": {
			func(d *appsv1.Deployment) {
				d.Annotations[ChecksumsAnnotation] = `{"configmap/ns/web":"md5:1"}`
				setBasis(d, func(b *basis) { b.Scheme = "xxh64-keys-v0" })
			}, AppliedState{},
		},
		"no basis, brought by an undo": {
			func(d *appsv1.Deployment) {
				delete(d.Annotations, BasisAnnotation)
				brought(d, ChecksumsAnnotation)
			}, AppliedState{},
		},
		"broken basis": {func(d *appsv1.Deployment) { d.Annotations[BasisAnnotation] = `{` }, byOriginal},
		"another scheme of this controller": {
			func(d *appsv1.Deployment) { setBasis(d, func(b *basis) { b.Scheme = "keyed-v3" }) }, AppliedState{},
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
			func(d *appsv1.Deployment) { brought(d, ChecksumsAnnotation, BasisAnnotation) }, distrusted,
		},
		"the basis brought by an undo, with checksums that are the same": {
			func(d *appsv1.Deployment) { brought(d, BasisAnnotation) }, distrusted,
		},
		"checksums of somebody else's making": {
			func(d *appsv1.Deployment) {
				d.Annotations[ChecksumsAnnotation] = `{"configmap/ns/web":"0000000000000002"}`
				brought(d, ChecksumsAnnotation)
			}, AppliedState{},
		},
		"a copied manifest": {
			func(d *appsv1.Deployment) {
				d.ManagedFields = []metav1.ManagedFieldsEntry{owns("kubectl-client-side-apply", noonPlus(20), annotationField(EnabledAnnotation),
					annotationField(ChecksumsAnnotation), annotationField(BasisAnnotation))}
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
				d.ManagedFields = append(d.ManagedFields, owns("argocd", noonPlus(20), annotationField(BasisAnnotation)))
			}, trusted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := recorded()
			test.change(d)
			if diff := cmp.Diff(test.want, mustWorkload(d).Applied, untimed); diff != "" {
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
		"no JSON":                          {"{", "", "parse " + ChecksumsAnnotation + ": not a JSON object of strings"},
		"no JSON, of the original":         {"{", "none", "parse " + ChecksumsAnnotation + ": not a JSON object of strings"},
		"numbers, of the original":         {`{"configmap/ns/a":1}`, "none", "parse " + ChecksumsAnnotation + ": not a JSON object of strings"},
		"no JSON, of another scheme":       {"[]", `{"scheme":"other"}`, "parse " + ChecksumsAnnotation + ": not a JSON object of strings"},
		"readable, of the original":        {`{"configmap/ns/a":"anything"}`, "none", ""},
		"an invalid name":                  {`{"pod/ns/a":"0000000000000001"}`, "", "parse " + ChecksumsAnnotation + `: "pod/ns/a" names no config`},
		"an invalid checksum":              {`{"configmap/ns/a":"xyz"}`, "", "parse " + ChecksumsAnnotation + ": configmap/ns/a: parse checksum: 3 bytes are not 16 hexadecimal digits"},
		"a checksum that is null":          {`{"configmap/ns/a":null}`, "", "parse " + ChecksumsAnnotation + ": configmap/ns/a: parse checksum: 0 bytes are not 16 hexadecimal digits"},
		"a name as long as an annotation":  {`{"` + strings.Repeat("x", 1000) + `":""}`, "", "parse " + ChecksumsAnnotation + `: "` + strings.Repeat("x", 100) + `" names no config`},
		"an empty annotation":              {"", "", "parse " + ChecksumsAnnotation + ": not a JSON object of strings"},
		"an empty annotation, no basis":    {"", "none", "parse " + ChecksumsAnnotation + ": not a JSON object of strings"},
		"no config at all, which is legal": {"{}", "none", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := deployment(readsAll("a", false))
			writeRecord(d, Checksums{}, noonPlus(10))
			d.Annotations[ChecksumsAnnotation] = test.checksums
			switch test.basis {
			case "":
			case "none":
				delete(d.Annotations, BasisAnnotation)
			default:
				d.Annotations[BasisAnnotation] = test.basis
			}
			if diff := cmp.Diff(AppliedState{Problem: test.want}, mustWorkload(d).Applied); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheAnnotationsHaveTheFormThatIsDocumented(t *testing.T) {
	checksums := Checksums{secretRef("two"): 0x6e79832c18c31594, configMapRef("one"): 0x189832cc316e7594}
	got, err := checksums.Annotations(Basis{
		Template: Fingerprint{0x1f}, Key: testKey, Written: noonPlus(0.123456789).In(time.FixedZone("CET", 3600)),
		Timestamp: "2026-03-01T12:00:00.1Z",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		ChecksumsAnnotation: `{"configmap/ns/one":"189832cc316e7594","secret/ns/two":"6e79832c18c31594"}`,
		BasisAnnotation: `{"scheme":"keyed-v2","key":"1c245def7ce7a116","template":"1f000000000000000000000000000000",` +
			`"checksums":"7480bee130b1ad0b","written":"2026-03-01T12:00:00.123456789Z","timestamp":"2026-03-01T12:00:00.1Z"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

func TestChecksumsThatDoNotFitAreLeftOut(t *testing.T) {
	all := Checksums{secretRef("s"): 4, configMapRef("b"): 2, configMapRef("a"): 1, configMapRef("cc"): 3}
	encoded := func(c Checksums) string {
		annotations, err := c.Annotations(Basis{Key: testKey})
		if err != nil {
			t.Fatal(err)
		}
		return annotations[ChecksumsAnnotation]
	}
	for room := range len(encoded(all)) + 10 {
		got := all.limitTo(room)
		if size := len(encoded(got)); len(got) > 0 && size > room+1 { // an entry counts with its comma, the last one has none
			t.Errorf("%d bytes with room for %d", size, room)
		}
		for i, ref := range []ConfigRef{configMapRef("a"), configMapRef("b"), configMapRef("cc"), secretRef("s")} {
			if _, found := got[ref]; found != (i < len(got)) {
				t.Errorf("room for %d: of the first %d configs, %s is there: %t", room, len(got), ref, found)
			}
		}
	}
	if got := all.limitTo(len(encoded(all))); len(got) != 4 {
		t.Errorf("%d are left though all fit", len(got))
	}
}

func TestTheOtherAnnotationsLeaveRoomForTheChecksums(t *testing.T) {
	meta := &metav1.ObjectMeta{Annotations: map[string]string{
		"note": strings.Repeat("x", 100_000), ChecksumsAnnotation: strings.Repeat("x", 100_000), BasisAnnotation: "x",
	}}
	if got, want := roomForChecksums(meta, Filter{}, Filter{}), 256*1024-8*1024-100_004; got != want {
		t.Errorf("room for %d bytes, want %d", got, want)
	}
}

// The API server gives a field to its writer only if its value changes.
func TestEachWriteOfTheSameRecordHasAnotherBasis(t *testing.T) {
	checksums := Checksums{configMapRef("web"): 1}
	first, err1 := checksums.Annotations(Basis{Template: Fingerprint{1}, Written: noon})
	second, err2 := checksums.Annotations(Basis{Template: Fingerprint{1}, Written: noon.Add(1)})
	if err1 != nil || err2 != nil || first[BasisAnnotation] == second[BasisAnnotation] {
		t.Errorf("both are %s (%v, %v)", first[BasisAnnotation], err1, err2)
	}
}

func someChecksums(t *rapid.T) Checksums {
	name := rapid.StringMatching(`[a-z0-9]([-.a-z0-9]{0,10}[a-z0-9])?`)
	ref := rapid.Custom(func(t *rapid.T) ConfigRef {
		return ConfigRef{rapid.SampledFrom([]ConfigKind{ConfigMap, Secret}).Draw(t, "kind"), name.Draw(t, "namespace"), name.Draw(t, "name")}
	})
	return rapid.MapOfN(ref, rapid.Map(rapid.Uint64(), func(n uint64) Checksum { return Checksum(n) }), 0, 5).Draw(t, "checksums")
}

// trustedRecord is what is read back of checksums that were written with testKey.
func trustedRecord(checksums Checksums) AppliedState {
	record := AppliedState{Checksums: checksums, Trusted: true}
	if len(checksums.public()) < len(checksums) {
		record.Key = testKey.ID()
	}
	return record
}

func TestARecordIsReadBackAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checksums := someChecksums(t)
		d := deployment(readsAll("web", false))
		writeRecord(d, checksums, noonPlus(10))
		if diff := cmp.Diff(trustedRecord(checksums), readRecord(&d.ObjectMeta, ownershipOf(&d.ObjectMeta), &d.Spec.Template, mustWorkload(d).Template), untimed); diff != "" {
			t.Fatalf("record (-want +got):\n%s", diff)
		}
	})
}

// manyChecksums returns n checksums of configs that are not referenced.
func manyChecksums(n int) Checksums {
	checksums := Checksums{}
	for i := range n {
		checksums[configMapRef(fmt.Sprint("other-", i))] = Checksum(i)
	}
	return checksums
}

// Anyone who may write to a workload can fill its annotations with an apparent record, even
// in our name. What the catalog keeps of it must not grow with it.
func TestOnlyReferencedConfigsOfARecordAreKept(t *testing.T) {
	const limit = 64 << 10
	long := strings.Repeat("x", 200<<10)
	basisOf := func(d *appsv1.Deployment, change func(*basis)) {
		var b basis
		if err := json.Unmarshal([]byte(d.Annotations[BasisAnnotation]), &b); err != nil {
			t.Fatal(err)
		}
		change(&b)
		encoded, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		d.Annotations[BasisAnnotation] = string(encoded)
	}
	entries := func(checksums Checksums) Checksums {
		checksums[configMapRef("web")] = 1
		return checksums
	}
	for name, write := range map[string]func(d *appsv1.Deployment){
		"a record of other configs": func(d *appsv1.Deployment) { writeRecord(d, entries(manyChecksums(5000)), noon) },
		"one of the original": func(d *appsv1.Deployment) {
			writeRecord(d, entries(manyChecksums(5000)), noon)
			delete(d.Annotations, BasisAnnotation)
		},
		"one of a config with a long name": func(d *appsv1.Deployment) { writeRecord(d, entries(Checksums{configMapRef(long): 1}), noon) },
		"one of a key with a long name": func(d *appsv1.Deployment) {
			writeRecord(d, entries(Checksums{}), noon)
			basisOf(d, func(b *basis) { b.Key = long })
		},
		"one with a long text for a checksum": func(d *appsv1.Deployment) { d.Annotations[ChecksumsAnnotation] = `{"configmap/ns/web":"` + long + `"}` },
		"the same of a long name, in our scheme": func(d *appsv1.Deployment) {
			writeRecord(d, entries(Checksums{}), noon)
			d.Annotations[ChecksumsAnnotation] = `{"configmap/ns/` + long + `":"1"}`
			basisOf(d, func(b *basis) { b.Checksums = checksumOf(d.Annotations[ChecksumsAnnotation]).String() })
		},
		"one that is no JSON": func(d *appsv1.Deployment) { d.Annotations[ChecksumsAnnotation] = long },
	} {
		d := deployment(readsAll("web", false))
		write(d)
		w, bytes := retained(func() Workload { return mustWorkload(d) })
		runtime.KeepAlive(d)
		if bytes > limit || len(w.Applied.Checksums) > 1 || len(w.Applied.Original) > 1 {
			t.Errorf("%s: %d bytes, record %.300v", name, bytes, w.Applied)
		}
	}
}

func TestARecordThatHasOtherConfigsTooIsReplaced(t *testing.T) {
	s := begin(deployment(readsAll("web", false)))
	s.listed(configMap("web", data{"a": "1"}))
	view, _ := s.catalog.View(deploymentRef("web"))
	checksums := Decide(view).Checksums
	checksums[configMapRef("other")] = 1
	writeRecord(s.deployment, checksums, noonPlus(10))
	s.catalog.ObserveWorkload(s.reduced())
	if got := s.decide(t); got.Outcome != RecordOnly {
		t.Errorf("decision %+v", got)
	}
	s.recorded(20)
	if got := s.decide(t); got.Outcome != Keep {
		t.Errorf("decision after that %+v", got)
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
			Annotations:   map[string]string{ChecksumsAnnotation: encoded, BasisAnnotation: encodedBasis},
			ManagedFields: []metav1.ManagedFieldsEntry{owns(FieldManager, noon, annotationField(ChecksumsAnnotation), annotationField(BasisAnnotation))},
		}
		record := readRecord(&meta, ownershipOf(&meta), noTemplate, Fingerprint{7})
		if record.Problem != "" && (record.Trusted || record.Checksums != nil) {
			t.Fatalf("a record with a problem is relied on: %+v", record)
		}
		checksums, err := parseChecksums(encoded)
		if err != nil {
			if record.Trusted {
				t.Fatalf("a record that cannot be parsed is trusted: %v", err)
			}
			return
		}
		meta.Annotations, err = checksums.Annotations(Basis{Template: Fingerprint{7}, Key: testKey, Written: noon})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(trustedRecord(checksums), readRecord(&meta, ownershipOf(&meta), noTemplate, Fingerprint{7}), untimed); diff != "" {
			t.Fatalf("record (-want +got):\n%s", diff)
		}
	})
}
