package deployment

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// texts are short, long and odd ones.
func texts(t *rapid.T, name string) string {
	return rapid.SampledFrom([]string{"", "a", "web", "web-5d4f", "\x00\xff", strings.Repeat("long", 100), "1f0c6e5a-0000-4000-8000-000000000001"}).Draw(t, name)
}

func numbers(t *rapid.T, name string) int64 {
	return rapid.SampledFrom([]int64{0, 1, -1, 63, 64, 10, 1 << 20, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64}).Draw(t, name)
}

func textMaps(t *rapid.T, name string, keys ...string) map[string]string {
	drawn := map[string]string{}
	for _, key := range keys {
		if rapid.Bool().Draw(t, name+" has "+key) {
			drawn[key] = texts(t, name)
		}
	}
	return drawn
}

func drawnMeta(t *rapid.T) rollout.Meta {
	return rollout.Meta{Namespace: texts(t, "namespace"), Name: texts(t, "name"), UID: types.UID(texts(t, "uid")), ResourceVersion: texts(t, "version")}
}

// only returns the entries with the given keys.
func only(of map[string]string, keys []string) map[string]string {
	found := map[string]string{}
	for _, key := range keys {
		if value, has := of[key]; has {
			found[key] = value
		}
	}
	return found
}

// sameTimes compares times as moments.
var sameTimes = cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })

func TestAReplicaSetIsUnpackedAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rs := &rollout.ReplicaSet{
			Meta: drawnMeta(t), Created: time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "created"), 0),
			Controller: types.UID(texts(t, "controller")), ControllerName: texts(t, "controller's name"), Deleting: rapid.Bool().Draw(t, "deleting"),
			Replicas: numbers(t, "replicas"), MinReadySeconds: int32(numbers(t, "seconds")), Observed: rapid.Bool().Draw(t, "observed"),
			Existing: numbers(t, "existing"), Ready: numbers(t, "ready"), Available: numbers(t, "available"),
		}
		rs.SetLabels(textMaps(t, "labels", "app", "tier", rollout.HashLabel))
		rs.SetAnnotations(textMaps(t, "annotations", "note", rollout.RevisionAnnotation, revisionHistoryAnnotation, desiredReplicasAnnotation, maxReplicasAnnotation, rollout.RollbackAnnotation))
		rs.Sum[0], rs.Sum[31] = byte(numbers(t, "sum")), byte(numbers(t, "sum"))
		if rs.Bare = rs.Sum; rapid.Bool().Draw(t, "is restarted") {
			rs.Bare[0], rs.Bare[15] = byte(numbers(t, "bare sum")), byte(numbers(t, "bare sum"))
		}
		if rs.Hash != nil && rapid.Bool().Draw(t, "is named by its hash") {
			rs.Name = rollout.ReplicaSetName(rs.ControllerName, *rs.Hash)
		}
		if rapid.Bool().Draw(t, "reports terminating pods") {
			rs.Terminating = new(int32(numbers(t, "terminating")))
		}
		if rapid.Bool().Draw(t, "fails") {
			rs.Failure = &appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure, Reason: texts(t, "reason"), Message: "no"}
		}
		packed := packReplicaSet(rs)
		if diff := cmp.Diff(rs, packed.unpack(), sameTimes); diff != "" {
			t.Fatal(diff)
		}
		if packReplicaSet(packed.unpack()) != packed {
			t.Fatal("one ReplicaSet is packed in two ways")
		}
	})
}

func TestADeploymentIsUnpackedAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := deploymentObject(int32(rapid.IntRange(0, math.MaxInt32).Draw(t, "replicas")), "v1", func(d *appsv1.Deployment) {
			d.Namespace, d.Name, d.UID, d.ResourceVersion, d.Generation = texts(t, "namespace"), texts(t, "name"), types.UID(texts(t, "uid")), texts(t, "version"), numbers(t, "generation")
			d.Annotations = textMaps(t, "annotations", "note", rollout.RevisionAnnotation, rollout.RollbackAnnotation, "com.xing.deployment-restart.on-failure")
			d.Spec.Template.Annotations = textMaps(t, "annotations of the template", restartedAt)
			d.Spec.Paused, d.Spec.MinReadySeconds = rapid.Bool().Draw(t, "paused"), int32(numbers(t, "seconds"))
			if rapid.Bool().Draw(t, "deleting") {
				d.DeletionTimestamp = &metav1.Time{Time: noon}
			}
			d.Spec.RevisionHistoryLimit = rapid.SampledFrom([]*int32{nil, new(int32(0)), new(int32(7))}).Draw(t, "history")
			d.Spec.ProgressDeadlineSeconds = rapid.SampledFrom([]*int32{nil, new(int32(1)), new(int32(math.MaxInt32))}).Draw(t, "deadline")
			d.Spec.Strategy = rapid.SampledFrom([]appsv1.DeploymentStrategy{
				rolling("25%", "0"), rolling("x", "y"), {Type: appsv1.RecreateDeploymentStrategyType}, {Type: "Odd"},
			}).Draw(t, "strategy")
			d.Spec.Selector = rapid.SampledFrom([]*metav1.LabelSelector{
				nil, {}, {MatchLabels: map[string]string{"app": "web"}}, {MatchLabels: map[string]string{"!": "?"}},
				{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web", "api"}}}},
			}).Draw(t, "selector")
			d.Status = appsv1.DeploymentStatus{
				ObservedGeneration: 1, Replicas: int32(numbers(t, "existing")), TerminatingReplicas: rapid.SampledFrom([]*int32{nil, new(int32(0))}).Draw(t, "terminating"),
				Conditions: []appsv1.DeploymentCondition{condition(appsv1.DeploymentAvailable, corev1.ConditionTrue, texts(t, "reason"), texts(t, "message"), 3)},
			}
			d.ManagedFields = []metav1.ManagedFieldsEntry{statusBy("somebody", 3)}
		})
		d := rollout.NewDeployment(object)
		outlined := *d
		outlined.Annotations, outlined.Selector = only(d.Annotations, rollout.OwnAnnotations), nil
		if diff := cmp.Diff(&outlined, packDeployment(d).outline(), sameTimes); diff != "" {
			t.Fatalf("the outline differs (-unpacked +outline):\n%s", diff)
		}
		if diff := cmp.Diff(d, packDeployment(d).unpack(), sameTimes); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Anyone who can write a ReplicaSet decides what it contains.
func FuzzAReplicaSetOfAnyContentIsUnpackedAsItWas(f *testing.F) {
	f.Add(must(largeCluster{}.replicaSet(7, largeHistory).Marshal()))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, wire []byte) {
		object := &appsv1.ReplicaSet{}
		if object.Unmarshal(wire) != nil {
			return
		}
		rs := rollout.NewReplicaSet(object)
		rs.Created = time.Unix(rs.Created.Unix(), 0) // as the API server stamps it
		if diff := cmp.Diff(rs, packReplicaSet(rs).unpack(), sameTimes, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzADeploymentOfAnyContentIsUnpackedAsItWas(f *testing.F) {
	f.Add(must(largeCluster{}.deployment(7).Marshal()))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, wire []byte) {
		object := &appsv1.Deployment{}
		if object.Unmarshal(wire) != nil {
			return
		}
		d := rollout.NewDeployment(object)
		if diff := cmp.Diff(d, packDeployment(d).unpack(), sameTimes, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestReplicaSetsOfADeploymentShareWhatIsTheSame(t *testing.T) {
	first, second := packReplicaSet(set("v1", 3, 3)), packReplicaSet(set("v2", 0, 0))
	if first.origin != second.origin || first.copied != second.copied {
		t.Error("they do not")
	}
}

// What is kept for each Deployment must not keep what the Deployment had in it once.
func TestKeysAndNamesDoNotKeepTheObjectsTheyComeFrom(t *testing.T) {
	const count, size = 50, 200 << 10
	large := strings.Repeat("x", size)
	deployments := func(number int) packedDeployment {
		return packDeployment(web(3, "v1", func(d *appsv1.Deployment) {
			d.Name, d.UID = fmt.Sprint("web-", number), types.UID(fmt.Sprint("uid-", number))
			d.Spec.Template.Spec.Containers[0].Args, d.ManagedFields = []string{large}, []metav1.ManagedFieldsEntry{statusBy("somebody", 3)}
		}))
	}
	sets := func(number int) packedReplicaSet {
		return packReplicaSet(set("v1", 0, 0, func(rs *rollout.ReplicaSet) {
			rs.Name, rs.ControllerName = fmt.Sprint("odd-", number), fmt.Sprint("web-", number)
			rs.SetLabels(map[string]string{"many": large, rollout.HashLabel: large})
		}))
	}
	for name, keep := range map[string]func(number int) any{
		"the key of a packed Deployment": func(number int) any { return deployments(number).key() },
		"the key of a Deployment":        func(number int) any { return deployments(number).unpack().Key() },
		"who else writes a status":       func(number int) any { return deployments(number).unpack().StatusBy },
		"the name of a Deployment": func(number int) any {
			return named[*rollout.Deployment, packedDeployment](rollout.DeploymentKind, uncontrolled)(deployments(number))
		},
		"the name of a ReplicaSet": func(number int) any {
			return named[*rollout.ReplicaSet, packedReplicaSet](replicaSetKind, controllerOfReplicaSet)(sets(number))
		},
		"the controller of a ReplicaSet": func(number int) any { return sets(number).unpack().ControllerName },
	} {
		before := heap()
		kept := make([]any, 0, count)
		for number := range count {
			kept = append(kept, keep(number))
		}
		if grown := heap() - before; grown > count*size/10 {
			t.Errorf("%s: %d bytes are kept for each", name, grown/count)
		}
		runtime.KeepAlive(kept)
	}
}

// An event or a sync of one Deployment holds up those of others for as long as it takes to
// unpack it.
func TestASelectorIsNotMadeUsableToUnpackADeployment(t *testing.T) {
	with := func(values int) packedDeployment {
		return packDeployment(web(3, "v1", func(d *appsv1.Deployment) {
			expression := metav1.LabelSelectorRequirement{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web"}}
			for number := range values - 1 {
				expression.Values = append(expression.Values, fmt.Sprint(number))
			}
			d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{expression}
		}))
	}
	allocations := func(p packedDeployment) float64 { return testing.AllocsPerRun(10, func() { p.unpack() }) }
	few, many, tooMany := allocations(with(1)), allocations(with(5000)), allocations(with(50_000))
	if most := few + 5000 + 30; many > most { // a text for each value, and a slice that grows
		t.Errorf("%v allocations for 5000 values, want at most %v", many, most)
	}
	if tooMany > few {
		t.Errorf("%v allocations for a selector that is too large, %v for a small one", tooMany, few)
	}
}
