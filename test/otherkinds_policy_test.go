package test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"kubernetes-deployment-restart-controller/test/harness"
)

// limit applies the policy that the chart renders for a kind whose template is not at the usual path.
func (s *scene) limit(k otherKind) {
	s.Helper()
	chart, err := harness.Chart()
	s.must(err)
	rendered, err := harness.Helm(s.Context(), s.TempDir(), "template", "release", chart, "--namespace", s.installation.Namespace,
		"--show-only", "templates/admission-policy.yaml", "--set", "workloads={"+strings.TrimPrefix(k.flag(), "--workload=")+"}")
	s.must(err)
	applied := 0
	for document := range strings.SplitSeq(string(rendered), "\n---\n") {
		if strings.Contains(document, "-workloads-"+k.name()) {
			_, err := s.cluster.Apply(s.Context(), []byte(document))
			s.must(err)
			applied++
		}
	}
	if applied != 2 {
		s.Fatalf("the chart has %d objects for %s, want a policy and its binding", applied, k.name())
	}
}

// tryAsController returns what the API server answers to a write of the controller, which has no effect.
func (s *scene) tryAsController(ctx context.Context, k otherKind, w workload, patch string) error {
	s.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", s.installation.Kubeconfig)
	s.must(err)
	client, err := dynamic.NewForConfig(config)
	s.must(err)
	_, err = client.Resource(k.groupResource()).Namespace(s.namespace).Patch(ctx, w.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: []string{"All"}})
	return err
}

// awaitAnswer waits until the API server answers with a text to a write, or allows it if the text is empty.
func (s *scene) awaitAnswer(what, want string, try func(context.Context) error) {
	s.Helper()
	s.eventually("the answer to a write of "+what, func(ctx context.Context) error {
		switch err := try(ctx); {
		case want == "":
			return err
		case err == nil:
			return errors.New("it is allowed") // the API server compiles a policy in the background
		case !strings.Contains(err.Error(), want):
			return err
		}
		return nil
	})
}

func TestThePolicyLimitsWhatTheControllerWritesToOtherKinds(t *testing.T) {
	s := newSceneApart(t)
	s.define(gadgets, rollouts)
	s.allow(gadgets)
	s.limit(gadgets)
	s.make(settings, set("used", "v1"))
	gadget := s.runOther(gadgets, "gadget", podOf(envFrom(settings)), func(spec map[string]any) {
		spec["job"].(map[string]any)["limit"] = int64(1)
	})
	rollout := s.runOther(rollouts, "rollout", podOf(envFrom(settings)))
	restart := `{"metadata":{"annotations":{"` + timestampAnnotation + `":"t"}}}`
	const spec, template, metadata, own = "nothing of a workload's spec but its pod template", "nothing of a pod template but", "nothing of a workload's metadata but annotations", "only its own annotations"
	for _, c := range []struct{ patch, of, rollout, want string }{
		{`{"spec":{"replicas":3}}`, "the size", `{"spec":{"replicas":3}}`, spec},
		{`{"spec":{"job":{"limit":2}}}`, "what is beside the template", `{"spec":{"other":2}}`, spec},
		{`{"spec":{"job":{"template":{"metadata":{"labels":{"a":"b"}}}}}}`, "a label of the template", `{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}`, template},
		{`{"spec":{"job":{"template":{"spec":{"hostNetwork":true}}}}}`, "the pods", `{"spec":{"template":{"spec":{"hostNetwork":true}}}}`, template},
		{`{"metadata":{"labels":{"a":"b"}}}`, "a label", `{"metadata":{"labels":{"a":"b"}}}`, metadata},
		{`{"metadata":{"annotations":{"a":"b"}}}`, "an annotation of others", `{"metadata":{"annotations":{"a":"b"}}}`, own},
		{`{"spec":{"job":{"template":` + restart + `}}}`, "a restart", `{"spec":{"template":` + restart + `}}`, ""},
	} {
		for w, try := range map[workload]func(context.Context) error{
			gadget:  func(ctx context.Context) error { return s.tryAsController(ctx, gadgets, gadget, c.patch) },
			rollout: func(ctx context.Context) error { return s.tryAsController(ctx, rollouts, rollout, c.rollout) },
		} {
			s.awaitAnswer(fmt.Sprintf("%s of the %s", c.of, w.kind), c.want, try)
		}
	}
	const restartAt = `{"spec":{"restartAt":"2026-01-02T03:04:05Z"}}`
	s.patchRollout(rollout, `{"spec":{"restartAt":"2026-01-01T03:04:05Z"}}`)
	s.awaitAnswer("restartAt of the Rollout", "", func(ctx context.Context) error { return s.tryAsController(ctx, rollouts, rollout, restartAt) })
	s.awaitAnswer("no restartAt of the Rollout", spec, func(ctx context.Context) error {
		return s.tryAsController(ctx, rollouts, rollout, `{"spec":{"restartAt":null}}`)
	})
	s.awaitAnswer("restartAt of the Gadget", spec, func(ctx context.Context) error { return s.tryAsController(ctx, gadgets, gadget, restartAt) })
	s.startController(gadgets.flag(), rollouts.flag())
	for _, w := range []workload{gadget, rollout} {
		before := s.awaitRecorded(w)
		s.edit(settings, set("used", "for "+w.kind))
		s.awaitRestart(w, before)
	}
}
