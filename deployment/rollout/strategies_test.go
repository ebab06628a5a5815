package rollout

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// blueGreen is a strategy that only this test knows: it creates all new pods beside the old ones,
// and removes the old ones once the new ones are available.
type blueGreen struct{}

func (blueGreen) limits(_ *appsv1.DeploymentStrategy, replicas int64) (Limits, error) {
	return Limits{MaxSurge: replicas}, nil
}

func (blueGreen) isProportional() bool { return false }

func (blueGreen) needsPods() bool { return false }

// sizeOfTarget leaves room for the pods of all other templates.
func (blueGreen) sizeOfTarget(p *plan) int64 { return rollingUpdate{}.sizeOfTarget(p) }

func (b blueGreen) step(p *plan) {
	if !p.ensureNew() && !p.isFallenBack() || p.resize(p.target, b.sizeOfTarget(p)) {
		return
	}
	isStarting := p.target.size == p.d.Replicas && staying(p.target) < p.target.size
	if !isStarting {
		p.shrinkOld()
	}
}

func TestANewStrategyIsAFileAndALine(t *testing.T) {
	const kind = "BlueGreen"
	strategies[kind] = blueGreen{}
	defer delete(strategies, kind)
	d := web(3, "v2", func(d *appsv1.Deployment) { d.Spec.Strategy = appsv1.DeploymentStrategy{Type: kind} })
	if d.Invalid != nil {
		t.Fatal(d.Invalid)
	}
	name := replicaSetNameOf(d)
	for step, test := range []struct {
		sets []*ReplicaSet
		want []string
	}{
		{[]*ReplicaSet{set("v1", 3, 3)}, []string{"create replicaset " + name + " with 3, revision 2"}},
		{[]*ReplicaSet{set("v1", 3, 3), set("v2", 3, 2)}, []string{}},
		{[]*ReplicaSet{set("v1", 3, 3), set("v2", 3, 3)}, []string{"scale replicaset web-v1 from 3 to 0"}},
		{[]*ReplicaSet{set("v1", 0, 0), set("v2", 3, 3)}, []string{}},
	} {
		expect(t, string(rune('1'+step)), test.want, orders(stateOf(d, test.sets...)))
	}
	t.Run("it keeps its limits", TestNoPlanGoesBeyondTheLimits) // the property tests draw each known strategy
	t.Run("it comes to an end", TestPlansLeadToTheEnd)
}

func replicaSetNameOf(d *Deployment) string {
	return ReplicaSetName(d.Name, TemplateHash(d.Template.decode(), nil))
}
