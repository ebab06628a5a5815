package decide

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
)

func classRef(name string) names.ConfigRef {
	return names.ConfigRef{Kind: names.SecretProviderClass, Namespace: "ns", Name: name}
}

// rotatedIn is what a pod has mounted since noon, and what was rotated some seconds later.
func rotatedIn(pod types.UID, seconds float64, versions ...string) content.CSIMount {
	meta := objecttest.StatusMeta(pod)
	meta.Generation, meta.ManagedFields[0].Time = 2, objecttest.Stamp(objecttest.NoonPlus(seconds).Truncate(time.Second))
	return content.NewCSIMount(&meta, "db", catalogtest.VersionsOf(versions))
}

// beginMounted is the story of a Deployment that mounts the class db, and of its pod a, whose status is listed a
// second after noon.
func beginMounted() *story {
	s := begin(objecttest.Deployment(objecttest.Mounts(corev1.VolumeMount{Name: "v"}), catalogtest.VolumeOfClass("db")))
	s.catalog.SetKey(catalogtest.TestKey)
	s.listMounts(1, catalogtest.MountIn("a", "v1"))
	s.catalog.ObserveWorkload(s.reduced())
	s.recorded(2)
	return s
}

func (s *story) listMounts(seconds float64, mounts ...content.CSIMount) (news []names.ConfigRef) {
	isFirst := s.mountsListed != s.catalog
	s.mountsListed = s.catalog
	s.catalog.ListMounts("", objecttest.ListOf(mounts...), objecttest.NoonPlus(seconds), isFirst, func(class names.ConfigRef) { news = append(news, class) })
	return news
}

func (s *story) mounted(m content.CSIMount, seconds float64) (isNews bool) {
	return s.catalog.ObserveMount(m, objecttest.NoonPlus(seconds))
}

// isReplaced lets another process take over that finds these mounts.
func (s *story) isReplaced(seconds float64, mounts ...content.CSIMount) {
	s.catalog = catalog.New()
	s.catalog.SetKey(catalogtest.TestKey)
	s.listMounts(seconds, mounts...)
	listWorkloads(s.catalog, names.Deployment, "", objecttest.ListOf(s.reduced()), 0)
}

// startedIn is a pod whose container runs since some seconds after noon.
func startedIn(pod types.UID, seconds float64) Pod {
	return Pod{UID: pod, Mounted: objecttest.Noon, Started: []Start{{names.EveryContainer, objecttest.NoonPlus(seconds)}}}
}

// outcome decides as the controller does.
func (s *story) outcome(pods ...Pod) Decision {
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	decision := Decide(view)
	if decision.Outcome == AskPods {
		decision = ByPods(view, pods)
	}
	return decision
}

func (s *story) requireOutcome(t *testing.T, want Outcome, pods ...Pod) {
	t.Helper()
	if got := s.outcome(pods...); got.Outcome != want {
		t.Errorf("the decision is to %s (%s), want %s", got.Outcome, got.Reason, want)
	}
}

func TestFilesThatAreRotatedInARunningPodRestartItsWorkload(t *testing.T) {
	s := beginMounted()
	s.requireOutcome(t, Keep, startedIn("a", 1))
	if !s.mounted(catalogtest.MountIn("a", "v2"), 100) {
		t.Error("the rotation is no news")
	}
	decision := s.outcome(startedIn("a", 1))
	want := []Cause{{Config: classRef("db"), Unnamed: true, Moments: []names.Sequence{s.catalog.Sequence()}}}
	if diff := cmp.Diff(want, decision.Causes); decision.Outcome != Restart || diff != "" {
		t.Errorf("the decision is to %s, and its causes are (-want +got):\n%s", decision.Outcome, diff)
	}
	s.requireOutcome(t, Keep, startedIn("b", 1))
	s.requireOutcome(t, Keep, startedIn("a", 103))
	s.requireOutcome(t, Restart, startedIn("a", 100.5)) // the clocks may differ
	s.requireOutcome(t, Keep, Pod{UID: "a", Mounted: objecttest.Noon})
}

func TestWhatIsNoRotation(t *testing.T) {
	reversed := objecttest.StatusMeta("a")
	again := objecttest.StatusMeta("a")
	again.OwnerReferences[0].UID, again.Generation, again.ManagedFields[0].Time = "a2", 2, objecttest.Stamp(objecttest.NoonPlus(100))
	for name, show := range map[string]func(s *story) bool{
		"a new pod with newer versions": func(s *story) bool { return s.mounted(catalogtest.MountIn("b", "v2", "w1"), 100) },
		"a pod that is gone":            func(s *story) bool { s.catalog.ForgetMount(catalogtest.MountIn("a")); return false },
		"another order": func(s *story) bool {
			objects := catalogtest.VersionsOf([]string{"v1", "w1"})
			objects[0], objects[1] = objects[1], objects[0]
			return s.mounted(content.NewCSIMount(&reversed, "db", objects), 100)
		},
		"a status without objects": func(s *story) bool {
			return s.mounted(catalogtest.MountIn("a"), 100) || s.mounted(catalogtest.MountIn("a", "v1", "w1"), 101)
		},
		"a pod of the same name": func(s *story) bool {
			return s.mounted(content.NewCSIMount(&again, "db", catalogtest.VersionsOf([]string{"v2"})), 100)
		},
		"a list that shows the same":               func(s *story) bool { return len(s.listMounts(100, catalogtest.MountIn("a", "v1", "w1"))) > 0 },
		"a list without the pod":                   func(s *story) bool { return len(s.listMounts(100)) > 0 },
		"a write that changes something else":      func(s *story) bool { return s.mounted(rotatedIn("a", 100, "v1", "w1"), 100) },
		"a status that no longer says whose it is": func(s *story) bool { m := catalogtest.MountIn("a", "v2"); m.Pod = ""; return s.mounted(m, 100) },
		"a status of the same name of another class": func(s *story) bool {
			return s.mounted(content.NewCSIMount(&reversed, "other", catalogtest.VersionsOf([]string{"v2"})), 100)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(objecttest.Deployment(objecttest.Mounts(corev1.VolumeMount{Name: "v"}), catalogtest.VolumeOfClass("db")))
			s.listMounts(1, catalogtest.MountIn("a", "v1", "w1"))
			s.catalog.ObserveWorkload(s.reduced())
			s.recorded(2)
			if show(s) {
				t.Error("it is news")
			}
			s.requireOutcome(t, Keep, startedIn("a", 1), startedIn("a2", 1), startedIn("b", 1))
		})
	}
}

func TestVersionsThatCameBackInAGapAreDatedByTheirStatus(t *testing.T) {
	s := beginMounted()
	s.listMounts(150, rotatedIn("a", 100, "v2"))
	s.listMounts(350, rotatedIn("a", 300, "v1"))
	for seconds, want := range map[float64]Outcome{100.5: Restart, 200: Restart, 302: Keep} {
		s.requireOutcome(t, want, startedIn("a", seconds))
	}
}

func TestTurningItOnOnlyRecords(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.Mounts(corev1.VolumeMount{Name: "v"}), catalogtest.VolumeOfClass("db")))
	s.catalog = catalog.New(names.ConfigMap, names.Secret)
	s.catalog.ObserveWorkload(s.reduced())
	s.recorded(2)
	s.requireOutcome(t, Keep)

	s.isReplaced(100, rotatedIn("a", 50, "v2"))
	s.requireOutcome(t, RecordOnly, startedIn("a", 1))
	s.recorded(102)
	s.requireOutcome(t, Keep, startedIn("a", 1))
	s.mounted(catalogtest.MountIn("a", "v3"), 103)
	s.requireOutcome(t, Restart, startedIn("a", 1))
}

func TestTurningItOffLeavesNothingInTheRecord(t *testing.T) {
	s := beginMounted()
	s.catalog = catalog.New(names.ConfigMap, names.Secret)
	listWorkloads(s.catalog, names.Deployment, "", objecttest.ListOf(s.reduced()), 0)
	s.requireOutcome(t, RecordOnly, startedIn("a", 1))
	s.recorded(10)
	if encoded := s.deployment.Annotations[annotation.ChecksumsAnnotation]; encoded != "{}" {
		t.Errorf("the record is %s", encoded)
	}
	s.isReplaced(100, rotatedIn("a", 50, "v2"))
	s.requireOutcome(t, RecordOnly, startedIn("a", 1))
}

// Neither versions nor anything that is made from them is recorded.
func TestTheRecordSaysOnlySinceWhenRotationsMatter(t *testing.T) {
	s := beginMounted()
	want := fmt.Sprintf(`{"secretproviderclass/ns/db":"%016x"}`, objecttest.NoonPlus(1).Unix())
	if got := s.deployment.Annotations[annotation.ChecksumsAnnotation]; got != want {
		t.Errorf("the record is %s, want %s", got, want)
	}
	if basis := s.deployment.Annotations[annotation.BasisAnnotation]; strings.Contains(basis, `"key"`) {
		t.Errorf("the basis names a key: %s", basis)
	}
}

func TestAnotherProcessFindsRotationsThatNobodySaw(t *testing.T) {
	s := beginMounted()
	s.isReplaced(200, rotatedIn("a", 100, "v2"))
	s.requireOutcome(t, Restart, startedIn("a", 1))
	s.requireOutcome(t, Keep, startedIn("b", 150)) // after the restart
	s.requireOutcome(t, Keep, startedIn("a", 101)) // the driver wrote the status as it mounted the volume
	s.isReplaced(200, catalogtest.MountIn("a", "v2"))
	s.requireOutcome(t, Keep, startedIn("a", 1))
	labeled := objecttest.StatusMeta("a")
	labeled.ManagedFields[0].Time = objecttest.Stamp(objecttest.NoonPlus(100))
	s.isReplaced(200, content.NewCSIMount(&labeled, "db", catalogtest.VersionsOf([]string{"v1"})))
	s.requireOutcome(t, Keep, startedIn("a", 1))
}

func TestARotationInAGapIsFound(t *testing.T) {
	s := beginMounted()
	if news := s.listMounts(200, rotatedIn("a", 100, "v2")); len(news) != 1 {
		t.Errorf("the news are %v", news)
	}
	s.requireOutcome(t, Restart, startedIn("a", 1))
	s.requireOutcome(t, Keep, startedIn("a", 150))
	s.listMounts(300, rotatedIn("a", 100, "v2"), rotatedIn("b", 250, "v2")) // a pod that came and was rotated
	s.requireOutcome(t, Restart, startedIn("b", 210))
}

// A list long after the start shows since when rotations matter, so workloads are recorded then.
func TestADriverThatIsInstalledLateIsNews(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.Mounts(corev1.VolumeMount{Name: "v"}), catalogtest.VolumeOfClass("db")))
	s.catalog.ObserveWorkload(s.reduced())
	s.recorded(2)
	s.requireOutcome(t, Keep)
	if news := s.listMounts(50); len(news) != 1 || news[0] != classRef("db") {
		t.Errorf("the news are %v", news)
	}
	s.requireOutcome(t, RecordOnly)
}

// While nothing is known of the mounts, records keep what they say.
func TestWithoutAListRecordsKeepSinceWhenRotationsMatter(t *testing.T) {
	s := beginMounted()
	s.catalog = catalog.New()
	listWorkloads(s.catalog, names.Deployment, "", objecttest.ListOf(s.reduced()), 0)
	s.requireOutcome(t, Keep)
	s.listMounts(200, rotatedIn("a", 100, "v2"))
	s.requireOutcome(t, Restart, startedIn("a", 1))
}

func TestARotationOutlastsTheRemovalOfTheRecord(t *testing.T) {
	for name, rotate := range map[string]func(s *story){
		"that a watch showed":     func(s *story) { s.mounted(catalogtest.MountIn("a", "v2"), 100) },
		"that nobody saw":         func(s *story) { s.isReplaced(200, rotatedIn("a", 100, "v2")) },
		"that a later list shows": func(s *story) { s.listMounts(200, rotatedIn("a", 100, "v2")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := beginMounted()
			rotate(s)
			delete(s.deployment.Annotations, annotation.BasisAnnotation)
			w := s.reduced()
			if w.Record.Original != nil {
				t.Error("what is left seems to be a record of the original")
			}
			s.catalog.ObserveWorkload(w)
			delete(s.deployment.Annotations, annotation.ChecksumsAnnotation)
			s.catalog.ObserveWorkload(s.reduced())
			s.requireOutcome(t, Restart, startedIn("a", 1))
		})
	}
}

func TestARotationOutlastsAnotherPodTemplate(t *testing.T) {
	s := beginMounted()
	s.deployment.Spec.Template.Labels["other"] = "label"
	s.isReplaced(200, rotatedIn("a", 100, "v2"))
	s.requireOutcome(t, Restart, startedIn("a", 1))
	s.requireOutcome(t, RecordOnly, startedIn("b", 50))
}

// The record of a workload that opts in again is from before that.
func TestARotationFromBeforeTheOptInDoesNotCountWithoutATrustedRecord(t *testing.T) {
	s := beginMounted()
	d := s.deployment
	d.ManagedFields[0] = objecttest.Owns("kubectl", objecttest.NoonPlus(150), objecttest.AnnotationField(annotation.EnabledAnnotation))
	d.ManagedFields[1].Manager = "somebody"
	s.isReplaced(200, rotatedIn("a", 100, "v2"))
	s.requireOutcome(t, RecordOnly, startedIn("a", 1))
	s.isReplaced(300, rotatedIn("a", 250, "v2"))
	s.requireOutcome(t, Restart, startedIn("a", 1))
}

// The driver rotates the same versions into one pod after the other.
func TestARotationOfManyPodsIsOneContentOfTheClass(t *testing.T) {
	s := beginMounted()
	s.mounted(catalogtest.MountIn("b", "v1"), 3)
	before := s.catalog.ContentID(classRef("db"), nil)
	s.mounted(catalogtest.MountIn("a", "v2"), 100)
	rotated, edits := s.catalog.ContentID(classRef("db"), nil), s.catalog.Config(classRef("db")).Edits
	if !s.mounted(catalogtest.MountIn("b", "v2"), 160) {
		t.Error("the rotation of the second pod is no news")
	}
	if again := s.catalog.ContentID(classRef("db"), nil); before == rotated || again != rotated {
		t.Errorf("the ids are %s, %s and %s", before, rotated, again)
	}
	if diff := cmp.Diff(edits, s.catalog.Config(classRef("db")).Edits, cmp.AllowUnexported(annotation.Edit{})); diff != "" {
		t.Errorf("there is another edit:\n%s", diff)
	}
	if s.mounted(catalogtest.MountIn("c", "v9"), 200); s.catalog.ContentID(classRef("db"), nil) != rotated {
		t.Error("a new pod changes the content")
	}
	s.catalog.SetKey(content.ChecksumKey{})
	if id := s.catalog.ContentID(classRef("db"), nil); id != "" {
		t.Errorf("the id without a key is %s", id)
	}
}

// A halt of the content must outlast a takeover.
func TestAnotherProcessFindsTheSameContentOfTheClass(t *testing.T) {
	s := beginMounted()
	s.mounted(catalogtest.MountIn("b", "v1"), 3)
	s.mounted(catalogtest.MountIn("a", "v2"), 100)
	s.mounted(catalogtest.MountIn("b", "v3"), 150)
	want := s.catalog.ContentID(classRef("db"), nil)
	for _, mounts := range [][]content.CSIMount{
		{rotatedIn("a", 100, "v2"), rotatedIn("b", 150, "v3"), catalogtest.MountIn("c", "v4")},
		{catalogtest.MountIn("c", "v4"), rotatedIn("b", 150, "v3"), rotatedIn("a", 100, "v2")},
	} {
		s.isReplaced(200, mounts...)
		if got := s.catalog.ContentID(classRef("db"), nil); got != want {
			t.Errorf("the id is %s, want %s", got, want)
		}
	}
}

func TestAForgedTimeInTheRecordOnlyHidesRotations(t *testing.T) {
	s := beginMounted()
	catalogtest.WriteRecord(s.deployment, record.Checksums{classRef("db"): ^names.Checksum(0)}, objecttest.NoonPlus(101))
	s.isReplaced(200, rotatedIn("a", 100, "v2"))
	s.requireOutcome(t, Keep, startedIn("a", 1))
}

// In its first seconds, and in a dry run, a workload has no record.
func TestARotationThatAWatchShowsCountsWithoutARecord(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.Mounts(corev1.VolumeMount{Name: "v"}), catalogtest.VolumeOfClass("db")))
	s.listMounts(1, catalogtest.MountIn("a", "v1"), catalogtest.MountIn("b", "v1"))
	s.mounted(catalogtest.MountIn("b", "v2"), 2)
	s.catalog.ObserveWorkload(s.reduced())
	s.requireOutcome(t, RecordOnly, startedIn("a", 1), startedIn("b", 1))
	s.mounted(catalogtest.MountIn("a", "v2"), 10)
	s.requireOutcome(t, Restart, startedIn("a", 1))
}

func TestFiltersApplyToClasses(t *testing.T) {
	for annotation, want := range map[string]Outcome{
		annotation.IgnoreAnnotation + "=secretproviderclass/*":    Keep,
		annotation.IgnoreAnnotation + "=secretproviderclass/d*":   Keep,
		annotation.IgnoreAnnotation + "=secretproviderclass/db:x": Restart, // cannot be used
		annotation.OnlyAnnotation + "=configmap/web":              Keep,
		annotation.OnlyAnnotation + "=secretproviderclass/db":     Restart,
		"reloader.stakater.com/search=true":                       Keep, // nobody can mark a class
	} {
		t.Run(annotation, func(t *testing.T) {
			s := begin(objecttest.Deployment(objecttest.Mounts(corev1.VolumeMount{Name: "v"}), catalogtest.VolumeOfClass("db")))
			name, value, _ := strings.Cut(annotation, "=")
			s.deployment.Annotations[name] = value
			s.listMounts(1, catalogtest.MountIn("a", "v1"))
			s.catalog.ObserveWorkload(s.reduced())
			s.recorded(2)
			s.mounted(catalogtest.MountIn("a", "v2"), 100)
			s.requireOutcome(t, want, startedIn("a", 1))
		})
	}
	if usable, problem := template.ReadEntries("secretproviderclass/db", template.Entry.IsOneConfig); usable != "" || problem == "" {
		t.Errorf("a class can be read through the API: %q (%s)", usable, problem)
	}
}

// Whatever happens, a workload restarts if, and only if, one of its pods has other versions than it started with.
func TestPodsAreJudgedByTheirOwnVersions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, names := beginMounted(), []types.UID{"a", "b", "c"}
		first, now := map[types.UID]string{"a": "v1"}, map[types.UID]string{"a": "v1"}
		for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
			seconds := float64(10 + 10*step)
			pod := rapid.SampledFrom(names).Draw(t, "pod")
			version := rapid.SampledFrom([]string{"v1", "v2", "v3"}).Draw(t, "version")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				delete(first, pod)
				delete(now, pod)
				s.catalog.ForgetMount(catalogtest.MountIn(pod))
			case 1: // a gap, in which one pod was rotated
				var all []content.CSIMount
				if _, found := now[pod]; found {
					now[pod] = version
				}
				for name, version := range now {
					all = append(all, catalogtest.MountIn(name, version))
				}
				s.listMounts(seconds, all...)
			default:
				if now[pod] = version; first[pod] == "" {
					first[pod] = version
				}
				s.mounted(catalogtest.MountIn(pod, version), seconds)
			}
			for _, name := range names {
				want := Keep
				if now[name] != first[name] {
					want = Restart
				}
				if got := s.outcome(startedIn(name, 3)); got.Outcome != want {
					t.Fatalf("the decision about pod %s is to %s, want %s: it has %s, and began with %s", name, got.Outcome, want, now[name], first[name])
				}
			}
		}
	})
}
