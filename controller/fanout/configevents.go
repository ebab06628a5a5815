package fanout

import (
	"context"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/kinds"
)

// ConfigEvents creates Events on configs, for their owners, who may not be those of the workloads. Its
// methods may be called by several goroutines at once.
type ConfigEvents struct {
	Metadata metadata.Interface
	Events   record.EventRecorder
	Log      *slog.Logger
}

// Event creates an Event on a config, unless the config is gone. A group of configs is no object, and without a
// permission that nothing else needs, the UID of a SecretProviderClass is not known.
func (c *ConfigEvents) Event(ctx context.Context, ref names.ConfigRef, eventType, reason, message string) {
	if gate.IsGroup(ref) || ref.Kind.IsPerPod() {
		return
	}
	config, err := c.Reference(ctx, ref)
	if err != nil {
		c.Log.Warn("cannot create an Event on a config", "config", ref, "reason", reason, "message", message, "error", err)
		return
	}
	if config != nil {
		c.Events.Event(config, eventType, reason, message)
	}
}

// Reference names a config as the object of an Event, with the UID by which kubectl describe finds
// it; nil if the config is gone. It reads no data, and needs no permission beyond those of the watches.
func (c *ConfigEvents) Reference(ctx context.Context, ref names.ConfigRef) (*corev1.ObjectReference, error) {
	kind := kinds.KindOfConfig(ref.Kind)
	list, err := c.Metadata.Resource(corev1.SchemeGroupVersion.WithResource(kind.Resource)).Namespace(ref.Namespace).
		List(ctx, kinds.OnlyNamed(ref.Name))
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	object := &list.Items[0]
	return &corev1.ObjectReference{
		APIVersion: "v1", Kind: kind.Name, Namespace: ref.Namespace, Name: ref.Name, UID: object.UID, ResourceVersion: object.ResourceVersion,
	}, nil
}
