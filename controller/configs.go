package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"kubernetes-deployment-restart-controller/catalog"
)

// maxKnownDigests bounds how many digests are remembered.
const maxKnownDigests = 1024

// configReader reads configs once more: to digest their data as the original controller
// did, which is needed once for each of its records, and to see that the watch is not
// behind a record of another process. Its methods may be called by several goroutines
// at once.
type configReader struct {
	core coreclient.CoreV1Interface

	mu sync.Mutex
	// known are the digests by what the catalog knew of the config: many workloads may
	// read the same one.
	known map[*catalog.Config]catalog.Checksum
}

// originals returns the digests that a decision on the view lacks.
func (r *configReader) originals(ctx context.Context, view *catalog.View) (map[catalog.ConfigRef]catalog.Checksum, error) {
	digests := make(map[catalog.ConfigRef]catalog.Checksum)
	for _, ref := range view.UnsettledByOriginal() {
		digest, err := r.read(ctx, view.Configs[ref])
		if err != nil {
			return nil, err
		}
		digests[ref] = digest
	}
	return digests, nil
}

// confirm returns nil if the content of each config that a decision on the view takes for
// newer than the record was the present one while this process led.
func (r *configReader) confirm(ctx context.Context, view *catalog.View) error {
	for _, ref := range view.Unconfirmed() {
		if _, err := r.read(ctx, view.Configs[ref]); err != nil {
			return err
		}
	}
	return nil
}

// read reads a config, unless that was done before, and returns its digest. The data
// lives no longer than the response. The content must be the one that the catalog
// knows, because that is what will be recorded; it is [errConfigChanging] if it is not.
func (r *configReader) read(ctx context.Context, known *catalog.Config) (catalog.Checksum, error) {
	if digest, found := r.recall(known); found {
		return digest, nil
	}
	object, err := r.find(ctx, known.Ref)
	if err != nil {
		return 0, err
	}
	if object == nil {
		return 0, errConfigChanging
	}
	present, err := reduce(object)
	if err != nil {
		return 0, err
	}
	if !slices.Equal(present.config.Keys, known.Keys) {
		return 0, errConfigChanging
	}
	digest, err := catalog.OriginalDigest(object.(metav1.Object))
	if err == nil {
		r.remember(known, digest)
	}
	return digest, err
}

// find lists the only object of a name, which takes no other right than the watches
// do. It returns nil if there is none.
func (r *configReader) find(ctx context.Context, ref catalog.ConfigRef) (runtime.Object, error) {
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name).String()}
	var object runtime.Object
	if ref.Kind == catalog.Secret {
		list, err := r.core.Secrets(ref.Namespace).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", ref, err)
		}
		if len(list.Items) > 0 {
			object = &list.Items[0]
		}
		return object, nil
	}
	list, err := r.core.ConfigMaps(ref.Namespace).List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ref, err)
	}
	if len(list.Items) > 0 {
		object = &list.Items[0]
	}
	return object, nil
}

func (r *configReader) recall(config *catalog.Config) (catalog.Checksum, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	digest, found := r.known[config]
	return digest, found
}

func (r *configReader) remember(config *catalog.Config, digest catalog.Checksum) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil || len(r.known) >= maxKnownDigests {
		r.known = make(map[*catalog.Config]catalog.Checksum)
	}
	r.known[config] = digest
}
