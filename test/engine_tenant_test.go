package test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Somebody writes the status of his Deployment all the time, as a rival would. That stops
// the engine in his namespace, not elsewhere, and does not keep a standby from taking over.
func TestConstantStatusWritesStopTheEngineInOneNamespaceOnly(t *testing.T) {
	s := newEngineSceneOfItsOwn(t)
	s.namespace += "-his"
	s.makeNamespace(s.namespace)
	his := *s // the scene, seen from his namespace
	s.namespace = strings.TrimSuffix(s.namespace, "-his")

	engine := s.startEngineForAll("on", sharedHome)
	s.must(engine.AwaitDriving(t.Context(), waitLimit))
	standby := s.startEngineForAll("standby", s.ownNamespace())
	s.awaitStandingBy(standby, fieldManager+" wrote the status of deployment "+s.namespace+"-own/"+probeName)
	app := his.deploy("app", 1)
	his.awaitRollout(app)

	stop := his.writeStatus(app)
	s.eventually("the engine rests in his namespace", func(ctx context.Context) error {
		status, body, err := engine.Get(ctx, "/readyz")
		if err == nil && (status != http.StatusOK || !strings.Contains(body, "driving deployments, but resting in 1 namespace; last tenant wrote the status of deployment "+his.namespace+"/app")) {
			err = fmt.Errorf("/readyz answers %d: %s", status, body)
		}
		return err
	})
	his.patchImage(app, "example/main:2")
	web := s.deploy("web", 3)
	s.awaitRollout(web)
	for _, image := range []string{"example/main:2", "example/main:3", "example/main:4"} {
		s.patchImage(web, image)
		s.awaitRollout(web)
	}
	if lines := engine.Log().Containing("standing by"); len(lines) > 0 {
		t.Errorf("the engine stood by: %v", lines)
	}
	if sets := his.replicaSetsNow(app); len(sets) != 1 {
		t.Errorf("there are %d ReplicaSets where the engine rests", len(sets))
	}
	his.awaitEvent(app, "ForeignStatusWrite", "tenant wrote the status. The deployment engine rests in this namespace")

	s.must(engine.Stop())
	s.must(standby.AwaitDriving(t.Context(), waitLimit))
	s.patchImage(web, "example/main:5")
	s.awaitRollout(web)
	if sets := his.replicaSetsNow(app); len(sets) != 1 {
		t.Errorf("there are %d ReplicaSets where the standby rests", len(sets))
	}

	stop()
	his.awaitRollout(app)
	if alarms, err := standby.Metric(t.Context(), "deployment_engine_false_alarms_total", nil); err != nil || alarms == 0 {
		t.Errorf("%v false alarms are counted, %v", alarms, err)
	}
}

// writeStatus writes the status of a Deployment as fast as that is answered, until the
// returned function is called.
func (s *scene) writeStatus(w workload) (stop func()) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	statuses := [...]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}
	var group sync.WaitGroup
	group.Go(func() {
		for count := 0; ctx.Err() == nil; count++ {
			_, err := s.client.AppsV1().Deployments(s.namespace).Patch(ctx, w.name, types.MergePatchType,
				[]byte(fmt.Sprintf(`{"status":{"conditions":[{"type":"Busy","status":%q}]}}`, statuses[count%2])), metav1.PatchOptions{FieldManager: "tenant"}, "status")
			if err != nil && !errors.Is(err, context.Canceled) && ctx.Err() == nil {
				s.Errorf("write the status of %s: %v", w.name, err)
				return
			}
		}
	})
	stop = func() {
		cancel()
		group.Wait()
	}
	s.Cleanup(stop)
	return stop
}
