package apiclient

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// eventSink queues Events by namespace and returns immediately. client-go writes all Events in
// one goroutine, in which a hanging webhook of one namespace would delay the Events of all
// others. It implements record.EventSink.
type eventSink struct {
	client rest.Interface
	queues *eventQueues
}

// Create implements record.EventSink.
func (s eventSink) Create(event *corev1.Event) (*corev1.Event, error) {
	s.queues.add(event.Namespace, func(ctx context.Context) error { return s.create(ctx, event) })
	return event, nil
}

// Update implements record.EventSink.
func (s eventSink) Update(event *corev1.Event) (*corev1.Event, error) {
	s.queues.add(event.Namespace, func(ctx context.Context) error {
		return isWritten(s.client.Put().Namespace(event.Namespace).Resource("events").Name(event.Name).Body(event).Do(ctx).Error())
	})
	return event, nil
}

// Patch implements record.EventSink. If the Event is gone, it is created, as client-go does
// when it waits for the answer.
func (s eventSink) Patch(event *corev1.Event, body []byte) (*corev1.Event, error) {
	s.queues.add(event.Namespace, func(ctx context.Context) error {
		err := s.client.Patch(types.StrategicMergePatchType).Namespace(event.Namespace).Resource("events").Name(event.Name).Body(body).Do(ctx).Error()
		if apierrors.IsNotFound(err) {
			return s.create(ctx, event)
		}
		return isWritten(err)
	})
	return event, nil
}

func (s eventSink) create(ctx context.Context, event *corev1.Event) error {
	created := *event
	created.ResourceVersion = "" // the API does not accept one in a creation
	return isWritten(s.client.Post().Namespace(event.Namespace).Resource("events").Body(&created).Do(ctx).Error())
}

// isWritten returns nil for an Event that already exists, because the answer to an earlier try
// was lost, and for an Event of a namespace that is being deleted.
func isWritten(err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}
