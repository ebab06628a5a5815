package test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/test/harness"
)

// canaries are values that occur nowhere else, by what they are.
type canaries struct {
	s      *scene
	values map[string]string
	// secrets are contents of Secrets, whose unkeyed digests must not be revealed either.
	secrets []map[string]string
}

// value returns a new canary of that name.
func (c *canaries) value(name string) string {
	c.s.Helper()
	random := make([]byte, 30)
	_, _ = rand.Read(random)
	c.values[name] = "canary-" + base64.RawURLEncoding.EncodeToString(random)
	return c.values[name]
}

// forms are the ways in which a canary could be revealed.
func forms(value string) []string {
	return []string{value, base64.StdEncoding.EncodeToString([]byte(value)), hex.EncodeToString([]byte(value))}
}

// requireAbsent fails the test if a text has a canary in it, or an unkeyed digest of
// a Secret.
func (c *canaries) requireAbsent(where, text string) {
	c.s.Helper()
	for name, value := range c.values {
		for _, form := range forms(value) {
			if strings.Contains(text, form) {
				c.s.Errorf("%s reveals %s: %s", where, name, form)
			}
		}
	}
	for _, content := range c.secrets {
		for _, digest := range unkeyedDigests(content) {
			if strings.Contains(text, digest) {
				c.s.Errorf("%s reveals an unkeyed digest of a Secret: %s", where, digest)
			}
		}
	}
}

// secret notes the content of a Secret, and returns it as changes.
func (c *canaries) secret(content map[string]string) []change {
	c.secrets = append(c.secrets, content)
	changes := make([]change, 0, len(content))
	for key, value := range content {
		changes = append(changes, set(key, value))
	}
	return changes
}

// No value of a config, no key name of a Secret and no digest that guesses could be
// tested against shows up anywhere, however verbose the controller is. Nor
// is a value kept: it is gone from memory when later events and garbage collections
// have passed over it.
func TestTheContentOfAConfigIsNeitherReportedNorKept(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		open  func(*testing.T) *scene
		flags []string
	}{
		"beside the deployment controller of Kubernetes": {newSceneApart, nil},
		"with the deployment engine":                     {newEngineSceneApart, []string{engineOn}},
	} {
		t.Run(name, func(t *testing.T) { checkSecrecy(test.open(t), test.flags) })
	}
}

func checkSecrecy(s *scene, flags []string) {
	s.Helper()
	c := &canaries{s: s, values: map[string]string{}}
	const key = "hush-key"
	c.values["the name of a Secret's key"] = key
	s.make(credentials, c.secret(map[string]string{key: c.value("a Secret's first value")})...)
	plain := map[string]string{"plain-key": c.value("a ConfigMap's first value")}
	s.make(settings, set("plain-key", plain["plain-key"]), setBinary("bin", c.value("binary content")))
	removed := secret("removed")
	s.make(removed, c.secret(map[string]string{key: c.value("the value of a Secret that is deleted")})...)
	pod := withVolumes(podOf(envFrom(settings), mount("files"), envFromOptional(removed)), volumeOf("files", credentials))
	all := []workload{s.runStateful("stateful", pod), s.runDaemons("daemons", pod)}
	if len(flags) == 0 { // otherwise nothing would roll it out now
		all = append(all, s.run("app", pod))
	}
	for _, w := range all {
		s.awaitRollout(w)
		// So that the configs are read once more.
		s.recordAsOriginal(w, map[config]map[string]string{settings: plain, credentials: c.secrets[0], removed: c.secrets[1]})
	}

	talkative := *s.installation
	talkative.Environment = []string{
		"GODEBUG=clobberfree=1", // overwrites what the garbage collector frees
		"GOGC=10",
	}
	s.installation = &talkative
	controller := s.startController(append(flags, "-v", "9", "--status-address=127.0.0.1:0")...)
	if len(flags) > 0 {
		all = append(all, s.run("app", pod))
	}
	before := map[workload]state{}
	for _, w := range all {
		before[w] = s.running(w)
	}
	s.settle()
	s.edit(credentials, c.secret(map[string]string{key: c.value("a Secret's second value")})...)
	s.edit(settings, set("plain-key", c.value("a ConfigMap's second value")), remove("bin"))
	for _, w := range all {
		s.awaitRestart(w, before[w])
		s.awaitRestartEvent(w, "restarting: configmap settings changed (keys: bin, plain-key); secret credentials changed (1 key)")
	}
	s.delete(removed)
	s.edit(credentials, remove(key))
	s.edit(settings, remove("plain-key"))
	for _, w := range all {
		s.annotate(w, checksumsAnnotation, "{") // a warning, too
	}
	s.settle()
	c.requireNothingRevealed(controller, all)
	c.requireNothingKept(controller, all)
}

// requireNothingRevealed searches everything that the controller writes.
func (c *canaries) requireNothingRevealed(controller *harness.Controller, all []workload) {
	s := c.s
	s.Helper()
	c.requireAbsent("the log", controller.Log().String())
	for _, page := range []string{"/metrics", "/readyz"} {
		_, text, err := controller.Get(s.Context(), page)
		s.must(err)
		c.requireAbsent(page, text)
	}
	c.requireNothingShown(controller, all)
	for _, namespace := range []string{s.namespace, s.installation.Namespace} { // about workloads, and about the engine's probe
		events, err := s.client.CoreV1().Events(namespace).List(s.Context(), metav1.ListOptions{})
		s.must(err)
		for _, event := range events.Items {
			c.requireAbsent("an Event", event.Message+fmt.Sprint(event.Annotations))
		}
	}
	for _, w := range all {
		st := s.now(w)
		c.requireAbsent(w.kind+" "+w.name, fmt.Sprint(st.Annotations, st.template.Annotations))
		revisions, err := s.revisionsMeta(s.Context(), w)
		s.must(err)
		for _, revision := range revisions {
			c.requireAbsent("revision "+revision.Name, fmt.Sprint(revision.Annotations))
		}
	}
}

// requireNothingShown searches all pages of the status.
func (c *canaries) requireNothingShown(controller *harness.Controller, all []workload) {
	s := c.s
	s.Helper()
	pages := []string{""}
	for _, of := range []config{settings, credentials} {
		pages = append(pages, "/config/"+of.key(s.namespace))
	}
	for _, w := range all {
		pages = append(pages, "/workload/"+strings.ToLower(w.kind)+"/"+s.namespace+"/"+w.name)
	}
	for _, page := range pages {
		for _, path := range []string{cmp.Or(page, "/"), page + "/status.json"} {
			code, text, err := controller.GetStatus(s.Context(), path)
			s.must(err)
			if code != http.StatusOK {
				s.Errorf("%s: %d %s", path, code, text)
			}
			c.requireAbsent(path, text)
		}
	}
}

// requireNothingKept searches the memory of the controller, as it is after larger
// events without canaries on each watch, and two garbage collections.
func (c *canaries) requireNothingKept(controller *harness.Controller, all []workload) {
	s := c.s
	s.Helper()
	if runtime.GOOS != "linux" {
		s.Log("the memory of another process can only be read on Linux")
		return
	}
	delete(c.values, "the name of a Secret's key") // names are what the catalog is made of
	var err error
	for round := range 5 { // the watches may not have shown all events when the garbage is collected
		c.makeHarmlessEvents(all, round)
		c.awaitCollections(controller, 2)
		if err = c.searchMemory(controller); err == nil {
			return
		}
	}
	s.Error(err)
}

// makeHarmlessEvents makes an event on each watch that is larger than any before.
func (c *canaries) makeHarmlessEvents(all []workload, round int) {
	s := c.s
	s.Helper()
	large := strings.Repeat(strconv.Itoa(round%10), 200<<10)
	for _, harmless := range []config{configMap("harmless"), secret("harmless")} {
		if round == 0 {
			s.make(harmless, set("key", large))
		} else {
			s.edit(harmless, set("key", large))
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"harmless": large}}})
	s.must(err)
	for _, w := range all {
		s.patch(w, string(patch))
		pods, err := s.podsOf(s.Context(), w)
		s.must(err)
		for i := range pods {
			_, err := s.client.CoreV1().Pods(s.namespace).Patch(s.Context(), pods[i].Name, types.MergePatchType, patch, metav1.PatchOptions{})
			s.must(ignoreNotFound(err))
		}
	}
	_, err = s.client.AppsV1().Deployments(s.installation.Namespace).Patch(s.Context(), probeName, types.MergePatchType, patch, metav1.PatchOptions{})
	s.must(ignoreNotFound(err)) // there is one only with the engine
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// awaitCollections waits until that many garbage collections are over. Each look at
// the metrics leaves a little garbage.
func (c *canaries) awaitCollections(controller *harness.Controller, count float64) {
	c.s.Helper()
	const collections = "go_gc_duration_seconds"
	before, err := controller.Metric(c.s.Context(), collections, nil)
	c.s.must(err)
	c.s.eventually("the garbage is collected", func(ctx context.Context) error {
		now, err := controller.Metric(ctx, collections, nil)
		if err == nil && now < before+count {
			err = fmt.Errorf("%.0f of %.0f collections", now-before, count)
		}
		return err
	})
}

func (c *canaries) searchMemory(controller *harness.Controller) error {
	var found []string
	searched := 0
	err := controller.Memory(func(part []byte) {
		searched += len(part)
		for name, value := range c.values {
			for _, form := range forms(value) {
				if at := bytes.Index(part, []byte(form)); at >= 0 {
					found = append(found, fmt.Sprintf("%s (%q)", name, part[max(0, at-40):min(len(part), at+len(form)+40)]))
				}
			}
		}
	})
	if err == nil && searched == 0 {
		err = errors.New("there is nothing in memory")
	}
	if err == nil && len(found) > 0 {
		slices.Sort(found)
		err = fmt.Errorf("in memory: %s", strings.Join(slices.Compact(found), "\n"))
	}
	return err
}
