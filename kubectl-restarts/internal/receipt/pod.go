package receipt

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/internal/podsight"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// Pod is a pod that runs, whoever owns it. It may terminate.
type Pod struct {
	Namespace, Name string
	// Kind and Owner name its controller, such as ReplicaSet and web-5d4c8bb5f9; empty for a pod of its own.
	Kind, Owner string
	// workload is which workload may own it, as far as its controller and its labels show, and controller is its controller.
	workload, controller owner
	labels               labels.Set
	// IsLeaving means that it terminates, since leavingSince; leaving says that with its name and its finalizers.
	IsLeaving    bool
	leavingSince time.Time
	leaving      string
	// IsUnreported means that it is on a node that has not reported of each container whether it has started.
	IsUnreported bool
	decide.Pod
	// References are those of its containers to the configs that were asked about.
	References []template.Reference
}

// NewPod reduces a pod. It returns false for one that has finished.
func NewPod(pod *corev1.Pod, asked map[names.ConfigRef]bool) (Pod, bool) {
	if podsight.HasFinished(pod) {
		return Pod{}, false
	}
	running := withEphemeral(pod)
	running.DeletionTimestamp = nil // it runs until it is gone
	reads, _ := decide.NewPod(running, containersOf(&running.Spec))
	p := Pod{
		Namespace: pod.Namespace, Name: pod.Name, workload: owner{namespace: pod.Namespace}, labels: pod.Labels, Pod: reads,
		IsUnreported: isUnreported(running),
	}
	p.leave(pod)
	if controller := metav1.GetControllerOfNoCopy(pod); controller != nil {
		p.Kind, p.Owner, p.workload = controller.Kind, controller.Name, workloadOf(pod, controller)
		p.controller = owner{pod.Namespace, kindOf(controller), controller.Name}
	}
	references, areAll := template.ReferencesOf(pod.Namespace, &running.Spec, template.Filter{})
	if !areAll { // any of them may be among so many
		for ref := range asked {
			references = append(references, template.Reference{Config: ref, Channel: template.API})
		}
	}
	references = append(references, credentialsOf(pod.Namespace, &pod.Spec)...)
	p.References = slices.DeleteFunc(references, func(r template.Reference) bool { return !asked[r.Config] || r.Config.Namespace != pod.Namespace })
	return p, true
}

// So many finalizers of a pod are named, each with so many characters.
const (
	someFinalizers   = 3
	longestFinalizer = 100
)

// leave notes that a pod terminates, if it does. The date of its deletion is when its grace period ends.
func (p *Pod) leave(pod *corev1.Pod) {
	if pod.DeletionTimestamp == nil {
		return
	}
	p.IsLeaving, p.leavingSince = true, pod.DeletionTimestamp.UTC()
	if grace := pod.DeletionGracePeriodSeconds; grace != nil {
		p.leavingSince = p.leavingSince.Add(-time.Duration(*grace) * time.Second)
	}
	p.leaving = pod.Name + " since " + p.leavingSince.Format(time.RFC3339)
	if len(pod.Finalizers) == 0 {
		return
	}
	finalizers := slices.Clone(pod.Finalizers)
	for i := range finalizers[:min(len(finalizers), someFinalizers)] {
		finalizers[i] = text.Short(finalizers[i], longestFinalizer)
	}
	noun := "finalizer "
	if len(finalizers) > 1 {
		noun = "finalizers "
	}
	p.leaving += ", which has the " + noun + text.List(finalizers, someFinalizers)
}

// withEphemeral returns a copy of a pod whose ephemeral containers are among the others.
func withEphemeral(pod *corev1.Pod) *corev1.Pod {
	own := *pod
	own.Spec.Containers, own.Status.ContainerStatuses = slices.Clip(pod.Spec.Containers), slices.Clip(pod.Status.ContainerStatuses)
	for i := range pod.Spec.EphemeralContainers {
		own.Spec.Containers = append(own.Spec.Containers, corev1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	own.Status.ContainerStatuses = append(own.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses...)
	return &own
}

// idle are the reasons beside those about images for which the kubelet says that a container waits that does not run: PodInitializing
// says that init containers come first, which it reports of.
var idle = []string{"CreateContainerConfigError", "CrashLoopBackOff", "PodInitializing"}

// isUnreported reports whether a container may have started without a word of its node: for a moment after each start, and for long if
// the node is cut off.
func isUnreported(pod *corev1.Pod) bool {
	if pod.Spec.NodeName == "" {
		return false
	}
	said := make(map[string]bool)
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			state := &statuses[i].State
			waits := state.Waiting != nil && (podsight.IsAboutImage(state.Waiting.Reason) || slices.Contains(idle, state.Waiting.Reason))
			said[statuses[i].Name] = state.Running != nil || state.Terminated != nil || waits
		}
	}
	return slices.ContainsFunc(containersOf(&pod.Spec), func(name string) bool { return !said[name] })
}

// containersOf returns the names of all containers, sorted.
func containersOf(spec *corev1.PodSpec) (containers []string) {
	for _, all := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range all {
			containers = append(containers, all[i].Name)
		}
	}
	slices.Sort(containers)
	return containers
}

// owner names what may own pods: the kind is that of their controller, Deployment if a ReplicaSet is made for one, and customKind for
// any kind that is not part of Kubernetes.
type owner struct{ namespace, kind, name string }

const (
	replicaSet            = "ReplicaSet"
	replicationController = "ReplicationController"
	customKind            = "custom"
)

// workloadOf returns which workload may own a pod with this controller. A ReplicaSet that is made for one has its name and the hash
// that the pods have as a label; anybody may make others, with any name.
func workloadOf(pod *corev1.Pod, controller *metav1.OwnerReference) owner {
	switch controller.Kind {
	case replicaSet:
		for _, made := range []struct{ kind, label string }{{string(names.Deployment), appsv1.DefaultDeploymentUniqueLabelKey}, {customKind, "rollouts-pod-template-hash"}} {
			if name, is := strings.CutSuffix(controller.Name, "-"+pod.Labels[made.label]); is && pod.Labels[made.label] != "" {
				return owner{pod.Namespace, made.kind, name}
			}
		}
	case replicationController: // of a DeploymentConfig
		if name := pod.Labels["deploymentconfig"]; name != "" && strings.HasPrefix(controller.Name, name+"-") {
			return owner{pod.Namespace, customKind, name}
		}
	}
	return owner{pod.Namespace, kindOf(controller), controller.Name}
}

// kindOf returns the kind of a controller, with its API group unless that is part of Kubernetes: others have kinds of the same names.
func kindOf(controller *metav1.OwnerReference) string {
	group, _, isNamed := strings.Cut(controller.APIVersion, "/")
	if !isNamed || group == appsv1.GroupName || group == batchv1.GroupName {
		return controller.Kind
	}
	return controller.Kind + "." + group
}
