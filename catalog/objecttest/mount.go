package objecttest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// StatusMeta is the metadata of the status of a pod that mounts the class db since noon.
func StatusMeta(pod types.UID) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "ns", Name: string(pod) + "-ns-db", CreationTimestamp: metav1.Time{Time: Noon}, Generation: 1,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: string(pod), UID: pod}},
		ManagedFields:   []metav1.ManagedFieldsEntry{Owns("driver", Noon, "f:status/f:objects")},
	}
}
