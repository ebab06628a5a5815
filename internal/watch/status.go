package watch

import (
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/internal/brief"
)

// Status is the state of a watch at one moment.
type Status struct {
	// Resource is the title of the watch's [Options], and Namespace is from there, too.
	Resource, Namespace string
	// Synced means that all objects have been seen at least once. It stays true when the
	// watch breaks.
	Synced bool
	// WorkingSince is since when the observer has received all events without a gap. It is
	// zero while the watch is broken or lists, and before it works for the first time.
	// Earlier events may still arrive a moment later.
	WorkingSince time.Time
	// Missing means that the resource has never existed since the watch began, which is none of its problems: it waits.
	Missing bool
	// BrokenSince is zero while the watch works, and before its first attempt.
	BrokenSince time.Time
	// Problem is why the watch is broken, nil while it works.
	Problem error
	// RefusedSince is since when the API server has forbidden it, at each attempt; zero if it does not.
	RefusedSince time.Time
}

// Up reports whether the watch has seen all objects and works.
func (s Status) Up() bool { return s.Synced && s.BrokenSince.IsZero() }

// IsRefused reports whether the API server has refused the watch for so long that somebody has to do something about it.
// A server that has just started may refuse what it allows a moment later.
func (s Status) IsRefused(now time.Time) bool {
	return !s.RefusedSince.IsZero() && now.Sub(s.RefusedSince) >= time.Minute
}

// Remedy says what to do about the problem, empty if nobody needs to do anything.
func (s Status) Remedy() string {
	if apierrors.IsForbidden(s.Problem) {
		return "Apply the RBAC manifest that you installed it with, such as k8s-manifests/rbac.yaml, or upgrade the chart."
	}
	return ""
}

// String describes the state in one line, as /readyz shows it. What has the mark [-] is not ready, and what has the mark
// [!] is not well, which does not change whether the process is ready.
func (s Status) String() string {
	var line strings.Builder
	mark, state := "[+]", "synced"
	switch {
	case s.Missing:
		state = "not installed, waiting for it"
	case !s.Synced:
		mark, state = "[-]", "not synced yet"
	case !s.Up():
		mark, state = "[!]", "synced before"
	}
	fmt.Fprintf(&line, "%s watch %s", mark, s.Resource)
	if s.Namespace != "" {
		fmt.Fprintf(&line, " in %s", s.Namespace)
	}
	fmt.Fprintf(&line, ": %s", state)
	if !s.BrokenSince.IsZero() {
		fmt.Fprintf(&line, ", broken since %s: %s", s.BrokenSince.UTC().Format(time.RFC3339), brief.Line(fmt.Sprint(s.Problem)))
	}
	if remedy := s.Remedy(); remedy != "" {
		line.WriteString(". " + remedy)
	}
	return line.String()
}

// Status returns the present state.
func (w *Watch[T]) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}
