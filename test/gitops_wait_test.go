package test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"kubernetes-deployment-restart-controller/test/harness"
)

const waitsForRestarts = "wait-for-restarts"

// waitExample returns the path of a file of examples/gitops/wait.
func (s *scene) waitExample(name string) string {
	s.Helper()
	root, err := harness.RepositoryRoot()
	s.must(err)
	return filepath.Join(root, "examples", "gitops", "wait", name)
}

// jobCommand returns what the example's Job runs, as its account.
func (s *scene) jobCommand() []string {
	s.Helper()
	content, err := os.ReadFile(s.waitExample("job.yaml"))
	s.must(err)
	var job batchv1.Job
	s.must(yaml.UnmarshalStrict(content, &job))
	pod := job.Spec.Template.Spec
	if len(pod.Containers) != 1 || pod.Containers[0].Command != nil || pod.ServiceAccountName != waitsForRestarts {
		s.Fatalf("the Job's pod is %+v", pod)
	}
	return append(pod.Containers[0].Args, "--interval=1s", "--namespace="+s.namespace, "--as=system:serviceaccount:"+s.namespace+":"+waitsForRestarts)
}

func (s *scene) runJob(exitCode int, says string) {
	s.Helper()
	code, stdout, stderr, err := s.cluster.RunPlugin(s.Context(), s.jobCommand()...)
	if s.must(err); code != exitCode || !strings.Contains(stdout+stderr, says) {
		s.Errorf("the Job ends with %d, want %d and %q:\n%s%s", code, exitCode, says, stdout, stderr)
	}
}

func TestTheExamplesJobWaitsForRestartsWithItsRoleAndNoOther(t *testing.T) {
	s := newSceneApart(t)
	s.startController("--fan-out=gradual", "--restart-soak=1s")
	webConfig := configMap("web-config")
	s.make(webConfig, set("used", "v1"))
	pod := podOf(envFrom(webConfig))
	apps := []workload{s.run("app-0", pod), s.run("app-1", pod), s.run("app-2", pod)}
	for _, app := range apps {
		s.started(app)
	}
	s.letTimePass()
	s.kubectl("apply", "--filename="+s.waitExample("rbac.yaml"))

	s.edit(webConfig, set("used", "v2"))
	s.runJob(0, "Delivered: 3 pods read it")
	for _, app := range apps {
		if s.now(app).restartedAt() == "" {
			t.Errorf("the Job ends before %s has restarted", app.name)
		}
	}

	restarted := s.now(apps[0]).restartedAt()
	for _, app := range apps {
		restarted = max(restarted, s.now(app).restartedAt())
	}
	s.crashAtStart(func(pod *corev1.Pod) bool { return pod.Annotations[timestampAnnotation] > restarted })
	s.edit(webConfig, set("used", "bad"))
	s.runJob(2, "failed: ")

	role, err := s.client.RbacV1().Roles(s.namespace).Get(t.Context(), waitsForRestarts, metav1.GetOptions{})
	s.must(err)
	misses := map[string]string{
		"configmaps": "you need permission to get what you wait for", "pods": "you need permission to list the pods",
		"deployments": "you may not list workloads", "events": "You may not list Events",
	}
	for i, rule := range role.Rules {
		s.setRules(role, slices.Delete(slices.Clone(role.Rules), i, i+1))
		s.eventually(fmt.Sprintf("the Job misses the permission for %v", rule.Resources), func(ctx context.Context) error {
			code, stdout, stderr, err := s.cluster.RunPlugin(ctx, append(s.jobCommand(), "--timeout=1s")...)
			if want := misses[rule.Resources[0]]; err == nil && (code == 0 || want == "" || !strings.Contains(stdout+stderr, want)) {
				err = fmt.Errorf("it ends with %d, without %q:\n%s%s", code, want, stdout, stderr)
			}
			return err
		})
	}
}

// Flux creates a Job again only if it is another one.
func TestTheExamplesJobIsAnotherOneForAnotherContent(t *testing.T) {
	s := newScene(t)
	directory := t.TempDir()
	s.must(os.CopyFS(directory, os.DirFS(filepath.Dir(s.waitExample("job.yaml")))))
	first := s.builtJob(directory)
	if again := s.builtJob(directory); again != first {
		t.Errorf("without an edit, the Job is\n%s\nthen\n%s", first, again)
	}
	file := filepath.Join(directory, "web-config.yaml")
	content, err := os.ReadFile(file)
	s.must(err)
	s.must(os.WriteFile(file, append(content, "  COLOR: green\n"...), 0o600))
	if second := s.builtJob(directory); second == first {
		t.Errorf("after an edit, the Job is still\n%s", first)
	}
}

// builtJob returns the Job that kustomize makes of a directory.
func (s *scene) builtJob(directory string) string {
	s.Helper()
	tool, err := harness.LocalClusterBinary()
	s.must(err)
	output, err := exec.CommandContext(s.Context(), tool, "kubectl", "kustomize", directory).Output()
	s.must(err)
	documents := strings.Split(string(output), "\n---\n")
	i := slices.IndexFunc(documents, func(d string) bool { return strings.Contains(d, "kind: Job\n") })
	if i < 0 {
		s.Fatalf("kustomize makes no Job:\n%s", output)
	}
	return documents[i]
}
