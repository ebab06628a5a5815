package custom

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubernetes-deployment-restart-controller/catalog/content"
)

// MountKind is the kind of object in which the Secrets Store CSI driver reports what it has mounted in a pod.
var MountKind = schema.GroupVersionKind{Group: "secrets-store.csi.x-k8s.io", Version: "v1", Kind: "SecretProviderClassPodStatus"}

// MountResource is the plural of [MountKind].
const MountResource = "secretproviderclasspodstatuses"

// Mount reads an object of the [MountKind]. The result shares no memory with it.
func Mount(o *Object) (content.CSIMount, error) {
	if _, err := o.CheckSize(); err != nil {
		return content.CSIMount{}, fmt.Errorf("read %s %s/%s: %w", MountKind.Kind, o.Namespace, o.Name, err)
	}
	status := read[struct {
		Class   string              `json:"secretProviderClassName"`
		Objects []content.CSIObject `json:"objects"`
	}](o.Status)
	return content.NewCSIMount(&o.ObjectMeta, status.Class, status.Objects), nil
}
