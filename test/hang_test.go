package test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
)

// hanging is a webhook that lets the controller's requests hang until it is released, or
// until the API server gives up, which it does after 30 seconds at the latest. Those of
// others pass. What a test does while requests hang is a race against these 30 seconds, so
// that it is for [scene.again].
type hanging struct {
	released chan struct{}
	release  func() // lets all calls pass; may be called again

	mu                   sync.Mutex
	passed, began, ended int // how many calls
}

// hang lets the controller's requests for a resource of the scene's namespace hang.
func (s *scene) hang(operation registrationv1.OperationType, resource string) *hanging {
	s.Helper()
	released := make(chan struct{})
	w := &hanging{released: released, release: sync.OnceFunc(func() { close(released) })}
	s.ask(operation, resource, func(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if isOfController(request) {
			w.hold(ctx)
		} else {
			w.count(&w.passed)
		}
		return &admissionv1.AdmissionResponse{Allowed: true}
	})
	return w
}

// awaitHanging waits until so many requests have begun to hang.
func (s *scene) awaitHanging(w *hanging, want int) {
	s.Helper()
	s.eventually("requests hang", func(context.Context) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.began < want {
			return fmt.Errorf("%d of %d do", w.began, want)
		}
		return nil
	})
}

// awaitInForce waits until the API server asks the webhook, which it learns of a little later.
func (s *scene) awaitInForce(w *hanging, try func(context.Context) error) {
	s.Helper()
	s.eventually("the webhook is in force", func(ctx context.Context) error {
		if err := try(ctx); err != nil {
			return err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.passed == 0 {
			return errors.New("it was not asked")
		}
		return nil
	})
}

// whileHanging waits for a condition, and reports whether it came true before the first of the
// requests that hang had ended.
func (s *scene) whileHanging(w *hanging, what string, condition func(context.Context) error) (held bool) {
	s.Helper()
	s.eventually(what, func(ctx context.Context) error {
		err := condition(ctx)
		w.mu.Lock()
		defer w.mu.Unlock()
		held = w.ended == 0
		if !held {
			return nil
		}
		return err
	})
	return held
}

// hold returns when the webhook is released or its client is gone.
func (w *hanging) hold(ctx context.Context) {
	w.count(&w.began)
	defer w.count(&w.ended)
	select {
	case <-w.released:
	case <-ctx.Done():
	}
}

func (w *hanging) count(number *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*number++
}
