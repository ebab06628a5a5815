package deployment

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// The size of a large cluster.
const (
	largeNamespaces  = 100
	largeDeployments = 10_000
	largeHistory     = 10 // ReplicaSets of each
)

// largeCluster makes the objects of a large cluster as they come from the API server: decoded
// from protobuf, with all that tools and controllers leave on them.
type largeCluster struct{}

func uidOf(kind, number int) types.UID {
	return types.UID(fmt.Sprintf("%08x-%04x-4000-8000-%012x", number*2654435761&0xffffffff, kind, number))
}

func (largeCluster) meta(name string, number int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: fmt.Sprintf("team-%02d-production", number%largeNamespaces), Name: name,
		ResourceVersion: fmt.Sprint(123_456_789 + number), Generation: 7, CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(number) * time.Second)),
		Labels: map[string]string{
			"app.kubernetes.io/name": "backend", "app.kubernetes.io/instance": fmt.Sprintf("backend-%05d", number),
			"app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "backend-1.2.3",
		},
		ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "helm", Operation: "Update", APIVersion: "apps/v1", Time: &metav1.Time{Time: noon}, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(strings.Repeat(`{"f:metadata":{}}`, 60))},
			{Manager: "kube-controller-manager", Operation: "Update", APIVersion: "apps/v1", Time: &metav1.Time{Time: noon}, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`), Subresource: "status"},
		},
	}
}

func (largeCluster) template(number, revision int) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{"app.kubernetes.io/name": "backend", "app.kubernetes.io/instance": fmt.Sprintf("backend-%05d", number)},
			Annotations: map[string]string{"com.xing.deployment-restart.timestamp": fmt.Sprint(revision), "prometheus.io/scrape": "true"},
		},
		Spec: corev1.PodSpec{
			ServiceAccountName: "backend", RestartPolicy: corev1.RestartPolicyAlways, DNSPolicy: corev1.DNSClusterFirst, SchedulerName: "default-scheduler",
			SecurityContext: &corev1.PodSecurityContext{}, TerminationGracePeriodSeconds: new(int64(30)),
			Containers: []corev1.Container{{
				Name: "backend", Image: fmt.Sprintf("registry.example.com/team/backend:1.2.%d", revision), ImagePullPolicy: corev1.PullIfNotPresent,
				Env:     []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"}, {Name: "REGION", Value: "eu"}, {Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}}},
				EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "backend"}}}},
				Ports:   []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
			}},
			Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "backend"}}}}},
		},
	}
}

func (c largeCluster) deployment(number int) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: c.meta(fmt.Sprintf("backend-%05d", number), number),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(10)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "backend", "app.kubernetes.io/instance": fmt.Sprintf("backend-%05d", number)}},
			Template: c.template(number, largeHistory), Strategy: rolling("25%", "25%"), RevisionHistoryLimit: new(int32(10)), ProgressDeadlineSeconds: new(int32(600)),
		},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 7, Replicas: 10, UpdatedReplicas: 10, ReadyReplicas: 10, AvailableReplicas: 10, TerminatingReplicas: new(int32(0)),
			Conditions: []appsv1.DeploymentCondition{
				condition(appsv1.DeploymentAvailable, corev1.ConditionTrue, reasonAvailable, "Deployment has minimum availability.", 10),
				condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, reasonComplete, fmt.Sprintf("ReplicaSet \"backend-%05d-5d4f8c7b9d\" has successfully progressed.", number), 10),
			},
		},
	}
	d.UID = uidOf(1, number)
	d.Annotations = map[string]string{
		rollout.RevisionAnnotation: fmt.Sprint(largeHistory), "meta.helm.sh/release-name": fmt.Sprintf("backend-%05d", number), "meta.helm.sh/release-namespace": d.Namespace,
		"com.xing.deployment-restart": "enabled", configChecksumsAnnotation: strings.Repeat("x", 200), configBasisAnnotation: strings.Repeat("y", 200),
		corev1.LastAppliedConfigAnnotation: strings.Repeat("z", 1500),
	}
	return decoded(d, &appsv1.Deployment{})
}

func (c largeCluster) replicaSet(number, revision int) *appsv1.ReplicaSet {
	deployment := c.meta(fmt.Sprintf("backend-%05d", number), number)
	deployment.UID = uidOf(1, number)
	hash := fmt.Sprintf("%09x%d", number*7919%0xffffffff, revision%10)
	rs := &appsv1.ReplicaSet{
		ObjectMeta: c.meta(deployment.Name+"-"+hash, number),
		Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32(0)), Template: c.template(number, revision)},
		Status:     appsv1.ReplicaSetStatus{ObservedGeneration: 7, TerminatingReplicas: new(int32(0))},
	}
	if revision == largeHistory {
		rs.Spec.Replicas = new(int32(10))
		rs.Status.Replicas, rs.Status.ReadyReplicas, rs.Status.AvailableReplicas = 10, 10, 10
	}
	rs.UID = uidOf(2, number*largeHistory+revision)
	rs.ResourceVersion = fmt.Sprint(100_000_000 + number*largeHistory + revision)
	rs.Labels = map[string]string{"app.kubernetes.io/name": "backend", "app.kubernetes.io/instance": deployment.Name, rollout.HashLabel: hash}
	rs.Spec.Template.Labels = rs.Labels
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: rs.Labels}
	rs.Annotations = map[string]string{
		rollout.RevisionAnnotation: fmt.Sprint(revision), desiredReplicasAnnotation: "10", maxReplicasAnnotation: "13",
		"meta.helm.sh/release-name": deployment.Name, "meta.helm.sh/release-namespace": rs.Namespace, "com.xing.deployment-restart": "enabled",
	}
	rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&deployment, rollout.DeploymentKind)}
	return decoded(rs, &appsv1.ReplicaSet{})
}

// wired is an object that protobuf can encode.
type wired interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

func decoded[T wired](object, empty T) T {
	if err := empty.Unmarshal(must(object.Marshal())); err != nil {
		panic(err)
	}
	return empty
}

// What the caches hold of a large cluster. The objects come one by one, as from a stream.
func BenchmarkTheCachesOfALargeCluster(b *testing.B) {
	var c largeCluster
	for b.Loop() {
		kept := crowd(0)
		before := heap()
		sets := kept.replicaSets.feed("")
		for number := range largeDeployments {
			for revision := 1; revision <= largeHistory; revision++ {
				sets.Observe(packReplicaSet(rollout.NewReplicaSet(c.replicaSet(number, revision))))
			}
		}
		withSets := heap()
		deployments := kept.deployments.feed("")
		for number := range largeDeployments {
			deployments.Observe(packDeployment(rollout.NewDeployment(c.deployment(number))))
		}
		all := heap()
		b.ReportMetric(float64(withSets-before)/largeDeployments/largeHistory, "bytes/ReplicaSet")
		b.ReportMetric(float64(all-withSets)/largeDeployments, "bytes/Deployment")
		b.ReportMetric(float64(all-before)/(1<<20), "MiB")
		if len(kept.replicaSets.find(noLimit, controlledBy("team-00-production", uidOf(1, 0)))) != largeHistory {
			b.Fatal("ReplicaSets are missing")
		}
	}
}

func TestLittleGarbageAccumulatesWhereMuchIsKept(t *testing.T) {
	inUse := debug.SetGCPercent(77)
	t.Cleanup(func() { debug.SetGCPercent(inUse) })
	present := func() int {
		percent := debug.SetGCPercent(77)
		debug.SetGCPercent(percent)
		return percent
	}
	t.Setenv("GOGC", "77")
	releaseGarbage()
	if percent := present(); percent != 77 {
		t.Errorf("what the user sets is overruled by %d", percent)
	}
	t.Setenv("GOGC", "")
	kept := make([]byte, largeHeap)
	releaseGarbage()
	if percent := present(); percent != percentWhenLarge {
		t.Errorf("%d percent beside %d bytes", percent, len(kept))
	}
	runtime.KeepAlive(kept)
	if percent := garbagePercent(largeHeap); percent != percentWhenSmall {
		t.Errorf("%d percent beside a small heap", percent)
	}
}
