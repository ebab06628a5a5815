package facts

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"kubernetes-deployment-restart-controller/internal/status"
)

// Age returns how long ago something was, as kubectl shows it.
func Age(d time.Duration) string { return duration.HumanDuration(max(d, 0)) }

// Since says since when something is there, empty if that is not known.
func Since(began status.Beginning) string {
	switch {
	case began.Since.IsZero():
		return ""
	case began.AtLeast:
		return " (at least since " + began.Since.UTC().Format(time.RFC3339) + ")"
	}
	return " (since " + began.Since.UTC().Format(time.RFC3339) + ")"
}

// AgeOf says for how long something has been there, empty if that is not known.
func AgeOf(began status.Beginning, now time.Time) string {
	switch {
	case began.Since.IsZero():
		return ""
	case began.AtLeast:
		return "at least " + Age(now.Sub(began.Since))
	}
	return Age(now.Sub(began.Since))
}
