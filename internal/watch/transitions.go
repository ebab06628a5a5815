package watch

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Synced returns a channel that is closed after the first list, when the observer
// has taken it in.
func (w *Watch[T]) Synced() <-chan struct{} { return w.synced }

// Settled returns after the first list or the first failure, or when the context
// ends.
func (w *Watch[T]) Settled(ctx context.Context) {
	select {
	case <-w.tried:
	case <-ctx.Done():
	}
}

func (w *Watch[T]) listed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.status.Synced {
		w.status.Synced = true
		close(w.synced)
	}
	w.placeLost = false
	if w.awaitsList { // the stream that brought the list continues
		w.awaitsList = false
		w.status.WorkingSince = time.Now()
	}
	w.markTried()
}

func (w *Watch[T]) working() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.status.BrokenSince.IsZero() {
		w.options.Log.Info("watching again", "resource", w.status.Resource, "namespace", w.status.Namespace,
			"after", time.Since(w.status.BrokenSince).Round(time.Millisecond).String())
	}
	if w.status.Missing {
		w.options.Log.Info("the resource is installed now, watching it", "resource", w.status.Resource, "namespace", w.status.Namespace)
	}
	w.status.Missing, w.status.BrokenSince, w.status.Problem, w.status.RefusedSince = false, time.Time{}, nil, time.Time{}
	if w.status.WorkingSince.IsZero() && !w.awaitsList {
		w.status.WorkingSince = time.Now()
	}
}

// hasGap notes that the observer receives the missed events only when everything has been
// listed.
func (w *Watch[T]) hasGap() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.WorkingSince = time.Time{}
}

func (w *Watch[T]) broken(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // the watch ends
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.options.MayBeMissing && !w.status.Synced && apierrors.IsNotFound(err) {
		w.missing()
		return
	}
	w.status.Missing = false
	if w.status.BrokenSince.IsZero() {
		w.status.BrokenSince = time.Now()
		w.options.Log.Warn("cannot watch, trying again", "resource", w.status.Resource, "namespace", w.status.Namespace, "error", err)
	} else {
		w.options.Log.Debug("still cannot watch", "resource", w.status.Resource, "namespace", w.status.Namespace, "error", err)
	}
	w.placeLost = w.placeLost || time.Since(w.status.BrokenSince) >= longBreak
	w.status.WorkingSince, w.status.Problem = time.Time{}, err
	switch {
	case !apierrors.IsForbidden(err):
		w.status.RefusedSince = time.Time{}
	case w.status.RefusedSince.IsZero():
		w.status.RefusedSince = time.Now()
	}
	w.markTried()
}

// longBreak is how long it takes at least to restore a backup of etcd, while no API server answers.
const longBreak = 5 * time.Second

// hasLostItsPlace reports whether the watch must list before it follows events again. A resource version says where it
// was only as long as the API server has that past: after etcd was restored from a backup, the server shows nothing until
// it has made as many versions again, and then what came later. A watch sees of this that it falls silent, or cannot be
// opened for a while.
func (w *Watch[T]) hasLostItsPlace() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.placeLost
}

// missing notes that the resource does not exist yet. It must be called with the lock held.
func (w *Watch[T]) missing() {
	if !w.status.Missing {
		w.options.Log.Warn("a resource is not installed, waiting for it", "resource", w.status.Resource, "namespace", w.status.Namespace)
	}
	w.status.Missing = true
	w.status.WorkingSince, w.status.BrokenSince, w.status.Problem = time.Time{}, time.Time{}, nil
	w.markTried()
}

// fellSilent notes that the watch gives up a stream. It is broken until the next attempt shows that it is not.
func (w *Watch[T]) fellSilent() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.WorkingSince, w.status.BrokenSince, w.status.Problem = time.Time{}, time.Now().Add(-silenceLimit), errSilent
	w.placeLost = true
	w.options.Log.Warn("a watch has been silent for too long, listing again",
		"resource", w.options.Title, "namespace", w.options.Namespace, "silent", silenceLimit.String())
}

// awaitList notes that a stream has been opened that begins with a list.
func (w *Watch[T]) awaitList() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.awaitsList = true
	w.status.WorkingSince = time.Time{}
}

// wasCut reports whether the last stream that begins with a list ended before the list was
// complete.
func (w *Watch[T]) wasCut() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.awaitsList {
		w.options.Log.Warn("a list ended before it was complete, reading it page by page", "resource", w.options.Title, "namespace", w.options.Namespace)
	}
	return w.awaitsList
}

// markTried must be called with the lock held.
func (w *Watch[T]) markTried() {
	select {
	case <-w.tried:
	default:
		close(w.tried)
	}
}
