package controller

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// maxHaltUpdates is how often an update is tried if other writers get in its way.
const maxHaltUpdates = 5

// errNoHaltsNamespace means that the controller does not know its own namespace, where the
// halts are kept.
var errNoHaltsNamespace = errors.New("no namespace for the ConfigMap of halts, set --controller-namespace")

// haltStore reads and writes the ConfigMap of halts, which the manifests create empty. It
// does not know what the entries mean, and keeps nothing in memory. It may be used
// concurrently.
type haltStore struct {
	core apiclient.Core
	// namespace is the controller's own namespace, empty if it is not known.
	namespace string
	// name is the name of the ConfigMap.
	name string
}

// update lets change edit the entries, which are not nil, and writes the ConfigMap if it reports true. Writes of others
// are kept: if one comes in between, change is called again with the new entries, so it must
// not have other effects. After several such conflicts in a row, update returns the last one.
// It creates the ConfigMap if that is missing, so that a missing permission shows before there
// is something to write.
func (s *haltStore) update(ctx context.Context, change func(*corev1.ConfigMap) bool) error {
	var err error
	for range maxHaltUpdates {
		if err = s.tryToUpdate(ctx, change); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

func (s *haltStore) tryToUpdate(ctx context.Context, change func(*corev1.ConfigMap) bool) error {
	object, err := s.load(ctx)
	if err != nil || !change(object) {
		return err
	}
	// The resourceVersion of the object makes the API server reject the update after another write.
	if _, err := s.core.ConfigMaps(s.namespace).Update(ctx, object, metav1.UpdateOptions{FieldManager: annotation.FieldManager}); err != nil {
		return fmt.Errorf("update configmap %s/%s: %w", s.namespace, s.name, err)
	}
	return nil
}

// load gets the ConfigMap, or creates it if it is missing. Its data is not nil afterwards.
func (s *haltStore) load(ctx context.Context) (*corev1.ConfigMap, error) {
	if s.namespace == "" {
		return nil, errNoHaltsNamespace
	}
	object, err := s.get(ctx)
	if apierrors.IsNotFound(err) {
		object, err = s.create(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	if object.Data == nil {
		object.Data = make(map[string]string)
	}
	return object, nil
}

func (s *haltStore) get(ctx context.Context) (*corev1.ConfigMap, error) {
	object, err := s.core.ConfigMaps(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get configmap %s/%s: %w", s.namespace, s.name, err)
	}
	return object, nil
}

// create creates the ConfigMap without entries. The manifests do not grant this permission,
// because RBAC cannot limit it to this one ConfigMap.
func (s *haltStore) create(ctx context.Context, missing error) (*corev1.ConfigMap, error) {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: s.name, Namespace: s.namespace}}
	created, err := s.core.ConfigMaps(s.namespace).Create(ctx, object, metav1.CreateOptions{FieldManager: annotation.FieldManager})
	switch {
	case err == nil:
		return created, nil
	case apierrors.IsAlreadyExists(err): // another process has just created it
		return s.get(ctx)
	case isPermanent(err):
		return nil, fmt.Errorf("%w; create it: %w", missing, err)
	}
	return nil, fmt.Errorf("create configmap %s/%s: %w", s.namespace, s.name, err)
}
