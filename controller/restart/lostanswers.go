package restart

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// Attempt is a failed write that may have succeeded on the server because only its answer was
// lost.
type Attempt struct {
	// version is the resource version of the workload that the write was for, and written is
	// the time that identifies the record.
	version  string
	written  time.Time
	decided  names.Sequence
	decision decide.Decision
	made     follow.Made
	// admitted is what the gate admitted, nil if the write was no restart.
	admitted *gate.Request
}

// maxAttempts is the highest number of attempts remembered for a workload, which are the last
// ones. Each try of a worker adds at most one attempt. Once maxAttemptsIn are remembered of a namespace, only the last one
// of a workload is: each may have several kilobytes of causes.
const (
	maxAttempts   = 16
	maxAttemptsIn = 1000
)

// isUncertain reports whether a failed request may still have succeeded: it was sent but not
// answered, or a server failed on the way.
func isUncertain(err error) bool {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return false // whatever code an admission webhook has chosen
	}
	var operation *net.OpError
	if errors.As(err, &operation) && operation.Op == "dial" {
		return false
	}
	if apierrors.IsInternalError(err) && strings.Contains(err.Error(), "webhook") {
		return false // an admission webhook comes before the write
	}
	var status apierrors.APIStatus
	return !apiclient.IsAnswered(err) || errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError
}

// noteAttempt remembers an attempt until the workload shows whether it succeeded. It drops
// the checksums, of which there may be very many, because the workload will then show them
// too.
func (j *Journal) noteAttempt(ref names.WorkloadRef, a Attempt) {
	j.mu.Lock()
	defer j.mu.Unlock()
	a.decision.Checksums, a.decision.Without = nil, record.Without{}
	most := maxAttempts
	if j.attemptsIn[ref.Namespace] >= maxAttemptsIn {
		most = 1
	}
	attempts := j.Attempts[ref]
	attempts = append(attempts, a)
	j.keepAttempts(ref, slices.Clone(attempts[max(0, len(attempts)-most):]))
}

// keepAttempts replaces the attempts of a workload. The caller holds the lock.
func (j *Journal) keepAttempts(ref names.WorkloadRef, attempts []Attempt) {
	j.attemptsIn.Add(ref.Namespace, len(attempts)-len(j.Attempts[ref]))
	if j.Attempts[ref] = attempts; len(attempts) == 0 {
		delete(j.Attempts, ref)
	}
}

// takeCarriedOut returns the attempt that made the present record of a workload, and false if
// no attempt did. It forgets the attempts as soon as they cannot succeed any more, because
// the workload has a later version than the one they were for, and reports whether it has.
func (j *Journal) takeCarriedOut(w *workload.Workload) (a Attempt, carriedOut, isOver bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	attempts := j.Attempts[w.Ref]
	i := slices.IndexFunc(attempts, func(a Attempt) bool { return a.written.Equal(w.Record.Written) })
	isOver = i >= 0 || slices.ContainsFunc(attempts, func(a Attempt) bool { return workload.IsLaterVersion(w.ResourceVersion, a.version) })
	if isOver {
		j.keepAttempts(w.Ref, nil)
	}
	if i < 0 {
		return Attempt{}, false, isOver
	}
	return attempts[i], true, true
}

// HasAttempts reports whether it is not known of a write to a workload whether it was carried out.
func (j *Journal) HasAttempts(ref names.WorkloadRef) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.Attempts[ref]) > 0
}

// hasAttempted reports whether an attempt made the present record of a workload.
func (j *Journal) hasAttempted(w *workload.Workload) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return w != nil && slices.ContainsFunc(j.Attempts[w.Ref], func(a Attempt) bool { return a.written.Equal(w.Record.Written) })
}

// look returns what the catalog knows about a workload. If that shows that a write with a
// lost answer succeeded, look reports the write now.
func (r *Restarter) look(ref names.WorkloadRef) (catalog.View, bool) {
	view, found := r.Catalog.View(ref)
	if found && r.takeIn(view.Workload) {
		return r.Catalog.View(ref)
	}
	return view, found
}

// TakeIn takes in what a workload shows of a write whose answer was lost, and reports whether that succeeded. Others wait for that,
// so it does not wait for the next attempt.
func (r *Restarter) TakeIn(ref names.WorkloadRef) (carriedOut bool) {
	w := r.Catalog.Workload(ref)
	return w != nil && r.takeIn(w)
}

func (r *Restarter) takeIn(w *workload.Workload) (carriedOut bool) {
	a, carriedOut, isOver := r.Journal.takeCarriedOut(w)
	switch {
	case carriedOut:
		r.Catalog.ObserveCarriedOut(w.Ref, a.written, a.decided)
		a.decision.Checksums = w.Record.Checksums
		r.Applied(w, a.decision, a.admitted, a.made)
	case isOver:
		r.Gate.NotCarriedOut(w.Ref)
	}
	return carriedOut
}
