package deployment

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// pod is what the engine needs of a pod: whether the Recreate strategy has to wait
// for it.
type pod struct {
	Meta
	controller     types.UID
	controllerName string
	finished       bool
}

func newPod(object *corev1.Pod) *pod {
	p := &pod{
		Meta:     metaOf(&object.ObjectMeta),
		finished: object.Status.Phase == corev1.PodSucceeded || object.Status.Phase == corev1.PodFailed,
	}
	if controller := metav1.GetControllerOfNoCopy(object); controller != nil {
		p.controller, p.controllerName = controller.UID, controller.Name
	}
	return p
}

func (p *pod) isRunning() bool { return !p.finished }

// group makes pods found by the ReplicaSet that controls them.
func (p *pod) group() string { return string(p.controller) }

func (p *pod) controllerKey() types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.controllerName}
}
