package controller

// signal has an element once something has happened, until somebody takes it. Nil takes none.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

// note puts the element there. It does not wait for anybody to take it.
func (s signal) note() {
	select {
	case s <- struct{}{}:
	default:
	}
}
