package test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

// revisionsMeta reads the metadata of a workload's ReplicaSets or ControllerRevisions.
func (s *scene) revisionsMeta(ctx context.Context, w workload) ([]metav1.ObjectMeta, error) {
	var found []metav1.ObjectMeta
	of := metav1.ListOptions{LabelSelector: "app=" + w.name}
	if w.kind == "Deployment" {
		list, err := s.client.AppsV1().ReplicaSets(s.namespace).List(ctx, of)
		if err != nil {
			return nil, err
		}
		for _, object := range list.Items {
			found = append(found, object.ObjectMeta)
		}
		return found, nil
	}
	list, err := s.client.AppsV1().ControllerRevisions(s.namespace).List(ctx, of)
	if err != nil {
		return nil, err
	}
	for _, object := range list.Items {
		found = append(found, object.ObjectMeta)
	}
	return found, nil
}

// exposing counts a workload's revisions whose annotations have any of the digests.
func (s *scene) exposing(ctx context.Context, w workload, digests []string) (count, all int, err error) {
	revisions, err := s.revisionsMeta(ctx, w)
	for _, revision := range revisions {
		if slices.ContainsFunc(digests, func(digest string) bool { return strings.Contains(fmt.Sprint(revision.Annotations), digest) }) {
			count++
		}
	}
	return count, len(revisions), err
}

// runExposed runs workloads of all kinds, each with two revisions, onto which their
// controllers have copied a record of the original.
func (s *scene) runExposed() *upgraded {
	s.Helper()
	s.make(credentials, set("used", "v1"))
	pod := podOf(envFrom(credentials))
	u := &upgraded{s: s, before: map[workload]state{}}
	u.all = []workload{s.run("app", pod), s.runStateful("stateful", pod), s.runDaemons("daemons", pod)}
	for _, w := range u.all {
		s.awaitRollout(w)
		s.recordAsOriginal(w, map[config]map[string]string{credentials: v1})
		for _, release := range []string{"2", "3"} {
			// Kubernetes copies the annotations when it makes a revision.
			s.patch(w, fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"release":%q}}}}}`, release))
			s.awaitRollout(w)
		}
		s.eventually("the revisions have copies", func(ctx context.Context) error {
			count, all, err := s.exposing(ctx, w, unkeyedDigests(v1))
			if err == nil && count < 2 {
				err = fmt.Errorf("%d of %d revisions of %s have a digest of the Secret", count, all, w.name)
			}
			return err
		})
	}
	s.letTimePass()
	return u
}

// requireNoDigests waits until no revision has any of the digests, and requires that
// of the workloads.
func (u *upgraded) requireNoDigests(digests []string) {
	u.s.Helper()
	for _, w := range u.all {
		u.s.eventually("no revision has a digest of the Secret", func(ctx context.Context) error {
			count, all, err := u.s.exposing(ctx, w, digests)
			if err == nil && count > 0 {
				err = fmt.Errorf("%d of %d revisions of %s have", count, all, w.name)
			}
			return err
		})
		st := u.s.now(w)
		for _, digest := range digests {
			if strings.Contains(fmt.Sprint(st.Annotations), digest) {
				u.s.Errorf("%s %s has the digest %s", w.kind, w.name, digest)
			}
		}
	}
}

// removalOfOldChecksums returns the command of the page about upgrades, for the scene's namespace only.
func (s *scene) removalOfOldChecksums() string {
	s.Helper()
	root, err := harness.RepositoryRoot()
	s.must(err)
	page, err := os.ReadFile(filepath.Join(root, "docs/upgrade.md"))
	s.must(err)
	command := regexp.MustCompile(`(?m)^    (kubectl annotate replicasets,controllerrevisions .*) --all-namespaces (.*)$`).FindSubmatch(page)
	if command == nil {
		s.Fatal("the page has no such command")
	}
	return fmt.Sprintf("%s -n %s %s", command[1], s.namespace, command[2])
}

func TestTheCommandOfItsPageRemovesDigestsOfSecretsFromRevisions(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]map[string]string{"that were recorded again": v1, "that were restarted": v2} {
		t.Run(name, func(t *testing.T) {
			s := newSceneApart(t)
			u := s.runExposed()
			s.edit(credentials, set("used", content["used"]))
			u.note()
			s.startController()
			u.awaitKeyed()
			recorded := map[workload]state{}
			for _, w := range u.all {
				recorded[w] = s.awaitRollout(w)
			}
			_, err := s.cluster.RunShell(t.Context(), s.removalOfOldChecksums())
			s.must(err)
			u.requireNoDigests(append(unkeyedDigests(v1), unkeyedDigests(v2)...))
			s.settle()
			for _, w := range u.all {
				s.requireWrites(w, recorded[w], 0, 0)
			}
			s.edit(credentials, set("used", "v3"))
			for _, w := range u.all {
				s.awaitRestart(w, recorded[w])
			}
		})
	}
}
