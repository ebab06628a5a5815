package test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

// killStorage ends the API server and etcd, and returns where etcd has its data.
func (s *scene) killStorage() (data string) {
	s.Helper()
	s.must(s.cluster.KillComponent(s.Context(), harness.APIServer))
	s.must(s.cluster.KillComponent(s.Context(), harness.Etcd))
	return filepath.Join(s.cluster.Directory(), "etcd")
}

// startStorage starts both again, and returns when the API server answers.
func (s *scene) startStorage() {
	s.Helper()
	s.must(s.cluster.StartComponent(s.Context(), harness.Etcd))
	s.must(s.cluster.StartComponent(s.Context(), harness.APIServer))
	s.eventually("the API server answers", func(ctx context.Context) error {
		_, err := s.client.CoreV1().Namespaces().Get(ctx, s.namespace, metav1.GetOptions{})
		return err
	})
}

// The API server shows no events to a watch that asks for versions that etcd does not have any more; see
// https://github.com/kubernetes/kubernetes/issues/107457.
func TestAnEditAfterEtcdWasRestoredFromABackupRestarts(t *testing.T) {
	s := newSceneOfItsOwn(t)
	s.startController()
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)))
	s.awaitRollout(app)
	s.awaitRecorded(app)

	backup := filepath.Join(t.TempDir(), "etcd")
	data := s.killStorage()
	s.must(os.CopyFS(backup, os.DirFS(data)))
	s.startStorage()
	for range 3000 { // as many versions are lost as the other components do not make in a minute
		_, err := s.client.CoreV1().ConfigMaps(s.namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "lost-"}}, metav1.CreateOptions{})
		s.must(err)
	}
	before := s.now(app)
	s.edit(settings, set("used", "v2"))
	lost := s.awaitRestart(app, before)

	s.killStorage()
	s.must(os.RemoveAll(data))
	s.must(os.CopyFS(data, os.DirFS(backup)))
	s.startStorage()
	restored := s.now(app)
	if restored.ResourceVersion >= lost.ResourceVersion && len(restored.ResourceVersion) == len(lost.ResourceVersion) {
		t.Fatalf("the version is %s, and was %s", restored.ResourceVersion, lost.ResourceVersion)
	}
	s.edit(settings, set("used", "v3"))
	s.await("is restarted", app, func(st state) error { // its pods need controllers that may have lost their place, too
		if st.restartedAt() == restored.restartedAt() || st.restartedAt() == lost.restartedAt() {
			return errors.New("the restart timestamp of the pod template has not changed")
		}
		return s.controller.Running()
	})
}
