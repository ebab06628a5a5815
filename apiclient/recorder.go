package apiclient

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/brief"
)

// briefRecorder shortens the messages of Events, because client-go keeps
// thousands of them.
type briefRecorder struct{ record.EventRecorder }

// Event implements record.EventRecorder.
func (r briefRecorder) Event(object runtime.Object, kind, reason, message string) {
	r.EventRecorder.Event(object, kind, reason, brief.Text(message))
}

// Eventf implements record.EventRecorder.
func (r briefRecorder) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	r.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf implements record.EventRecorder.
func (r briefRecorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, kind, reason, format string, args ...any) {
	r.EventRecorder.AnnotatedEventf(object, annotations, kind, reason, "%s", brief.Text(fmt.Sprintf(format, args...)))
}
