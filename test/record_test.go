package test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
)

var (
	sixteenDigits   = regexp.MustCompile(`^[0-9a-f]{16}$`)
	thirtyTwoDigits = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

func (s *scene) basisOf(st state) map[string]any {
	s.Helper()
	var basis map[string]any
	s.must(json.Unmarshal([]byte(st.Annotations[basisAnnotation]), &basis))
	return basis
}

func TestTheRecordHoldsTheChecksumOfEachConfigAndWhatItRestsOn(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("used", "v1"))
	s.make(credentials, set("used", "v1"))
	app := s.run("app", podOf(envFrom(credentials), envFrom(settings)))
	st := s.started(app)

	checksums, err := st.checksums()
	s.must(err)
	want := []string{"configmap/" + s.namespace + "/settings", "secret/" + s.namespace + "/credentials"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(checksums))); diff != "" {
		t.Errorf("recorded configs (-want +got):\n%s", diff)
	}
	for name, checksum := range checksums {
		if !sixteenDigits.MatchString(checksum) {
			t.Errorf("checksum of %s: %q, want 16 hexadecimal digits", name, checksum)
		}
	}
	sorted, err := json.Marshal(checksums)
	s.must(err)
	if got := st.Annotations[checksumsAnnotation]; got != string(sorted) {
		t.Errorf("the annotation is not compact JSON with sorted keys: %s", got)
	}
	requireBasis(t, st, "keyed-v2")
}

func requireBasis(t *testing.T, st state, scheme string) {
	t.Helper()
	var basis map[string]string
	if err := json.Unmarshal([]byte(st.Annotations[basisAnnotation]), &basis); err != nil {
		t.Fatalf("basis %q: %v", st.Annotations[basisAnnotation], err)
	}
	if basis["scheme"] != scheme || !sixteenDigits.MatchString(basis["key"]) || !thirtyTwoDigits.MatchString(basis["template"]) {
		t.Errorf("basis is %v, want the scheme, the id of the key and the fingerprint of the template", basis)
	}
}

func TestARestartChangesNothingButTheRecordTheTimestampAndTheCause(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)), func(d *appsv1.Deployment) {
		d.Annotations["owner"] = "somebody"
		d.Labels = map[string]string{"team": "red"}
		d.Spec.Template.Annotations = map[string]string{"note": "kept"}
	})
	before := s.started(app)
	s.edit(settings, set("used", "v2"))
	after := s.awaitRestart(app, before)

	if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}Z$`).MatchString(after.restartedAt()) {
		t.Errorf("the timestamp is %q, want RFC 3339 with nanoseconds in UTC", after.restartedAt())
	}
	s.requireNewRecord(before, after, settings)
	if basis := after.Annotations[basisAnnotation]; !strings.Contains(basis, `"for":{"configmap/settings":["used"]}`) {
		t.Errorf("the basis does not say what the restart was for: %s", basis)
	}
	if owner := managerOf(after, "f:"+checksumsAnnotation); owner != controllerName {
		t.Errorf("the checksums annotation is managed by %q, want %q", owner, controllerName)
	}
	want := *before.spec.(*appsv1.DeploymentSpec).DeepCopy()
	want.Template.Annotations[timestampAnnotation] = after.restartedAt()
	want.Template.Annotations[causeAnnotation] = "configmap/settings: used"
	if diff := cmp.Diff(&want, after.spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before.Labels, after.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	// The deployment controller numbers the revisions.
	changing := []string{checksumsAnnotation, basisAnnotation, "deployment.kubernetes.io/revision"}
	if diff := cmp.Diff(without(before.Annotations, changing...), without(after.Annotations, changing...)); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

func without(annotations map[string]string, names ...string) map[string]string {
	rest := maps.Clone(annotations)
	for _, name := range names {
		delete(rest, name)
	}
	return rest
}

// managerOf returns who manages a field, as in "f:name".
func managerOf(st state, field string) string {
	for _, entry := range st.ManagedFields {
		if entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `"`+field+`"`) {
			return entry.Manager
		}
	}
	return ""
}

func TestAConfigThatIsCreatedEditedAndThenUsedRestartsNothing(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("used", "v1"))
	s.edit(settings, set("used", "v2"))
	app := s.run("app", podOf(envFrom(settings)))
	s.started(app)
	s.settle()
	s.requireRevisions(app, 1)
	s.started(app)
}

func TestAConfigThatIsEditedAndThenReferencedByARunningWorkloadRestartsNothing(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf())
	s.awaitRollout(app)
	s.edit(settings, set("used", "v2"))
	s.patch(app, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"example/main:1",`+
		`"envFrom":[{"configMapRef":{"name":"settings"}}]}]}}}}`)
	s.awaitRecordAbout(app, settings, nil)
	before := s.started(app)
	s.settle()
	s.requireRestarts(app, before, 0)
	s.requireRevisions(app, 2)
}

func TestAWorkloadThatIsEditedInItsFirstMomentsIsRestartedOnceWithTheLastContent(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)), withGrace("1h"))
	before := s.awaitRollout(app)
	s.edit(settings, set("used", "v2"))
	s.edit(settings, set("used", "v3"))
	s.endGrace(app)
	s.awaitRestart(app, before)
	s.settle()
	s.requireRevisions(app, 2)
	s.requireRecordOfPresentContent(app, settings)
}

// requireRecordOfPresentContent compares the record of a workload with that of a
// twin that starts now, and so with what the config holds now. The workload and
// the twin must read the config in the same way: all of it by envFrom.
func (s *scene) requireRecordOfPresentContent(w workload, c config) {
	s.Helper()
	twin := s.run("twin-of-"+w.name, podOf(envFrom(c)))
	want, err := s.started(twin).checksums()
	s.must(err)
	got, err := s.now(w).checksums()
	s.must(err)
	if key := c.key(s.namespace); got[key] != want[key] {
		s.Fatalf("%s has the checksum %s of %s recorded, the present content has %s", w.name, got[key], key, want[key])
	}
}

func TestAnUnreadableRecordIsRepairedWithAWarning(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"not JSON":        "{",
		"another type":    `{"configmap/x/y":7}`,
		"no such config":  `{"somewhere":"0123456789abcdef"}`,
		"not a checksum":  `{"configmap/x/y":"many"}`,
		"an empty string": "",
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.make(settings, set("used", "v1"))
			app := s.run("app", podOf(envFrom(settings)))
			before := s.started(app)

			patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, checksumsAnnotation, value)
			s.patch(app, patch)
			s.awaitRecordOf(app, before)
			s.settle()
			s.requireWrites(app, before, 0, 2) // the test's and the controller's
			if lines := s.controller.Log().Containing("level=WARN", "deployment/"+s.namespace+"/app"); len(lines) == 0 {
				t.Error("no warning in the log names the workload")
			}
		})
	}
}

func TestARecordThatSomebodyElseWroteIsNotTrusted(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)))
	before := s.started(app)

	// As a manifest does that was copied together with its annotations.
	other := fmt.Sprintf(`{%q:"0123456789abcdef"}`, settings.key(s.namespace))
	s.annotate(app, checksumsAnnotation, other)
	s.awaitRecordOf(app, before)
	s.settle()
	s.requireWrites(app, before, 0, 2) // the test's and the controller's
}

// awaitRecordOf waits until a workload has the record that it had before.
func (s *scene) awaitRecordOf(w workload, before state) {
	s.Helper()
	s.await("has its record again", w, func(st state) error {
		if diff := cmp.Diff(before.Annotations[checksumsAnnotation], st.Annotations[checksumsAnnotation]); diff != "" {
			return fmt.Errorf("record (-before +after):\n%s", diff)
		}
		return nil
	})
}

func TestHelmReleasesAreNotWatched(t *testing.T) {
	s := newSceneApart(t)
	s.startController()
	count := s.metric("configs_total", nil)
	s.makeHelmRelease("release")
	s.make(settings, set("used", "v1"))
	s.awaitMetric("configs_total", nil, count+1)
	s.settle()
	s.awaitMetric("configs_total", nil, count+1)
	s.delete(settings)
	s.awaitMetric("configs_total", nil, count)
}
