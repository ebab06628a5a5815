package restart

import (
	"errors"
	"net"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/apiclient"
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
	a, isOver := r.Table.TakeCarriedOut(w)
	switch {
	case a != nil:
		r.Catalog.ObserveCarriedOut(w.Ref, a.Written, a.Decided)
		decision := a.Decision
		decision.Checksums = w.Record.Checksums
		r.Applied(w, decision, a.Admitted, a.Made)
	case isOver:
		r.Gate.NotCarriedOut(w.Ref)
	}
	return a != nil
}
