package test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// A controller that watches ConfigMaps only does not need permission to read Secrets. What it
// records leaves them out, so that they are judged by the pods once they are watched, too.
func TestAControllerOfConfigMapsOnlyNeedsNoPermissionForSecrets(t *testing.T) {
	s := newSceneApart(t)
	s.make(settings, set("used", "v1"))
	s.make(credentials, set("used", "v1"))
	pod := podOf(envFrom(settings), envFrom(credentials))
	app := s.run("app", pod)
	manifests, _ := s.manifestsApart("rbac-namespaced.yaml")
	s.installApart(func(manifests []byte) []byte {
		for _, verb := range []string{"- get # read the key", "- update # create the key"} {
			manifests = bytes.ReplaceAll(manifests, []byte(verb), []byte("- none #"))
		}
		return bytes.ReplaceAll(manifests, []byte("[configmaps, secrets]"), []byte("[configmaps]"))
	})
	before := s.awaitRollout(app)
	controller, err := s.installation.StartController(t.Context(), "--namespace", s.namespace, "-r", "1", "-v", "1", "--configs=configmaps")
	s.must(err)
	s.controller = controller
	s.await("is recorded", app, func(st state) error {
		checksums, err := st.checksums()
		if err == nil && (len(checksums) != 1 || !strings.Contains(st.Annotations[checksumsAnnotation], "configmap/")) {
			err = errors.New("the record is not of the ConfigMap alone: " + st.Annotations[checksumsAnnotation])
		}
		return err
	})
	s.edit(credentials, set("used", "v2"))
	s.letTimePass() // the pods that come with the restart are surely younger than this edit
	s.edit(settings, set("used", "v2"))
	restarted := s.awaitRestart(app, before)
	s.awaitEvent(app, "Restarting", "restarting: configmap settings changed (keys: used)")
	for _, complaint := range []string{"forbidden", "missing permission", "checksum-key"} {
		if lines := controller.Log().Containing(complaint); len(lines) > 0 {
			t.Errorf("the log says %q", lines)
		}
	}
	s.must(controller.Stop())

	_, err = s.cluster.Apply(t.Context(), manifests)
	s.must(err)
	s.startController()
	s.await("has both in its record", app, func(st state) error {
		checksums, err := st.checksums()
		if err == nil && len(checksums) != 2 {
			err = errors.New("it has not")
		}
		return err
	})
	s.settle()
	s.requireWrites(app, restarted, 0, 1)
	s.edit(credentials, set("used", "v3"))
	s.awaitRestart(app, restarted)
}

func TestAControllerOfSecretsOnlyLeavesOthersAlone(t *testing.T) {
	s := newSceneApart(t)
	s.make(settings, set("used", "v1"))
	s.make(credentials, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings), envFrom(credentials)))
	controller := s.startController("--configs=secrets")
	before := s.started(app)
	s.edit(settings, set("used", "v2"))
	s.edit(credentials, set("used", "v2"))
	s.awaitRestart(app, before)
	s.awaitEvent(app, "Restarting", "restarting: secret credentials changed (1 key)")
	if _, body, err := controller.Get(t.Context(), "/readyz"); err != nil || strings.Contains(body, "watch configmaps") {
		t.Errorf("/readyz answers %s %v", body, err)
	}
}
