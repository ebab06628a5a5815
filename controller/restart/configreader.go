package restart

import (
	"context"
	"fmt"
	"sync"
	"weak"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// maxReadings is the highest number of configs whose readings are remembered.
const maxReadings = 1024

// configReader reads configs again: to digest their data as the original controller did, which
// is needed once for each of its records, and to verify that the watch is not behind a record
// of another process. Its methods may be called by several goroutines at once.
type configReader struct {
	core apiclient.Core

	mu sync.Mutex
	// readings holds the readings by the catalog's version of the config, since many workloads
	// may read the same config. The weak pointers keep nothing alive that the catalog has
	// dropped.
	readings map[weak.Pointer[content.Config]]reading
}

// reading is the result of reading a config.
type reading struct {
	// confirmed is a moment after which a read showed the content that the catalog knows.
	confirmed names.Sequence
	digest    names.Checksum
	digested  bool
}

// originals returns the digests that the view lacks for a decision.
func (r *configReader) originals(ctx context.Context, view *catalog.View) (map[names.ConfigRef]names.Checksum, error) {
	digests := make(map[names.ConfigRef]names.Checksum)
	for _, ref := range decide.UnsettledByOriginal(view) {
		config := view.Configs[ref]
		known := r.recall(config)
		if !known.digested {
			object, err := r.read(ctx, config)
			if err != nil {
				return nil, err
			}
			digest, err := record.OriginalDigest(object)
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

// confirm returns nil if, for each unconfirmed config of the view, the content that the catalog
// knows is no older than the workload's record.
func (r *configReader) confirm(ctx context.Context, view *catalog.View) error {
	for _, ref := range decide.Unconfirmed(view) {
		config := view.Source(ref)
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

// read reads a config. It returns [failures.ErrConfigChanging] unless the content is the one that the
// catalog knows, because that content will be recorded. The caller must drop the data as soon
// as it is digested.
func (r *configReader) read(ctx context.Context, known *content.Config) (metav1.Object, error) {
	object, err := r.find(ctx, known.Ref)
	if err != nil {
		return nil, err
	}
	if object == nil {
		return nil, failures.ErrConfigChanging
	}
	present, err := kinds.KindOfConfig(known.Ref.Kind).Reduce(object, &optin.Rules{})
	if err != nil {
		return nil, err
	}
	if !present.Config.Keys.Equal(known.Keys) {
		return nil, failures.ErrConfigChanging
	}
	return object.(metav1.Object), nil
}

// find lists the one object with the given name, which needs no permission beyond those of the
// watches. It returns nil if there is no such object.
func (r *configReader) find(ctx context.Context, ref names.ConfigRef) (runtime.Object, error) {
	options := kinds.OnlyNamed(ref.Name)
	ref = ref.Source()
	list, err := r.core.RESTClient().Get().
		Namespace(ref.Namespace).
		Resource(kinds.KindOfConfig(ref.Kind).Resource).
		VersionedParams(&options, apiclient.ParameterCodec).
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

func (r *configReader) recall(config *content.Config) reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.readings[weak.Make(config)]
}

func (r *configReader) remember(config *content.Config, known reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.readings == nil || len(r.readings) >= maxReadings {
		r.readings = make(map[weak.Pointer[content.Config]]reading)
	}
	r.readings[weak.Make(config)] = known
}
