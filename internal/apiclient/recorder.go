package apiclient

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/internal/brief"
)

// Recorder returns a recorder of Events that writes through a broadcaster, which
// its caller shuts down. The component is the source that the Events name. Another
// component that writes through the same broadcaster calls [NewRecorder]. An Event with one of the lasting reasons is about
// something that lasts longer than a process: as long as the API server has the same one of an earlier process, no other is
// created, and that one gets the present time.
func (c *Clients) Recorder(broadcaster record.EventBroadcaster, component string, lasting ...string) record.EventRecorder {
	broadcaster.StartRecordingToSink(eventSink{c.events, newEventQueues(), lasting})
	return NewRecorder(broadcaster, component)
}

// NewRecorder returns a recorder of Events for a component. It shortens messages with
// [brief.Text].
func NewRecorder(broadcaster record.EventBroadcaster, component string) record.EventRecorder {
	return briefRecorder{broadcaster.NewRecorder(Scheme, corev1.EventSource{Component: component})}
}

// briefRecorder shortens the messages of Events, because client-go keeps thousands of them, and makes what others
// have written in them visible.
type briefRecorder struct{ record.EventRecorder }

// Event implements record.EventRecorder.
func (r briefRecorder) Event(object runtime.Object, kind, reason, message string) {
	r.EventRecorder.Event(object, kind, reason, brief.Line(message))
}

// Eventf implements record.EventRecorder.
func (r briefRecorder) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	r.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf implements record.EventRecorder.
func (r briefRecorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, kind, reason, format string, args ...any) {
	r.EventRecorder.AnnotatedEventf(object, annotations, kind, reason, "%s", brief.Line(fmt.Sprintf(format, args...)))
}

// correlation limits for how many Events client-go remembers whether similar ones were written lately. Its
// default of 4,096 takes up to 7 MiB, which fill only in the course of hours.
var correlation = record.CorrelatorOptions{LRUCacheSize: 1024}

// NewBroadcaster returns a broadcaster that needs little memory.
func NewBroadcaster() record.EventBroadcaster {
	return record.NewBroadcasterWithCorrelatorOptions(correlation)
}
