package kinds

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

// CustomKind is what a row of the table has for a kind that is not part of Kubernetes.
type CustomKind struct {
	custom.Kind
	apiclient.CustomClients
	// spelled is the kind as the API spells it, nil until an object shows it.
	spelled atomic.Pointer[string]
}

// Custom are the rows of the kinds that a controller was asked for.
type Custom []*WorkloadKind

// NewCustom makes the rows of kinds, with their connections.
func NewCustom(kinds []custom.Kind, clients *apiclient.Clients) (Custom, error) {
	var rows Custom
	for _, kind := range kinds {
		connected, err := clients.Custom(kind.GroupVersion(), custom.NewObject)
		if err != nil {
			return nil, fmt.Errorf("make clients of %s: %w", kind.Name(), err)
		}
		rows = append(rows, newCustomRow(kind, connected))
	}
	return rows, nil
}

func newCustomRow(kind custom.Kind, clients apiclient.CustomClients) *WorkloadKind {
	row := &WorkloadKind{Workload: kind.Name(), Resource: kind.Resource, Custom: &CustomKind{Kind: kind, CustomClients: clients}}
	row.Parts = Reader(row.Custom.read)
	row.Revisions = &RevisionKind{resource: kind.PodOwner(), ownPods: !kind.OwnsPods(), Present: func(_ PodReader, ctx context.Context, w *workload.Workload) (func(Origin) bool, error) {
		return row.Custom.present(ctx, w)
	}}
	return row
}

// Row returns the row of a kind of workload; see [KindOfWorkload].
func (all Custom) Row(kind names.WorkloadKind) *WorkloadKind {
	if !kind.IsCustom() {
		return KindOfWorkload(kind)
	}
	return mustFind(all, func(k *WorkloadKind) bool { return k.Workload == kind }, kind)
}

// outline returns what shows whether an object is enabled.
func (k *CustomKind) outline(o *custom.Object) (outline workload.Parts) {
	decodeObject(o, func() { outline = k.Outline(o) })
	return outline
}

// read returns the parts of an object, which shows how the API spells its kind.
func (k *CustomKind) read(o *custom.Object) (parts workload.Parts) {
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
func (k *CustomKind) present(ctx context.Context, w *workload.Workload) (func(Origin) bool, error) {
	if k.RevisionLabel() != "" {
		object, err := k.get(ctx, w.Ref)
		if err != nil {
			return nil, fmt.Errorf("get %s: %w", w.Ref, err)
		}
		if parts := k.read(object); parts.Problem == "" && IsMadeFrom(w, parts.Template) {
			if revision := k.Revision(object); revision != "" {
				return func(pod Origin) bool { return custom.IsRevision(pod.Revision, revision) }, nil
			}
		}
	}
	return func(pod Origin) bool { return !pod.Unrestarted }, nil
}

func (k *CustomKind) get(ctx context.Context, ref names.WorkloadRef) (*custom.Object, error) {
	object := &custom.Object{}
	err := k.Objects.Get().Namespace(ref.Namespace).Resource(k.Resource).Name(ref.Name).Do(ctx).Into(object)
	return object, err
}

// SpelledRecorder completes the references of Events: the API spells custom kinds in another way than this program.
type SpelledRecorder struct {
	record.EventRecorder
	Kinds Custom
}

// spelled returns a reference as the API spells it.
func (all Custom) spelled(object runtime.Object) runtime.Object {
	reference, isOne := object.(*corev1.ObjectReference)
	if !isOne {
		return object
	}
	i := slices.IndexFunc(all, func(k *WorkloadKind) bool { return string(k.Workload) == reference.Kind })
	if i < 0 {
		return object
	}
	kind, completed := all[i].Custom, *reference
	completed.APIVersion, completed.Kind = kind.GroupVersion().String(), kind.ObjectKind()
	if spelled := kind.spelled.Load(); spelled != nil {
		completed.Kind = *spelled
	}
	return &completed
}

// Event implements record.EventRecorder.
func (r SpelledRecorder) Event(object runtime.Object, kind, reason, message string) {
	r.EventRecorder.Event(r.Kinds.spelled(object), kind, reason, message)
}

// Eventf implements record.EventRecorder.
func (r SpelledRecorder) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	r.EventRecorder.Eventf(r.Kinds.spelled(object), kind, reason, format, args...)
}

// AnnotatedEventf implements record.EventRecorder.
func (r SpelledRecorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, kind, reason, format string, args ...any) {
	r.EventRecorder.AnnotatedEventf(r.Kinds.spelled(object), annotations, kind, reason, format, args...)
}
