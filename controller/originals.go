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

// originalReader reads configs once more, to digest their data as the original
// controller did. That is needed once for each of its records. Its methods may be
// called by several goroutines at once.
type originalReader struct {
	core coreclient.CoreV1Interface

	mu sync.Mutex
	// known are the digests by what the catalog knew of the config: many workloads may
	// read the same one.
	known map[*catalog.Config]catalog.Checksum
}

// read returns the digests that a decision on the view lacks. A config that is gone
// has none.
func (r *originalReader) read(ctx context.Context, view *catalog.View) (map[catalog.ConfigRef]catalog.Checksum, error) {
	digests := make(map[catalog.ConfigRef]catalog.Checksum)
	for _, ref := range view.UnsettledByOriginal() {
		config := view.Configs[ref]
		digest, found := r.recall(config)
		if !found {
			var err error
			if digest, found, err = r.digest(ctx, config); err != nil {
				return nil, err
			}
		}
		if found {
			digests[ref] = digest
			r.remember(config, digest)
		}
	}
	return digests, nil
}

// digest reads a config and returns its digest, and false if it is gone. The data
// lives no longer than the response. The content must be the one that the catalog
// knows, because that is what will be recorded.
func (r *originalReader) digest(ctx context.Context, known *catalog.Config) (digest catalog.Checksum, found bool, err error) {
	object, err := r.find(ctx, known.Ref)
	if err != nil || object == nil {
		return 0, false, err
	}
	present, err := reduce(object)
	if err != nil {
		return 0, false, err
	}
	if !slices.Equal(present.config.Keys, known.Keys) {
		return 0, false, errConfigChanging
	}
	digest, err = catalog.OriginalDigest(object.(metav1.Object))
	return digest, true, err
}

// find lists the only object of a name, which takes no other right than the watches
// do. It returns nil if there is none.
func (r *originalReader) find(ctx context.Context, ref catalog.ConfigRef) (runtime.Object, error) {
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

func (r *originalReader) recall(config *catalog.Config) (catalog.Checksum, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	digest, found := r.known[config]
	return digest, found
}

func (r *originalReader) remember(config *catalog.Config, digest catalog.Checksum) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil || len(r.known) >= maxKnownDigests {
		r.known = make(map[*catalog.Config]catalog.Checksum)
	}
	r.known[config] = digest
}
