package deployment

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

func TestAWriterAppliesAPlanUpToTheFirstActionThatFails(t *testing.T) {
	c := newCluster(func() time.Time { return noon })
	c.put(deploymentObject(3, "v1"))
	d := rollout.NewDeployment(c.deployments["web"])
	actions, _ := rollout.Plan(&rollout.State{Now: noon, Deployment: d})
	w := NewWriter(appsAPI{c: c}, recorder{c: c})

	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "replicasets"}, "", errors.New("exceeded quota"))
	c.refuse = func(string) error { return denied }
	done, failure, err := w.Apply(t.Context(), d, actions)
	if done != 0 || failure.Name == "" || failure.Collided || !errors.Is(err, denied) {
		t.Errorf("%d done, failure %+v, error %v", done, failure, err)
	}
	c.refuse = nil
	done, failure, err = w.Apply(t.Context(), d, actions)
	if done != len(actions) || failure != (rollout.CreationFailure{}) || err != nil {
		t.Errorf("%d of %d done, failure %+v, error %v", done, len(actions), failure, err)
	}
	if len(c.replicaSets) != 1 || len(c.events) != 1 {
		t.Errorf("%d ReplicaSets, Events %q", len(c.replicaSets), c.events)
	}
}
