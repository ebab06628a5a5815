package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Argo CD and Flux always force server-side apply.
var (
	serverSide       = []string{"apply", "--server-side", "--field-manager=gitops"}
	serverSideForced = []string{"apply", "--server-side", "--field-manager=gitops", "--force-conflicts"}
	clientSide       = []string{"apply"}
)

func TestSyncsOfAnEditRestartOnceAndNeverRevertTheRestart(t *testing.T) {
	t.Parallel()
	for name, sync := range map[string]syncer{
		"server-side apply":            kubectlSyncer(serverSide...),
		"server-side apply with force": kubectlSyncer(serverSideForced...),
		"client-side apply":            kubectlSyncer(clientSide...),
		"Helm's server-side apply":     helmSyncer(repository, "--server-side=true"),
		"Helm's three-way merge":       helmSyncer(repository, "--server-side=false"),
	} {
		t.Run(name, func(t *testing.T) {
			s, app, started := newSyncedScene(t, sync)
			edit := commit{"v2", "1", none}
			sync(s, edit)
			last := s.requireOneRestart(app, started)

			for range 3 {
				sync(s, edit)
			}
			s.settle()
			s.requireRestarts(app, last, 0)

			for _, c := range []commit{
				{"v2", "2", team}, // another image, and one more annotation in the pod template
				{"v3", "3", team}, // a config and an image
				{"v4", "3", none}, // a config, and one annotation less
			} {
				sync(s, c)
				last = s.requireOneRelease(app, last)
			}

			s.letTimePass()
			sync(s, commit{"v5", "3", none})
			s.requireOneRestart(app, last)
			s.requireNothingUndone()
		})
	}
}

func TestADryRunOfAnUnchangedManifestShowsNoDriftAfterARestart(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string][]string{
		"server-side apply":            serverSide,
		"server-side apply with force": serverSideForced,
		"client-side apply":            clientSide,
	} {
		t.Run(name, func(t *testing.T) {
			sync := kubectlSyncer(arguments...)
			s, app, started := newSyncedScene(t, sync)
			edit := commit{"v2", "1", none}
			sync(s, edit)
			s.requireOneRestart(app, started)

			live, err := s.client.AppsV1().Deployments(s.namespace).Get(s.Context(), app.name, metav1.GetOptions{})
			s.must(err)
			live.ManagedFields = nil // kubectl does not print them
			printed := kubectlSyncer(with(with(arguments, "--dry-run=server"), "--output=yaml")...)(s, edit)
			var predicted struct{ Items []appsv1.Deployment }
			s.must(yaml.Unmarshal([]byte(printed), &predicted))
			if len(predicted.Items) != 2 {
				t.Fatalf("kubectl would apply:\n%s", printed)
			}
			got := predicted.Items[1]
			live.ResourceVersion, got.ResourceVersion = "", "" // the status may have been written in between
			if diff := cmp.Diff(live.ObjectMeta, got.ObjectMeta); diff != "" {
				t.Errorf("metadata (-live +dry run):\n%s", diff)
			}
			if diff := cmp.Diff(live.Spec, got.Spec); diff != "" {
				t.Errorf("spec (-live +dry run):\n%s", diff)
			}
		})
	}
}

// applyGenerated applies a commit whose ConfigMap kustomize generates, with a hash in its name.
func (s *scene) applyGenerated(c commit) {
	s.Helper()
	workload := s.write(repositoryWorkload, c)
	kustomization := fmt.Sprintf("resources: [%s]\nconfigMapGenerator:\n  - name: settings\n    literals: [used=%s]\n", filepath.Base(workload), c.used)
	folder := filepath.Dir(workload)
	s.must(os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(kustomization), 0o600))
	s.kubectl("apply", "--kustomize="+folder)
}

func TestANewGeneratedNameNeedsNoRestart(t *testing.T) {
	s, app, last := newSyncedScene(t, func(s *scene, c commit) string { s.applyGenerated(c); return "" })
	for _, c := range []commit{{"v2", "1", none}, {"v3", "2", none}} {
		s.applyGenerated(c)
		last = s.requireOneRelease(app, last)
	}
	if last.restartedAt() != "" {
		t.Errorf("restarted at %s", last.restartedAt())
	}
}

func TestTheChecksumAnnotationOfAChartIsEnoughForItsOwnEdits(t *testing.T) {
	templates := strings.Replace(repository, "{{ .Values.annotations }}", "\n        checksum/config: {{ .Values.used | sha256sum }}", 1)
	sync := helmSyncer(templates)
	s, app, last := newSyncedScene(t, sync)
	for _, c := range []commit{{"v2", "1", none}, {"v3", "2", none}} {
		sync(s, c)
		last = s.requireOneRelease(app, last)
	}
	s.letTimePass()
	s.edit(settings, set("used", "what somebody else wrote"))
	s.requireOneRestart(app, last)
}

// The pods of the new image have read the former config.
func TestAConfigThatIsSyncedAfterTheWorkloadRestartsItOnce(t *testing.T) {
	s, app, started := newSyncedScene(t, kubectlSyncer(clientSide...))
	s.kubectl("apply", "--filename="+s.write(repositoryWorkload, commit{"v2", "2", none}))
	released := s.requireOneRelease(app, started)
	s.letTimePass()
	s.kubectl("apply", "--filename="+s.write(repositoryConfig, commit{"v2", "2", none}))
	s.requireOneRestart(app, released)
}
