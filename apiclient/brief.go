package apiclient

import (
	"fmt"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

const (
	// maxText is how long a text may be. A refusal of the API server's own can name an object of
	// 253 characters several times.
	maxText = 4 << 10
	// cutMark is the end of a text that was cut.
	cutMark = " [cut]"
)

// Brief returns a text as logs, Events, conditions and memory may have it: whole up to 4 KiB,
// and otherwise its beginning with a mark that it was cut. An admission webhook denies requests
// in as many words as it likes. The beginning does not keep the whole text in memory.
func Brief(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText - len(cutMark)
	for range utf8.UTFMax - 1 {
		if utf8.RuneStart(text[end]) {
			break
		}
		end--
	}
	return text[:end] + cutMark
}

// briefRecorder cuts the messages of Events. client-go keeps thousands of them.
type briefRecorder struct{ record.EventRecorder }

// Event implements record.EventRecorder.
func (r briefRecorder) Event(object runtime.Object, kind, reason, message string) {
	r.EventRecorder.Event(object, kind, reason, Brief(message))
}

// Eventf implements record.EventRecorder.
func (r briefRecorder) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	r.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf implements record.EventRecorder.
func (r briefRecorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, kind, reason, format string, args ...any) {
	r.EventRecorder.AnnotatedEventf(object, annotations, kind, reason, "%s", Brief(fmt.Sprintf(format, args...)))
}
