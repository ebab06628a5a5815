package follow_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	catalogrecord "kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// Few workers judge the restarts of all namespaces.
func TestAJudgementTakesNoRequestsForTheEventsOnItsConfigs(t *testing.T) {
	requests := 0
	d := deliveriesOf(t, func(r *http.Request) (*http.Response, error) {
		ownedBy := func(owner types.UID) metav1.ObjectMeta {
			return metav1.ObjectMeta{Name: "web", UID: "rs", OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}}}
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/pods"): // which the judgement needs
			hangs := corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}
			return objecttest.Respond(http.StatusOK, &corev1.PodList{Items: []corev1.Pod{{ObjectMeta: ownedBy("rs"), Status: hangs}}})
		case strings.HasSuffix(r.URL.Path, "/replicasets"): // so are these
			return objecttest.Respond(http.StatusOK, &appsv1.ReplicaSetList{Items: []appsv1.ReplicaSet{{ObjectMeta: ownedBy("web-uid")}}})
		}
		requests++
		return objecttest.Respond(http.StatusOK, &corev1.PodList{})
	}, io.Discard)
	followWeb(d, workload.Rollout{Wanted: 3, Updated: 1, Outdated: 2, Available: 2, Observed: true, GaveUp: true})
	d.Catalog.Workload(webRef).PodTemplate = catalogrecord.RevisionFingerprint(&corev1.PodTemplateSpec{})
	restart := d.Of(webRef)
	for i := range 10 {
		config := names.ConfigRef{Kind: names.ConfigMap, Namespace: webRef.Namespace, Name: fmt.Sprint(i)}
		restart.Decision.Causes = append(restart.Decision.Causes, decide.Cause{Config: config, Keys: []string{"k"}})
	}
	d.Look(t.Context(), webRef)
	if requests > 0 || d.Notices.Waiting.Len() != 10 {
		t.Errorf("%d requests, and %d Events wait", requests, d.Notices.Waiting.Len())
	}
}
