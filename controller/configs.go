package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"weak"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"kubernetes-deployment-restart-controller/apiclient"
	"kubernetes-deployment-restart-controller/catalog"
)

// maxReadings bounds how many configs are remembered to have been read.
const maxReadings = 1024

// configReader reads configs once more: to digest their data as the original controller
// did, which is needed once for each of its records, and to see that the watch is not
// behind a record of another process. Its methods may be called by several goroutines
// at once.
type configReader struct {
	core apiclient.Core

	mu sync.Mutex
	// readings are by what the catalog knew of the config: many workloads may read the
	// same one. They keep nothing alive that the catalog does not know any more.
	readings map[weak.Pointer[catalog.Config]]reading
}

// reading is what reading a config has shown.
type reading struct {
	// confirmed is a moment after which the content that the catalog knows was the present one.
	confirmed catalog.Sequence
	digest    catalog.Checksum
	digested  bool
}

// originals returns the digests that a decision on the view lacks.
func (r *configReader) originals(ctx context.Context, view *catalog.View) (map[catalog.ConfigRef]catalog.Checksum, error) {
	digests := make(map[catalog.ConfigRef]catalog.Checksum)
	for _, ref := range view.UnsettledByOriginal() {
		config := view.Configs[ref]
		known := r.recall(config)
		if !known.digested {
			object, err := r.read(ctx, config)
			if err != nil {
				return nil, err
			}
			digest, err := catalog.OriginalDigest(object)
			if err != nil {
				return nil, err
			}
			known = reading{confirmed: view.Sequence, digest: digest, digested: true}
			r.remember(config, known)
		}
		digests[ref] = known.digest
	}
	return digests, nil
}

// confirm returns nil if what the catalog knows of each config that the view leaves
// unconfirmed is known to be no older than the workload's record.
func (r *configReader) confirm(ctx context.Context, view *catalog.View) error {
	for _, ref := range view.Unconfirmed() {
		config := view.Configs[ref]
		known := r.recall(config)
		if known.confirmed >= view.Workload.RecordSeen {
			continue
		}
		if _, err := r.read(ctx, config); err != nil {
			return err
		}
		known.confirmed = view.Sequence
		r.remember(config, known)
	}
	return nil
}

// read reads a config. The content must be the one that the catalog knows, because that
// is what will be recorded; it is [errConfigChanging] if it is not. The data must live no
// longer than it takes to digest it.
func (r *configReader) read(ctx context.Context, known *catalog.Config) (metav1.Object, error) {
	object, err := r.find(ctx, known.Ref)
	if err != nil {
		return nil, err
	}
	if object == nil {
		return nil, errConfigChanging
	}
	present, err := kindOfConfig(known.Ref.Kind).reduce(object)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(present.config.Keys, known.Keys) {
		return nil, errConfigChanging
	}
	return object.(metav1.Object), nil
}

// find lists the only object of a name, which takes no other right than the watches
// do. It returns nil if there is none.
func (r *configReader) find(ctx context.Context, ref catalog.ConfigRef) (runtime.Object, error) {
	options := &metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name).String()}
	list, err := r.core.RESTClient().Get().
		Namespace(ref.Namespace).
		Resource(kindOfConfig(ref.Kind).resource).
		VersionedParams(options, apiclient.ParameterCodec).
		Do(ctx).Get()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ref, err)
	}
	objects, err := meta.ExtractList(list)
	if err != nil || len(objects) == 0 {
		return nil, err
	}
	return objects[0], nil
}

func (r *configReader) recall(config *catalog.Config) reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.readings[weak.Make(config)]
}

func (r *configReader) remember(config *catalog.Config, known reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.readings == nil || len(r.readings) >= maxReadings {
		r.readings = make(map[weak.Pointer[catalog.Config]]reading)
	}
	r.readings[weak.Make(config)] = known
}
