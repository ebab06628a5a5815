package rollout

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// blueGreen is a strategy that only this test knows: all new pods are made beside the old
// ones, which go once all of these are available.
type blueGreen struct{}

func (blueGreen) limits(_ *appsv1.DeploymentStrategy, replicas int64) (Limits, error) {
	return Limits{MaxSurge: replicas}, nil
}

func (blueGreen) isProportional() bool { return false }

func (blueGreen) needsPods() bool { return false }

func (blueGreen) sizeOfNew(p *plan) int64 { return p.d.Replicas }

func (b blueGreen) step(p *plan) {
	if !p.ensureNew() || p.resize(p.newRS, b.sizeOfNew(p)) || !p.isSaturated() {
		return
	}
	for _, m := range p.oldRSs {
		p.resize(m, 0)
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
}

func replicaSetNameOf(d *Deployment) string {
	return ReplicaSetName(d.Name, TemplateHash(d.Template.decode(), nil))
}
