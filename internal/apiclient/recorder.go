package apiclient

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/internal/brief"
)

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
