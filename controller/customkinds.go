package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/custom"
)

// customKind is what a row of the table has for a kind that is not part of Kubernetes.
type customKind struct {
	custom.Kind
	apiclient.CustomClients
	// spelled is the kind as the API spells it, nil until an object shows it.
	spelled atomic.Pointer[string]
}

// customKinds are the rows of the kinds that a controller was asked for.
type customKinds []*workloadKind

// newCustomKinds makes the rows of kinds, with their connections.
func newCustomKinds(kinds []custom.Kind, clients *apiclient.Clients) (customKinds, error) {
	var rows customKinds
	for _, kind := range kinds {
		connected, err := clients.Custom(kind.GroupVersion(), custom.NewObject)
		if err != nil {
			return nil, fmt.Errorf("make clients of %s: %w", kind.Name(), err)
		}
		rows = append(rows, newCustomRow(kind, connected))
	}
	return rows, nil
}

func newCustomRow(kind custom.Kind, clients apiclient.CustomClients) *workloadKind {
	row := &workloadKind{workload: kind.Name(), resource: kind.Resource, custom: &customKind{Kind: kind, CustomClients: clients}}
	row.parts = reader(row.custom.read)
	row.revisions = &revisionKind{resource: kind.PodOwner(), ownPods: !kind.OwnsPods(), present: func(_ podReader, ctx context.Context, w *workload.Workload) (func(origin) bool, error) {
		return row.custom.present(ctx, w)
	}}
	return row
}

// row returns the row of a kind of workload; see [kindOfWorkload].
func (all customKinds) row(kind names.WorkloadKind) *workloadKind {
	if !kind.IsCustom() {
		return kindOfWorkload(kind)
	}
	return mustFind(all, func(k *workloadKind) bool { return k.workload == kind }, kind)
}

// outline returns what shows whether an object is enabled.
func (k *customKind) outline(o *custom.Object) (outline workload.Parts) {
	decodeObject(o, func() { outline = k.Outline(o) })
	return outline
}

// read returns the parts of an object, which shows how the API spells its kind.
func (k *customKind) read(o *custom.Object) (parts workload.Parts) {
	if known := k.spelled.Load(); o.Kind != "" && (known == nil || *known != o.Kind) {
		spelled := strings.Clone(o.Kind) // a part of the object would keep it in memory
		k.spelled.Store(&spelled)
	}
	decodeObject(o, func() { parts = k.Parts(o) })
	return parts
}

// present returns a function that recognizes the pods of a workload's present template. If the workload's controller
// says how it labels them, that decides. Otherwise, the template's restart timestamp does, which then also fits
// pods of earlier templates from after the same restart: if in doubt, a pod counts.
func (k *customKind) present(ctx context.Context, w *workload.Workload) (func(origin) bool, error) {
	if k.RevisionLabel() != "" {
		object, err := k.get(ctx, w.Ref)
		if err != nil {
			return nil, fmt.Errorf("get %s: %w", w.Ref, err)
		}
		if parts := k.read(object); parts.Problem == "" && isMadeFrom(w, parts.Template) {
			if revision := k.Revision(object); revision != "" {
				return func(pod origin) bool { return custom.IsRevision(pod.revision, revision) }, nil
			}
		}
	}
	return func(pod origin) bool { return !pod.unrestarted }, nil
}

func (k *customKind) get(ctx context.Context, ref names.WorkloadRef) (*custom.Object, error) {
	object := &custom.Object{}
	err := k.Objects.Get().Namespace(ref.Namespace).Resource(k.Resource).Name(ref.Name).Do(ctx).Into(object)
	return object, err
}

// spelledRecorder completes the references of Events: the API spells custom kinds in another way than this program.
type spelledRecorder struct {
	record.EventRecorder
	kinds customKinds
}

// spelled returns a reference as the API spells it.
func (all customKinds) spelled(object runtime.Object) runtime.Object {
	reference, isOne := object.(*corev1.ObjectReference)
	if !isOne {
		return object
	}
	i := slices.IndexFunc(all, func(k *workloadKind) bool { return string(k.workload) == reference.Kind })
	if i < 0 {
		return object
	}
	kind, completed := all[i].custom, *reference
	completed.APIVersion, completed.Kind = kind.GroupVersion().String(), kind.ObjectKind()
	if spelled := kind.spelled.Load(); spelled != nil {
		completed.Kind = *spelled
	}
	return &completed
}

// Event implements record.EventRecorder.
func (r spelledRecorder) Event(object runtime.Object, kind, reason, message string) {
	r.EventRecorder.Event(r.kinds.spelled(object), kind, reason, message)
}

// Eventf implements record.EventRecorder.
func (r spelledRecorder) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	r.EventRecorder.Eventf(r.kinds.spelled(object), kind, reason, format, args...)
}

// AnnotatedEventf implements record.EventRecorder.
func (r spelledRecorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, kind, reason, format string, args ...any) {
	r.EventRecorder.AnnotatedEventf(r.kinds.spelled(object), annotations, kind, reason, format, args...)
}
