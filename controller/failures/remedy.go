package failures

import (
	"errors"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/status"
)

// LongestEventError is how many bytes of an Event's message describe an error. The rest of the
// message must fit as well, so that the remedy at the end is not cut off.
const LongestEventError = 3 << 10

// The API server's texts tell its refusals apart; their reasons do not, because a policy or a
// webhook chooses the reason of its denials.
var (
	admissionDenial = regexp.MustCompile(`ValidatingAdmissionPolicy '.*' denied request|admission webhook ".*" denied the request`)
	rbacDenial      = regexp.MustCompile(`is forbidden: User ".*" cannot [a-z]+ resource "`)
)

// RemedyOf says what helps against the refusal of a request, empty if that is not known.
func RemedyOf(err error) status.Remedy {
	var refusal apierrors.APIStatus
	if !errors.As(err, &refusal) {
		return ""
	}
	switch text := refusal.Status().Message; {
	case admissionDenial.MatchString(text) && RecordErrorIn(err) != nil: // which a restart by hand does not write
		return status.AllowInPolicy
	case admissionDenial.MatchString(text):
		return status.ChangePolicy
	case apierrors.IsInternalError(err) && strings.Contains(text, `failed calling webhook "`):
		return status.RepairWebhook
	case apierrors.IsForbidden(err) && rbacDenial.MatchString(text):
		return status.GrantPermission
	}
	return ""
}

// Described returns an error as one line of at most so many bytes. The line ends with the remedy, if there is one.
func Described(err error, limit int) string {
	remedy := RemedyOf(err)
	return remedy.After(brief.Within(limit-remedy.Len(), brief.Line(err.Error())))
}
