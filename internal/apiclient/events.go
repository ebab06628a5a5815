package apiclient

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// eventSink queues Events by namespace and returns immediately. client-go writes all Events in
// one goroutine, in which a hanging webhook of one namespace would delay the Events of all
// others. It implements record.EventSink.
type eventSink struct {
	client  rest.Interface
	queues  *eventQueues
	lasting []string // reasons
}

// Create implements record.EventSink. An Event with a lasting reason has a name that follows from what it says, so that the
// API server refuses a second one. That of an earlier process then says when it was seen last: what it reports may have ended
// and begun again since.
func (s eventSink) Create(event *corev1.Event) (*corev1.Event, error) {
	if slices.Contains(s.lasting, event.Reason) {
		named := *event
		named.Name = lastingName(event)
		s.queues.add(named.Namespace, func(ctx context.Context) error { return s.createOrRenew(ctx, &named) })
		return &named, nil
	}
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

func lastingName(event *corev1.Event) string {
	about := &event.InvolvedObject
	said := sha256.Sum256([]byte(strings.Join([]string{string(about.UID), about.Kind, about.Name, event.Reason, event.Message}, "\x00")))
	name := about.Name[:min(len(about.Name), 200)] // of 253 bytes
	return fmt.Sprintf("%s.%x", strings.TrimRight(name, ".-"), said[:8])
}

func (s eventSink) create(ctx context.Context, event *corev1.Event) error {
	return isWritten(s.post(ctx, event))
}

func (s eventSink) post(ctx context.Context, event *corev1.Event) error {
	created := *event
	created.ResourceVersion = "" // the API does not accept one in a creation
	return s.client.Post().Namespace(event.Namespace).Resource("events").Body(&created).Do(ctx).Error()
}

// createOrRenew creates an Event, or gives the one of its name the present time.
func (s eventSink) createOrRenew(ctx context.Context, event *corev1.Event) error {
	err := s.post(ctx, event)
	if !apierrors.IsAlreadyExists(err) {
		return isWritten(err)
	}
	at, err := json.Marshal(map[string]any{"lastTimestamp": event.LastTimestamp})
	if err != nil {
		return fmt.Errorf("encode the time of an Event: %w", err)
	}
	return isWritten(s.client.Patch(types.MergePatchType).Namespace(event.Namespace).Resource("events").Name(event.Name).Body(at).Do(ctx).Error())
}

// isWritten returns nil for an Event that already exists, because the answer to an earlier try
// was lost, and for an Event of a namespace that is being deleted.
func isWritten(err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}
