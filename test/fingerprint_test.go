package test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"testing"

	"github.com/cespare/xxhash/v2"
	corev1 "k8s.io/api/core/v1"
)

var thirtyTwoDigits = regexp.MustCompile(`^[0-9a-f]{32}$`)

// earlierFingerprint is what versions before wrote into the basis to name a pod template.
func (s *scene) earlierFingerprint(template *corev1.PodTemplateSpec) string {
	s.Helper()
	bare := *template
	bare.Annotations = maps.Clone(template.Annotations)
	delete(bare.Annotations, timestampAnnotation)
	encoded, err := bare.Marshal()
	s.must(err)
	return fmt.Sprintf("%016x", xxhash.Sum64(encoded))
}

func (s *scene) basisOf(st state) map[string]any {
	s.Helper()
	var basis map[string]any
	s.must(json.Unmarshal([]byte(st.Annotations[basisAnnotation]), &basis))
	return basis
}

// recordAsBefore turns the record of a workload into one as versions before wrote it.
func (s *scene) recordAsBefore(w workload) {
	s.Helper()
	st := s.now(w)
	basis := s.basisOf(st)
	basis["template"] = s.earlierFingerprint(st.template)
	delete(basis, "timestamp")
	encoded, err := json.Marshal(basis)
	s.must(err)
	s.patchAs(controllerName, w, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, basisAnnotation, encoded))
}

// The API says that the configs were edited after the pods started; only the record
// shows that they are unchanged.
func TestARecordWithAnEarlierFingerprintCountsAndIsRewritten(t *testing.T) {
	s := newSceneApart(t)
	s.make(settings, set("used", "v1"))
	s.make(credentials, set("used", "v1"))
	pod := podOf(envFrom(settings), envFrom(credentials))
	u := &upgraded{s: s, before: map[workload]state{}}
	u.all = []workload{s.run("app", pod), s.runStateful("stateful", pod), s.runDaemons("daemons", pod)}
	controller := s.startController()
	for _, w := range u.all {
		s.started(w)
	}
	s.must(controller.Stop())
	for _, w := range u.all {
		s.recordAsBefore(w)
	}
	s.letTimePass()
	for _, c := range []config{settings, credentials} {
		s.edit(c, set("used", "v2"))
		s.edit(c, set("used", "v1"))
	}
	u.note()

	s.startController()
	for _, w := range u.all {
		s.await("has a record with a fingerprint of the present form", w, func(st state) error {
			if digits := s.basisOf(st)["template"]; !thirtyTwoDigits.MatchString(fmt.Sprint(digits)) {
				return fmt.Errorf("the fingerprint is %v", digits)
			}
			return nil
		})
	}
	s.settle()
	for _, w := range u.all {
		s.requireWrites(w, u.before[w], 0, 1)
		s.requireRevisions(w, 1)
	}
	s.edit(credentials, set("used", "v3"))
	for _, w := range u.all {
		s.awaitRestart(w, u.before[w])
	}
	s.settle()
	for _, w := range u.all {
		s.requireWrites(w, u.before[w], 1, 1)
	}
}
