package test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Each replace removes all that the controller has written. The first one after a restart
// brings back the former template, and so other pods; further ones change nothing but the record.
// A write that only removes something leaves no trace, so the Event names nobody.
func TestReplacesRevertARestartOnceAndCauseNoOthers(t *testing.T) {
	create, replace := kubectlSyncer("create"), kubectlSyncer("replace")
	s, app, started := newSyncedScene(t, create)
	edit := commit{"v2", "1", none}
	replace(s, edit)
	restarted := s.awaitRestart(app, started)
	s.awaitIdle()

	s.letTimePass()
	replace(s, edit)
	s.awaitEvent(app, "RestartReverted", "its timestamp is gone from the pod template. No pod from before it")
	s.awaitRecorded(app)
	replaced := s.awaitRollout(app)
	pods := s.awaitPods(app, 1, nil)

	for range 3 {
		replace(s, edit)
		s.awaitRecorded(app)
	}
	s.settle()
	s.requireSamePods(app, pods)
	if st := s.now(app); st.restartedAt() != "" || st.revisions != replaced.revisions || st.revisions != restarted.revisions {
		t.Errorf("restarted at %q, %d revisions, %d after the first replace", st.restartedAt(), st.revisions, replaced.revisions)
	}

	replace(s, commit{"v3", "1", none})
	s.awaitRestart(app, replaced)
}

// manifestOf writes a workload into a file, as it would be in a repository.
func (s *scene) manifestOf(w workload) (path string) {
	s.Helper()
	object, err := s.client.AppsV1().Deployments(s.namespace).Get(s.Context(), w.name, metav1.GetOptions{})
	s.must(err)
	object.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
	object.ObjectMeta = metav1.ObjectMeta{Name: object.Name, Annotations: enabled()}
	encoded, err := yaml.Marshal(object)
	s.must(err)
	path = filepath.Join(s.TempDir(), "manifest.yaml")
	s.must(os.WriteFile(path, encoded, 0o600))
	return path
}

func TestARestartThatAReplaceRevertsHalfwayIsMadeAgain(t *testing.T) {
	s := newSceneApart(t)
	s.startController()
	app := s.runHalfway("Deployment")
	manifest := s.manifestOf(app.workload)
	s.letTimePass()
	edited := time.Now()
	s.edit(settings, set("used", "v2"))
	first := s.awaitHalfway(app, edited)
	s.kubectl("replace", "--filename="+manifest)
	second := s.awaitHalfway(app, edited, first.restartedAt())
	s.awaitRevertEvent(app.workload, "its timestamp is gone from the pod template. Pods from before it", first) // nobody has left a trace
	s.requireAllSince(app, edited, second)
}

// A restart timestamp that got into the repository, such as from an export.
func TestATimestampInTheRepositoryConflictsAndRevertsIfForced(t *testing.T) {
	s, app, started := newSyncedScene(t, kubectlSyncer(serverSide...))
	pinned := commit{"v1", "1", fmt.Sprintf(`{%q:"2026-01-20T19:46:46.176369916Z"}`, timestampAnnotation)}
	kubectlSyncer(serverSide...)(s, pinned)
	s.awaitTimestamp(app, started.restartedAt())
	s.awaitRecordAfter(app, started)
	s.awaitRollout(app)
	last := s.now(app)

	s.letTimePass()
	s.edit(settings, set("used", "v2"))
	restarted := s.requireOneRestart(app, last)
	manifest := "--filename=" + s.write(repositoryWorkload, pinned)
	_, complaint := s.kubectlFails(with(serverSide, manifest)...)
	requireContains(t, complaint, "conflict with \"kubernetes-deployment-restart-controller\"", timestampAnnotation)
	s.requireRestarts(app, restarted, 0)

	s.kubectl(with(serverSideForced, manifest)...)
	s.awaitEvent(app, "RestartReverted", `field manager "gitops" has given the pod template another timestamp`)
}
