package test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/test/harness"
)

const keySecret = "kubernetes-deployment-restart-controller-checksum-key"

// installApart gives the controllers of this scene an account and a namespace of
// their own, and so a key of their own, with the permissions of rbac-namespaced.yaml and of
// the other manifests. It returns the manifests after the adjustment if there is one.
func (s *scene) installApart(adjust func(manifests []byte) []byte, others ...string) (manifests []byte, home string) {
	s.Helper()
	manifests, home = s.manifestsApart(append([]string{"rbac-namespaced.yaml"}, others...)...)
	if adjust != nil {
		adjusted := adjust(manifests)
		if bytes.Equal(adjusted, manifests) {
			s.Fatal("the adjustment of the manifests changes nothing")
		}
		manifests = adjusted
	}
	var err error
	s.installation, err = s.cluster.Install(s.Context(), manifests)
	s.must(err)
	return manifests, home
}

// manifestsApart reads manifests of namespaced permissions for this scene's namespace and for
// an account of its own, which lives in the namespace home.
func (s *scene) manifestsApart(names ...string) (manifests []byte, home string) {
	s.Helper()
	manifests, err := harness.Manifests(names...)
	s.must(err)
	home = s.namespace + "-home"
	manifests = replaceWords(manifests, "deployment-restart-controller", home)
	return replaceWords(manifests, "default", s.namespace), home
}

// applyAgain applies manifests in both ways that kubectl knows.
func (s *scene) applyAgain(manifests []byte) {
	s.Helper()
	file := filepath.Join(s.TempDir(), "rbac.yaml")
	s.must(os.WriteFile(file, manifests, 0o600))
	for _, flags := range [][]string{{"--server-side=false"}, {"--server-side", "--force-conflicts"}} {
		_, err := s.cluster.Kubectl(s.Context(), append([]string{"apply", "-f", file}, flags...)...)
		s.must(err)
	}
}

// storedKey reads what the Secret of the key holds.
func (s *scene) storedKey() map[string][]byte {
	s.Helper()
	object, err := s.client.CoreV1().Secrets(s.installation.Namespace).Get(s.Context(), keySecret, metav1.GetOptions{})
	s.must(err)
	return object.Data
}

// patchKey changes the Secret of the key by a merge patch.
func (s *scene) patchKey(patch string) {
	s.Helper()
	_, err := s.client.CoreV1().Secrets(s.installation.Namespace).Patch(s.Context(), keySecret, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	s.must(err)
}

// keyID reads the id of the key that a workload's record was made with.
func (s *scene) keyID(st state) string {
	s.Helper()
	var basis struct{ Key string }
	s.must(json.Unmarshal([]byte(st.Annotations[basisAnnotation]), &basis))
	return basis.Key
}

func TestTheKeyIsMadeAtTheFirstStartAndKept(t *testing.T) {
	s := newSceneApart(t)
	manifests, _ := s.installApart(nil)
	s.make(credentials, set("used", "v1"))
	s.make(settings, set("used", "v1"))
	app, plain := s.run("app", podOf(envFrom(credentials))), s.run("plain", podOf(envFrom(settings)))
	if data := s.storedKey(); len(data) != 0 {
		t.Fatalf("the manifest ships the Secret with the entries %v", data)
	}
	controller := s.startController()
	before, plainBefore := s.started(app), s.started(plain)
	key := s.storedKey()
	if len(key) != 1 || len(key["key"]) != 32 {
		t.Fatalf("the Secret has %d entries, and %d bytes in the entry of the key", len(key), len(key["key"]))
	}
	if s.keyID(before) == "" || s.keyID(plainBefore) != "" {
		t.Errorf("the key is named %q in a record of a Secret, and %q in one without", s.keyID(before), s.keyID(plainBefore))
	}

	s.applyAgain(manifests)
	if diff := cmp.Diff(key, s.storedKey()); diff != "" {
		t.Errorf("applying the manifests again changes the key (-before +after):\n%s", diff)
	}

	s.must(controller.Stop())
	versions := s.versions()
	controller = s.startController()
	s.awaitMetric("decisions_total", map[string]string{"outcome": "keep"}, 3) // the marker, too
	s.must(controller.Stop())
	if diff := cmp.Diff(versions, s.versions()); diff != "" {
		t.Errorf("the next start writes (-before +after):\n%s", diff)
	}
}

// A key that is lost or replaced invalidates what is recorded of Secrets. The pods
// show that nothing is due, and later edits are noticed as usual.
func TestAnotherKeyRestartsNothing(t *testing.T) {
	t.Parallel()
	for name, patch := range map[string]string{
		"lost":     `{"data":null}`,
		"replaced": `{"data":{"key":"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSceneApart(t)
			s.installApart(nil)
			s.make(credentials, set("used", "v1"))
			app := s.run("app", podOf(envFrom(credentials)))
			controller := s.startController()
			before := s.started(app)
			s.must(controller.Stop())
			s.patchKey(patch)

			s.startController()
			s.await("is recorded with another key", app, func(st state) error {
				old, err := before.checksums()
				if err != nil {
					return err
				}
				present, err := st.checksums()
				if err != nil {
					return err
				}
				return differ(old, present, credentials.key(s.namespace))
			})
			s.settle()
			after := s.requireWrites(app, before, 0, 1)
			if s.keyID(after) == s.keyID(before) {
				t.Errorf("the record is of the key %s still", s.keyID(after))
			}
			s.edit(credentials, set("used", "v2"))
			s.awaitRestart(app, after)
		})
	}
}

// withoutSecret leaves the Secret of the key out of manifests.
func withoutSecret(manifests []byte) []byte {
	var kept [][]byte
	for _, document := range bytes.Split(manifests, []byte("\n---\n")) {
		if !bytes.Contains(document, []byte("kind: Secret")) {
			kept = append(kept, document)
		}
	}
	return bytes.Join(kept, []byte("\n---\n"))
}

func TestTheMissingKeySecretIsCreatedIfPermitted(t *testing.T) {
	s := newSceneApart(t)
	_, home := s.installApart(withoutSecret)
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "make-the-key", Namespace: home},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"secrets"}}},
	}
	_, err := s.client.RbacV1().Roles(home).Create(t.Context(), role, metav1.CreateOptions{})
	s.must(err)
	_, err = s.client.RbacV1().RoleBindings(home).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: s.installation.ServiceAccount, Namespace: home}},
	}, metav1.CreateOptions{})
	s.must(err)
	s.make(credentials, set("used", "v1"))
	app := s.run("app", podOf(envFrom(credentials)))
	controller := s.startController()
	st := s.started(app)
	if key := s.storedKey(); len(key["key"]) != 32 || s.keyID(st) == "" {
		t.Errorf("the Secret has %d bytes in the entry of the key; the record names the key %q", len(key["key"]), s.keyID(st))
	}
	if len(controller.Log().Containing("created the key")) != 1 {
		t.Error("the log does not say that the key was made")
	}
}

// What is refused at the start may be allowed a moment later. Workloads that read no Secret continue.
func TestAKeyThatComesLateIsWaitedFor(t *testing.T) {
	s := newSceneApart(t)
	var complete []byte
	s.installApart(func(manifests []byte) []byte {
		complete = manifests
		return withoutSecret(manifests)
	})
	s.make(credentials, set("used", "v1"))
	s.make(settings, set("used", "v1"))
	app, plain := s.run("app", podOf(envFrom(credentials))), s.run("plain", podOf(envFrom(settings)))
	controller := s.startController()
	s.started(plain)
	if st := s.now(app); st.Annotations[checksumsAnnotation] != "" {
		t.Errorf("a workload that reads a Secret is recorded before the key is there: %s", st.Annotations[checksumsAnnotation])
	}
	_, err := s.cluster.Apply(t.Context(), complete)
	s.must(err)
	s.started(app)
	if key := s.storedKey(); len(key["key"]) != 32 {
		t.Errorf("the Secret has %d bytes in the entry of the key", len(key["key"]))
	}
	if lines := controller.Log().Containing("level=ERROR"); len(lines) > 0 {
		t.Errorf("errors in the log: %q", lines)
	}
}

// Without its key the controller still does its work, and says what to do. A
// refusal that might pass is waited for first.
func TestAKeyThatCannotBeLoadedIsReportedAndReplacedForTheProcess(t *testing.T) {
	t.Parallel()
	withoutPermission := func(manifests []byte) []byte {
		return bytes.ReplaceAll(manifests, []byte("resources: [secrets]"), []byte("resources: [nothing]"))
	}
	for name, test := range map[string]struct {
		adjust func([]byte) []byte
		patch  string
		flags  []string
		want   []string // in one line of the log
	}{
		"there is no Secret":                {adjust: withoutSecret, want: []string{"level=ERROR", "not found", "rbac.yaml"}},
		"no permission":                     {adjust: withoutPermission, want: []string{"level=ERROR", "forbidden", "rbac.yaml"}},
		"it holds something else":           {patch: `{"data":{"key":"AAAA"}}`, want: []string{"level=ERROR", "does not have 32 bytes"}},
		"there is no namespace to keep one": {flags: []string{"--controller-namespace="}, want: []string{"level=WARN", "--controller-namespace"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSceneApart(t)
			s.installApart(test.adjust)
			if test.patch != "" {
				s.patchKey(test.patch)
			}
			var stored map[string][]byte
			if name != "there is no Secret" {
				stored = s.storedKey()
			}
			s.make(credentials, set("used", "v1"))
			app := s.run("app", podOf(envFrom(credentials)))
			controller := s.startController(test.flags...)
			before := s.started(app)
			if lines := controller.Log().Containing(test.want...); len(lines) != 1 {
				t.Errorf("%d lines of the log have %q", len(lines), test.want)
			}
			s.edit(credentials, set("used", "v2"))
			s.awaitRestart(app, before)
			s.settle()
			s.requireRestarts(app, before, 1)
			if stored != nil {
				if diff := cmp.Diff(stored, s.storedKey()); diff != "" {
					t.Errorf("the Secret was written to (-before +after):\n%s", diff)
				}
			}
		})
	}
}

func TestADryRunMakesNoKey(t *testing.T) {
	s := newSceneApart(t)
	s.installApart(nil)
	s.make(credentials, set("used", "v1"))
	app := s.run("app", podOf(envFrom(credentials)))
	s.awaitRollout(app)
	controller := s.startController("--dry-run")
	s.eventually("the controller is idle", controller.Idle)
	s.awaitMetric("decisions_total", map[string]string{"outcome": "record"}, 2) // the marker, too
	s.must(controller.Stop())
	if data := s.storedKey(); len(data) != 0 {
		t.Errorf("the Secret has the entries %v", data)
	}
}

// Two Secrets of the same content do not look alike in their workloads' records, and
// neither looks like its content hashed without the key.
func TestTheChecksumsOfSecretsRevealNothing(t *testing.T) {
	s := newScene(t)
	for _, c := range []config{credentials, secret("twin")} {
		s.make(c, set("used", "a guess"))
	}
	st := s.started(s.run("app", podOf(envFrom(credentials), envFrom(secret("twin")))))
	checksums, err := st.checksums()
	s.must(err)
	one, two := checksums[credentials.key(s.namespace)], checksums[secret("twin").key(s.namespace)]
	if one == two {
		t.Errorf("both Secrets have the checksum %s", one)
	}
	guesses := unkeyedDigests(map[string]string{"used": "a guess"})
	for _, guess := range guesses {
		if strings.Contains(st.Annotations[checksumsAnnotation], guess) {
			t.Errorf("the record has %s, which anybody can compute", guess)
		}
	}
}
