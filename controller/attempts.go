package controller

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"kubernetes-deployment-restart-controller/apiclient"
	"kubernetes-deployment-restart-controller/catalog"
)

// attempt is a write that may have been carried out although it failed: its answer was lost.
type attempt struct {
	// version is that of the workload that was to be changed, and written the time that
	// identifies the record.
	version  string
	written  time.Time
	decided  catalog.Sequence
	decision catalog.Decision
}

// maxAttempts bounds how many are remembered of a workload, the last ones. There is one at
// most for each time that a worker tries.
const maxAttempts = 16

// isUncertain reports whether a request that failed may have been carried out all the same:
// there was no answer although it was sent, or a server failed on the way.
func isUncertain(err error) bool {
	var operation *net.OpError
	if errors.As(err, &operation) && operation.Op == "dial" {
		return false
	}
	var status apierrors.APIStatus
	return !apiclient.IsAnswered(err) || errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError
}

// noteAttempt remembers an attempt until the workload shows what became of it. The workload
// then shows the checksums, too, which there may be very many of.
func (j *journal) noteAttempt(ref catalog.WorkloadRef, a attempt) {
	j.mu.Lock()
	defer j.mu.Unlock()
	a.decision.Checksums = nil
	attempts := j.attempts[ref]
	attempts = append(attempts, a)
	j.attempts[ref] = slices.Clone(attempts[max(0, len(attempts)-maxAttempts):])
}

// takeCarriedOut returns the attempt that made the present record of a workload, and false if
// none did. It forgets the attempts as soon as none of them can be carried out any more,
// because the workload has another version than they were for.
func (j *journal) takeCarriedOut(w *catalog.Workload) (attempt, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	attempts := j.attempts[w.Ref]
	i := slices.IndexFunc(attempts, func(a attempt) bool { return a.written.Equal(w.Applied.Written) })
	if i >= 0 || slices.ContainsFunc(attempts, func(a attempt) bool { return isLaterVersion(w.ResourceVersion, a.version) }) {
		delete(j.attempts, w.Ref)
	}
	if i < 0 {
		return attempt{}, false
	}
	return attempts[i], true
}

// isLaterVersion reports whether a resource version is later than another. If they cannot be
// compared, any other one is.
func isLaterVersion(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0 || err != nil && a != b
}

// look returns what is known about a workload. If that shows that a write was carried out
// whose answer was lost, it is reported now.
func (r *restarter) look(ref catalog.WorkloadRef) (catalog.View, bool) {
	view, found := r.catalog.View(ref)
	if !found {
		return view, false
	}
	if a, carriedOut := r.journal.takeCarriedOut(view.Workload); carriedOut {
		r.catalog.ObserveCarriedOut(ref, a.written, a.decided)
		a.decision.Checksums = view.Workload.Applied.Checksums
		r.applied(view.Workload, a.decision)
		return r.catalog.View(ref)
	}
	return view, true
}
