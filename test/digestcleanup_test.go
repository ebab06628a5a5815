package test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// upgradePermissions is the manifest of the permissions that it takes to remove copies.
const upgradePermissions = "rbac-upgrade-namespaced.yaml"

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

func TestDigestsOfSecretsAreRemovedFromRevisions(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]map[string]string{"when they are recorded again": v1, "when they are restarted": v2} {
		t.Run(name, func(t *testing.T) {
			s := newSceneApart(t)
			u := s.runExposed()
			s.edit(credentials, set("used", content["used"]))
			u.note()
			controller := s.startController()
			u.awaitKeyed()
			u.requireNoDigests(unkeyedDigests(v1))
			s.settle()
			for _, w := range u.all {
				restarts := 0
				if content["used"] != "v1" {
					restarts = 1
				}
				s.requireWrites(w, u.before[w], restarts, 1)
			}
			u.requireNoDigests(append(unkeyedDigests(v1), unkeyedDigests(v2)...))
			if lines := controller.Log().Containing("forbidden"); len(lines) != 0 {
				t.Errorf("permissions are missing: %q", lines)
			}
		})
	}
}

// The copies go first: as long as the workload itself is not written, it shows what
// is still to be done.
func TestCopiesAreRemovedBeforeTheRecordIsReplaced(t *testing.T) {
	s := newSceneApart(t)
	u := s.runExposed()
	full := "      - patch # record the applied checksums"
	manifests, _ := s.installApart(func(manifests []byte) []byte {
		return []byte(strings.Replace(string(manifests), full, "      #"+full, 1))
	}, upgradePermissions)
	u.note()
	s.startController()
	for _, w := range u.all {
		s.awaitEvent(w, "RestartFailed", "cannot write a record")
		old := u.before[w].Annotations[checksumsAnnotation]
		if diff := cmp.Diff(old, s.now(w).Annotations[checksumsAnnotation]); diff != "" {
			t.Errorf("record of %s (-before +after):\n%s", w.name, diff)
		}
		count, all, err := s.exposing(t.Context(), w, unkeyedDigests(v1))
		s.must(err)
		// A Deployment's controller copies the annotation onto the newest again.
		if allowed := map[string]int{"Deployment": 1}[w.kind]; count > allowed {
			t.Errorf("%d of %d revisions of %s have a digest of the Secret", count, all, w.name)
		}
	}
	_, err := s.cluster.Apply(t.Context(), []byte(strings.Replace(string(manifests), "      #"+full, full, 1)))
	s.must(err)
	u.awaitKeyed()
	u.requireNoDigests(unkeyedDigests(v1))
}

// The record then shows that there is something left to do, which the next start does.
func TestWithoutThePermissionToRemoveCopiesTheRecordIsStillReplaced(t *testing.T) {
	s := newSceneApart(t)
	u := s.runExposed()
	s.installApart(nil)
	controller := s.startController()
	for _, w := range u.all {
		s.awaitEvent(w, "SecretDigestsRemain", "revisions of this workload keep digests of Secrets")
	}
	s.must(controller.Stop())
	permissions, _ := s.manifestsApart(upgradePermissions)
	_, err := s.cluster.Apply(t.Context(), permissions)
	s.must(err)
	s.startController()
	u.awaitKeyed()
	u.requireNoDigests(unkeyedDigests(v1))
}
