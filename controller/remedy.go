package controller

import (
	"errors"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/brief"
)

// longestEventError is how many bytes of an Event's message describe an error. The rest of the
// message must fit as well, so that the remedy at the end is not cut off.
const longestEventError = 3 << 10

const (
	permissionRemedy = "; the controller lacks this permission: apply the RBAC manifest that you installed it with, " +
		"such as k8s-manifests/rbac.yaml, or upgrade the chart"
	admissionRemedy = "; let the controller's account do this in that policy, or restart the workload by hand"
)

// The API server's texts tell its refusals apart; their reasons do not, because a policy or a
// webhook chooses the reason of its denials.
var (
	admissionDenial = regexp.MustCompile(`ValidatingAdmissionPolicy '.*' denied request|admission webhook ".*" denied the request`)
	rbacDenial      = regexp.MustCompile(`is forbidden: User ".*" cannot [a-z]+ resource "`)
)

// remedyOf says what helps against the refusal of a request, empty if that is not known.
func remedyOf(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return ""
	}
	switch text := status.Status().Message; {
	case admissionDenial.MatchString(text):
		return admissionRemedy
	case apierrors.IsForbidden(err) && rbacDenial.MatchString(text):
		return permissionRemedy
	}
	return ""
}

// described returns an error as one line of at most so many bytes. The line ends with the remedy, if there is one.
func described(err error, limit int) string {
	remedy := remedyOf(err)
	return brief.Within(limit-len(remedy), brief.Line(err.Error())) + remedy
}
