package test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// plugin runs kubectl restarts in the scene's namespace, which must end with the exit code.
func (s *scene) plugin(exitCode int, arguments ...string) (stdout, stderr string) {
	s.Helper()
	code, stdout, stderr, err := s.cluster.RunPlugin(s.Context(), append(arguments, "--namespace="+s.namespace)...)
	s.must(err)
	if code != exitCode {
		s.Fatalf("kubectl restarts %v ends with %d, want %d:\n%s%s", arguments, code, exitCode, stdout, stderr)
	}
	return stdout, stderr
}

// impact returns what the plugin says about each workload.
func (s *scene) impact(exitCode int, arguments ...string) map[string]string {
	s.Helper()
	stdout, _ := s.plugin(exitCode, append([]string{"impact", "-o", "json", "--exit-code"}, arguments...)...)
	var report struct {
		Workloads []struct{ Kind, Name, Outcome string }
	}
	s.must(json.Unmarshal([]byte(stdout), &report))
	outcomes := map[string]string{}
	for _, w := range report.Workloads {
		outcomes[w.Name] = w.Outcome
	}
	return outcomes
}

// manifest writes a file with a ConfigMap and a Secret, and an object that is neither.
func (s *scene) manifest(used, other, password string) string {
	s.Helper()
	file := filepath.Join(s.TempDir(), "configs.yaml")
	s.must(os.WriteFile(file, fmt.Appendf(nil, `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {used: %q, other: %q}}
- {apiVersion: v1, kind: Secret, metadata: {name: credentials}, stringData: {password: %q}}
- {apiVersion: v1, kind: Service, metadata: {name: web}}
`, used, other, password), 0o600))
	return file
}

func (s *scene) requireImpact(got map[string]string, want map[string]string) {
	s.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.Fatalf("the impact is %v, want %v", got, want)
	}
}

func TestThePluginNamesTheWorkloadsThatAnEditThenRestarts(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("used", "v1"), set("other", "v1"))
	s.make(secret("credentials"), set("password", "swordfish"))
	apps := map[string]workload{
		"reads-all":       s.run("reads-all", podOf(envFrom(settings))),
		"reads-used":      s.runStateful("reads-used", podOf(envKey(settings, "used"))),
		"reads-other":     s.run("reads-other", podOf(envKey(settings, "other"))),
		"reads-secret":    s.run("reads-secret", podOf(envFrom(secret("credentials")))),
		"without-pods":    s.run("without-pods", podOf(envFrom(settings)), func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32) }),
		"is-held":         s.run("is-held", podOf(envFrom(settings)), func(d *appsv1.Deployment) { d.Annotations[holdAnnotation] = "migration" }),
		"is-not-enabled":  s.run("is-not-enabled", podOf(envFrom(settings)), func(d *appsv1.Deployment) { d.Annotations = nil }),
		"reads-something": s.run("reads-something", podOf()),
	}
	before := map[string]state{}
	for name, w := range apps {
		switch name {
		case "is-not-enabled":
			before[name] = s.awaitRollout(w)
		default:
			before[name] = s.started(w)
		}
	}
	s.letTimePass()

	s.requireImpact(s.impact(0, "-f", s.manifest("v1", "v1", "swordfish")), map[string]string{})
	s.requireImpact(s.impact(2, "-f", s.manifest("v1", "v1", "marlin")), map[string]string{"reads-secret": "restarts"})
	want := map[string]string{"reads-all": "restarts", "reads-used": "restarts", "without-pods": "stays", "is-held": "held", "is-not-enabled": "stays"}
	file := s.manifest("v2", "v1", "swordfish")
	s.requireImpact(s.impact(2, "-f", file), want)
	s.requireImpact(s.impact(2, "configmap/settings", "--key=used"), want)
	stdout, stderr := s.plugin(0, "impact", "-f", file)
	if !strings.Contains(stdout, "3 workloads, 4 pods would restart. 1 of them held.") || !strings.Contains(stderr, "note: only ConfigMaps and Secrets are compared; ignored 1 of kind Service") {
		t.Errorf("the report is\n%s%s", stdout, stderr)
	}
	for name, w := range apps {
		s.requireRestarts(w, before[name], 0)
	}

	s.edit(settings, set("used", "v2"))
	s.settle()
	for name, w := range apps {
		if want[name] == "restarts" {
			s.awaitRestart(w, before[name])
		} else if s.now(w).restartedAt() != before[name].restartedAt() {
			t.Errorf("%s has restarted", name)
		}
	}
	s.requireImpact(s.impact(0, "-f", file), map[string]string{})
}

// restrict returns the flag that makes the plugin act as a user who may only list workloads and read
// ConfigMaps.
func (s *scene) restrict() string {
	s.Helper()
	return s.mayOnly("restricted",
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments", "statefulsets", "daemonsets"}, Verbs: []string{"get", "list"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}})
}

// mayOnly returns the flag that makes the plugin act as a user who may do only that in the namespace, by a role of this name.
func (s *scene) mayOnly(role string, rules ...rbacv1.PolicyRule) string {
	s.Helper()
	meta, user := metav1.ObjectMeta{Name: role}, role+"-in-"+s.namespace
	_, err := s.client.RbacV1().Roles(s.namespace).Create(s.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	s.must(err)
	_, err = s.client.RbacV1().RoleBindings(s.namespace).Create(s.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	s.must(err)
	return "--as=" + user
}

func TestThePluginNeedsNoSecretsAndShowsNothingOfThem(t *testing.T) {
	s := newScene(t)
	credentials := secret("credentials")
	s.make(credentials, set("swordfish-key", "swordfish-value"))
	s.run("web", podOf(envKey(credentials, "swordfish-key")))
	as := s.restrict()
	file := filepath.Join(t.TempDir(), "secret.yaml")
	s.must(os.WriteFile(file, []byte(`{apiVersion: v1, kind: Secret, metadata: {name: credentials}, stringData: {swordfish-key: swordfish-new}}`), 0o600))
	var all []string
	for _, arguments := range [][]string{
		{"impact", "secret/credentials"}, {"impact", "secret/credentials", as}, {"impact", "-f", file}, {"impact", "-f", file, as},
	} {
		for _, form := range []string{"wide", "json", "yaml"} {
			stdout, stderr := s.plugin(0, append(slices.Clone(arguments), "-o", form)...)
			all = append(all, stdout, stderr)
			if !strings.Contains(stdout, "1 workload, 1 pod would restart") {
				t.Errorf("%v: %s%s", arguments, stdout, stderr)
			}
			if slices.Contains(arguments, as) && !strings.Contains(stdout+stderr, "you may not read secret/credentials") {
				t.Errorf("%v does not say that the Secret cannot be read: %s%s", arguments, stdout, stderr)
			}
		}
	}
	if text := strings.Join(all, "\n"); strings.Contains(text, "swordfish") {
		t.Errorf("something of the Secret shows:\n%s", text)
	}
	_, stderr := s.plugin(1, "impact", "configmap/settings", "--as=nobody")
	if !strings.Contains(stderr, "the result would be incomplete") {
		t.Errorf("the error is %s", stderr)
	}
}

func (s *scene) requirePlugin(want string, arguments ...string) {
	s.Helper()
	if stdout, _ := s.plugin(0, arguments...); !strings.Contains(stdout, want) {
		s.Errorf("kubectl restarts %v says\n%s\nwithout %q", arguments, stdout, want)
	}
}

// awaitPlugin waits until the plugin says what matches.
func (s *scene) awaitPlugin(want *regexp.Regexp, arguments ...string) {
	s.Helper()
	arguments = append(arguments, "--namespace="+s.namespace)
	s.eventually(fmt.Sprintf("kubectl restarts %v", arguments), func(ctx context.Context) error {
		code, stdout, stderr, err := s.cluster.RunPlugin(ctx, arguments...)
		if err == nil && (code != 0 || !want.MatchString(stdout)) {
			err = fmt.Errorf("it ends with %d and says\n%s%s", code, stdout, stderr)
		}
		return err
	})
}

func TestThePluginHoldsExplainsAndReleases(t *testing.T) {
	s := newScene(t)
	credentials := secret("credentials")
	s.make(settings, set("used", "v1"), set("other", "v1"))
	s.make(credentials, set("swordfish-key", "swordfish-value"))
	web := s.run("web", podOf(envKey(settings, "used"), envFrom(credentials)))
	before := s.started(web)
	s.letTimePass()
	s.requirePlugin("deployment/web in "+s.namespace+" is up to date as far as its ConfigMaps show.", "explain", "deploy/web")

	s.plugin(0, "hold", "deployment/web", "dry run", "--dry-run=server")
	s.plugin(0, "hold", "deployment/web", "dry run", "--dry-run=client")
	s.requireRestarts(web, before, 0)
	s.requirePlugin("No restart of it begins until you run: kubectl restarts unhold -n "+s.namespace+" deployment/web", "hold", "deployment/web", "migration", "under", "way")
	if _, stderr := s.plugin(1, "hold", "deployment/web", "another"); !strings.Contains(stderr, "is held already: migration under way") {
		t.Errorf("the second hold fails with %s", stderr)
	}
	s.edit(settings, set("used", "v2"))
	s.settle()
	s.requirePlugin("has not restarted yet for what has changed in configmap/settings: the workload is held: migration under way.", "explain", "deployment/web")
	s.awaitPlugin(regexp.MustCompile(`deployment/web +held +\d+s +0 +the workload is held: migration under way`), "status")
	if got := s.now(web).restartedAt(); got != "" {
		t.Fatalf("the held workload restarted at %s", got)
	}

	s.requirePlugin("The reason was: migration under way", "unhold", "deploy/web")
	s.awaitRestart(web, before)
	s.requirePlugin("configmap/settings: used", "explain", "deployment/web")
	stdout, _ := s.plugin(0, "explain", "deployment", "web", "-o", "json")
	if !strings.Contains(stdout, `"readAs": "environment"`) || strings.Contains(stdout, "swordfish") {
		t.Errorf("the explanation is %s", stdout)
	}
	as := s.restrict()
	if _, stderr := s.plugin(1, "hold", "deployment/web", "again", as); !strings.Contains(stderr, "you need permission to patch it") {
		t.Errorf("holding without permission fails with %s", stderr)
	}
	s.requirePlugin("you may not read it", "explain", "deployment/web", as)

	s.plugin(0, "hold", "configmap/settings", "approval")
	s.requirePlugin("the configmap/settings is held: approval", "impact", "configmap/settings", "--key=used")
	s.plugin(0, "unhold", "cm/settings")
	s.plugin(1, "unhold", "cm/settings")
}

func TestThePluginResumesAHaltByItsID(t *testing.T) {
	s := newSceneApart(t)
	r, broken, heal := s.runHalted(3)
	id := s.awaitEventOn(settings, "RestartsHalted", resumeAnnotation+`=(\w+)$`)[1]
	other := r.others(broken)[0].name
	halted := regexp.MustCompile(`configmap/settings \(used\) has broken deployment/` + broken.name + `, .* kubectl restarts resume -n ` + s.namespace + ` configmap/settings ` + id)
	s.awaitPlugin(halted, "explain", "deployment/"+other)
	s.awaitPlugin(halted, "status")
	s.awaitPlugin(regexp.MustCompile(broken.name+` +failed`), "status", "-A")
	if _, stderr := s.plugin(1, "resume", "configmap/settings", "wrong"); !strings.Contains(stderr, id) {
		t.Errorf("the error does not name the halt: %s", stderr)
	}
	heal()
	s.requirePlugin("configmap/settings resumed", "resume", "configmap/settings", id)
	r.awaitRestarted(3)
}

func TestThePluginKnowsTheIDOfUrgentContent(t *testing.T) {
	s := newSceneApart(t)
	s.runReaders(2)
	s.annotate(deployment("app-01"), holdAnnotation, "not yet") // otherwise the fan-out may be over before it is reported
	s.awaitIdle()
	s.edit(settings, set("used", "v2"))
	id := s.awaitEventOn(settings, "FanOut", `^fan-out of (\w+): `)[1]
	s.requirePlugin("Restarts for the content "+id+" skip the slow start", "urgent", "configmap/settings")
	object, err := s.client.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), settings.name, metav1.GetOptions{})
	s.must(err)
	if got := object.Annotations[urgentAnnotation]; got != id {
		t.Errorf("the content %q is urgent, want %s", got, id)
	}
	s.plugin(0, "urgent", "configmap/settings", "--remove")
}
