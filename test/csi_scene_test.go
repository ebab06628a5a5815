package test

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// podStatuses is the kind of object in which the Secrets Store CSI driver reports what it has mounted. The driver itself is
// played by the tests.
var podStatuses = otherKind{"secretproviderclasspodstatuses", "v1", "secrets-store.csi.x-k8s.io", "SecretProviderClassPodStatus", nil}

// podStatusDefinition is the CustomResourceDefinition, as the driver has it: the status is no subresource.
const podStatusDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: secretproviderclasspodstatuses.secrets-store.csi.x-k8s.io}
spec:
  group: secrets-store.csi.x-k8s.io
  scope: Namespaced
  names: {plural: secretproviderclasspodstatuses, singular: secretproviderclasspodstatus, kind: SecretProviderClassPodStatus, listKind: SecretProviderClassPodStatusList}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            status:
              type: object
              properties:
                mounted: {type: boolean}
                podName: {type: string}
                secretProviderClassName: {type: string}
                targetPath: {type: string}
                objects:
                  type: array
                  items:
                    type: object
                    properties:
                      id: {type: string}
                      version: {type: string}
`

// installDriver makes the API server know what the driver reports.
func (s *scene) installDriver() {
	s.Helper()
	s.must(s.applyDefinition(podStatusDefinition))
	s.eventually("the statuses are served", func(ctx context.Context) error {
		_, err := s.statuses().List(ctx, metav1.ListOptions{})
		return err
	})
}

func (s *scene) statuses() dynamic.ResourceInterface {
	s.Helper()
	return s.others(podStatuses)
}

// podWithClass returns a pod that mounts what a class names.
func podWithClass(class string, parts ...func(*corev1.Container)) corev1.PodSpec {
	pod := podOf(append(parts, mount("store"))...)
	pod.Volumes = []corev1.Volume{{Name: "store", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
		Driver: "secrets-store.csi.k8s.io", ReadOnly: new(true), VolumeAttributes: map[string]string{"secretProviderClass": class},
	}}}}
	return pod
}

// report plays the driver: it says which version of the object of a class a pod has now.
func (s *scene) report(pod *corev1.Pod, class, version string) {
	s.Helper()
	s.must(s.tryReport(pod.Name+"-"+s.namespace+"-"+class, pod, class, version))
}

// tryReport is report in a status of any name.
func (s *scene) tryReport(name string, pod *corev1.Pod, class, version string) error {
	status := map[string]any{
		"mounted": true, "podName": pod.Name, "secretProviderClassName": class, "targetPath": "/var/lib/kubelet/pods/" + string(pod.UID),
		"objects": []any{map[string]any{"id": "secret/" + class, "version": version}},
	}
	known, err := s.statuses().Get(s.Context(), name, metav1.GetOptions{})
	if err == nil {
		known.Object["status"] = status
		_, err = s.statuses().Update(s.Context(), known, metav1.UpdateOptions{FieldManager: "secrets-store-csi-driver"})
	} else if apierrors.IsNotFound(err) {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "secrets-store.csi.x-k8s.io/v1", "kind": podStatuses.kind, "metadata": map[string]any{"name": name}, "status": status,
		}}
		object.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}})
		_, err = s.statuses().Create(s.Context(), object, metav1.CreateOptions{FieldManager: "secrets-store-csi-driver"})
	}
	return err
}

// mountIn plays the driver for all pods of a workload, as when they start, and returns the pods.
func (s *scene) mountIn(w workload, class, version string) []corev1.Pod {
	s.Helper()
	pods, err := s.podsOf(s.Context(), w)
	s.must(err)
	for i := range pods {
		s.report(&pods[i], class, version)
	}
	return pods
}

// runMounting creates a Deployment with so many pods that have a version of a class, and returns when it is recorded.
func (s *scene) runMounting(name, class, version string, pods int32) (workload, state) {
	s.Helper()
	w := s.run(name, podWithClass(class), func(d *appsv1.Deployment) { d.Spec.Replicas = &pods })
	s.awaitRollout(w)
	s.mountIn(w, class, version)
	return w, s.awaitRecorded(w)
}

// settleMounts returns when the controller has dealt with all that the driver has reported before: it rotates the files of
// another workload, which must restart.
func (s *scene) settleMounts() {
	s.Helper()
	name := "mounting-" + fmt.Sprint(s.markerRound)
	last, before := s.runMounting(name, name, "v1", 1)
	s.letTimePass()
	s.mountIn(last, name, "v2")
	s.awaitRestart(last, before)
	s.settle()
}
