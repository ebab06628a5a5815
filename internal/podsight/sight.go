// Package podsight tells what a pod shows of the change that it was created for, such as a restart. It is pure.
package podsight

import (
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Condition is how a pod is, as far as it says something about the change. Of several pods, the
// highest condition counts.
type Condition uint8

const (
	// Fine pods run, or are on the way.
	Fine Condition = iota
	// Unstarted pods have a container that has not started yet, so that it has not read any config.
	Unstarted
	// Hanging pods have a container that has started and is not ready.
	Hanging
	// Blocked pods cannot run for a reason that has nothing to do with their configs: no node has
	// room, the image cannot be pulled, or the node is gone.
	Blocked
	// Broken pods crash, or their containers cannot be created with these configs.
	Broken
)

// Sight is what one pod or several show.
type Sight struct {
	Condition Condition
	// Reason is why, as the API gives it or in words of ours. It contains no message of the API, since these name keys.
	Reason string
	// Pod and Container name what shows it; empty if nothing in particular does.
	Pod, Container string
	// HasRestarted means that the container runs for another time, so that its earlier logs may say why.
	HasRestarted bool
	// Since is when a container that hangs started, or a pod that lacks an image came to its node; zero if that is not known.
	Since time.Time
	Tally
	// IsLeaving means that a pod terminates, within its grace period. Others may have to wait for that.
	IsLeaving bool
}

// Tally counts pods that the change has created.
type Tally struct {
	// Broken is how many are, Down how many are that or hang, and Ready how many are ready.
	Broken, Down, Ready int32
	// Ran is how many have run for as long as the reader asks for; see [RunsSince].
	Ran int32
}

// Plus returns the sum of both.
func (t Tally) Plus(o Tally) Tally {
	return Tally{t.Broken + o.Broken, t.Down + o.Down, t.Ready + o.Ready, t.Ran + o.Ran}
}

// String names the container and the pod, and says how they are.
func (s *Sight) String() string {
	named := s.Reason
	switch {
	case s.Pod == "":
		return named
	case s.Container == "":
		return "pod " + s.Pod + ": " + named
	}
	return "container " + s.Container + " of pod " + s.Pod + ": " + named
}

// manyRestarts is how often a container of a new pod has to restart to count as broken. A single
// restart can have other causes, such as a dependency that was not ready.
const manyRestarts = 2

// The reasons that the kubelet gives for containers that wait. See
// https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-state-waiting.
var (
	brokenReasons = []string{"CrashLoopBackOff", configError, "CreateContainerError", "RunContainerError"}
	imageReasons  = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable"}
)

// Suspects reports whether the change brought content of the ConfigMap or Secret with this name in the pod's namespace. It is
// nil if nobody knows what the change brought.
type Suspects func(isSecret bool, name string) bool

// Of judges a pod at the given time. A pod that terminates or has finished is fine, unless no kubelet ends it. What it
// returns shares memory with the pod.
func Of(pod *corev1.Pod, suspects Suspects, now time.Time) Sight {
	switch {
	case pod.DeletionTimestamp != nil && now.Sub(pod.DeletionTimestamp.Time) > terminationDelay:
		return Sight{Condition: Blocked, Reason: "it does not terminate", Pod: pod.Name}
	case HasFinished(pod):
		return Sight{}
	case pod.DeletionTimestamp != nil:
		return Sight{IsLeaving: true}
	}
	worst := worstContainer(pod, suspects)
	if condition, why := placeOf(pod); condition > worst.Condition {
		worst = Sight{Condition: condition, Reason: why, Pod: pod.Name}
	}
	switch {
	case worst.Condition == Broken:
		worst.Broken, worst.Down = 1, 1
	case worst.Condition == Hanging:
		worst.Down = 1
	case IsReady(pod):
		worst.Ready = 1
	case worst.Condition == Fine && len(pod.Status.ContainerStatuses) == 0:
		worst.Condition, worst.Reason = Unstarted, "no container has started"
	}
	return worst
}

// worstContainer judges the containers of a pod.
func worstContainer(pod *corev1.Pod, suspects Suspects) Sight {
	worst := Sight{Pod: pod.Name}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			status := &statuses[i]
			if condition, why := conditionOfContainer(status, suspects); condition > worst.Condition && (condition > Hanging || !IsReady(pod)) {
				worst = Sight{Condition: condition, Reason: why, Pod: pod.Name, Container: status.Name, HasRestarted: status.RestartCount > 0 || status.LastTerminationState.Terminated != nil}
				switch {
				case condition == Hanging:
					worst.Since = startOf(status)
				case worst.LacksImage() && pod.Status.StartTime != nil:
					worst.Since = pod.Status.StartTime.Time
				}
			}
		}
	}
	return worst
}

// terminationDelay is how long after its deletion timestamp, which includes its grace period, a pod
// may still be there.
const terminationDelay = 30 * time.Second

func conditionOfContainer(status *corev1.ContainerStatus, suspects Suspects) (Condition, string) {
	waiting := status.State.Waiting
	switch {
	case waiting != nil && waiting.Reason == configError && isAboutOthers(waiting.Message, suspects):
		return Blocked, waiting.Reason
	case waiting != nil && slices.Contains(brokenReasons, waiting.Reason):
		return Broken, waiting.Reason
	case status.RestartCount >= manyRestarts:
		return Broken, "it restarts again and again"
	case waiting != nil && IsAboutImage(waiting.Reason):
		return Blocked, waiting.Reason
	case status.Ready:
		return Fine, ""
	case hasStarted(status):
		return Hanging, "it has started and is not ready"
	case waiting != nil && waiting.Reason != "":
		return Unstarted, "it has not started: " + waiting.Reason
	}
	return Unstarted, "it has not started"
}

// startOf returns when a container last started, zero if that is not known.
func startOf(status *corev1.ContainerStatus) time.Time {
	switch {
	case status.State.Running != nil:
		return status.State.Running.StartedAt.Time
	case status.State.Terminated != nil:
		return status.State.Terminated.StartedAt.Time
	case status.LastTerminationState.Terminated != nil:
		return status.LastTerminationState.Terminated.StartedAt.Time
	}
	return time.Time{}
}

func hasStarted(status *corev1.ContainerStatus) bool {
	return status.State.Running != nil || status.State.Terminated != nil || status.LastTerminationState.Terminated != nil || status.RestartCount > 0
}

// LacksImage reports whether an image cannot be pulled.
func (s *Sight) LacksImage() bool { return IsAboutImage(s.Reason) }

// IsAboutImage reports whether that is why a container waits: the kubelet cannot get its image.
func IsAboutImage(reason string) bool { return slices.Contains(imageReasons, reason) }

// LacksConfig reports whether a container cannot be made from its spec, mostly because of a config or key that does not exist.
func (s *Sight) LacksConfig() bool { return s.Condition == Broken && s.Reason == configError }

// configError is the kubelet's reason if it cannot make a container from its spec, mostly because of a config or key that
// does not exist.
const configError = "CreateContainerConfigError"

// How the kubelet's message about a container names a config, and how it begins if the kubelet has not read the configs of
// the pod yet. See https://github.com/kubernetes/kubernetes/blob/v1.35.0/pkg/kubelet/kubelet_pods.go,
// makeEnvironmentVariables.
var (
	namedConfig = regexp.MustCompile(`(?i)\b(configmap|secret)s? "([^"]+)"|\bin (ConfigMap|Secret) [^/ ]+/(\S+)$`)
	unreadYet   = "failed to sync "
)

// isAboutOthers reports whether the kubelet's message about a container names configs, and none that is suspected, or says
// that the kubelet has read none yet. A message that names none may well be about their content, such as the path that a subPath
// gets from a variable: if it is not, the next workload would fail just the same.
func isAboutOthers(message string, suspects Suspects) bool {
	named := namedConfig.FindAllStringSubmatch(message, -1)
	if suspects == nil || len(named) == 0 {
		return strings.HasPrefix(message, unreadYet)
	}
	return !slices.ContainsFunc(named, func(n []string) bool {
		kind, name := n[1]+n[3], n[2]+n[4]
		return suspects(strings.EqualFold(kind, "secret"), name)
	})
}

// placeOf reports whether a pod has no node, or has lost it. When a node does not answer, its pods are
// marked as not ready, and nothing else of their status changes. A pod whose readiness gates are closed
// looks the same, and says as little about its configs.
func placeOf(pod *corev1.Pod) (Condition, string) {
	scheduled, ready, containers := conditionOf(pod, corev1.PodScheduled), conditionOf(pod, corev1.PodReady), conditionOf(pod, corev1.ContainersReady)
	switch {
	case scheduled.Status == corev1.ConditionFalse:
		return Blocked, scheduled.Reason
	case ready.Status == corev1.ConditionUnknown, conditionOf(pod, corev1.DisruptionTarget).Status == corev1.ConditionTrue:
		return Blocked, "its node is gone"
	case ready.Status == corev1.ConditionFalse && containers.Status == corev1.ConditionTrue:
		return Blocked, "it is not ready, but its containers are"
	}
	return Fine, ""
}

// HasFinished reports whether no container of a pod will run any more.
func HasFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// RunsSince reports whether a pod has been ready since a time.
func RunsSince(pod *corev1.Pod, since time.Time) bool {
	ready := conditionOf(pod, corev1.PodReady)
	return ready.Status == corev1.ConditionTrue && !ready.LastTransitionTime.After(since)
}

// IsReady reports whether a pod is ready.
func IsReady(pod *corev1.Pod) bool {
	return conditionOf(pod, corev1.PodReady).Status == corev1.ConditionTrue
}

// conditionOf returns a condition of a pod, or the zero value if the pod does not have it.
func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return pod.Status.Conditions[i]
		}
	}
	return corev1.PodCondition{}
}
