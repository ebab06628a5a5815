package test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const haltsConfigMap = "kubernetes-deployment-restart-controller-halts"

// The manifests grant what keeping halts takes, and no permission for another ConfigMap.
func TestHaltsOutliveTheManifestsThatAreAppliedAgain(t *testing.T) {
	s := newSceneApart(t)
	manifests, home := s.installApart(nil)
	asController := s.asController().CoreV1().ConfigMaps(home)
	var halts *corev1.ConfigMap
	s.eventually("the API server knows the Role", func(ctx context.Context) (err error) {
		halts, err = asController.Get(ctx, haltsConfigMap, metav1.GetOptions{})
		return err
	})
	if len(halts.Data) != 0 {
		t.Fatalf("the manifest ships the ConfigMap with the entries %v", halts.Data)
	}
	halts.Data = map[string]string{"entry": "kept"}
	written, err := asController.Update(t.Context(), halts, metav1.UpdateOptions{FieldManager: controllerName})
	s.must(err)

	s.applyAgain(manifests)
	read, err := asController.Get(t.Context(), haltsConfigMap, metav1.GetOptions{})
	s.must(err)
	if diff := cmp.Diff(written.Data, read.Data); diff != "" {
		t.Errorf("applying the manifests again changes the halts (-before +after):\n%s", diff)
	}

	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: home}}
	_, createError := asController.Create(t.Context(), other, metav1.CreateOptions{})
	_, getError := asController.Get(t.Context(), other.Name, metav1.GetOptions{})
	_, updateError := asController.Update(t.Context(), other, metav1.UpdateOptions{})
	for verb, err := range map[string]error{"create": createError, "get": getError, "update": updateError} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("the account may %s another ConfigMap: %v", verb, err)
		}
	}
}
