package test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"kubernetes-deployment-restart-controller/test/harness"
)

// With --namespace the Roles of rbac-namespaced.yaml suffice.
func TestTheNamespacedPermissionsSufficeForWatchingOneNamespace(t *testing.T) {
	s := newSceneApart(t)
	other := enter(t, &place{cluster: s.cluster, installation: s.installation})
	manifests, err := harness.Manifest("rbac-namespaced.yaml")
	s.must(err)
	// Another account than that of rbac.yaml, which may watch everything.
	home := s.namespace + "-home"
	manifests = replaceWords(manifests, "deployment-restart-controller", home)
	manifests = replaceWords(manifests, "default", s.namespace)
	s.installation, err = s.cluster.Install(t.Context(), manifests)
	s.must(err)
	if s.installation.Namespace != home {
		t.Fatalf("the ServiceAccount is in %s, want %s", s.installation.Namespace, home)
	}

	controller := s.startController("--leader-elect")
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)))
	other.make(settings, set("used", "v1"))
	outside := other.run("app", podOf(envFrom(settings)))
	before, outsideBefore := s.started(app), other.awaitRollout(outside)

	s.edit(settings, set("used", "v2"))
	other.edit(settings, set("used", "v2"))
	s.awaitRestart(app, before)
	s.awaitEvent(app, "Restarting", "restarting: configmap settings changed (keys: used)")
	s.settle()
	s.requireRestarts(app, before, 1)
	other.requireUntouched(outside, outsideBefore)
	if lines := controller.Log().Containing("forbidden"); len(lines) != 0 {
		t.Errorf("permissions are missing: %q", lines)
	}

	// A workload without a record makes the pods be asked, which takes permissions of its own.
	s.must(controller.Stop())
	unrecorded := s.run("unrecorded", podOf(envFrom(settings)))
	s.awaitRollout(unrecorded)
	s.letTimePass()
	s.edit(settings, set("used", "v3"))
	unrecordedBefore := s.now(unrecorded)
	controller = s.startController("--leader-elect")
	s.awaitRestart(unrecorded, unrecordedBefore)
	s.settle()
	if lines := controller.Log().Containing("forbidden"); len(lines) != 0 {
		t.Errorf("permissions are missing: %q", lines)
	}
}

// A missing permission is reported, but does not make the controller unhealthy: a restart would
// not help. The controller continues as soon as the permission is granted.
func TestAMissingPermissionIsReportedAndWaitedFor(t *testing.T) {
	s := newSceneApart(t)
	s.make(credentials, set("used", "v1"))
	app := s.run("app", podOf(envFrom(credentials)))
	manifests, err := harness.Manifest("rbac-namespaced.yaml")
	s.must(err)
	manifests = replaceWords(manifests, "deployment-restart-controller", s.namespace+"-home")
	manifests = replaceWords(manifests, "default", s.namespace)
	lacking := bytes.ReplaceAll(manifests, []byte("[configmaps, secrets]"), []byte("[configmaps]"))
	if bytes.Equal(lacking, manifests) {
		t.Fatal("found no rule about Secrets to leave out")
	}
	s.installation, err = s.cluster.Install(t.Context(), lacking)
	s.must(err)

	s.controller, err = s.installation.LaunchController(t.Context(), nil, "--namespace", s.namespace, "-r", "1")
	s.must(err)
	t.Cleanup(func() {
		if err := s.controller.Stop(); err != nil {
			t.Error(err)
		}
	})
	s.eventually("/readyz reports the missing permission", func(ctx context.Context) error {
		status, body, err := s.controller.Get(ctx, "/readyz")
		if err == nil && (status != http.StatusServiceUnavailable || !strings.Contains(body, "forbidden")) {
			err = fmt.Errorf("it answers %d: %s", status, body)
		}
		return err
	})
	s.awaitMetric("watch_up", map[string]string{"resource": "secrets"}, 0)
	s.awaitMetric("watch_up", map[string]string{"resource": "configmaps"}, 1)
	s.awaitMetric("missing_permissions", nil, 2)
	if status, body, err := s.controller.Get(t.Context(), "/healthz"); err != nil || status != http.StatusOK {
		t.Errorf("/healthz answers %d %s %v", status, body, err)
	}
	if _, found := s.awaitRollout(app).Annotations[checksumsAnnotation]; found {
		t.Error("a record was written without knowing the Secret")
	}

	_, err = s.cluster.Apply(t.Context(), manifests)
	s.must(err)
	s.must(s.controller.AwaitReady(t.Context(), waitLimit))
	s.awaitMetric("missing_permissions", nil, 0)
	s.eventually("/readyz reports nothing any more", func(ctx context.Context) error {
		_, body, err := s.controller.Get(ctx, "/readyz")
		if err == nil && (strings.Contains(body, "lacks the permission") || strings.Contains(body, "[!]")) {
			err = errors.New(body)
		}
		return err
	})
	for _, verb := range []string{"list", "watch"} {
		granted := fmt.Sprintf("msg=\"permission granted\" right=%q", verb+" secrets in namespace "+s.namespace)
		if lines := s.controller.Log().Containing(granted); len(lines) != 1 {
			t.Errorf("the log says %d times %s", len(lines), granted)
		}
	}
	before := s.started(app)
	s.edit(credentials, set("used", "v2"))
	s.awaitRestart(app, before)
}

// replaceWords replaces values that stand alone at the end of "key: value".
func replaceWords(manifests []byte, value, replacement string) []byte {
	var replaced bytes.Buffer
	for line := range strings.Lines(string(manifests)) {
		text, comment, _ := strings.Cut(strings.TrimRight(line, "\n"), " #")
		if strings.HasSuffix(text, ": "+value) {
			text = strings.TrimSuffix(text, value) + replacement
		}
		replaced.WriteString(text)
		if comment != "" {
			replaced.WriteString(" #" + comment)
		}
		replaced.WriteByte('\n')
	}
	return replaced.Bytes()
}

func TestSeveralNamespacesAreWatchedAndNoOthers(t *testing.T) {
	s := newSceneApart(t)
	second := enter(t, &place{cluster: s.cluster, installation: s.installation})
	other := enter(t, &place{cluster: s.cluster, installation: s.installation})
	controller := s.startController("--namespace", second.namespace, "--namespace", s.namespace) // one of them twice
	second.controller = controller
	scenes := []*scene{s, second, other}
	states := make([]state, len(scenes))
	for i, scene := range scenes {
		scene.make(credentials, set("used", "v1"))
		app := scene.run("app", podOf(envFrom(credentials)))
		if scene == other {
			states[i] = scene.awaitRollout(app)
		} else {
			states[i] = scene.started(app)
		}
	}
	for _, scene := range scenes {
		scene.edit(credentials, set("used", "v2"))
	}
	app := deployment("app")
	s.awaitRestart(app, states[0])
	second.awaitRestart(app, states[1])
	s.settle()
	second.settle()
	s.requireRestarts(app, states[0], 1)
	second.requireRestarts(app, states[1], 1)
	other.requireUntouched(app, states[2])
}
