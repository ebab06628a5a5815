package rollout

import (
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// history is ten ReplicaSets, of which the last ones have pods.
func history(sizes ...int64) (sets []*ReplicaSet) {
	for i := 1; i <= 10; i++ {
		size := int64(0)
		if j := i - 11 + len(sizes); j >= 0 {
			size = sizes[j]
		}
		sets = append(sets, set("v"+strconv.Itoa(i), size, size))
	}
	return sets
}

func BenchmarkPlanOfTenReplicaSets(b *testing.B) {
	settled := web(10, "v10", counted(10, 10, 10, 10,
		condition(appsv1.DeploymentAvailable, corev1.ConditionTrue, reasonAvailable, "Deployment has minimum availability.", 10),
		condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, reasonComplete, `ReplicaSet "web-v10" has successfully progressed.`, 10)))
	for name, s := range map[string]*State{
		"settled": stateOf(settled, history(10)...),
		"rolling": stateOf(web(10, "v10", withLimits("3", "2"), counted(13, 3, 10, 10)), history(10, 3)...),
		"new":     stateOf(web(10, "v11", withLimits("3", "2"), counted(10, 10, 10, 10)), history(10)...),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Plan(s)
			}
		})
	}
}

// Anyone who may create ReplicaSets in the namespace can make that many.
func BenchmarkPlanOfFarTooManyReplicaSets(b *testing.B) {
	for _, count := range []int{1_000, 10_000} {
		latest := "v" + strconv.Itoa(count)
		d := web(10, latest, func(d *appsv1.Deployment) {
			d.Annotations[stepsAnnotation], d.Spec.RevisionHistoryLimit = "1,2", new(int32(2))
		}, counted(10, 10, 10, 10,
			condition(appsv1.DeploymentAvailable, corev1.ConditionTrue, reasonAvailable, "Deployment has minimum availability.", 10),
			condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, reasonComplete, `ReplicaSet "web-`+latest+`" has successfully progressed.`, 10)))
		sets := []*ReplicaSet{set(latest, 10, 10)}
		for i := 1; i < count; i++ {
			sets = append(sets, set("v"+strconv.Itoa(i), 0, 0))
		}
		s := stateOf(d, sets...)
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Plan(s)
			}
		})
	}
}

func BenchmarkTheSumsOfATemplate(b *testing.B) {
	for _, name := range []string{"nginx-deployment", "rich"} {
		template := storedTemplate(b, name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sumsOf(template, true)
			}
		})
	}
}

func BenchmarkTemplateHash(b *testing.B) {
	for _, name := range []string{"nginx-deployment", "rich"} {
		template := storedTemplate(b, name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				TemplateHash(template, nil)
			}
		})
	}
}

func BenchmarkNewReplicaSet(b *testing.B) {
	object := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-1", Annotations: map[string]string{RevisionAnnotation: "1"}},
		Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32(3)), Template: *storedTemplate(b, "rich")},
	}
	b.ReportAllocs()
	for b.Loop() {
		NewReplicaSet(object)
	}
}
