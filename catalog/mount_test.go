package catalog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

func classRef(name string) ConfigRef { return ConfigRef{SecretProviderClass, "ns", name} }

func volumeOfClass(class string) corev1.Volume {
	return corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
		Driver: secretsStoreDriver, VolumeAttributes: map[string]string{classAttribute: class},
	}}}
}

// statusMeta is the metadata of the status of a pod that mounts the class db since noon.
func statusMeta(pod types.UID) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "ns", Name: string(pod) + "-ns-db", CreationTimestamp: metav1.Time{Time: noon}, Generation: 1,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: string(pod), UID: pod}},
		ManagedFields:   []metav1.ManagedFieldsEntry{owns("driver", noon, "f:status/f:objects")},
	}
}

func versionsOf(versions []string) (objects []MountedObject) {
	for i, version := range versions {
		objects = append(objects, MountedObject{fmt.Sprintf("object-%d", i), version})
	}
	return objects
}

// mountIn is what a pod has mounted since noon.
func mountIn(pod types.UID, versions ...string) Mount {
	meta := statusMeta(pod)
	return NewMount(&meta, "db", versionsOf(versions))
}

// rotatedIn is what a pod has mounted since noon, and what was rotated some seconds later.
func rotatedIn(pod types.UID, seconds float64, versions ...string) Mount {
	meta := statusMeta(pod)
	meta.Generation, meta.ManagedFields[0].Time = 2, stamp(noonPlus(seconds).Truncate(time.Second))
	return NewMount(&meta, "db", versionsOf(versions))
}

// beginMounted is the story of a Deployment that mounts the class db, and of its pod a, whose status is listed a
// second after noon.
func beginMounted() *story {
	s := begin(deployment(mounts(corev1.VolumeMount{Name: "v"}), volumeOfClass("db")))
	s.catalog.SetKey(testKey)
	s.listMounts(1, mountIn("a", "v1"))
	s.catalog.ObserveWorkload(s.reduced())
	s.recorded(2)
	return s
}

func (s *story) listMounts(seconds float64, mounts ...Mount) (news []ConfigRef) {
	isFirst := len(s.catalog.mounts.listed) == 0
	s.catalog.ListMounts("", listOf(mounts...), noonPlus(seconds), isFirst, func(class ConfigRef) { news = append(news, class) })
	return news
}

func (s *story) mounted(m Mount, seconds float64) (isNews bool) {
	return s.catalog.ObserveMount(m, noonPlus(seconds))
}

// isReplaced lets another process take over that finds these mounts.
func (s *story) isReplaced(seconds float64, mounts ...Mount) {
	s.catalog = New()
	s.catalog.SetKey(testKey)
	s.listMounts(seconds, mounts...)
	listWorkloads(s.catalog, Deployment, "", listOf(s.reduced()), 0)
}

// startedIn is a pod whose container runs since some seconds after noon.
func startedIn(pod types.UID, seconds float64) Pod {
	return Pod{UID: pod, Mounted: noon, Started: []Start{{everyContainer, noonPlus(seconds)}}}
}

// outcome decides as the controller does.
func (s *story) outcome(pods ...Pod) Decision {
	view, _ := s.catalog.View(deploymentRef("web"))
	decision := Decide(view)
	if decision.Outcome == AskPods {
		decision = DecideByPods(view, pods)
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
	if !s.mounted(mountIn("a", "v2"), 100) {
		t.Error("the rotation is no news")
	}
	decision := s.outcome(startedIn("a", 1))
	want := []Cause{{Config: classRef("db"), Unnamed: true, Moments: []Sequence{s.catalog.Sequence()}}}
	if diff := cmp.Diff(want, decision.Causes); decision.Outcome != Restart || diff != "" {
		t.Errorf("the decision is to %s, and its causes are (-want +got):\n%s", decision.Outcome, diff)
	}
	s.requireOutcome(t, Keep, startedIn("b", 1))
	s.requireOutcome(t, Keep, startedIn("a", 103))
	s.requireOutcome(t, Restart, startedIn("a", 100.5)) // the clocks may differ
	s.requireOutcome(t, Keep, Pod{UID: "a", Mounted: noon})
}

func TestWhatIsNoRotation(t *testing.T) {
	reversed := statusMeta("a")
	again := statusMeta("a")
	again.OwnerReferences[0].UID, again.Generation, again.ManagedFields[0].Time = "a2", 2, stamp(noonPlus(100))
	for name, show := range map[string]func(s *story) bool{
		"a new pod with newer versions": func(s *story) bool { return s.mounted(mountIn("b", "v2", "w1"), 100) },
		"a pod that is gone":            func(s *story) bool { s.catalog.ForgetMount(mountIn("a")); return false },
		"another order": func(s *story) bool {
			objects := versionsOf([]string{"v1", "w1"})
			objects[0], objects[1] = objects[1], objects[0]
			return s.mounted(NewMount(&reversed, "db", objects), 100)
		},
		"a status without objects":                   func(s *story) bool { return s.mounted(mountIn("a"), 100) || s.mounted(mountIn("a", "v1", "w1"), 101) },
		"a pod of the same name":                     func(s *story) bool { return s.mounted(NewMount(&again, "db", versionsOf([]string{"v2"})), 100) },
		"a list that shows the same":                 func(s *story) bool { return len(s.listMounts(100, mountIn("a", "v1", "w1"))) > 0 },
		"a list without the pod":                     func(s *story) bool { return len(s.listMounts(100)) > 0 },
		"a write that changes something else":        func(s *story) bool { return s.mounted(rotatedIn("a", 100, "v1", "w1"), 100) },
		"a status that no longer says whose it is":   func(s *story) bool { m := mountIn("a", "v2"); m.Pod = ""; return s.mounted(m, 100) },
		"a status of the same name of another class": func(s *story) bool { return s.mounted(NewMount(&reversed, "other", versionsOf([]string{"v2"})), 100) },
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(deployment(mounts(corev1.VolumeMount{Name: "v"}), volumeOfClass("db")))
			s.listMounts(1, mountIn("a", "v1", "w1"))
			s.catalog.ObserveWorkload(s.reduced())
			s.recorded(2)
			if show(s) {
				t.Error("it is news")
			}
			s.requireOutcome(t, Keep, startedIn("a", 1), startedIn("a2", 1), startedIn("b", 1))
		})
	}
}

func TestVersionsThatComeBackAreThoseThatThePodHas(t *testing.T) {
	s := beginMounted()
	s.mounted(mountIn("a", "v2"), 100)
	if !s.mounted(mountIn("a", "v1"), 101) {
		t.Error("their return is no news")
	}
	s.requireOutcome(t, Keep, startedIn("a", 1))
}

func TestAContainerThatStartedBeforeTheVersionsCameBackHasTheOthers(t *testing.T) {
	s := beginMounted()
	s.mounted(mountIn("a", "v2"), 100)
	s.mounted(mountIn("a", "v3"), 200)
	s.mounted(mountIn("a", "v1"), 300)
	inPlace := func(seconds float64) Pod {
		pod := startedIn("a", 1)
		pod.Started = append(pod.Started, Start{everyContainer, noonPlus(seconds)})
		return pod
	}
	for seconds, want := range map[float64]Outcome{98: Keep, 99.5: Restart, 150: Restart, 250: Restart, 300.5: Restart, 302: Keep} {
		s.requireOutcome(t, want, inPlace(seconds))
		s.requireOutcome(t, want, startedIn("a", seconds))
	}
	s.requireOutcome(t, Keep, startedIn("b", 150))
	s.mounted(mountIn("a", "v2"), 400)
	s.requireOutcome(t, Restart, startedIn("a", 350))
	s.requireOutcome(t, Keep, startedIn("a", 450))
	s.mounted(mountIn("a", "v1"), 500)
	s.requireOutcome(t, Restart, inPlace(450))
	s.requireOutcome(t, Keep, inPlace(350))
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
	s := begin(deployment(mounts(corev1.VolumeMount{Name: "v"}), volumeOfClass("db")))
	s.catalog = New(ConfigMap, Secret)
	s.catalog.ObserveWorkload(s.reduced())
	s.recorded(2)
	s.requireOutcome(t, Keep)

	s.isReplaced(100, rotatedIn("a", 50, "v2"))
	s.requireOutcome(t, RecordOnly, startedIn("a", 1))
	s.recorded(102)
	s.requireOutcome(t, Keep, startedIn("a", 1))
	s.mounted(mountIn("a", "v3"), 103)
	s.requireOutcome(t, Restart, startedIn("a", 1))
}

func TestTurningItOffLeavesNothingInTheRecord(t *testing.T) {
	s := beginMounted()
	s.catalog = New(ConfigMap, Secret)
	listWorkloads(s.catalog, Deployment, "", listOf(s.reduced()), 0)
	s.requireOutcome(t, RecordOnly, startedIn("a", 1))
	s.recorded(10)
	if encoded := s.deployment.Annotations[ChecksumsAnnotation]; encoded != "{}" {
		t.Errorf("the record is %s", encoded)
	}
	s.isReplaced(100, rotatedIn("a", 50, "v2"))
	s.requireOutcome(t, RecordOnly, startedIn("a", 1))
}

// Neither versions nor anything that is made from them is recorded.
func TestTheRecordSaysOnlySinceWhenRotationsMatter(t *testing.T) {
	s := beginMounted()
	want := fmt.Sprintf(`{"secretproviderclass/ns/db":"%016x"}`, noonPlus(1).Unix())
	if got := s.deployment.Annotations[ChecksumsAnnotation]; got != want {
		t.Errorf("the record is %s, want %s", got, want)
	}
	if basis := s.deployment.Annotations[BasisAnnotation]; strings.Contains(basis, `"key"`) {
		t.Errorf("the basis names a key: %s", basis)
	}
}

func TestAnotherProcessFindsRotationsThatNobodySaw(t *testing.T) {
	s := beginMounted()
	s.isReplaced(200, rotatedIn("a", 100, "v2"))
	s.requireOutcome(t, Restart, startedIn("a", 1))
	s.requireOutcome(t, Keep, startedIn("b", 150)) // after the restart
	s.requireOutcome(t, Keep, startedIn("a", 101)) // the driver wrote the status as it mounted the volume
	s.isReplaced(200, mountIn("a", "v2"))
	s.requireOutcome(t, Keep, startedIn("a", 1))
	labeled := statusMeta("a")
	labeled.ManagedFields[0].Time = stamp(noonPlus(100))
	s.isReplaced(200, NewMount(&labeled, "db", versionsOf([]string{"v1"})))
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
	s := begin(deployment(mounts(corev1.VolumeMount{Name: "v"}), volumeOfClass("db")))
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
	s.catalog = New()
	listWorkloads(s.catalog, Deployment, "", listOf(s.reduced()), 0)
	s.requireOutcome(t, Keep)
	s.listMounts(200, rotatedIn("a", 100, "v2"))
	s.requireOutcome(t, Restart, startedIn("a", 1))
}

func TestARotationOutlastsTheRemovalOfTheRecord(t *testing.T) {
	for name, rotate := range map[string]func(s *story){
		"that a watch showed":     func(s *story) { s.mounted(mountIn("a", "v2"), 100) },
		"that nobody saw":         func(s *story) { s.isReplaced(200, rotatedIn("a", 100, "v2")) },
		"that a later list shows": func(s *story) { s.listMounts(200, rotatedIn("a", 100, "v2")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := beginMounted()
			rotate(s)
			delete(s.deployment.Annotations, BasisAnnotation)
			w := s.reduced()
			if w.Applied.Original != nil {
				t.Error("what is left seems to be a record of the original")
			}
			s.catalog.ObserveWorkload(w)
			delete(s.deployment.Annotations, ChecksumsAnnotation)
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
	d.ManagedFields[0] = owns("kubectl", noonPlus(150), annotationField(EnabledAnnotation))
	d.ManagedFields[1].Manager = "somebody"
	s.isReplaced(200, rotatedIn("a", 100, "v2"))
	s.requireOutcome(t, RecordOnly, startedIn("a", 1))
	s.isReplaced(300, rotatedIn("a", 250, "v2"))
	s.requireOutcome(t, Restart, startedIn("a", 1))
}

// The driver rotates the same versions into one pod after the other.
func TestARotationOfManyPodsIsOneContentOfTheClass(t *testing.T) {
	s := beginMounted()
	s.mounted(mountIn("b", "v1"), 3)
	before := s.catalog.ContentID(classRef("db"), nil)
	s.mounted(mountIn("a", "v2"), 100)
	rotated, edits := s.catalog.ContentID(classRef("db"), nil), s.catalog.Config(classRef("db")).Edits
	if !s.mounted(mountIn("b", "v2"), 160) {
		t.Error("the rotation of the second pod is no news")
	}
	if again := s.catalog.ContentID(classRef("db"), nil); before == rotated || again != rotated {
		t.Errorf("the ids are %s, %s and %s", before, rotated, again)
	}
	if diff := cmp.Diff(edits, s.catalog.Config(classRef("db")).Edits, cmp.AllowUnexported(Edit{})); diff != "" {
		t.Errorf("there is another edit:\n%s", diff)
	}
	if s.mounted(mountIn("c", "v9"), 200); s.catalog.ContentID(classRef("db"), nil) != rotated {
		t.Error("a new pod changes the content")
	}
	s.catalog.SetKey(ChecksumKey{})
	if id := s.catalog.ContentID(classRef("db"), nil); id != "" {
		t.Errorf("the id without a key is %s", id)
	}
}

// A halt of the content must outlast a takeover.
func TestAnotherProcessFindsTheSameContentOfTheClass(t *testing.T) {
	s := beginMounted()
	s.mounted(mountIn("b", "v1"), 3)
	s.mounted(mountIn("a", "v2"), 100)
	s.mounted(mountIn("b", "v3"), 150)
	want := s.catalog.ContentID(classRef("db"), nil)
	for _, mounts := range [][]Mount{
		{rotatedIn("a", 100, "v2"), rotatedIn("b", 150, "v3"), mountIn("c", "v4")},
		{mountIn("c", "v4"), rotatedIn("b", 150, "v3"), rotatedIn("a", 100, "v2")},
	} {
		s.isReplaced(200, mounts...)
		if got := s.catalog.ContentID(classRef("db"), nil); got != want {
			t.Errorf("the id is %s, want %s", got, want)
		}
	}
}

// Otherwise a slow start would count workloads that still have the earlier versions.
func TestOnlyWorkloadsThatRestartedForARotationRunWithIt(t *testing.T) {
	s := beginMounted()
	s.deployment.Status.Replicas = 1
	s.mounted(mountIn("a", "v2"), 100)
	moment := s.catalog.Sequence()
	spread := newSpread(s.catalog.Config(classRef("db")), moment, testKey, new(wholeChecksums))
	w := *s.present()
	if spread.hasReached(&w) {
		t.Error("it counts before its restart")
	}
	w.Applied.RestartedFor, w.Applied.Written = []Restarted{{Config: classRef("db")}}, noonPlus(101)
	if !spread.hasReached(&w) {
		t.Error("it does not count after its restart")
	}
	if s.catalog.MissedEdit(&w, classRef("db")) {
		t.Error("it seems to have missed an edit")
	}
}

func TestNothingIsKeptOfMountsAndClassesThatAreGone(t *testing.T) {
	s := beginMounted()
	s.mounted(mountIn("a", "v2"), 100)
	s.mounted(mountIn("b", "v2"), 101)
	s.catalog.ForgetMount(mountIn("a", "v2"))
	s.listMounts(200)
	if !s.catalog.HasConfig(classRef("db")) {
		t.Error("the class is gone, although a workload references it")
	}
	s.catalog.ForgetWorkload(deploymentRef("web"))
	configs, _ := s.catalog.Size()
	if m := s.catalog.mounts; configs+len(m.byName)+len(m.byClass)+len(m.readSince) != 0 {
		t.Errorf("%d configs are left, and %v", configs, m)
	}
	s.mounted(mountIn("a", "v1"), 300)
	s.catalog.ForgetMount(mountIn("a", "v1"))
	if configs, _ := s.catalog.Size(); configs != 0 {
		t.Errorf("%d configs are left", configs)
	}
}

func TestWhatAnyoneMayWriteIntoAStatusIsBounded(t *testing.T) {
	for name, change := range map[string]func(meta *metav1.ObjectMeta, class *string){
		"no class":          func(_ *metav1.ObjectMeta, class *string) { *class = "" },
		"a class elsewhere": func(_ *metav1.ObjectMeta, class *string) { *class = "other/db" },
		"no name":           func(_ *metav1.ObjectMeta, class *string) { *class = "db prod" },
		"a long class":      func(_ *metav1.ObjectMeta, class *string) { *class = strings.Repeat("x", 1000) },
		"a long UID": func(meta *metav1.ObjectMeta, _ *string) {
			meta.OwnerReferences[0].UID = types.UID(strings.Repeat("x", 1000))
		},
		"an owner that is no pod":    func(meta *metav1.ObjectMeta, _ *string) { meta.OwnerReferences[0].Kind = "Node" },
		"an owner of another group":  func(meta *metav1.ObjectMeta, _ *string) { meta.OwnerReferences[0].APIVersion = "example.com/v1" },
		"no owner":                   func(meta *metav1.ObjectMeta, _ *string) { meta.OwnerReferences = nil },
		"no owner and a long object": func(meta *metav1.ObjectMeta, class *string) { meta.OwnerReferences, *class = nil, "/" },
	} {
		t.Run(name, func(t *testing.T) {
			meta, class := statusMeta("a"), "db"
			change(&meta, &class)
			m := NewMount(&meta, class, versionsOf([]string{"v1"}))
			if m.Pod != "" || len(m.Class.Name) > longestName {
				t.Errorf("it is kept as %+v", m)
			}
		})
	}
	for _, class := range []string{"other/db", "db prod", "", strings.Repeat("x", 1000)} {
		if references, _ := referencesOf("ns", &corev1.PodSpec{
			Containers: []corev1.Container{mounts(corev1.VolumeMount{Name: "v"})}, Volumes: []corev1.Volume{volumeOfClass(class)},
		}, Filter{}); len(references) > 0 {
			t.Errorf("the class %.20q is referenced: %v", class, references)
		}
	}
}

func TestAForgedTimeInTheRecordOnlyHidesRotations(t *testing.T) {
	s := beginMounted()
	writeRecord(s.deployment, Checksums{classRef("db"): ^Checksum(0)}, noonPlus(101))
	s.isReplaced(200, rotatedIn("a", 100, "v2"))
	s.requireOutcome(t, Keep, startedIn("a", 1))
}

// In its first seconds, and in a dry run, a workload has no record.
func TestARotationThatAWatchShowsCountsWithoutARecord(t *testing.T) {
	s := begin(deployment(mounts(corev1.VolumeMount{Name: "v"}), volumeOfClass("db")))
	s.listMounts(1, mountIn("a", "v1"), mountIn("b", "v1"))
	s.mounted(mountIn("b", "v2"), 2)
	s.catalog.ObserveWorkload(s.reduced())
	s.requireOutcome(t, RecordOnly, startedIn("a", 1), startedIn("b", 1))
	s.mounted(mountIn("a", "v2"), 10)
	s.requireOutcome(t, Restart, startedIn("a", 1))
}

func TestFiltersApplyToClasses(t *testing.T) {
	for annotation, want := range map[string]Outcome{
		IgnoreAnnotation + "=secretproviderclass/*":    Keep,
		IgnoreAnnotation + "=secretproviderclass/d*":   Keep,
		IgnoreAnnotation + "=secretproviderclass/db:x": Restart, // cannot be used
		OnlyAnnotation + "=configmap/web":              Keep,
		OnlyAnnotation + "=secretproviderclass/db":     Restart,
		"reloader.stakater.com/search=true":            Keep, // nobody can mark a class
	} {
		t.Run(annotation, func(t *testing.T) {
			s := begin(deployment(mounts(corev1.VolumeMount{Name: "v"}), volumeOfClass("db")))
			name, value, _ := strings.Cut(annotation, "=")
			s.deployment.Annotations[name] = value
			s.listMounts(1, mountIn("a", "v1"))
			s.catalog.ObserveWorkload(s.reduced())
			s.recorded(2)
			s.mounted(mountIn("a", "v2"), 100)
			s.requireOutcome(t, want, startedIn("a", 1))
		})
	}
	if usable, problem := readEntries("secretproviderclass/db", entry.isOneConfig); usable != "" || problem == "" {
		t.Errorf("a class can be read through the API: %q (%s)", usable, problem)
	}
}

// Ignored rotations do not count later either.
func TestAClassThatCountsAgainRestartsNothing(t *testing.T) {
	s := beginMounted()
	s.deployment.Annotations[IgnoreAnnotation] = "secretproviderclass/db"
	s.catalog.ObserveWorkload(s.reduced())
	s.recorded(10)
	s.mounted(mountIn("a", "v2"), 100)
	delete(s.deployment.Annotations, IgnoreAnnotation)
	s.catalog.ObserveWorkload(s.reduced())
	s.requireOutcome(t, RecordOnly, startedIn("a", 1))
	s.recorded(110)
	s.requireOutcome(t, Keep, startedIn("a", 1))
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
				s.catalog.ForgetMount(mountIn(pod))
			case 1: // a gap, in which one pod was rotated
				var all []Mount
				if _, found := now[pod]; found {
					now[pod] = version
				}
				for name, version := range now {
					all = append(all, mountIn(name, version))
				}
				s.listMounts(seconds, all...)
			default:
				if now[pod] = version; first[pod] == "" {
					first[pod] = version
				}
				s.mounted(mountIn(pod, version), seconds)
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
