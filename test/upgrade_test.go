package test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// recordAsOriginal writes a record onto a workload as the original controller does,
// under its field manager's name.
func (s *scene) recordAsOriginal(w workload, contents map[config]map[string]string) {
	s.Helper()
	s.patchAs(controllerName, w, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, checksumsAnnotation, s.originalRecord(contents)))
}

func (s *scene) originalRecord(contents map[config]map[string]string) string {
	s.Helper()
	entries := map[string]string{}
	for c, data := range contents {
		entries[c.key(s.namespace)] = originalDigest(c, data)
	}
	encoded, err := json.Marshal(entries)
	s.must(err)
	return string(encoded)
}

var (
	v1 = map[string]string{"used": "v1"}
	v2 = map[string]string{"used": "v2"}
)

// upgraded are workloads of all kinds that the original controller ran before.
type upgraded struct {
	s      *scene
	all    []workload
	before map[workload]state
}

// runWithOriginal starts workloads that read both configs, and records contents for
// them as the original does.
func (s *scene) runWithOriginal(contents map[config]map[string]string) *upgraded {
	s.Helper()
	s.make(settings, set("used", "v1"))
	s.make(credentials, set("used", "v1"))
	pod := podOf(envFrom(settings), envFrom(credentials))
	u := &upgraded{s: s, before: map[workload]state{}}
	u.all = []workload{s.run("app", pod), s.runStateful("stateful", pod), s.runDaemons("daemons", pod)}
	for _, w := range u.all {
		s.awaitRollout(w)
	}
	s.letTimePass()
	for _, w := range u.all {
		s.recordAsOriginal(w, contents)
	}
	s.letTimePass()
	return u
}

// note remembers the workloads as they are.
func (u *upgraded) note() {
	u.s.Helper()
	for _, w := range u.all {
		u.before[w] = u.s.awaitRollout(w)
	}
}

// awaitKeyed waits until all workloads are recorded in the present scheme.
func (u *upgraded) awaitKeyed() {
	u.s.Helper()
	for _, w := range u.all {
		u.s.await("has a record of the present scheme", w, func(st state) error {
			basis := st.Annotations[basisAnnotation]
			if !strings.Contains(basis, `"scheme":"keyed-v2"`) {
				return fmt.Errorf("the basis is %q", basis)
			}
			return nil
		})
	}
}

// The API says that the configs were edited after the pods started; only the record
// of the original shows that they are unchanged.
func TestAnUpgradeFromTheOriginalRestartsNothingIfTheContentIsTheSame(t *testing.T) {
	s := newSceneApart(t)
	u := s.runWithOriginal(map[config]map[string]string{settings: v1, credentials: v1})
	for _, c := range []config{settings, credentials} {
		s.edit(c, set("used", "v2"))
		s.edit(c, set("used", "v1"))
	}
	u.note()
	s.startController()
	u.awaitKeyed()
	s.settle()
	for _, w := range u.all {
		s.requireWrites(w, u.before[w], 0, 1)
		s.requireRevisions(w, 1)
	}
	s.edit(credentials, set("used", "v3"))
	for _, w := range u.all {
		s.awaitRestart(w, u.before[w])
	}
}

// The original did not look at volumes of a Secret, so nothing of it is in its record.
func TestAnUpgradeFromTheOriginalRestartsNothingForASecretThatItDidNotLookAt(t *testing.T) {
	s := newSceneApart(t)
	s.make(settings, set("used", "v1"))
	certificate := secret("certificate")
	s.make(certificate, set("tls.crt", "v1"))
	app := s.run("app", withVolumes(podOf(envFrom(settings), mount("files")), volumeOf("files", certificate)))
	s.awaitRollout(app)
	s.letTimePass()
	s.recordAsOriginal(app, map[config]map[string]string{settings: v1})
	s.edit(certificate, set("tls.crt", "v2"))
	s.letTimePass()
	u := &upgraded{s: s, all: []workload{app}, before: map[workload]state{}}
	u.note()
	s.startController()
	u.awaitKeyed()
	s.settle()
	s.requireWrites(app, u.before[app], 0, 1)
	s.requireRevisions(app, 1)
	before := s.now(app)
	s.edit(certificate, set("tls.crt", "v3")) // this controller does
	s.awaitRestart(app, before)
}

func TestAnUpgradeFromTheOriginalRestartsOnceIfTheContentIsAnother(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		recorded map[config]map[string]string
		edit     func(*scene)
		causes   string
	}{
		"of a ConfigMap": {
			map[config]map[string]string{settings: v1, credentials: v1},
			func(s *scene) { s.edit(settings, set("used", "v2")) },
			"configmap settings changed (keys unknown)",
		},
		"of a Secret": {
			map[config]map[string]string{settings: v1, credentials: v1},
			func(s *scene) { s.edit(credentials, set("used", "v2")) },
			"secret credentials changed (keys unknown)",
		},
		"for a key that is gone, which the API does not show": {
			map[config]map[string]string{settings: {"used": "v1", "gone": "v1"}, credentials: v1},
			func(*scene) {},
			"configmap settings changed (keys unknown)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSceneApart(t)
			u := s.runWithOriginal(test.recorded)
			test.edit(s)
			u.note()
			s.startController()
			for _, w := range u.all {
				s.awaitRestart(w, u.before[w])
				s.awaitRestartEvent(w, "restarting: "+test.causes)
			}
			u.awaitKeyed()
			s.settle()
			for _, w := range u.all {
				s.requireWrites(w, u.before[w], 1, 0)
			}
		})
	}
}

func TestADryRunComparesWithTheRecordOfTheOriginal(t *testing.T) {
	s := newSceneApart(t)
	u := s.runWithOriginal(map[config]map[string]string{settings: v1, credentials: v1})
	same := s.run("same", podOf(envFrom(settings)))
	s.awaitRollout(same)
	s.edit(settings, set("used", "v2"))
	s.recordAsOriginal(same, map[config]map[string]string{settings: v2})
	u.note()
	controller := s.startController("--dry-run")
	for _, w := range u.all {
		s.awaitEvent(w, "WouldRestart", "would restart: configmap settings changed (keys unknown)")
	}
	s.eventually("the controller is idle", controller.Idle)
	s.awaitMetric("decisions_total", map[string]string{"outcome": "record"}, 2) // the same content, and the marker
	for _, w := range u.all {
		s.requireWrites(w, u.before[w], 0, 0)
	}
}

// The original comes back for a while: it does not know the basis, and leaves it.
func TestAfterADowngradeTheOriginalsRecordCountsAgain(t *testing.T) {
	s := newSceneApart(t)
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)))
	controller := s.startController()
	s.started(app)
	s.must(controller.Stop())
	s.recordAsOriginal(app, map[config]map[string]string{settings: v1})
	s.letTimePass()
	s.edit(settings, set("used", "v2"))
	s.edit(settings, set("used", "v1"))
	before := s.now(app)
	s.startController()
	s.await("is recorded", app, func(st state) error {
		if st.Annotations[checksumsAnnotation] == before.Annotations[checksumsAnnotation] {
			return errors.New("the record is that of the original")
		}
		return nil
	})
	s.settle()
	s.requireWrites(app, before, 0, 1)
}
