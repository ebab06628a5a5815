package test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/test/harness"
)

// What examples/judge calls its account, and what it writes.
const (
	judgeName   = "deployment-judge"
	judgedSteps = "com.xing.deployment-restart.steps"
	promotes    = "com.xing.deployment-restart.promote"
	aborts      = "com.xing.deployment-restart.abort"
	waitsAtStep = appsv1.DeploymentConditionType("WaitsAtStep")
)

// inSteps makes the rollouts of a Deployment wait at one pod and at half of them.
func inSteps(d *appsv1.Deployment) {
	metav1.SetMetaDataAnnotation(&d.ObjectMeta, judgedSteps, "1, 50%")
}

// exampleOfAJudge returns the path of a file of examples/judge.
func (s *scene) exampleOfAJudge(name string) string {
	s.Helper()
	root, err := harness.RepositoryRoot()
	s.must(err)
	return filepath.Join(root, "examples", "judge", name)
}

// installJudge applies the example in the namespace, and returns when the API server heeds it.
func (s *scene) installJudge(web workload) {
	s.Helper()
	s.kubectl("apply", "-f", s.exampleOfAJudge("rbac.yaml"))
	for range 2 { // whether or not there is one from before
		s.kubectl("replace", "--force", "-f", s.exampleOfAJudge("job.yaml"))
	}
	s.eventually("the policy, which all namespaces share, is applied", func(ctx context.Context) error {
		_, err := s.tryKubectl(ctx, "apply", "-f", s.exampleOfAJudge("admission-policy.yaml"))
		return err
	})
	judge := s.asJudge()
	s.eventually("the judge is limited", func(ctx context.Context) error {
		_, err := judge.AppsV1().Deployments(s.namespace).Patch(ctx, web.name, types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"other":"1"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if !isJudgeLimited(err) {
			return fmt.Errorf("the answer is %w", errors.Join(err, errors.New("no denial")))
		}
		return nil
	})
}

func isJudgeLimited(err error) bool {
	return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+judgeName+"'")
}

// asJudge returns a client with the name of the judge's account, which is also in some groups.
func (s *scene) asJudge(groups ...string) kubernetes.Interface {
	s.Helper()
	return s.asAccount(judgeName, groups...)
}

func (s *scene) asAccount(name string, groups ...string) kubernetes.Interface {
	s.Helper()
	config := s.cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + s.namespace + ":" + name, Groups: groups}
	client, err := kubernetes.NewForConfig(config)
	s.must(err)
	return client
}

var judgePatches = []fencedPatch{
	{"promotes", `{"metadata":{"annotations":{"com.xing.deployment-restart.promote":"web-5d4/1"}}}`, ""},
	{"aborts", `{"metadata":{"annotations":{"com.xing.deployment-restart.abort":"web-5d4/1"}}}`, ""},
	{"takes both back", `{"metadata":{"annotations":{"com.xing.deployment-restart.promote":null,"com.xing.deployment-restart.abort":null}}}`, ""},
	{"changes the image", `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"example/evil"}]}}}}`, "nothing of a Deployment's spec"},
	{"scales", `{"spec":{"replicas":7}}`, "nothing of a Deployment's spec"},
	{"pauses", `{"spec":{"paused":true}}`, "nothing of a Deployment's spec"},
	{"restarts", `{"spec":{"template":{"metadata":{"annotations":{"other":"1"}}}}}`, "nothing of a Deployment's spec"},
	{"promotes and changes the image", `{"metadata":{"annotations":{"com.xing.deployment-restart.promote":"web-5d4/1"}},` +
		`"spec":{"template":{"spec":{"containers":[{"name":"main","image":"example/evil"}]}}}}`, "nothing of a Deployment's spec"},
	{"adds a label", `{"metadata":{"labels":{"other":"1"}}}`, "nothing of a Deployment's metadata"},
	{"adds a finalizer", `{"metadata":{"finalizers":["example.com/stay"]}}`, "nothing of a Deployment's metadata"},
	{"gives it away", `{"metadata":{"ownerReferences":[` + nobody + `]}}`, "nothing of a Deployment's metadata"},
	{"forges who wrote the status", `{"metadata":{"annotations":{"com.xing.deployment-restart.promote":"web-5d4/1"},"managedFields":[{"manager":"kube-controller-manager","operation":"Update",` +
		`"apiVersion":"apps/v1","time":"2100-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:replicas":{}}},"subresource":"status"}]}}`, "no entry of a Deployment's managedFields"},
	{"adds an annotation", `{"metadata":{"annotations":{"other":"1"}}}`, "only the annotations promote and abort"},
	{"changes the steps", `{"metadata":{"annotations":{"com.xing.deployment-restart.steps":"100%"}}}`, "only the annotations promote and abort"},
	{"removes the steps", `{"metadata":{"annotations":{"com.xing.deployment-restart.steps":null}}}`, "only the annotations promote and abort"},
	{"tries again", `{"metadata":{"annotations":{"com.xing.deployment-restart.retry":"web-5d4/2"}}}`, "only the annotations promote and abort"},
	{"rolls back", `{"metadata":{"annotations":{"deprecated.deployment.rollback.to":"1"}}}`, "only the annotations promote and abort"},
}

func TestAJudgeMayPromoteAndAbortItsDeploymentAndDoNothingElse(t *testing.T) {
	s := newEngineScene(t)
	web, other := s.deploy("web", 2, inSteps), s.deploy("other", 1)
	s.installJudge(web)
	// The policy alone limits an account that may do everything, and RBAC limits the judge further.
	for name, judge := range map[string]kubernetes.Interface{"the judge": s.asJudge(), "a mighty judge": s.asJudge("system:masters")} {
		for _, p := range judgePatches {
			err := s.tryPatch(t.Context(), judge, web, p.patch)
			isOfOwners := strings.Contains(p.patch, "ownerReferences") // another admission plugin may be faster
			switch {
			case p.denial == "" && err != nil:
				t.Errorf("%s %s: %v, want it to pass", name, p.name, err)
			case p.denial == "" || isOfOwners && name == "the judge" && apierrors.IsForbidden(err):
			case !isJudgeLimited(err) || !strings.Contains(err.Error(), p.denial):
				t.Errorf("%s %s: %v, want the denial %q", name, p.name, err, p.denial)
			}
		}
	}
	s.requireForbidden(s.asJudge(), web, other)
	label := `{"metadata":{"labels":{"other":"1"}}}`
	for name, client := range map[string]kubernetes.Interface{"the administrator": s.client, "another account": s.asAccount("ci", "system:masters")} {
		if err := s.tryPatch(t.Context(), client, web, label); err != nil {
			t.Errorf("%s adds a label: %v, want it to pass", name, err)
		}
	}
}

// requireForbidden reports an error unless RBAC forbids the judge of web what the example does not need.
func (s *scene) requireForbidden(judge kubernetes.Interface, web, other workload) {
	s.Helper()
	deployments, ctx, promotion := judge.AppsV1().Deployments(s.namespace), s.Context(), []byte(`{"metadata":{"annotations":{"`+promotes+`":"x"}}}`)
	for what, attempt := range map[string]func() error{
		"promote another": func() error { return s.tryPatch(ctx, judge, other, string(promotion)) },
		"read another":    func() error { _, err := deployments.Get(ctx, other.name, metav1.GetOptions{}); return err },
		"list them":       func() error { _, err := deployments.List(ctx, metav1.ListOptions{}); return err },
		"delete it":       func() error { return deployments.Delete(ctx, web.name, metav1.DeleteOptions{}) },
		"scale it": func() error {
			_, err := deployments.Patch(ctx, web.name, types.MergePatchType, []byte(`{"spec":{"replicas":7}}`), metav1.PatchOptions{}, "scale")
			return err
		},
		"write its status": func() error {
			_, err := deployments.Patch(ctx, web.name, types.MergePatchType, promotion, metav1.PatchOptions{}, "status")
			return err
		},
		"list ReplicaSets": func() error {
			_, err := judge.AppsV1().ReplicaSets(s.namespace).List(ctx, metav1.ListOptions{})
			return err
		},
	} {
		if err := attempt(); !apierrors.IsForbidden(err) {
			s.Errorf("the judge may %s: %v", what, err)
		}
	}
}

// source is what a judge asks, and how that answers.
type source struct {
	environment     func(url string) []string
	good, bad, none http.HandlerFunc
}

func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

const judgesQuery = `sum(errors{app="web"}) / 2 > 0.01 or absent(errors)`

var sources = map[string]source{
	"URL": {
		environment: func(url string) []string { return []string{"JUDGE_URL=" + url} },
		good:        answers(http.StatusOK, "bad"), // only the status counts
		bad:         answers(http.StatusInternalServerError, "good"),
		none:        func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	},
	"query": {
		environment: func(url string) []string {
			return []string{"JUDGE_URL=", "PROMETHEUS_URL=" + url, "QUERY=" + judgesQuery}
		},
		good: answers(http.StatusOK, `{"status":"success","data":{"resultType":"vector","result":[]}}`),
		bad:  answers(http.StatusOK, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1700000000.1,"0.5"]}]}}`),
		none: answers(http.StatusServiceUnavailable, `{"status":"error","errorType":"timeout","error":"query timed out"}`),
	},
}

// judge runs the example's script, as its Job would, until it ends. The source gives no answer first, then that many good ones, and
// bad ones from then on. It returns the exit code, and how often the source was asked.
func (s *scene) judge(of source, good int) (exitCode, asked int) {
	s.Helper()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" && (r.URL.Path != "/api/v1/query" || r.FormValue("query") != judgesQuery) {
			s.Errorf("the judge asks %s", r.URL)
		}
		switch request := int(requests.Add(1)); {
		case request == 1:
			of.none(w, r)
		case request <= 1+good:
			of.good(w, r)
		default:
			of.bad(w, r)
		}
	}))
	defer server.Close()

	job := s.judgesJob()
	container := job.Spec.Template.Spec.Containers[0]
	ctx, cancel := context.WithTimeout(s.Context(), waitLimit)
	defer cancel()
	words := slices.Concat(container.Command, container.Args)
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	command.Env = s.judgesEnvironment(job.Spec.Template.Spec.ServiceAccountName, container.Env)
	command.Env = append(command.Env, append(of.environment(server.URL), "CHECKS=2", "INTERVAL=1")...)
	output, err := command.CombinedOutput()
	s.Logf("the judge says:\n%s", output)
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		s.Fatal(err)
	}
	return command.ProcessState.ExitCode(), int(requests.Load())
}

// judgesJob reads the example's Job, with nothing in it that Kubernetes would not know or would replace.
func (s *scene) judgesJob() (job batchv1.Job) {
	s.Helper()
	manifest, err := os.ReadFile(s.exampleOfAJudge("job.yaml"))
	s.must(err)
	s.must(yaml.UnmarshalStrict(manifest, &job))
	for _, argument := range job.Spec.Template.Spec.Containers[0].Args {
		if strings.Contains(argument, "$$") {
			s.Error("Kubernetes makes one $ of two in the arguments of a container")
		}
	}
	return job
}

// judgesEnvironment is that of a pod of the account, with the bundled kubectl.
func (s *scene) judgesEnvironment(account string, variables []corev1.EnvVar) []string {
	s.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		s.Skip("the judge needs curl")
	}
	binary, err := harness.LocalClusterBinary()
	s.must(err)
	home := s.TempDir()
	kubectl := fmt.Sprintf("#!/bin/sh\nexec '%s' kubectl --namespace '%s' \"$@\"\n", binary, s.namespace)
	s.must(os.WriteFile(filepath.Join(home, "kubectl"), []byte(kubectl), 0o700))
	installation, err := s.cluster.Installation(s.Context(), s.namespace, account)
	s.must(err)
	environment := []string{"HOME=" + home, "PATH=" + home + ":" + os.Getenv("PATH"), "KUBECONFIG=" + installation.Kubeconfig}
	for _, variable := range variables {
		environment = append(environment, variable.Name+"="+variable.Value)
	}
	return environment
}

// newJudgedScene opens a scene where the first release of a Deployment of four pods that takes steps is complete.
func newJudgedScene(t *testing.T) (s *scene, web workload) {
	t.Helper()
	s = newEngineScene(t)
	web = s.deploy("web", 4, rolling(1, 0), inSteps)
	s.awaitRollout(web)
	s.installJudge(web)
	return s, web
}

// requireVerdicts fails the test unless a Deployment has these annotations of a judge.
func (s *scene) requireVerdicts(w workload, promotion, abort string) {
	s.Helper()
	written := s.now(w).Annotations
	if written[promotes] != promotion || written[aborts] != abort {
		s.Errorf("promote is %q and abort %q, want %q and %q", written[promotes], written[aborts], promotion, abort)
	}
}

func TestAJudgePromotesEachStepOfARolloutThatDoesWell(t *testing.T) {
	t.Parallel()
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			s, web := newJudgedScene(t)
			s.patchImage(web, "example/main:2")
			code, asked := s.judge(source, 100)
			if code != 0 || asked != 1+2*2 {
				t.Errorf("the judge exits with %d after %d questions", code, asked)
			}
			sets := s.awaitSizes(web, 0, 4)
			s.requireVerdicts(web, sets[1].Name+"/50%", "")
			s.awaitComplete(web, &sets[1])
			s.requirePodsOf(web, &sets[1], 4)
		})
	}
}

func TestAJudgeAbortsARolloutAtTheFirstBadAnswer(t *testing.T) {
	t.Parallel()
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			s, web := newJudgedScene(t)
			s.patchImage(web, "example/main:2")
			code, asked := s.judge(source, 3) // one of them at the second step
			if code != 1 || asked != 1+3+1 {
				t.Errorf("the judge exits with %d after %d questions", code, asked)
			}
			s.awaitCondition(web, fallenBack, "ReleaseAborted")
			sets := s.awaitSizes(web, 4, 0)
			s.requireVerdicts(web, sets[1].Name+"/1", sets[1].Name+"/1")
			s.requireImage(web, "example/main:2")
		})
	}
}

func TestAJudgeAbortsARestartWhichThenStaysAtItsStep(t *testing.T) {
	s, web := newJudgedScene(t)
	s.kubectl("rollout", "restart", web.ref())
	code, asked := s.judge(sources["URL"], 1)
	if code != 1 || asked != 1+1+1 {
		t.Errorf("the judge exits with %d after %d questions", code, asked)
	}
	d := s.awaitCondition(web, appsv1.DeploymentProgressing, "ProgressDeadlineExceeded")
	if c := condition(d, waitsAtStep); c == nil || c.Status != corev1.ConditionTrue {
		t.Errorf("its conditions are %+v", d.Status.Conditions)
	}
	sets := s.awaitSizes(web, 3, 1)
	s.requireVerdicts(web, "", sets[1].Name+"/1")
}
