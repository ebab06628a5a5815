package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

// rotation is the directory in which examples/rotate-credential runs, with the programs that it needs.
type rotation struct {
	*scene
	directory    string
	plugin, tool string // the plugin, and the program with kubectl
}

// rotates returns a directory with kubectl and its plugin for the cluster, and with programs that create and revoke credentials.
func (s *scene) rotates() *rotation {
	s.Helper()
	plugin, err := harness.PluginBinary()
	s.must(err)
	tool, err := harness.LocalClusterBinary()
	s.must(err)
	r := &rotation{s, s.TempDir(), plugin, tool}
	r.kubectl("true")
	r.program("create", "printf another")
	r.program("revoke", `cat > "$(dirname "$0")/revoked"`)
	return r
}

func (r *rotation) program(name, body string) {
	r.Helper()
	r.must(os.WriteFile(filepath.Join(r.directory, name), []byte("#!/bin/sh\n"+body+"\n"), 0o700))
}

// kubectl makes a kubectl that runs a command before it waits.
func (r *rotation) kubectl(before string) {
	r.Helper()
	r.program("kubectl", `if [ "$1" = restarts ]; then `+before+`; shift; exec "`+r.plugin+`" "$@" --interval=1s; fi; exec "`+r.tool+`" kubectl "$@"`)
}

// run runs the example for the key "used" of a Secret.
func (r *rotation) run(secret string, environment ...string) (output string, err error) {
	r.Helper()
	root, err := harness.RepositoryRoot()
	r.must(err)
	command := exec.CommandContext(r.Context(), filepath.Join(root, "examples", "rotate-credential", "rotate.sh"),
		r.namespace, secret, "used", filepath.Join(r.directory, "create"), filepath.Join(r.directory, "revoke"))
	command.Env = append(os.Environ(), "PATH="+r.directory+":"+os.Getenv("PATH"), "KUBECONFIG="+r.cluster.Kubeconfig(), "TIMEOUT=2m")
	command.Env = append(command.Env, environment...)
	said, err := command.CombinedOutput()
	return string(said), err
}

func (r *rotation) revoked() string {
	r.Helper()
	said, err := os.ReadFile(filepath.Join(r.directory, "revoked"))
	if os.IsNotExist(err) {
		return ""
	}
	r.must(err)
	return string(said)
}

func TestACredentialIsRevokedWhenNoPodUsesItAnyMore(t *testing.T) {
	s := newScene(t)
	s.make(credentials, set("used", "first"))
	web := s.run("web", podOf(envFrom(credentials)))
	s.started(web)
	s.letTimePass()
	r := s.rotates()

	before, err := s.podsOf(s.Context(), web)
	s.must(err)
	output, err := r.run(credentials.name)
	if err != nil || r.revoked() != "first" || !strings.Contains(output, "Delivered: ") || strings.Contains(output, "another") {
		t.Fatalf("%v, revoked %q:\n%s", err, r.revoked(), output)
	}
	after, err := s.podsOf(s.Context(), web)
	s.must(err)
	for i := range after {
		if slices.ContainsFunc(before, func(pod corev1.Pod) bool { return pod.UID == after[i].UID }) {
			t.Errorf("pod %s has read the earlier credential, which is revoked", after[i].Name)
		}
	}
}

// What others keep as it was has the earlier credential again, which all pods use.
func TestACredentialIsNotRevokedThatSomebodyElseHasPutBack(t *testing.T) {
	s := newScene(t)
	s.make(credentials, set("used", "first"))
	r := s.rotates()
	r.kubectl(`"` + r.tool + `" kubectl patch -n ` + s.namespace + ` secret/` + credentials.name + ` --type=merge -p '{"stringData":{"used":"first"}}'`)

	output, err := r.run(credentials.name)
	if err == nil || r.revoked() != "" || !strings.Contains(output, "has another credential by now") {
		t.Fatalf("%v, revoked %q:\n%s", err, r.revoked(), output)
	}
	created := regexp.MustCompile(`Do not revoke the earlier credential, which pods may use: the one that was created is in (\S+)/present\. Delete`).FindStringSubmatch(output)
	if created == nil {
		t.Fatalf("it does not say where the credential is that nobody uses:\n%s", output)
	}
	kept, err := os.ReadFile(filepath.Join(created[1], "present"))
	if s.must(err); string(kept) != "another" {
		t.Errorf("it has kept %q", kept)
	}
	s.must(os.RemoveAll(created[1]))
}

func TestACredentialIsNotRotatedThatOtherNamespacesShare(t *testing.T) {
	s := newScene(t)
	s.make(credentials, set("used", "first"))
	s.kubectl("annotate", "secret", credentials.name, "com.xing.deployment-restart.readers=*")
	r := s.rotates()
	output, err := r.run(credentials.name)
	if err == nil || r.revoked() != "" || !strings.Contains(output, "is shared with other namespaces, whose pods this script does not see. Nothing is done.") {
		t.Fatalf("%v, revoked %q:\n%s", err, r.revoked(), output)
	}
}

func TestACredentialIsNotRevokedThatAPodUsesThatNobodyRestarts(t *testing.T) {
	s := newScene(t)
	s.make(credentials, set("used", "first"))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "alone"}, Spec: podOf(envFrom(credentials))}
	_, err := s.client.CoreV1().Pods(s.namespace).Create(s.Context(), pod, metav1.CreateOptions{})
	s.must(err)
	s.letTimePass()
	r := s.rotates()

	output, err := r.run(credentials.name)
	if err == nil || r.revoked() != "" || !strings.Contains(output, "pod/alone, 1 pod left: it is a pod that no controller owns") {
		t.Fatalf("%v, revoked %q:\n%s", err, r.revoked(), output)
	}
}

// What it says is true wherever it ends, and no other credential is left on the disk than the earlier one, which is needed.
func TestARotationThatEndsEarlySaysWhatIsLeft(t *testing.T) {
	s := newScene(t)
	for name, test := range map[string]struct {
		create, revoke, wait string
		says, has            string
		isRevoked, isKept    bool
	}{
		"it prints a line":           {create: "echo 'an other'", says: "is revoked", has: "an other", isRevoked: true},
		"it prints nothing":          {create: "true", says: "create has printed no other credential.\n" + credentials.name + " is as it was, and nothing is revoked.", has: "first"},
		"it prints an empty line":    {create: "echo", says: "create has printed no other credential.\n", has: "first"},
		"it prints the earlier one":  {create: "echo first", says: "create has printed no other credential.\n", has: "first"},
		"it fails":                   {create: "printf another; exit 7", says: credentials.name + " is as it was, and nothing is revoked.", has: "first"},
		"what revokes fails":         {revoke: "exit 7", says: "revoke has not ended well, so the earlier credential may be valid. It is in ", has: "another", isKept: true},
		"a signal ends the pipeline": {wait: "kill -TERM $PPID; exec sleep 60", says: "Nothing is revoked. Both credentials are valid; the earlier one is in ", has: "another", isKept: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := *s
			s.T = t
			s.make(credentials, set("used", "first"))
			defer s.delete(credentials)
			r, temporary := s.rotates(), t.TempDir()
			for program, body := range map[string]string{"create": test.create, "revoke": test.revoke} {
				if body != "" {
					r.program(program, body)
				}
			}
			if test.wait != "" {
				r.kubectl(test.wait)
			}
			output, err := r.run(credentials.name, "TMPDIR="+temporary)
			if (err == nil) != test.isRevoked || (r.revoked() == "first") != test.isRevoked || !strings.Contains(output, test.says) || strings.Contains(output, "Nothing is revoked") && strings.Contains(output, "may be valid") {
				t.Errorf("%v, revoked %q:\n%s", err, r.revoked(), output)
			}
			secret, err := s.client.CoreV1().Secrets(s.namespace).Get(t.Context(), credentials.name, metav1.GetOptions{})
			if s.must(err); string(secret.Data["used"]) != test.has {
				t.Errorf("the Secret has %q", secret.Data["used"])
			}
			left, err := filepath.Glob(filepath.Join(temporary, "*", "*"))
			if s.must(err); (len(left) == 1 && filepath.Base(left[0]) == "earlier") != test.isKept || len(left) > 1 {
				t.Errorf("it leaves %v", left)
			}
		})
	}
}
