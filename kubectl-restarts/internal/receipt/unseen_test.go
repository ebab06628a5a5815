package receipt_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/receipt"
)

// onNode makes the pod one of a node that has reported this of its only container, and nothing if that is empty.
func onNode(waiting string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.NodeName, p.Status = "node", corev1.PodStatus{Phase: corev1.PodPending}
		if waiting != "" {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: waiting}}}}
		}
	}
}

// debugged gives the pod an ephemeral container that reads the Secret and started at a time. No other container does.
func debugged(seconds int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		from := p.Spec.Containers[0].EnvFrom
		p.Spec.Containers[0].EnvFrom = nil
		p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debugger", EnvFrom: from}}}
		p.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{Name: "debugger", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(seconds)}}}}
	}
}

// mountsWith makes the node mount a volume of the pod with the Secret, which no container sees.
func mountsWith(source *corev1.VolumeSource) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].EnvFrom = nil
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: *source}}
	}
}

func TestWhatIsNotSeenAtOnceIsNotDelivered(t *testing.T) {
	ref := &corev1.LocalObjectReference{Name: "db"}
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		left int
	}{
		"its node has said nothing":                      {pod(-1, onNode("")), 1},
		"its node has said that it creates it":           {pod(-1, onNode("ContainerCreating")), 1},
		"its node cannot pull the image":                 {pod(-1, onNode("ImagePullBackOff")), 0},
		"its node waits for the config":                  {pod(-1, onNode("CreateContainerConfigError")), 0},
		"its node has said nothing, and it is later":     {pod(1, onNode("")), 0},
		"it is on no node":                               {pod(-1, onNode(""), func(p *corev1.Pod) { p.Spec.NodeName = "" }), 0},
		"an ephemeral container from before":             {pod(-60, debugged(-30)), 1},
		"an ephemeral container from after":              {pod(-60, debugged(30)), 0},
		"its node mounts a file share with the Secret":   {pod(-60, mountsWith(&corev1.VolumeSource{AzureFile: &corev1.AzureFileVolumeSource{SecretName: "db"}})), 1},
		"its node mounts by a driver with the Secret":    {pod(-60, mountsWith(&corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{NodePublishSecretRef: ref}})), 1},
		"its node mounts a block device with the Secret": {pod(-60, mountsWith(&corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{SecretRef: ref}})), 1},
		"its node mounts with another Secret":            {pod(-60, mountsWith(&corev1.VolumeSource{AzureFile: &corev1.AzureFileVolumeSource{SecretName: "other"}})), 0},
	} {
		if r := receipt.Judge(input(secret(), cluster(), web(), test.pod)); r.Left != test.left {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// The API server counts the pods below the partition as those of an earlier template, and the controller leaves them out: it cannot
// restart them.
func TestTheWordOfTheLeaderIsNotAboutPodsBelowThePartition(t *testing.T) {
	partition := &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(2))}
	parts := workload.PartsOfStatefulSet(&appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "store", Generation: 7},
		Spec:       appsv1.StatefulSetSpec{Replicas: new(int32(3)), UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: partition}},
		Status:     appsv1.StatefulSetStatus{ObservedGeneration: 7, Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, UpdatedReplicas: 1, CurrentReplicas: 2, CurrentRevision: "a", UpdateRevision: "b"},
	})
	store := web(named(names.StatefulSet, "store"), func(w *facts.Workload) { w.Hold, w.Rollout = parts.Hold, parts.Rollout })
	pods := []*corev1.Pod{pod(-60, owned("StatefulSet", "store")), pod(-59, owned("StatefulSet", "store")), pod(30, owned("StatefulSet", "store"))}
	if r := receipt.Judge(input(secret(), leader(settled), store, pods...)); r.Left != 2 || r.Readers[0].Verdict != receipt.Stays {
		t.Errorf("%+v", r)
	}
}

// Others have kinds of the same names, and anybody may own a pod with any.
func TestTheWordOfTheLeaderIsAboutThePodsOfThatWorkloadOnly(t *testing.T) {
	for name, test := range map[string]struct {
		kind names.WorkloadKind
		pod  *corev1.Pod
		left int
	}{
		"its own":                        {names.StatefulSet, pod(-60, ownedBy("apps/v1", "StatefulSet", "web")), 0},
		"of another kind of that name":   {names.StatefulSet, pod(-60, ownedBy("apps.kruise.io/v1beta1", "StatefulSet", "web")), 1},
		"its own of a custom kind":       {"clonesets.apps.kruise.io", pod(-60, ownedBy("apps.kruise.io/v1alpha1", "CloneSet", "web")), 0},
		"of another group than the kind": {"rollouts.argoproj.io", pod(-60, ownedBy("core.strimzi.io/v1", "StrimziPodSet", "web")), 1},
		"of a job of another group":      {names.Deployment, pod(-60, ownedBy("batch.volcano.sh/v1alpha1", "Job", "web")), 1},
	} {
		if r := receipt.Judge(input(secret(), leader(settled), web(named(test.kind, "web")), test.pod)); r.Left != test.left {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// Anybody may make a ReplicaSet of any name, or leave one behind, and the status of a Deployment counts only the pods of its own.
func TestTheWordOfTheLeaderIsNotAboutPodsOfReplicaSetsThatOnlyHaveSuchAName(t *testing.T) {
	selecting := func(w *facts.Workload) { w.Selector = "app=web" }
	labeled := func(app, replicaSet string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			owned("ReplicaSet", "web-"+replicaSet, "pod-template-hash", replicaSet)(p)
			p.Labels["app"] = app
		}
	}
	own := pod(-60, labeled("web", "5d4c8bb5f9"))
	if r := receipt.Judge(input(secret(), leader(settled), web(selecting), own)); r.Left != 0 || len(r.Readers) != 1 {
		t.Errorf("its own: %+v", r)
	}
	r := receipt.Judge(input(secret(), leader(settled), web(selecting), own, pod(-50, labeled("other", "abc123"))))
	if r.Left != 1 || len(r.Readers) != 2 || r.Readers[1].Name != "replicaset/web-abc123" || r.Readers[1].Verdict != receipt.Stays {
		t.Errorf("one that it does not select: %+v", r)
	}
	for _, w := range []facts.Workload{web(selecting), web(selecting, notEnabled)} {
		if r := receipt.Judge(input(secret(), leader(settled), w, own, pod(-50, labeled("web", "abc123")))); r.Left != 2 {
			t.Errorf("one more than it has: %+v", r)
		}
	}
	if r := receipt.Judge(input(secret(), leader(settled), web(selecting), own, pod(-50, labeled("web", "abc123"), leaving))); r.Left != 1 || !strings.HasPrefix(r.Readers[0].Why, "they terminate, such as web-5d4c8bb5f9--50 since ") {
		t.Errorf("one that terminates: %+v", r)
	}
}

// The API server moves the date of a deletion on by the grace period.
func TestOfPodsThatTerminateTheFirstOneIsNamedWithWhatKeepsIt(t *testing.T) {
	since := func(seconds int, finalizers ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds, p.Finalizers = new(at(seconds+30)), new(int64(30)), finalizers
		}
	}
	began := func(seconds int) string { return " since " + at(seconds).UTC().Format(time.RFC3339) }
	many := []string{"a/1", "a/2", "a/" + strings.Repeat("x", 300), "a/4", "a/5"}
	for want, pods := range map[string][]*corev1.Pod{
		"they terminate, such as web-5d4c8bb5f9--60" + began(2):                                                                                        {pod(-50, since(3)), pod(-60, since(2))},
		"they terminate, such as web-5d4c8bb5f9--50" + began(3):                                                                                        {pod(-60, since(3)), pod(-50, since(3)), pod(30, since(2))},
		"they terminate, such as web-5d4c8bb5f9--60" + began(3) + ", which has the finalizer example.com/x":                                            {pod(-60, since(3, "example.com/x"))},
		"they terminate, such as web-5d4c8bb5f9--60" + began(3) + ", which has the finalizers a/1, a/2, a/" + strings.Repeat("x", 97) + "… and 2 more": {pod(-60, since(3, many...))},
	} {
		reader := only(t, input(secret(), cluster(), web(), pods...))
		name, _, _ := strings.Cut(strings.TrimPrefix(want, "they terminate, such as "), " ")
		if reader.Verdict != receipt.Waits || reader.Why != want || reader.Remedy != "kubectl describe -n shop pod/"+name {
			t.Errorf("%+v, want %s", reader, want)
		}
	}
}

func TestAContentOfWhichNotEachKeyIsDatedIsNotKnown(t *testing.T) {
	for name, forge := range map[string]func(*corev1.Secret){
		"an entry is gone":         func(s *corev1.Secret) { s.ManagedFields = s.ManagedFields[:1] },
		"an entry is of year 9999": func(s *corev1.Secret) { s.ManagedFields[0].Time = &metav1.Time{Time: edit.AddDate(7973, 0, 0)} },
	} {
		r := receipt.Judge(input(secret(forge), cluster(), web(), pod(-60)))
		if r.Left != 1 || r.Readers[0].Verdict != receipt.Unknown || !strings.Contains(r.Readers[0].Why, "managedFields") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
