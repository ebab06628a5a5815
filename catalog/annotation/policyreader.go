package annotation

import (
	"fmt"
	"strings"
)

// PolicyReader reads annotations, and collects what is wrong with them.
type PolicyReader struct {
	Annotations map[string]string
	Problems    []string
}

// Reject notes what is wrong with an annotation.
func (r *PolicyReader) Reject(name, format string, arguments ...any) {
	r.Problems = append(r.Problems, "annotation "+name+": "+fmt.Sprintf(format, arguments...))
}

// Problem describes all that is wrong, empty if nothing is.
func (r *PolicyReader) Problem() string { return strings.Join(r.Problems, "; ") }

// Text returns the value of an annotation, empty if it is longer than the limit.
func (r *PolicyReader) Text(name string, limit int) string {
	text := r.Annotations[name]
	if len(text) > limit {
		r.Reject(name, "%d bytes are too many, the limit is %d, so it counts as absent", len(text), limit)
		return ""
	}
	return text
}
