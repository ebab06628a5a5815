package apiclient

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// eventSink writes Events, each into its own namespace. It implements record.EventSink.
type eventSink struct{ client rest.Interface }

// Create implements record.EventSink.
func (s eventSink) Create(event *corev1.Event) (*corev1.Event, error) {
	return answered(s.client.Post().Namespace(event.Namespace).Resource("events").Body(event))
}

// Update implements record.EventSink.
func (s eventSink) Update(event *corev1.Event) (*corev1.Event, error) {
	return answered(s.client.Put().Namespace(event.Namespace).Resource("events").Name(event.Name).Body(event))
}

// Patch implements record.EventSink.
func (s eventSink) Patch(event *corev1.Event, body []byte) (*corev1.Event, error) {
	return answered(s.client.Patch(types.StrategicMergePatchType).Namespace(event.Namespace).Resource("events").Name(event.Name).Body(body))
}

// answered sends a request. A recorder gives no context; the client's timeout bounds it.
func answered(request *rest.Request) (*corev1.Event, error) {
	event := &corev1.Event{}
	return event, request.Do(context.Background()).Into(event)
}
