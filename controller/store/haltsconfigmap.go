package store

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// MaxHaltUpdates is how often an update is tried if other writers get in its way.
const MaxHaltUpdates = 5

// ErrNoHaltsNamespace means that the controller does not know its own namespace, where the
// halts are kept.
var ErrNoHaltsNamespace = errors.New("no namespace for the ConfigMap of halts, set --controller-namespace")

// Halts reads and writes the ConfigMap of halts, which the manifests create empty. It
// does not know what the entries mean, and keeps nothing in memory. It may be used
// concurrently.
type Halts struct {
	Core apiclient.Core
	// Namespace is the controller's own namespace, empty if it is not known.
	Namespace string
	// Name is the name of the ConfigMap.
	Name string
}

// Update lets change edit the entries, which are not nil, and writes the ConfigMap if it reports true. Writes of others
// are kept: if one comes in between, change is called again with the new entries, so it must
// not have other effects. After several such conflicts in a row, update returns the last one.
// It creates the ConfigMap if that is missing, so that a missing permission shows before there
// is something to write.
func (s *Halts) Update(ctx context.Context, change func(*corev1.ConfigMap) bool) error {
	var err error
	for range MaxHaltUpdates {
		if err = s.tryToUpdate(ctx, change); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

func (s *Halts) tryToUpdate(ctx context.Context, change func(*corev1.ConfigMap) bool) error {
	object, err := s.load(ctx)
	if err != nil || !change(object) {
		return err
	}
	// The ResourceVersion of the object makes the API server reject the update after another write.
	if _, err := s.Core.ConfigMaps(s.Namespace).Update(ctx, object, metav1.UpdateOptions{FieldManager: annotation.FieldManager}); err != nil {
		return fmt.Errorf("update configmap %s/%s: %w", s.Namespace, s.Name, err)
	}
	return nil
}

// load gets the ConfigMap, or creates it if it is missing. Its data is not nil afterwards.
func (s *Halts) load(ctx context.Context) (*corev1.ConfigMap, error) {
	if s.Namespace == "" {
		return nil, ErrNoHaltsNamespace
	}
	object, err := s.Get(ctx)
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

// Get reads the ConfigMap.
func (s *Halts) Get(ctx context.Context) (*corev1.ConfigMap, error) {
	object, err := s.Core.ConfigMaps(s.Namespace).Get(ctx, s.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get configmap %s/%s: %w", s.Namespace, s.Name, err)
	}
	return object, nil
}

// create creates the ConfigMap without entries. The manifests do not grant this permission,
// because RBAC cannot limit it to this one ConfigMap.
func (s *Halts) create(ctx context.Context, missing error) (*corev1.ConfigMap, error) {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: s.Namespace}}
	created, err := s.Core.ConfigMaps(s.Namespace).Create(ctx, object, metav1.CreateOptions{FieldManager: annotation.FieldManager})
	switch {
	case err == nil:
		return created, nil
	case apierrors.IsAlreadyExists(err): // another process has just created it
		return s.Get(ctx)
	case failures.IsPermanent(err):
		return nil, fmt.Errorf("%w; create it: %w", missing, err)
	}
	return nil, fmt.Errorf("create configmap %s/%s: %w", s.Namespace, s.Name, err)
}
