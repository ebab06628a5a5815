package test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"kubernetes-deployment-restart-controller/test/harness"
)

// A switch from Reloader to this controller.

// reloads does what Reloader does to a Deployment when a config has changed.
func (s *scene) reloads(app workload, digest string) state {
	s.Helper()
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"STAKATER_SETTINGS_CONFIGMAP","value":%q}]}]}}}}`, digest)
	_, err := s.client.AppsV1().Deployments(s.namespace).Patch(s.Context(), app.name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "Reloader"})
	s.must(err)
	return s.awaitRollout(app)
}

// A cluster that switches starts this controller, and then stops Reloader, so that no edit is missed.
func TestASwitchFromReloaderMissesNoEditAndRestartsNothingTwice(t *testing.T) {
	s := newSceneApart(t)
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)), func(d *appsv1.Deployment) { d.Annotations = notes{reloaderAuto: "true"} })
	s.awaitRollout(app)
	s.letTimePass()
	s.edit(settings, set("used", "v2"))
	s.reloads(app, "2")
	s.letTimePass()

	controller := s.startController("--understand=reloader")
	recorded, err := s.awaitEnabled(app).checksums()
	s.must(err)
	s.edit(settings, set("used", "v3"))
	s.reloads(app, "3")
	s.awaitRecordAbout(app, settings, recorded)
	s.settle()
	before := s.now(app)
	if before.restartedAt() != "" {
		t.Errorf("it restarted although Reloader restarted it, at %s", before.restartedAt())
	}

	// From here on there is no Reloader.
	s.edit(settings, set("used", "v4"))
	before = s.awaitRestart(app, before)
	s.settle()
	before = s.requireRestarts(app, before, 0)
	s.must(controller.Stop())
	s.edit(settings, set("used", "v5")) // while no controller runs
	s.startController("--understand=reloader")
	before = s.awaitRestart(app, before)
	s.settle()
	s.requireRestarts(app, before, 0)
	if outcomes := s.impact(2, "configmap/"+settings.name, "--key=used", "--controller-namespace="+s.installation.Namespace); outcomes["app"] != "restarts" {
		t.Errorf("the plugin expects %v", outcomes)
	}

	// Our own annotation takes the place of theirs.
	s.patch(app, fmt.Sprintf(`{"metadata":{"annotations":{%q:null,%q:"enabled"}}}`, reloaderAuto, enabledAnnotation))
	s.settle()
	if now := s.now(app); now.restartedAt() != before.restartedAt() {
		t.Errorf("it restarted when its annotation was replaced, at %s", now.restartedAt())
	}
	s.edit(settings, set("used", "v6"))
	s.awaitRestart(app, before)
}

// script is a section of a document: the example in it, and the command lines that a test has yet to play.
type script struct {
	*scene
	example appsv1.Deployment
	lines   []string
}

var (
	manifestBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	commandLine   = regexp.MustCompile(`(?m)^       (kubectl .*)$`) // in a numbered step
)

// readScript reads the section of the heading.
func (s *scene) readScript(document, heading string) *script {
	s.Helper()
	root, err := harness.RepositoryRoot()
	s.must(err)
	content, err := os.ReadFile(filepath.Join(root, document))
	s.must(err)
	_, section, found := strings.Cut(string(content), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	manifest := manifestBlock.FindStringSubmatch(section)
	if !found || manifest == nil {
		s.Fatalf("%s has no section %q with an example", document, heading)
	}
	r := &script{scene: s}
	s.must(yaml.UnmarshalStrict([]byte(manifest[1]), &r.example))
	for _, line := range commandLine.FindAllStringSubmatch(section, -1) {
		r.lines = append(r.lines, line[1])
	}
	return r
}

// play runs the next line, which must begin like this, and in place of the namespaces of the example in that of the
// scene. It runs it again until it prints what matches.
func (r *script) play(begin string, wants ...string) {
	r.Helper()
	if len(r.lines) == 0 || !strings.HasPrefix(r.lines[0], begin) {
		r.Fatalf("the next lines are %q, want one that begins with %q", r.lines, begin)
	}
	line := r.lines[0]
	r.lines = r.lines[1:]
	for _, namespace := range []string{"shop", "reloader"} {
		line = strings.ReplaceAll(line, " -n "+namespace+" ", " -n "+r.namespace+" ")
	}
	r.eventually(line, func(ctx context.Context) error {
		output, err := r.cluster.RunShell(ctx, line)
		for _, want := range wants {
			if err == nil && !regexp.MustCompile(want).MatchString(output) {
				err = fmt.Errorf("it prints\n%s\nwithout %s", output, want)
			}
		}
		return err
	})
}

// The example has a pause period of a minute, for which nobody waits here: it is shorter from the fourth step on.
func TestTheSwitchFromReloaderGoesAsItsPageSays(t *testing.T) {
	s := newSceneApart(t)
	page := s.readScript("docs/upgrade.md", "Switching from Reloader, step by step")
	s.make(settings, set("used", "v1"))
	web := s.run(page.example.Name, podOf(envFrom(settings)), func(d *appsv1.Deployment) { d.Annotations = page.example.Annotations })
	odd := s.run("odd", podOf(envFrom(settings)), func(d *appsv1.Deployment) { d.Annotations = notes{reloaderNamed: "settings-[0-9]+"} })
	reloader := s.run("reloader-reloader", podOf(), plain)
	for _, app := range []workload{web, odd, reloader} {
		s.awaitRollout(app)
	}
	page.play("kubectl get deployments", `(?m)^ *\d+ `+reloaderAuto+`$`, `(?m)^ *\d+ `+reloaderPause+`$`, `(?m)^ *\d+ `+reloaderNamed+`$`)

	s.letTimePass()
	s.startController("--understand=reloader")
	page.play("kubectl restarts explain", `(?m)^Enabled: +yes, by its annotations of reloader$`, `(?m)^Record: +none yet$`, `(?m)^Grace period: +1m0s$`, `(?m)^configmap/settings +all +environment `)
	page.play("kubectl get events", `(?m)^`+s.namespace+` .* InvalidAnnotation +deployment/odd .*settings-\[0-9\]\+`)
	s.annotate(odd, reloaderNamed, "settings")
	s.annotate(web, reloaderPause, "1s")
	before := s.awaitEnabled(web)
	s.awaitPlugin(regexp.MustCompile(`(?m)^Record: +made at `), "explain", "deployment/web")

	// Reloader is stopped within a pause period.
	s.letTimePass()
	s.edit(settings, set("used", "v2"))
	s.patch(web, fmt.Sprintf(`{"metadata":{"annotations":{%q:"2026-01-01T00:00:00Z"}},"spec":{"paused":true}}`, reloaderPausedAt))
	page.play("kubectl -n reloader scale")
	if stopped, err := s.client.AppsV1().Deployments(s.namespace).Get(t.Context(), reloader.name, metav1.GetOptions{}); err != nil || *stopped.Spec.Replicas != 0 {
		t.Errorf("Reloader is not stopped: %v", err)
	}
	page.play("kubectl get events", `(?m)^`+s.namespace+` .* Warning +LeftBehind +deployment/web .*this Deployment is paused, and has the annotation`)
	page.play("kubectl -n shop rollout resume")
	page.play("kubectl -n shop annotate")
	now := s.now(web)
	if _, isMarked := now.Annotations[reloaderPausedAt]; isMarked || now.paused() {
		t.Errorf("it is still paused, with the annotations %v", now.Annotations)
	}
	if len(page.lines) > 0 {
		t.Errorf("nobody plays %q", page.lines)
	}

	before = s.awaitRestart(web, before) // for the edit of that time
	s.settle()
	before = s.requireRestarts(web, before, 0)
	s.edit(settings, set("used", "v3"))
	s.awaitRestart(web, before)
	s.settle()
	before = s.now(web)

	// Our own annotations take the place of theirs.
	s.patch(web, fmt.Sprintf(`{"metadata":{"annotations":{%q:null,%q:null,%q:"enabled",%q:"1s"}}}`, reloaderAuto, reloaderPause, enabledAnnotation, graceAnnotation))
	s.settle()
	if now := s.now(web); now.restartedAt() != before.restartedAt() {
		t.Errorf("it restarted when its annotations were replaced, at %s", now.restartedAt())
	}
	s.edit(settings, set("used", "v4"))
	s.awaitRestart(web, before)
}
