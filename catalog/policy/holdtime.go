package policy

import (
	"bytes"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
)

// HoldTime is when the annotation of a hold was set, as the managedFields date it in whole seconds; zero if they do not.
// IsExact means that it was not set earlier: its owner has set nothing else that is still there, or created the object.
type HoldTime struct {
	At      time.Time
	IsExact bool
}

// holdTimeOf returns when an object with that hold got it.
func holdTimeOf(meta *metav1.ObjectMeta, text string) HoldTime {
	if text == "" {
		return HoldTime{}
	}
	owners := annotation.OwnershipOf(meta).OfAnnotation(annotation.HoldAnnotation)
	at := annotation.Earliest(owners)
	isExact := slices.ContainsFunc(owners, func(owner *metav1.ManagedFieldsEntry) bool {
		return owner.Time != nil && owner.Time.Time.Equal(at) && ownsOneField(owner)
	})
	return HoldTime{at, isExact || !at.IsZero() && !at.After(meta.CreationTimestamp.Time)}
}

// HeldBy returns the field manager that has set the annotation of a hold, as far as the managedFields name it.
func HeldBy(meta *metav1.ObjectMeta) string {
	owners := annotation.OwnershipOf(meta).OfAnnotation(annotation.HoldAnnotation)
	at := annotation.Earliest(owners)
	for _, owner := range owners {
		if owner.Time != nil && owner.Time.Time.Equal(at) {
			return owner.Manager
		}
	}
	return ""
}

// ownsOneField reports whether an entry owns one annotation or label, and no other field.
func ownsOneField(owner *metav1.ManagedFieldsEntry) bool {
	return bytes.Count(owner.FieldsV1.GetRawBytes(), []byte(`"f:`)) == 3 // metadata, annotations or labels, and the name
}
