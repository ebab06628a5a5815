package policy

import (
	"fmt"

	"kubernetes-deployment-restart-controller/catalog/annotation"
)

// A restart by eviction writes only the record, and leaves the pod template alone. The pods that it has yet to
// replace are those that were created before the record was written, by the clock of the API server, which dates
// both. So which pods are left can be derived from the workload and its pods at any time, by any process.

// Method is how the pods of a workload are replaced to restart it.
type Method string

// The methods.
const (
	// ByTemplate sets a timestamp on the pod template, and the workload's own controller replaces the pods.
	ByTemplate Method = ""
	// ByEviction evicts one pod after the other, or lets the workload's own controller do so; see [workload.OwnRestart].
	ByEviction Method = "evict"
	// NoMethod means that the owner asks for a method that does not exist. Nothing restarts then, since
	// the owner may not want the pod template to be written.
	NoMethod Method = "none"
)

// method reads how the workload restarts, and returns what it cannot read, quoted.
func method(r *annotation.PolicyReader) (method Method, unread string) {
	switch text, found := r.Annotations[annotation.MethodAnnotation]; {
	case !found:
		return ByTemplate, ""
	case text == string(ByEviction):
		return ByEviction, ""
	default:
		unread = fmt.Sprintf("%.40q", text)
		r.Reject(annotation.MethodAnnotation, "%s is not %q, so nothing restarts", unread, ByEviction)
		return NoMethod, unread
	}
}
